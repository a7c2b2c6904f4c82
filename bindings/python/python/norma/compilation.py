"""Compiles programs to bundles, by way of the cache."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from norma import bundles, cache
from norma._runtime import Bundle, target_of_device
from norma.compiler import Compiler, Request, lone_surrogate
from norma.errors import CompileError, CompilerNotFoundError

#: The bundles of this process, by the names of their entries in the cache.
_bundles: dict[str, Bundle] = {}
#: A lock for each bundle, held by the thread that makes it.
_turns: dict[str, threading.Lock] = {}


def compile(
    source: str | os.PathLike[str],
    *,
    target: str | Sequence[str] | None = None,
    schedule: str | Sequence[str] = (),
    by_size: bool = False,
    batch_invariant: bool = False,
    portable_clusters: bool = False,
) -> Bundle:
    """Compiles a program, or returns its bundle from a folder of :func:`norma.use_bundles` or from the cache.

    ``source`` is a path, or the text of a program in MLIR; a string of one line that ends in ``.mlir`` is a path. ``target`` is
    one target such as ``"sm_90a"``, or several; the default is the best target for the first GPU. ``schedule``, ``by_size``,
    ``batch_invariant`` and ``portable_clusters`` are the options of ``normac`` with these names.

    Other threads run in the meantime. A program is compiled once, even if several threads ask for it, and its bundle is kept by this
    process and in the cache.

    Raises:
        CompileError: the program is refused, or is no text that UTF-8 has; :class:`CompilerNotFoundError` if there is no compiler,
            and neither those folders nor the cache have the bundle.
        DriverError: without a target, there is no GPU to compile for.
        OSError: the file cannot be read.
        TypeError: an argument is not of the type that is declared here.
        ValueError: there is no target, or a target or schedule is empty or no text that UTF-8 has.
    """
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"expected source to be a path or the text of a program, got {_described(source)}")
    switches = {"by_size": by_size, "batch_invariant": batch_invariant, "portable_clusters": portable_clusters}
    for switch, given in switches.items():
        if not isinstance(given, bool):
            raise TypeError(f"expected {switch} to be a bool, got {_described(given)}")
    if isinstance(source, os.PathLike) or (source.endswith(".mlir") and "\n" not in source):
        name, text = os.fspath(source), _read(Path(source))
    else:
        name, text = "<source>", source
    request = Request(
        source=text,
        targets=targets_of(target_of_device() if target is None else target),
        schedules=_words("schedule", schedule),
        **switches,
    )
    return bundle_of(request, name)


def targets_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """The targets of an argument, of which there is at least one."""
    targets = _words("target", given)
    if not targets:
        raise ValueError("expected at least one target, such as 'sm_90a', got none")
    return targets


def _words(name: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """An argument that is one word or several, none of them empty."""
    words = (given,) if isinstance(given, str) else given
    if not isinstance(words, Sequence) or isinstance(words, (bytes, bytearray)):
        raise TypeError(f"expected {name} to be a str or a sequence of them, got {_described(given)}")
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"expected {name} to be a str or a sequence of them, got {_described(word)} in it")
        if not word.strip():
            raise ValueError(f"expected a {name} that is not empty, got {word!r}")
        if lone_surrogate(word) is not None:
            raise ValueError(f"expected a {name} of whole characters, got the lone surrogate in {word!r}")
    return tuple(words)


def _read(path: Path) -> str:
    try:
        # The ends of lines stay as they are, because the hash in a manifest is of the file's bytes.
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise CompileError(f"'{path}' is not text: byte {error.start} is not UTF-8") from error


def _described(value: object) -> str:
    return "None" if value is None else type(value).__name__


def load(path: str | os.PathLike[str], *, ptx_fallback: bool = False) -> Bundle:
    """Loads the bundle in a folder that ``normac -o`` wrote; no compiler is needed.

    With ``ptx_fallback``, its functions also run on devices that no cubin fits, by the PTX that ``normac --ptx-fallback`` stored in
    the bundle; the driver compiles the PTX when a function is first called there.

    Raises:
        BundleError: there is no bundle, or it cannot be used.
    """
    return Bundle.open(path, ptx_fallback=ptx_fallback)


def bundle_of(request: Request, name: str = "<source>") -> Bundle:
    """The bundle of a request; ``name`` identifies the program in messages."""
    folders = bundles.find(request)
    if folders is not None:
        return _kept(f"{request.key} in {folders}", lambda: bundles.open_all(folders))
    try:
        compiler = Compiler.find()
    except CompilerNotFoundError as error:
        # There is no compiler to make another one, so an entry of any compiler will do.
        return _kept(f"{request.key} in {cache.folder()}", lambda: _cached(request, error))
    return _kept(_entry(request, compiler), lambda: Bundle.from_files(files_of(request, compiler, name)))


def _kept(entry: str, make: Callable[[], Bundle]) -> Bundle:
    """The bundle that this process has of an entry, which one thread makes.

    A program has one bundle, so that its functions last as long as the process: a captured graph refers to their kernels.
    """
    bundle = _bundles.get(entry)
    if bundle is None:
        with _turns.setdefault(entry, threading.Lock()):
            bundle = _bundles.get(entry)
            if bundle is None:
                bundle = _bundles[entry] = make()
    return bundle


def _cached(request: Request, error: CompilerNotFoundError) -> Bundle:
    """The bundle of a request in the cache, or what is raised without it."""
    files = cache.find(request.key)
    if files is not None:
        return Bundle.from_files(files)
    if places := bundles.searched():
        raise CompilerNotFoundError(f"{error}; its bundle is not in {', '.join(places)} either") from error
    raise error


def files_of(request: Request, compiler: Compiler, name: str = "<source>") -> dict[str, bytes]:
    """The files of the bundle of a request, from the cache or from the compiler."""
    entry = _entry(request, compiler)
    files = cache.read(entry)
    if files is None:
        files = compiler.run(request, name)
        cache.write(entry, files)
    return files


def _entry(request: Request, compiler: Compiler) -> str:
    return f"{request.key}-{compiler.identity}"
