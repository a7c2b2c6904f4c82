"""The cache of compiled bundles on disk.

A file holds one bundle: a digest, and an archive of the bundle's files. It is written under another name in the same
folder and renamed, so that it appears completely or not at all even if several processes write it at a time. A reader compares the
content with the digest; an incomplete file counts as missing and is replaced. If the folder cannot be written, there is a warning, and
programs are compiled again.

The folder is ``NORMA_CACHE_DIR``, or ``norma`` in ``XDG_CACHE_HOME`` if that is an absolute path, or ``~/.cache/norma``; delete it to
clear the cache. If it is in a home directory that is not known, there is the same warning. The name of an entry consists of the hash of
the request and that of the compiler. On a machine without a compiler, entries copied from another one are used.
"""

import contextlib
import errno
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


def folder() -> Path | None:
    """The cache's folder, which may not exist yet; ``None`` if it is in a home directory that is not known."""
    path = _asked()
    expanded = os.path.expanduser(path)
    # A home that is not known is left as it is, which would name a folder in the current one, and an empty one is taken for the root.
    is_unknown = expanded == path or (_home(path) == "~" and os.environ.get("HOME") == "")
    return None if path.startswith("~") and is_unknown else Path(expanded)


def _asked() -> str:
    """The path of the cache's folder, which may begin with a home directory: ``~``, or ``~`` and a user's name."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG Base Directory Specification has relative paths ignored.
    base = base if os.path.isabs(base) else "~/.cache"
    return os.environ.get("NORMA_CACHE_DIR") or os.path.join(base, "norma")


def _home(path: str) -> str:
    """The home directory that a path begins with, as it is written."""
    return path.partition("/")[0]


def read(entry: str) -> dict[str, bytes] | None:
    """The files of an entry; ``None`` if it is missing or incomplete."""
    place = folder()
    if place is None:
        return None
    try:
        content = (place / (entry + _SUFFIX)).read_bytes()
    except OSError:
        return None
    digest, archive = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if hashlib.sha256(archive).digest() != digest:
        return None
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return {name: files.read(name) for name in files.namelist()}


def find(key: str) -> dict[str, bytes] | None:
    """The files of a request, whichever compiler made them; ``None`` if there are none."""
    place = folder()
    for path in sorted(place.glob(f"{key}-*{_SUFFIX}")) if place else ():
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
        if place is None:
            raise FileNotFoundError(errno.ENOENT, f"the home directory '{_home(_asked())}' is not known")
        place.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(place)
        replace(place / (entry + _SUFFIX), hashlib.sha256(content).digest() + content)
    except OSError as error:
        where = _asked() if place is None else place
        warnings.warn(
            f"cannot keep what was compiled in '{where}', which NORMA_CACHE_DIR may name: {error.strerror}",
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
