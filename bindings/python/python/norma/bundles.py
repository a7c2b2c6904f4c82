"""Bundles compiled ahead of time: with them, a program needs no compiler.

A bundle's manifest records the text it was compiled from, and the options, so any folder that ``normac`` wrote can be used: those of
:func:`norma.torch.prebuild`, the output of a catalog, or a bundle of one program.
"""

import hashlib
import json
import os
from pathlib import Path

from norma import cache
from norma._runtime import Bundle
from norma.compiler import Request
from norma.errors import BundleError

_MANIFEST = "manifest.json"
#: Options that change neither what a function computes nor how fast it does.
_HARMLESS = ("--ptx-fallback",)

#: What the bundle of one program for one target was made from: a hash of the text, and the options.
_Origin = tuple[str, tuple[str, ...]]
#: The folders of the known bundles, by their origins.
_known: dict[_Origin, Path] = {}
#: The folders that are searched, for messages.
_searched: list[str] = []


def use_bundles(folder: str | os.PathLike[str]) -> None:
    """Makes :func:`norma.compile` and the ops of :mod:`norma.torch` look for bundles in this folder before they look for a compiler.

    The folder is a bundle, or contains bundles, each with a folder for each target or without; a folder that is given later comes
    first. A bundle is used for a program of exactly its text, options and target, whichever version of the compiler made it; where none is
    for the part of a target, such as ``"sm_90a-h100"``, one for its architecture is used, which runs there too.

    Raises:
        BundleError: the folder contains no bundle of one program, or a manifest in it cannot be read.
    """
    root = Path(folder)
    paths = [path for depth in ("", "*/", "*/*/") for path in sorted(root.glob(depth + _MANIFEST))]
    origins = {path: _origin(path) for path in paths}
    found = {origin: path.parent for path, origin in origins.items() if origin is not None}
    if paths and not found:
        raise BundleError(
            f"expected bundles of one program each, got '{paths[0].parent}', whose functions are of several or do not tell theirs; "
            "norma.load loads it"
        )
    if not found:
        raise BundleError(f"expected a folder of bundles that normac wrote, got '{root}', which has none")
    _known.update(found)
    _searched.append(str(root))


def find(request: Request) -> dict[str, Path] | None:
    """The folder of each target of a request, of those that are used; ``None`` if one of its targets is missing."""
    text = hashlib.sha256(request.text).hexdigest()
    options = [f"--schedule={schedule}" for schedule in request.schedules]
    if request.by_size:
        options.append("--by-size")
    if request.batch_invariant:
        options.append("--batch-invariant")
    if request.portable_clusters:
        options.append("--portable-clusters")
    folders = {}
    for target in request.targets:
        architecture, _, _ = target.partition("-")
        found = (_known.get((text, (f"--target={name}", *options))) for name in (target, architecture))
        folder = next((folder for folder in found if folder is not None), None)
        if folder is None:
            return None
        folders[target] = folder
    return folders


def open_all(folders: dict[str, Path]) -> Bundle:
    """The bundle of several targets, each in a folder of its own, or of one."""
    if len(folders) == 1:
        return Bundle.open(*folders.values())
    files = ((target, file) for target, folder in folders.items() for file in folder.iterdir() if file.is_file())
    return Bundle.from_files({f"{target}/{file.name}": file.read_bytes() for target, file in files})


def searched() -> tuple[str, ...]:
    """The folders that are used."""
    return tuple(_searched)


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Writes the files of a bundle for one target, the manifest last, so that a reader finds a whole bundle or none."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in sorted(files.items(), key=lambda file: file[0] == _MANIFEST):
        cache.replace(folder / name, content)


def _origin(path: Path) -> _Origin | None:
    """The origin of the bundle with this manifest; ``None`` if it is of several programs, or does not tell."""
    try:
        manifest = json.loads(path.read_bytes())
        of = [function.get("provenance") for function in manifest["functions"]]
        if not of or not of[0] or any(other != of[0] for other in of):
            return None
        return of[0]["source"], tuple(option for option in of[0]["options"] if option not in _HARMLESS)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(f"cannot use the manifest '{path}': {error!r}") from error
