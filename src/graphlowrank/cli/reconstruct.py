"""The command ``graphlowrank reconstruct``: an image from a sinogram."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .._backend import Array
from .._files import check_writable, write_atomically
from ..tomography import Reconstruction, projection_matrix, reconstruct
from .console import print_warnings

KINDS = (".png", ".npy")
HALF_TURN = 180.0  # degrees, the default range of angles
MAX_ANGLES = 1_000_000  # more are a typing error, not a scan


@dataclass(frozen=True)
class Request:
    """What to read, how to reconstruct and where to write; checked before any work."""

    source: Path
    output: Path
    angles: str | None
    angles_first: bool
    size: int | None
    bits: int
    options: dict[str, Any]  # of reconstruct()

    def __post_init__(self) -> None:
        noise, gamma = self.options["noise"], self.options["gamma_features"]
        if gamma != "auto" and not 0 <= gamma < np.inf:
            raise ValueError(f"--gamma must be a number of at least 0, got {gamma}.")
        if noise is not None and not 0 < noise < np.inf:
            raise ValueError(f"--noise must be a positive number, got {noise}.")
        if self.output.suffix.lower() not in KINDS:
            raise ValueError(f"{self.output} is not of a known kind: a file that ends in .png or .npy.")
        if self.output.suffix.lower() == ".png" and find_spec("PIL") is None:
            raise ModuleNotFoundError("writing a PNG needs Pillow", name="PIL")
        if self.output.resolve() == self.source.resolve():
            raise ValueError("--output is the input itself: choose another place.")


def run_reconstruct(request: Request, say: Callable[[str], None], *, as_json: bool) -> None:
    """Read, reconstruct, write and report."""
    readings, angles = read_sinogram(request)
    check_writable(request.output)
    n_angles, n_detectors = readings.shape
    size = request.size or n_detectors
    begin = time.perf_counter()
    with print_warnings() as heard:
        say(f"reconstructing {size} x {size} pixels from {n_detectors} detectors at {n_angles} angles")
        A = projection_matrix((size, size), angles, n_detectors=n_detectors)
        found = reconstruct(A, readings.ravel(), (size, size), **request.options)
    seconds = time.perf_counter() - begin
    content, white = encoded(found.image, request.output.suffix.lower(), request.bits)
    write_atomically(request.output, content)
    record = {
        "input": str(request.source),
        "output": str(request.output),
        "height": size,
        "width": size,
        "angles": n_angles,
        "detectors": n_detectors,
        "missing_readings": int(np.isnan(readings).sum()),
        "gamma": float(found.gamma_features),
        "chain": float(found.chain),
        "reason": reason(found, request.options),
        "tried": [[float(gamma), float(chain), float(judged)] for (gamma, _, chain), judged in found.tried.items()],
        "iterations": found.n_iter,
        "graphs": found.n_graphs,
        "converged": bool(found.converged),
        "seconds": seconds,
        "smallest": float(found.image.min()),
        "largest": float(found.image.max()),
        "white": white,
        "warnings": heard,
    }
    typer.echo(json.dumps(record, indent=2) if as_json else _summary(record))
    typer.echo(f"wrote {request.output}", err=True)


def read_sinogram(request: Request) -> tuple[Array, Array]:
    """Read readings (n_angles, n_detectors), NaN where missing, and the angles of their rows in degrees."""
    readings = _load(request.source)
    if readings.ndim != 2:
        raise ValueError(f"a sinogram has two dimensions, detectors and angles; {request.source} has {readings.ndim}.")
    if readings.size == 0:
        raise ValueError(f"{request.source} is empty.")
    if not request.angles_first:
        readings = readings.T
    n_angles, n_detectors = readings.shape
    angles = read_angles(request.angles, n_angles)
    if len(angles) != n_angles:
        turned = len(angles) == n_detectors
        which = "rows" if request.angles_first else "columns"
        hint = f"; {'leave out' if request.angles_first else 'give'} --angles-first if these are its other side"
        raise ValueError(
            f"{len(angles)} angles were given, but {request.source} has {n_angles} {which}{hint if turned else ''}."
        )
    readings = np.array(readings, dtype=np.float64, order="C")
    if np.isinf(readings).any():
        raise ValueError(f"{request.source} has infinite readings; use NaN where there is none.")
    if np.isnan(readings).all():
        raise ValueError(f"every reading in {request.source} is missing (NaN).")
    return readings, angles


def read_angles(given: str | None, n_angles: int) -> Array:
    """Angles in degrees: evenly spaced by default, from start:stop:count, or from a file."""
    if given is None:
        return np.arange(n_angles) * HALF_TURN / n_angles
    if ":" in given and not Path(given).exists():
        return _evenly_spaced(given)
    path = Path(given)
    angles = _load(path) if path.suffix.lower() == ".npy" else _read_lines(path)
    if angles.ndim != 1 or angles.size == 0:
        raise ValueError(f"{path} must hold a list of angles, got shape {angles.shape}.")
    if not np.isfinite(angles).all():
        raise ValueError(f"{path} has angles that are not finite.")
    return np.asarray(angles, dtype=np.float64)


def _evenly_spaced(given: str) -> Array:
    try:
        start, stop, count = given.split(":")
        first, last, n = float(start), float(stop), int(count)
    except ValueError:
        first, last, n = np.nan, np.nan, 0
    if not (np.isfinite([first, last]).all() and 0 < n <= MAX_ANGLES):
        raise ValueError(f"--angles {given} is neither a file nor start:stop:count, such as 0:180:36.")
    return first + np.arange(n) * (last - first) / n


def _read_lines(path: Path) -> Array:
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text; angles are numbers, one a line, or a .npy file.") from None
    angles = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                angles.append(float(line))
            except ValueError:
                raise ValueError(f"{path}, line {number}: {line.strip()[:40]!r} is not a number.") from None
    return np.array(angles)


def _load(path: Path) -> Array:
    """Memory-mapped array of real numbers."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    try:
        with path.open("rb") as file:
            if file.read(6) != b"\x93NUMPY":
                raise ValueError("no NumPy file")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a .npy file of numbers: {error}.") from error
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{path} must hold real numbers, got dtype {array.dtype}.")
    return np.asarray(array)


