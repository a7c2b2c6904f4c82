"""What was compiled, on disk.

One file holds one bundle: a digest of the rest, and an archive of the bundle's files. It is written under another name in the same
folder and renamed, so that it is there whole or not at all, whichever processes write it at a time; what is read is compared with its
digest, and what is not whole counts as absent, and is replaced. A folder that cannot be written costs a warning and the time to
compile again.

The folder is ``NORMA_CACHE_DIR``, or ``norma`` in ``XDG_CACHE_HOME``, or ``~/.cache/norma``; to clear the cache is to delete it. An
entry's name is the hash of what was compiled and that of the compiler: where no compiler is, a copy of the folder serves in its place.
"""

import contextlib
import hashlib
import io
import os
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

_SUFFIX = ".norma"
_UNFINISHED = ".unfinished"
#: No compilation takes as long as this many seconds: what is older was left by a process that was killed.
_ABANDONED = 3600.0
_DIGEST_BYTES = hashlib.sha256().digest_size


def folder() -> Path:
    """Where the cache is; it may not exist yet."""
    named = os.environ.get("NORMA_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".cache") / "norma"


def read(entry: str) -> dict[str, bytes] | None:
    """The files of an entry; ``None`` if it is not there, or not whole."""
    try:
        content = (folder() / (entry + _SUFFIX)).read_bytes()
    except OSError:
        return None
    digest, archive = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(archive).digest() != digest:
        return None
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return {name: files.read(name) for name in files.namelist()}


def find(key: str) -> dict[str, bytes] | None:
    """The files that any compiler made of a request; ``None`` if there are none."""
    for path in sorted(folder().glob(f"{key}-*{_SUFFIX}")):
        files = read(path.name.removesuffix(_SUFFIX))
        if files is not None:
            return files
    return None


def write(entry: str, files: dict[str, bytes]) -> None:
    """Keeps the files of an entry, or warns that it cannot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted(files.items()):
            # A time of its own would make the same bundle other bytes each time.
            archive.writestr(zipfile.ZipInfo(name), content)
    content = buffer.getvalue()
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(place)
        _replace(place / (entry + _SUFFIX), hashlib.sha256(content).digest() + content)
    except OSError as error:
        warnings.warn(
            f"cannot keep what was compiled in '{place}', which NORMA_CACHE_DIR may name: {error.strerror}",
            RuntimeWarning,
            stacklevel=2,
        )


def _replace(path: Path, content: bytes) -> None:
    handle, unfinished = tempfile.mkstemp(suffix=_UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


def _remove_abandoned(place: Path) -> None:
    oldest = time.time() - _ABANDONED
    for path in place.glob("*" + _UNFINISHED):
        # Another process may be removing it too.
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()
