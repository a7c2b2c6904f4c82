"""The compiler, which runs as a separate process."""

import dataclasses
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from norma.errors import CompileError, CompilerNotFoundError

#: The place of the compiler in a wheel.
BESIDE_THE_PACKAGE = Path(__file__).parent / "bin" / "normac"


@dataclasses.dataclass(frozen=True)
class Request:
    """A program and its options. ``key`` is a hash of all of them."""

    source: str
    targets: tuple[str, ...]
    schedules: tuple[str, ...] = ()
    by_size: bool = False
    batch_invariant: bool = False
    portable_clusters: bool = False

    @functools.cached_property
    def key(self) -> str:
        return _hash(dataclasses.astuple(self))

    @functools.cached_property
    def text(self) -> bytes:
        """The source as the compiler reads it; the hash in a manifest is of these bytes.

        Raises:
            CompileError: the source is not text.
        """
        place = lone_surrogate(self.source)
        if place is not None:
            raise CompileError(
                f"the program is not text: character {place} is the lone surrogate {self.source[place]!r}"
            )
        return self.source.encode()


@dataclasses.dataclass(frozen=True)
class Compiler:
    """A ``normac``, and everything besides the request that determines its output."""

    path: str
    #: A hash of its version, of its file's size and time, and of those of the assembler that the environment names.
    identity: str

    @staticmethod
    def find() -> "Compiler":
        """Finds the compiler: the one that ``NORMA_NORMAC`` names, or the one beside this package, or the one on ``PATH``.

        Raises:
            CompilerNotFoundError: none is found.
        """
        named = os.environ.get("NORMA_NORMAC")
        if named:
            path = shutil.which(named)
            if path is None:
                raise CompilerNotFoundError(f"no compiler: NORMA_NORMAC names '{named}', which is no program")
        elif os.access(BESIDE_THE_PACKAGE, os.X_OK):
            path = str(BESIDE_THE_PACKAGE)
        else:
            path = shutil.which("normac")
        if path is None:
            raise CompilerNotFoundError(
                "no compiler: NORMA_NORMAC is not set, and there is no normac at "
                f"'{BESIDE_THE_PACKAGE}' or on PATH; load what was compiled elsewhere by norma.load"
            )
        assembler = os.environ.get("NORMA_PTXAS")
        return Compiler(path, _identity(_Program.of(path), assembler and _Program.of(assembler)))

    def run(self, request: Request, name: str) -> dict[str, bytes]:
        """Compiles a program, which is called ``name`` in messages; returns the files of the bundle by their paths in it.

        Raises:
            CompileError: the program is refused or is not text, or the compiler fails.
        """
        with tempfile.TemporaryDirectory(prefix="norma-") as folder:
            command = [self.path, "-", "--target", ",".join(request.targets), "--output", folder]
            for schedule in request.schedules:
                command += ["--schedule", schedule]
            if request.by_size:
                command.append("--by-size")
            if request.batch_invariant:
                command.append("--batch-invariant")
            if request.portable_clusters:
                command.append("--portable-clusters")
            try:
                ran = subprocess.run(command, input=request.text, capture_output=True, check=False)
            except OSError as error:
                raise CompileError(f"cannot run the compiler '{self.path}': {error.strerror}") from error
            if ran.returncode != 0:
                said = ran.stderr.decode(errors="replace").replace("<stdin>", name)
                said = said.replace(f"'{folder}'", "a temporary folder").strip()
                raise CompileError(said or f"the compiler '{self.path}' ended with status {ran.returncode}")
            root = Path(folder)
            return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


@dataclasses.dataclass(frozen=True)
class _Program:
    """Identifies a program's file without reading it."""

    path: str
    size: int
    modified_ns: int

    @staticmethod
    def of(path: str) -> "_Program | None":
        try:
            status = os.stat(path)
        except OSError:
            return None
        return _Program(os.path.realpath(path), status.st_size, status.st_mtime_ns)


@functools.lru_cache
def _identity(compiler: _Program, assembler: _Program | None) -> str:
    try:
        version = subprocess.run([compiler.path, "--version"], capture_output=True, encoding="utf-8", check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise CompileError(f"cannot run the compiler '{compiler.path}': {error}") from error
    # The path is left out: a program that is moved stays the same.
    programs = [(program.size, program.modified_ns) for program in (compiler, assembler) if program]
    return _hash((version, programs))[:16]


def lone_surrogate(text: str) -> int | None:
    """The place of a half of a surrogate pair, which a ``str`` may have and UTF-8 has not; ``None`` if there is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:40]