def encoded(image: Array, kind: str, bits: int) -> tuple[bytes, float | None]:
    """Bytes of the file, and the value that is white in a PNG: the largest; 0 and less are black."""
    buffer = BytesIO()
    if kind == ".npy":
        np.save(buffer, image, allow_pickle=False)
        return buffer.getvalue(), None
    from PIL import Image

    white = max(float(image.max()), 0.0)
    levels = 2**bits - 1
    gray = np.clip(image / (white or 1.0), 0, 1) * levels
    Image.fromarray(np.rint(gray).astype(np.uint8 if bits == 8 else np.uint16)).save(buffer, format="PNG")
    return buffer.getvalue(), white


def reason(found: Reconstruction, options: dict[str, Any]) -> str:
    """Why this gamma, and this share of path graphs."""
    if options["gamma_features"] != "auto":
        return "gamma as given" + (", chain by held-out readings" if found.tried else "")
    gamma, judged = found.gamma_features, found.tried[found.gamma_features, found.gamma_samples, found.chain]
    of, gammas = f"of {len(found.tried)} tried", [one[0] for one in found.tried]
    if options["noise"] is None:
        why = f"{of} it predicts held-out readings best, with an error of {judged:.3g}"
        return why + ("; it is the last of them: try others with --gamma" if gamma in (gammas[0], gammas[-1]) else "")
    if judged <= options["noise"]:
        return f"the smoothest {of} that explains the readings up to the noise, with a residual of {judged:.3g}"
    return f"the sharpest {of}: none explains the readings up to the noise, its residual is {judged:.3g}"


def _summary(record: dict[str, Any]) -> str:
    missing = f", {record['missing_readings']} readings missing" if record["missing_readings"] else ""
    white = "" if record["white"] is None else f"; white is {record['white']:.4g}"
    return "\n".join(
        [
            f"{record['height']} x {record['width']} pixels from {record['detectors']} detectors at "
            f"{record['angles']} angles{missing}.",
            f"gamma {record['gamma']:.3g}, chain {record['chain']:g}: {record['reason']}.",
            f"{record['iterations']} iterations with {record['graphs']} pairs of graphs, {record['seconds']:.1f} s.",
            f"values from {record['smallest']:.4g} to {record['largest']:.4g}{white}.",
        ]
    )
