"""Frames written to files and folders: what comes back, and what is left when something stops the writing."""

import os
import signal
import subprocess
import sys
import tracemalloc
import zipfile
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from PIL import Image

from graphlowrank.video import sink as sink_module
from graphlowrank.video.frames import open_frames
from graphlowrank.video.sink import KINDS, check_sink, open_sink

VIDEOS = [kind for kind in KINDS if not kind.startswith(".np")]
OUTPUTS = [*KINDS, "", "/"]
EXACT = [".npy", ".npz", ""]
# Decibels of smooth frames that come back; half the colours are thrown away by all, and a gif has 256.
FIDELITY = {"grey": 40, "colour": 33, ".gif": 28}


def smooth(n=12, height=47, width=63):
    """Colour frames that move, without a symmetry that could hide a flip or exchanged channels."""
    t, y, x = np.mgrid[:n, :height, :width]
    waves = [np.sin((x + t) / 9), np.cos((y - t) / 17), x / width + y / height / 3 - 1]
    return (128 + 100 * np.stack(waves, axis=-1)).astype(np.uint8)


def fidelity(frames, seen):
    """Peak signal-to-noise ratio of the least faithful frame, in decibels; grey is compared with its three copies."""
    frames = np.broadcast_to(frames.reshape(*frames.shape[:3], -1), seen.shape)
    errors = np.mean((frames.astype(float) - seen) ** 2, axis=(1, 2, 3))
    return 10 * np.log10(255**2 / max(errors.max(), 1e-9))


def write(path, *blocks, **options):
    with open_sink(path, **options) as sink:
        for block in blocks:
            sink.write(block)
    return path


def read(path):
    with open_frames(path) as frames:
        return np.concatenate(list(frames.blocks(5)))


def write_until(stop, path, *blocks):
    """Write, then do what stops the writing inside the with statement."""
    with open_sink(path) as sink:
        for block in blocks:
            sink.write(block)
        stop()


def raising(error):
    def stop(*_, **__):
        raise error

    return stop


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def path_of(tmp_path, output, name="out"):
    return f"{tmp_path}/{name}{output}"


# --- what comes back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", VIDEOS)
@pytest.mark.parametrize("look", ["grey", "colour"])
def test_videos_come_back_faithful_and_at_their_speed(tmp_path, kind, look):
    frames = smooth() if look == "colour" else smooth()[..., 0]
    path = write(tmp_path / f"out{kind}", frames[:5], frames[5:], fps=30000 / 1001)
    with open_frames(path) as seen:
        pixels = np.concatenate(list(seen.blocks(100)))
        assert seen.n_frames == 12
        assert seen.fps == pytest.approx(30000 / 1001, rel=1e-9 if kind != ".gif" else 0.02)
    assert fidelity(frames, pixels[:, :47, :63]) > FIDELITY.get(kind if look == "colour" else look, FIDELITY[look])
    if look == "grey":
        assert np.ptp(pixels.astype(int), axis=-1).max() <= 1  # no tint


@pytest.mark.parametrize("kind", [".mp4", ".m4v", ".mov", ".mkv"])
def test_ordinary_players_know_the_codec(tmp_path, kind):
    frames = smooth()
    path = write(tmp_path / f"out{kind}", frames)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height) == (64, 48)  # the codec has no odd sizes
        assert stream.average_rate == Fraction(25)
        assert (int(stream.codec_context.colorspace), int(stream.codec_context.color_range)) == (6, 1)  # BT.601, studio
    pixels = read(path).astype(int)
    assert np.abs(pixels[:, 47] - pixels[:, 46]).mean() < 5  # the last row and column once more
    assert np.abs(pixels[:, :, 63] - pixels[:, :, 62]).mean() < 5
    if kind != ".mkv":
        raw = path.read_bytes()
        assert raw.index(b"moov") < raw.index(b"mdat")  # a browser can start before it has everything


