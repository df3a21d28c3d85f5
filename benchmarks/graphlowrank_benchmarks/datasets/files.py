"""Search path of the data files; the repository has none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDER_VARIABLE = "GRAPHLOWRANK_DATA"

Folder = str | os.PathLike[str] | None


def cache_folder() -> Path:
    """Folder of this package in the user's cache, the default target of downloads."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if Path(named).is_absolute():  # the XDG standard says to ignore relative ones
        return Path(named, "graphlowrank")
    if sys.platform == "win32" and "LOCALAPPDATA" in os.environ:
        return Path(os.environ["LOCALAPPDATA"], "graphlowrank")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "graphlowrank"
    return Path.home() / ".cache" / "graphlowrank"


def search_folders(folder: Folder = None) -> tuple[Path, ...]:
    """Folders searched, in order: ``folder`` alone if given, else that of GRAPHLOWRANK_DATA and the user's cache."""
    if folder is not None:
        return (Path(folder).expanduser(),)
    named = os.environ.get(FOLDER_VARIABLE)
    return (Path(named).expanduser(), cache_folder()) if named else (cache_folder(),)


def look_for(name: str, folder: Folder = None) -> Path | None:
    """Path of the first file of that name in the folders searched; None if there is none."""
    return next((place / name for place in search_folders(folder) if (place / name).is_file()), None)


def find_file(name: str, folder: Folder = None, *, can_download: bool = False) -> Path:
    """Path of a data file; FileNotFoundError with the folders searched and the remedies if there is none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "mine.npz").touch()
    ...     find_file("mine.npz", folder).name
    'mine.npz'
    """
    path = look_for(name, folder)
    if path is None:
        places = " nor in ".join(str(place) for place in search_folders(folder))
        remedies = ["put it there", f"name the folder that has it (folder=... or the variable {FOLDER_VARIABLE})"]
        if can_download:
            remedies.append("ask for it with download=True")
        raise FileNotFoundError(f"{name} is not in {places}: {', or '.join(remedies)}.")
    return path


def download_target(name: str, folder: Folder = None) -> Path:
    """Path to download to: in ``folder`` if given, else in the cache; the folder of GRAPHLOWRANK_DATA is only read."""
    return (cache_folder() if folder is None else Path(folder).expanduser()) / name
