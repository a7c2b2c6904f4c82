"""The cache of compiled bundles on disk.

A file holds one bundle: a digest, and an archive of the bundle's files. It is written under another name in the same
folder and renamed, so that it appears completely or not at all even if several processes write it at a time. A reader compares the
content with the digest; an incomplete file counts as missing and is replaced. If the folder cannot be written, there is a warning, and
programs are compiled again.

The folder is ``NORMA_CACHE_DIR``, or ``norma`` in ``XDG_CACHE_HOME``, or ``~/.cache/norma``; delete it to clear the cache. The name of an
entry consists of the hash of the request and that of the compiler. On a machine without a compiler, entries copied from another one are
used.
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
#: No compilation takes this many seconds: an older file was left by a process that was killed.
_ABANDONED = 3600.0
_DIGEST_BYTES = hashlib.sha256().digest_size


def folder() -> Path:
    """The cache's folder; it may not exist yet."""
    named = os.environ.get("NORMA_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~")) / ".cache") / "norma"


def read(entry: str) -> dict[str, bytes] | None:
    """The files of an entry; ``None`` if it is missing or incomplete."""
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
    """The files of a request, whichever compiler made them; ``None`` if there are none."""
    for path in sorted(folder().glob(f"{key}-*{_SUFFIX}")):
        files = read(path.name.removesuffix(_SUFFIX))
        if files is not None:
            return files
    return None


def write(entry: str, files: dict[str, bytes]) -> None:
    """Stores the files of an entry, or warns that it cannot."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted(files.items()):
            # A fixed time, so that equal bundles give equal bytes.
            archive.writestr(zipfile.ZipInfo(name), content)
    content = buffer.getvalue()
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(place)
        replace(place / (entry + _SUFFIX), hashlib.sha256(content).digest() + content)
    except OSError as error:
        warnings.warn(
            f"cannot keep what was compiled in '{place}', which NORMA_CACHE_DIR may name: {error.strerror}",
            RuntimeWarning,
            stacklevel=2,
        )


def replace(path: Path, content: bytes) -> None:
    """Writes a file that others may read meanwhile, who find all of it or what was there before."""
    handle, unfinished = tempfile.mkstemp(suffix=_UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # A temporary file is its owner's alone; an entry is for all who can read the folder.
        os.chmod(unfinished, 0o644)
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