@pytest.mark.parametrize("kind", [".webm", ".avi", ".gif"])
def test_odd_sizes_stay_where_the_codec_has_them(tmp_path, kind):
    assert read(write(tmp_path / f"out{kind}", smooth(3))).shape == (3, 47, 63, 3)


@pytest.mark.parametrize("kind", [*VIDEOS, ""])
def test_masks_are_black_and_white(tmp_path, kind):
    masks = smooth()[:, :46, :62, 0] > 128
    pixels = read(write(tmp_path / f"out{kind}", masks))
    assert_array_equal((pixels > 127).reshape(*masks.shape, -1)[..., 0], masks)
    assert pixels.min() < 10
    assert pixels.max() > 245


def test_greys_of_a_gif_are_exact(tmp_path):
    greys = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)[[0, 0, 0]]
    greys[1] = greys[1, ::-1]
    assert_array_equal(read(write(tmp_path / "out.gif", greys)), np.repeat(greys[..., None], 3, axis=-1))
    with Image.open(tmp_path / "out.gif") as seen_by_pillow:
        assert seen_by_pillow.n_frames == 3


def test_a_gif_is_not_faster_than_browsers_show_it(tmp_path):
    write(tmp_path / "out.gif", smooth(6), fps=200)
    with Image.open(tmp_path / "out.gif") as image:
        assert image.info["duration"] == 20


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), kind=st.sampled_from([".npy", ".npz"]))
def test_arrays_of_any_type_come_back_exactly(tmp_path, data, kind):
    dtype = data.draw(st.sampled_from(["u1", "u2", "i4", "f2", "f4", "<f8", ">f8", "?", "c8"]))
    shape = data.draw(st.tuples(*[st.integers(1, 5)] * 3)) + data.draw(st.sampled_from([(), (3,)]))
    frames = data.draw(hnp.arrays(dtype, shape))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(frames)), max_size=3)))
    path = write(tmp_path / f"out{kind}", *np.split(frames, cuts))
    with np.load(path, allow_pickle=False) if kind == ".npz" else open(path, "rb") as file:  # noqa: PTH123
        seen = file["frames"] if kind == ".npz" else np.load(file, allow_pickle=False)
    assert seen.dtype == np.dtype(dtype)
    assert_array_equal(seen, frames)


