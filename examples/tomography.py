"""Reconstruct a phantom from a fifth of its projections: filtered back-projection, denoised SART, and graphs.

    python examples/tomography.py [--output tomography.png]     # pip install graphlowrank matplotlib scikit-image

36 of 180 angles, 64 x 64 pixels, without noise and then with noise of 1 % of the largest reading. SART is denoised
by total variation, with the best number of sweeps and the best weight, found with the true image; ours does not use it.
Reconstruction with a total-variation penalty is better than ours here: see benchmarks/tomography.py.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from skimage.restoration import denoise_tv_chambolle
from skimage.transform import iradon, iradon_sart
from sklearn.exceptions import ConvergenceWarning

from graphlowrank.datasets import shepp_logan_phantom
from graphlowrank.metrics import psnr
from graphlowrank.tomography import projection_matrix, reconstruct

INK = "#1c1f24"
SIZE, N_ANGLES = 64, 36  # 20 % of 180 angles
NOISES = (0.0, 0.01)  # of the largest reading
SWEEPS = 20
WEIGHTS = np.geomspace(0.002, 1, 14)


def reconstructions(phantom: np.ndarray, noise: float, seed: int) -> dict[str, np.ndarray]:
    """Reconstruct the phantom from noisy projections in three ways."""
    angles = np.arange(N_ANGLES) * 180 / N_ANGLES
    A = projection_matrix(phantom.shape, angles)
    b = A @ phantom.ravel()
    b += noise * b.max() * np.random.default_rng(seed).standard_normal(b.shape)

    sinogram = b.reshape(N_ANGLES, SIZE).T
    projected = iradon(sinogram, theta=angles, filter_name="ramp")
    sweep, smoothed = None, []
    for _ in range(SWEEPS):
        sweep = iradon_sart(sinogram, theta=angles, image=sweep)
        smoothed += [np.maximum(denoise_tv_chambolle(sweep, weight=weight), 0) for weight in WEIGHTS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last digits are not visible
        found = reconstruct(A, b, phantom.shape, nonnegative=True)
    return {
        "filtered back-projection": np.maximum(projected, 0),
        "SART, TV denoised": max(smoothed, key=lambda image: psnr(phantom, image)),
        "smooth on graphs (ours)": found.image,
    }


def draw(rows: list[tuple[str, dict[str, np.ndarray]]], phantom: np.ndarray) -> Figure:
    """Draw one row for each noise level, the phantom first."""
    figure = Figure(figsize=(9.6, 2.75 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 4, squeeze=False)
    for line, (label, images) in zip(panels, rows, strict=True):
        for axes, (name, image) in zip(line, {"phantom": phantom, **images}.items(), strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            score = "" if image is phantom else f"\n{psnr(phantom, image):.1f} dB"
            axes.set_title(name + (score or "\n"), fontsize=10, color=INK)
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set_visible(False)
        line[0].set_ylabel(label, fontsize=10, color=INK)
    return figure


def main() -> None:
    """Write the figure and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("tomography.png"), help="figure to write")
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise")
    options = parser.parse_args()

    phantom = shepp_logan_phantom(SIZE)
    rows = []
    for noise in NOISES:
        label = f"{N_ANGLES} angles, " + (f"{noise:.0%} noise" if noise else "no noise")
        rows.append((label, reconstructions(phantom, noise, options.seed)))
        scores = ", ".join(f"{name} {psnr(phantom, image):.1f} dB" for name, image in rows[-1][1].items())
        print(f"{label}: {scores}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    draw(rows, phantom).savefig(options.output, dpi=120)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
