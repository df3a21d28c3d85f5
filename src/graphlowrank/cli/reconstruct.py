"""The command ``graphlowrank reconstruct``: an image from a sinogram."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from .._files import check_writable, naming, writing
from .._typing import Array
from ..tomography import Reconstruction, projection_matrix, reconstruct
from .console import PLOT_EXTRAS, Show, command_line, print_warnings, require_packages
from .outputs import all_or_none, check_distinct

MAX_ANGLES = 1_000_000  # more are a typing error, not a scan


def run_reconstruct(
    source: Path, output: Path, page: Path | None, options: dict[str, Any], show: Show, *, angles: str | None,
    angles_first: bool, size: int | None, bits: int,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Read, reconstruct with the ``options``, and write; return the record for JSON and the text for the console."""
    _check_request(output, options)
    listed = {"the file of --angles": Path(angles)} if angles is not None and _is_file(angles) else {}
    outputs = {"output": output} if page is None else {"output": output, "report": page}
    check_distinct({"the input": source, **listed}, outputs)
    if page is not None:
        require_packages("the report", *PLOT_EXTRAS)
    readings, degrees = read_sinogram(source, angles, angles_first=angles_first)
    for path in outputs.values():
        check_writable(path)
    n_angles, n_detectors = readings.shape
    size = size or n_detectors
    begin = time.perf_counter()
    with print_warnings() as warnings:
        show(f"reconstructing {size} x {size} pixels from {n_detectors} detectors at {n_angles} angles")
        A = projection_matrix((size, size), degrees, n_detectors=n_detectors)
        found = reconstruct(A, readings.ravel(), (size, size), **options)
    seconds = time.perf_counter() - begin
    with all_or_none(outputs) as places:
        white = write_image(places["output"], found.image, bits)
        record = _record(source, outputs, readings, found, options, seconds, white, warnings)
        text = _summary(record)
        if page is not None:
            chain = "with gamma" if found.tried else "default"
            choices = [
                ("gamma", f"{found.gamma_features:.4g}", record["reason"]), ("chain", f"{found.chain:g}", chain)
            ]  # fmt: skip
            html = found.to_html(
                A, readings, readings_shape=readings.shape, title=source.name, command=command_line(),
                summary=text.splitlines(), warnings=warnings, choices=choices,
            )  # fmt: skip
            with naming(outputs["report"]):
                places["report"].write_text(html, encoding="utf-8")
    return record, text


def _record(
    source: Path, outputs: dict[str, Path], readings: Array, found: Reconstruction, options: dict[str, Any],
    seconds: float, white: float | None, warnings: list[str],
) -> dict[str, Any]:  # fmt: skip
    """Return the record for JSON."""
    return {
        "input": str(source),
        "output": str(outputs["output"]),
        "report": str(outputs["report"]) if "report" in outputs else None,
        "height": found.image.shape[0],
        "width": found.image.shape[1],
        "angles": readings.shape[0],
        "detectors": readings.shape[1],
        "missing_readings": int(np.isnan(readings).sum()),
        "gamma": float(found.gamma_features),
        "chain": float(found.chain),
        "reason": reason(found, options),
        "tried": [[float(gamma), float(chain), float(judged)] for (gamma, _, chain), judged in found.tried.items()],
        "iterations": found.n_iter,
        "graphs": found.n_graphs,
        "converged": bool(found.converged),
        "seconds": seconds,
        "smallest": float(found.image.min()),
        "largest": float(found.image.max()),
        "white": white,
        "warnings": warnings,
    }


def _check_request(output: Path, options: dict[str, Any]) -> None:
    """Raise before any work."""
    noise, gamma = options["noise"], options["gamma_features"]
    if gamma != "auto" and not 0 <= gamma < np.inf:
        raise ValueError(f"--gamma must be a number of at least 0, got {gamma}.")
    if noise is not None and not 0 < noise < np.inf:
        raise ValueError(f"--noise must be a positive number, got {noise}.")
    if output.suffix.lower() not in (".png", ".npy"):
        raise ValueError(f"{output} is not of a known kind: a file that ends in .png or .npy.")
    if output.suffix.lower() == ".png" and find_spec("PIL") is None:
        raise ModuleNotFoundError("writing a PNG needs Pillow", name="PIL")


def read_sinogram(source: Path, angles: str | None, *, angles_first: bool) -> tuple[Array, Array]:
    """Read readings (n_angles, n_detectors), NaN where missing, and the angles of their rows in degrees."""
    readings = _load(source)
    if readings.ndim != 2:
        raise ValueError(f"a sinogram has two dimensions, detectors and angles; {source} has {readings.ndim}.")
    if readings.size == 0:
        raise ValueError(f"{source} is empty.")
    if not angles_first:
        readings = readings.T
    n_angles, n_detectors = readings.shape
    degrees = read_angles(angles, n_angles)
    if len(degrees) != n_angles:
        which, advice = ("rows", "leave out") if angles_first else ("columns", "give")
        hint = f"; {advice} --angles-first if these are its other side" if len(degrees) == n_detectors else ""
        raise ValueError(f"{len(degrees)} angles were given, but {source} has {n_angles} {which}{hint}.")
    readings = np.array(readings, dtype=np.float64, order="C")
    if np.isinf(readings).any():
        raise ValueError(f"{source} has infinite readings; use NaN where there is none.")
    if np.isnan(readings).all():
        raise ValueError(f"every reading in {source} is missing (NaN).")
    return readings, degrees


def read_angles(given: str | None, n_angles: int) -> Array:
    """Angles in degrees: evenly spaced over a half turn by default, from start:stop:count, or from a file."""
    if given is None:
        return np.arange(n_angles) * 180.0 / n_angles
    if not _is_file(given):
        return _evenly_spaced(given)
    path = Path(given)
    angles = _load(path) if path.suffix.lower() == ".npy" else _read_lines(path)
    if angles.ndim != 1 or angles.size == 0:
        raise ValueError(f"{path} must hold a list of angles, got shape {angles.shape}.")
    if not np.isfinite(angles).all():
        raise ValueError(f"{path} has angles that are not finite.")
    return np.asarray(angles, dtype=np.float64)


def _is_file(angles: str) -> bool:
    return ":" not in angles or Path(angles).exists()


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
        array = open_memmap(path, mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a .npy file of numbers: {error}.") from error
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{path} must hold real numbers, got dtype {array.dtype}.")
    return np.asarray(array)


def write_image(path: Path, image: Array, bits: int) -> float | None:
    """Write the file; return the value that is white in a PNG: the largest; 0 and less are black."""
    with writing(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file, image, allow_pickle=False)
            return None
        from PIL import Image

        white = max(float(image.max()), 0.0)
        gray = np.rint(np.clip(image / (white or 1.0), 0, 1) * (2**bits - 1))
        Image.fromarray(gray.astype(f"uint{bits}")).save(file, "PNG")
        return white


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
    missing = ", {missing_readings} readings missing" if record["missing_readings"] else ""
    white = "" if record["white"] is None else "; white is {white:.4g}"
    lines = (
        "{height} x {width} pixels from {detectors} detectors at {angles} angles" + missing + ".",
        "gamma {gamma:.3g}, chain {chain:g}: {reason}.",
        "{iterations} iterations with {graphs} pairs of graphs, {seconds:.1f} s.",
        "values from {smallest:.4g} to {largest:.4g}" + white + ".",
    )
    return "\n".join(lines).format(**record)