@pytest.mark.parametrize("output", ["", "/"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_folder_of_pictures_is_exact(tmp_path, output, dtype, rng):
    frames = rng.integers(0, np.iinfo(dtype).max + 1, (12, 5, 7), dtype=dtype)
    write(path_of(tmp_path, output), frames[:4], frames[4:])
    assert names(tmp_path / "out") == [f"frame_{i:05d}.png" for i in range(12)]
    seen = read(tmp_path / "out")
    assert seen.dtype == dtype
    assert_array_equal(seen, frames)


def test_frames_that_are_views_are_written_as_they_look(tmp_path, rng):
    frames = rng.integers(0, 256, (7, 9, 4, 3), dtype=np.uint8)
    for i, view in enumerate([frames[::-1].transpose(0, 2, 1, 3), np.asfortranarray(frames)]):
        for output in EXACT:
            assert_array_equal(read(write(path_of(tmp_path, output, f"out{i}"), view)), view)


def test_memory_does_not_grow_with_the_frames(tmp_path):
    block = smooth(4, 240, 320)
    for output in [".npy", ".npz", ".mp4", ""]:
        tracemalloc.start()
        write(path_of(tmp_path, output), *[block] * 20)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 6 * block.nbytes, output  # of 20


def test_the_same_frames_make_the_same_file(tmp_path):
    for kind in [".npy", ".avi", ".webm", ".gif"]:
        first, second = (write(tmp_path / f"{name}{kind}", smooth(4)).read_bytes() for name in "ab")
        assert first == second


# --- whole or not there ------------------------------------------------------------------------------------------


class Stop(KeyboardInterrupt):
    """Ctrl-C, told from a real one."""


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("n_blocks", [0, 2])
@pytest.mark.parametrize("stopped_by", [Stop, OSError(5, "Input/output error"), ValueError("elsewhere")])
def test_what_is_stopped_leaves_nothing(tmp_path, output, n_blocks, stopped_by):
    with pytest.raises((Stop, OSError, ValueError)) as caught:
        write_until(raising(stopped_by), path_of(tmp_path, output), *[smooth(2)] * n_blocks)
    assert caught.value is stopped_by or caught.type is stopped_by  # not taken for a fault of the output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path, kind):
    path = tmp_path / f"out{kind}"
    path.write_bytes(b"old")
    with pytest.raises(Stop):
        write_until(raising(Stop), path, smooth(2))
    assert path.read_bytes() == b"old"
    with open_sink(path) as sink:
        sink.write(smooth(2))
        assert path.read_bytes() == b"old"
    assert len(read(path)) == 2
    assert list(tmp_path.iterdir()) == [path]


STEPS = [
    (".npy", sink_module.os, "fsync"), (".npz", sink_module.shutil, "copyfileobj"), (".mp4", sink_module.os, "fsync"),
    ("", sink_module.Path, "replace"), (".mkv", sink_module.Path, "replace"), (".avi", np, "pad"),
    ("", np, "ascontiguousarray"), (".gif", sink_module.GifSink, "_frame"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "home", "step"), STEPS)
@pytest.mark.parametrize("stopped_by", [Stop, OSError(28, "No space left on device")])
def test_a_stop_in_the_middle_of_our_own_work_leaves_nothing(tmp_path, monkeypatch, output, home, step, stopped_by):
    path = path_of(tmp_path, output)
    check_sink(path)
    monkeypatch.setattr(home, step, raising(stopped_by))
    with pytest.raises((Stop, OSError)) as caught:
        write(path, smooth(2))
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    if isinstance(caught.value, OSError):
        assert caught.value.strerror == f"cannot write {path}: No space left on device"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_at_the_keyboard_leaves_nothing(tmp_path):
    code = f"""
import signal
import numpy as np
from graphlowrank.video.sink import open_sink
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are started deaf to it
for output in (".mp4", ".npz", "/"):
    try:
        with open_sink({path_of(tmp_path, "")!r} + output) as sink:
            for i in range(10**6):
                sink.write(np.zeros((2, 64, 64), dtype=np.uint8))
                print("block of", output, flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        input()  # the next output would have a temporary file
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        for output in (".mp4", ".npz", "/"):
            for _ in range(5):
                assert process.stdout.readline() == f"block of {output}\n"
            process.send_signal(signal.SIGINT)
            while (line := process.stdout.readline()) == f"block of {output}\n":
                pass
            assert line.endswith("stopped\n")  # perhaps in the middle of a line
            assert list(tmp_path.iterdir()) == []
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.wait(timeout=30) == 0


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_full_disk_is_one_sentence_and_nothing_else(tmp_path):
    code = f"""
import resource, numpy as np
from pathlib import Path
from graphlowrank.video.sink import KINDS, open_sink
noise = np.random.default_rng(0).integers(0, 256, (10, 60, 80, 3), dtype=np.uint8)
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
for output in [*KINDS, "/"]:
    path = f"{tmp_path}/out{{output}}"
    try:
        with open_sink(path) as sink:
            sink.write(noise)
    except OSError as error:
        assert error.strerror == f"cannot write {{path}}: File too large", error
    else:
        raise AssertionError(output)
    assert not list(Path({str(tmp_path)!r}).iterdir())
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["", "/", ".mp4"])
def test_a_folder_with_files_is_refused_at_once(tmp_path, output):
    folder = tmp_path / f"out{output.strip('/')}"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    for attempt in (check_sink, open_sink):
        with pytest.raises(FileExistsError, match="is not empty; frames are not mixed with other files"):
            attempt(path_of(tmp_path, output))
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_an_empty_folder_is_filled_unless_it_fills_meanwhile(tmp_path):
    (tmp_path / "out.d").mkdir()
    write(tmp_path / "out.d", smooth(2))
    assert len(read(tmp_path / "out.d")) == 2

    def fill():
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine.txt").touch()

    with pytest.raises(OSError, match=r"cannot write .*out"):
        write_until(fill, tmp_path / "out", smooth(2))
    assert names(tmp_path) == ["out", "out.d"]
    assert names(tmp_path / "out") == ["mine.txt"]


def test_refusals_before_any_work(tmp_path):
    with pytest.raises(
        ValueError, match=r"out\.xyz is not of a known kind: a file that ends in \.mp4, .*\.npy, or a fol"
    ):
        check_sink(tmp_path / "out.xyz")
    for fps in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"fps must be from 0\.01 to 1000; got"):
            open_sink(tmp_path / "out.mp4", fps=fps)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="file is a file, so it cannot be a folder of images"):
        check_sink(tmp_path / "file")
    with pytest.raises(OSError, match=r"cannot write .*file/out\.mp4: "):
        check_sink(tmp_path / "file" / "out.mp4")
    (tmp_path / "old.npy").touch()
    check_sink(tmp_path / "old.npy")
    with pytest.raises(FileExistsError, match=r"old\.npy already exists"):
        open_sink(tmp_path / "old.npy", overwrite=False)
    assert names(tmp_path) == ["file", "old.npy"]


