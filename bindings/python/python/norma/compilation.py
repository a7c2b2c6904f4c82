"""Programs to bundles: by what the cache has, or by the compiler."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from norma import cache
from norma._runtime import Bundle, target_of_device
from norma.compiler import Compiler, Request
from norma.errors import CompilerNotFoundError

#: The bundles of this process, by the names of their entries in the cache.
_bundles: dict[str, Bundle] = {}
#: Held by the thread that makes a bundle.
_turns: dict[str, threading.Lock] = {}


def compile(
    source: str | os.PathLike[str],
    *,
    target: str | Sequence[str] | None = None,
    schedule: str | Sequence[str] = (),
    by_size: bool = False,
) -> Bundle:
    """Compiles a program, or takes what was compiled of it before.

    ``source`` is a path, or the text of a program in MLIR; a string of one line that ends in ``.mlir`` is a path. ``target`` is
    such as ``"sm_90a"``, or several of them; without it, it is what the first GPU runs best. ``schedule`` and ``by_size`` are
    ``normac``'s options of these names.

    Other threads run meanwhile. A program is compiled once, whichever threads ask for it, and its bundle is kept by this process and
    in the cache.

    Raises:
        CompileError: the program is refused; :class:`CompilerNotFoundError` if there is no compiler, and the cache has nothing.
        DriverError: without a target, there is no GPU to compile for.
    """
    if isinstance(source, os.PathLike) or (source.endswith(".mlir") and "\n" not in source):
        path = Path(source)
        name, text = str(path), path.read_text(encoding="utf-8")
    else:
        name, text = "<source>", source
    if target is None:
        target = target_of_device()
    request = Request(
        source=text,
        targets=(target,) if isinstance(target, str) else tuple(target),
        schedules=(schedule,) if isinstance(schedule, str) else tuple(schedule),
        by_size=by_size,
    )
    return bundle_of(request, name)


def load(path: str | os.PathLike[str], *, ptx_fallback: bool = False) -> Bundle:
    """Loads the bundle in a folder that ``normac -o`` wrote; no compiler is needed.

    With ``ptx_fallback``, its functions run on devices that no cubin of it fits too: by the PTX that ``normac --ptx-fallback`` keeps, which
    the driver compiles when a function is first called there.

    Raises:
        BundleError: there is none, or it cannot be used.
    """
    return Bundle.open(path, ptx_fallback=ptx_fallback)


def bundle_of(request: Request, name: str = "<source>") -> Bundle:
    """The bundle of a request; ``name`` stands for the program in messages."""
    try:
        compiler = Compiler.find()
    except CompilerNotFoundError:
        # Whichever compiler made it: there is none to make another.
        files = cache.find(request.key)
        if files is None:
            raise
        return Bundle.from_files(files)
    entry = f"{request.key}-{compiler.identity}"
    bundle = _bundles.get(entry)
    if bundle is None:
        with _turns.setdefault(entry, threading.Lock()):
            bundle = _bundles.get(entry)
            if bundle is None:
                bundle = _bundles[entry] = _load_or_compile(entry, request, compiler, name)
    return bundle


def _load_or_compile(entry: str, request: Request, compiler: Compiler, name: str) -> Bundle:
    files = cache.read(entry)
    if files is None:
        files = compiler.run(request, name)
        cache.write(entry, files)
    return Bundle.from_files(files)
