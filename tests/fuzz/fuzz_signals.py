"""Sends a signal to a running command at a random moment, and looks at what is left."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

COMMANDS = {
    "cluster": ("cluster x.npy -k 3 -o {to}/l.csv -r {to}/l.html", ("l.csv", "l.html")),
    "cluster AnnData": ("cluster {to}/x.h5ad -k 3 -o {to}/x.h5ad", ("x.h5ad",)),
    "recover": ("recover x.npy --rank 3 -o {to}/c.csv -s {to}/s.npy", ("c.csv", "s.npy")),
    "recover to zarr": ("recover x.npy --rank 3 -o {to}/c.zarr", ("c.zarr",)),
    "video": ("video v.npy -b {to}/b.npz -f {to}/f -m {to}/m.npz -r {to}/v.html", ("b.npz", "f", "m.npz", "v.html")),
    "reconstruct": ("reconstruct sinogram.npy -o {to}/i.npy", ("i.npy",)),
    "plan": ("plan x.npy", ()),
    "demo": ("demo -o {to}/d.html", ("d.html",)),
}
SIGNALS = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGTERM, signal.SIGKILL)
SHARES = (0.3, 0.6, 0.8, 0.9, 0.95, 1.0)  # of the time of a whole run, at most
LONGEST = 90.0  # seconds of a run that nobody stops
GRACE = 120.0  # seconds: older than what a command takes for that of a running one


def make_inputs(folder):
    import anndata

    from graphlowrank.datasets import shepp_logan_phantom
    from graphlowrank.tomography import projection_matrix

    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 12))[np.arange(150) % 3] + 0.3 * rng.standard_normal((150, 12))
    frames = np.clip(100 + 5 * rng.standard_normal((30, 24, 32)), 0, 255).astype(np.uint8)
    readings = projection_matrix((16, 16), np.arange(12) * 15.0) @ shepp_logan_phantom(16).ravel()
    np.save(folder / "x.npy", X)
    np.save(folder / "v.npy", frames)
    np.save(folder / "sinogram.npy", readings.reshape(12, -1).T)
    anndata.AnnData(X).write_h5ad(folder / "x.h5ad")


def digest(path):
    """Digest of a file, or of the names and files of a folder."""
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(str(each).encode() + each.read_bytes() for each in files)).hexdigest()


def start(command, folder, to):
    def hear():
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_DFL)  # also in the background of a shell, which ignores Ctrl-C

    words = [sys.executable, "-m", "graphlowrank", *COMMANDS[command][0].format(to=to).split()]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=folder, stdout=pipe, stderr=pipe, text=True, preexec_fn=hear)  # noqa: PLW1509


def whole_run(command, folder, to):
    """Seconds of a run that nobody stops; an error if it fails."""
    began = time.time()
    with start(command, folder, to) as process:
        try:
            _, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    if process.returncode:
        raise RuntimeError(f"a whole run exits with {process.returncode}: {said}")
    return time.time() - began


def place_older(command, folder, to, draw):
    """Put outputs of an earlier run in place, some of the time, and return their digests."""
    if command == "cluster AnnData":
        shutil.copy(folder / "x.h5ad", to / "x.h5ad")
    elif draw.random() < 0.6:
        for name in COMMANDS[command][1]:
            if name.endswith(".zarr"):
                shutil.copytree(folder / f"whole {command}" / name, to / name)
                (to / name / "older").write_text("older")
            elif "." in name:
                (to / name).write_text("older")
    return {path.name: digest(path) for path in to.iterdir()}


def is_complete(path, whole):
    """Whether an output of this run is all there, to judge by that of a whole run."""
    if path.suffix == ".html":
        return path.read_text().rstrip().endswith("</html>")  # it holds times
    if path.suffix == ".h5ad":
        import anndata

        return "label" in anndata.read_h5ad(path).obs
    if path.is_dir():
        return sorted(p.relative_to(path) for p in path.rglob("*")) == sorted(
            p.relative_to(whole) for p in whole.rglob("*")
        )
    if path.suffix == ".npz":
        with np.load(path) as file, np.load(whole) as other:
            return all(np.array_equal(file[name], other[name]) for name in other.files)
    return path.read_bytes() == whole.read_bytes()


def problems(command, to, whole, before, sent, code):
    """What is wrong with what is left."""
    names, parts = COMMANDS[command][1], [path for path in to.iterdir() if path.suffix == ".part"]
    state, found = {}, []
    for name in names:
        path = to / name
        if not path.exists():
            state[name] = "lost" if name in before else "absent"
        elif digest(path) == before.get(name):
            state[name] = "older"
        else:
            state[name] = "new" if is_complete(path, whole / name) else "half"
    if {"lost", "half"} & set(state.values()):
        found.append(f"outputs are {state}")
    if sent != signal.SIGKILL and len({one == "new" for one in state.values()}) > 1:
        found.append(f"some outputs are new, others not: {state}")
    if parts and sent != signal.SIGKILL:
        found.append("a temporary folder is left")
    if extra := [path.name for path in to.iterdir() if path not in parts and path.name not in names]:
        found.append(f"{extra} are left")
    # 130 is documented; before Python reaches the command, the system ends it, or Python itself after Ctrl-C.
    allowed = {0: {None, *SIGNALS}, 130: {signal.SIGINT, signal.SIGTERM}}
    if sent not in allowed.get(code, {signal.Signals(-code)} if code < 0 else set()):
        found.append(f"exit code {code}")
    return found


def stop_at_random(process, to, seconds, sent, draw):
    """Send a signal at a random moment; return the text of standard error, and whether the command still ran."""
    try:
        if draw.random() < 0.5:
            process.wait(draw.random() * draw.choice(SHARES) * seconds)
        else:  # soon after the first temporary folder
            while process.poll() is None and not any(to.glob(".*.part")):
                time.sleep(0.002)
            process.wait(draw.random() * draw.choice((0.01, 0.1, 1.0, seconds)))
    except subprocess.TimeoutExpired:
        pass
    still = process.poll() is None
    if still:
        process.send_signal(sent)
    try:
        return process.communicate(timeout=30)[1], still
    except subprocess.TimeoutExpired:
        process.kill()
        return "does not end within 30 s of the signal", still


def swept(command, folder, to):
    """What is wrong after the next run, which must remove what a killed one left."""
    for part in to.glob(".*.part"):
        os.utime(part, (time.time() - GRACE,) * 2)
    shutil.rmtree(to / "f", ignore_errors=True)  # complete; no command writes into a folder with files
    whole_run(command, folder, to)
    left = [path.name for path in to.iterdir() if path.name.startswith(".")]
    return [f"the next run leaves {left}"] if left else []


def fuzz(seed, folder):
    """Outcome of the case with this seed. The moment depends on the machine, too."""
    draw = random.Random(f"signals {seed}")
    command, sent = draw.choice(sorted(COMMANDS)), draw.choice(SIGNALS)
    whole, to = folder / f"whole {command}", Path(folder) / "outputs"
    if not (folder / "x.npy").exists():
        make_inputs(folder)
    if not (whole / "seconds").exists():
        shutil.rmtree(whole, ignore_errors=True)  # of a whole run that took too long on a busy machine
        whole.mkdir()
        shutil.copy(folder / "x.h5ad", whole) if command == "cluster AnnData" else None
        (folder / "whole").symlink_to(whole)  # commands are split at spaces
        try:
            (whole / "seconds").write_text(str(whole_run(command, folder, folder / "whole")))
        finally:
            (folder / "whole").unlink()
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    before = place_older(command, folder, to, draw)
    with start(command, folder, to) as process:
        said, still = stop_at_random(process, to, float((whole / "seconds").read_text()), sent, draw)
    found = problems(command, to, whole, before, sent if still else None, process.returncode)
    if "Traceback" in said and process.returncode == 130:
        found.append(f"a traceback: {said}")
    if sent == signal.SIGKILL and not found:
        found = swept(command, folder, to)
    last = said.strip().splitlines()[-3:]
    text = f"{command}, {sent.name}, exit code {process.returncode}, {last}"
    return ("wrong", f"{text}: {'; '.join(found)}") if found else ("works", text)