@pytest.mark.parametrize(("package", "output"), [("av", ".mp4"), ("av", ".gif"), ("PIL", ".gif"), ("PIL", "")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, package, output):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install graphlowrank\[video\]") as caught:
        check_sink(path_of(tmp_path, output))
    assert caught.value.name == package
    check_sink(tmp_path / "out.npz")


def test_frames_that_do_not_fit_are_refused(tmp_path):
    frames = smooth(2)
    for wrong in (frames[0, :, :, 0], frames[..., :2], frames[:, :0]):
        with pytest.raises(ValueError, match=r"must have the shape \(n, height, width\)"):
            write(tmp_path / "out.npy", wrong)
    for other in (frames[:, 1:], frames.astype(float), frames[..., 0]):
        with pytest.raises(ValueError, match="frames must all be alike; got"):
            write(tmp_path / "out.npy", frames, other)
    for output in [*VIDEOS, ""]:
        with pytest.raises(ValueError, match=r"can hold frames of uint8.* or booleans; got float64"):
            write(path_of(tmp_path, output), frames / 255)
    with pytest.raises(ValueError, match="can hold numbers; got object"):
        write(tmp_path / "out.npz", frames.astype(object))
    with pytest.raises(ValueError, match="not written with 16-bit colors"):
        write(tmp_path / "out", frames.astype(np.uint16))
    with pytest.raises(ValueError, match=r"encoder libx264 cannot write these frames: .*\w\.$"):
        write(tmp_path / "out.mp4", np.zeros((1, 2, 40000), dtype=np.uint8))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_written_is_an_error(tmp_path, output):
    for blocks in ([], [smooth(2)[:0]]):
        with pytest.raises(ValueError, match="no frames were written to"):
            write(path_of(tmp_path, output), *blocks)
    sink = open_sink(path_of(tmp_path, output))
    with pytest.raises(ValueError, match="only inside its with statement"):
        sink.write(smooth(2))
    assert list(tmp_path.iterdir()) == []


def test_missing_folders_are_made_and_links_are_followed(tmp_path):
    assert len(read(write(tmp_path / "new" / "deep" / "out.mp4", smooth(2)))) == 2
    (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
    write(tmp_path / "link.npz", smooth(2))
    assert (tmp_path / "link.npz").is_symlink()
    assert zipfile.ZipFile(tmp_path / "real.npz").namelist() == ["frames.npy"]
