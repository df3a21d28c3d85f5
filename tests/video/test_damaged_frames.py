"""Sources that cannot be read: one sentence for each reason."""

import pickle
import sys
import warnings
import zipfile
from fractions import Fraction

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from PIL import Image
from video_helpers import FILES, N, encode, quick, read, smooth

from graphlowrank.video import readers
from graphlowrank.video.frames import open_frames
from graphlowrank.video.sink import open_sink

# --- one sentence ------------------------------------------------------------------------------------------------

BAD_ARRAYS = {
    "must have the shape (time, height, width)": np.zeros((4, 5)),
    "got (4, 5, 6, 2)": np.zeros((4, 5, 6, 2)),
    "has no frames": np.zeros((0, 5, 6)),
    "has no pixels": np.zeros((4, 0, 6)),
    "type bool; frames are uint8, uint16 or floating point": np.zeros((4, 5, 6), dtype=bool),
    "type int64": np.zeros((4, 5, 6), dtype=np.int64),
    "holds Python objects": np.zeros((4, 5, 6), dtype=object),
    "at least two frames are needed; the selection has 1 of the 1 of": np.zeros((1, 5, 6)),
}


@pytest.mark.parametrize("message", BAD_ARRAYS)
@pytest.mark.parametrize("name", ["array", "a.npy", "a.npz"])
def test_arrays_that_are_no_frames(tmp_path, message, name):
    array, source = BAD_ARRAYS[message], tmp_path / name
    if name == "array":
        source = array
    elif name == "a.npy":
        np.save(source, array, allow_pickle=True)
    else:
        np.savez(source, frames=array)
        message = "holds no array of frames" if array.ndim == 2 else message
    with pytest.raises(ValueError, match="frames") as caught:
        open_frames(source)
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named_by_their_frame(tmp_path, value):
    array = np.zeros((9, 4, 6), dtype=np.float32)
    array[7, 1, 2] = value
    np.save(tmp_path / "a.npy", array)
    for source in (array, tmp_path / "a.npy"):
        with open_frames(source, start=1, step=2) as frames:
            blocks = frames.blocks(2)
            assert len(next(blocks)) == 2
            with pytest.raises(ValueError, match=r"frame 7 of .* has values that are not finite"):
                next(blocks)
    assert len(read(array, step=2)) == 5  # not one of those read


OPTIONS = [
    ({"start": -1}, "start must be at least 0; got -1"), ({"stop": -2}, "stop must be at least 0; got -2"),
    ({"step": 0}, "step must be at least 1; got 0"), ({"scale": 0}, "scale must be more than 0 and at most 1; got 0"),
    ({"scale": 1.5}, "scale must be more than 0 and at most 1"), ({"scale": float("nan")}, "scale must be"),
    ({"start": 13}, "the selection has 1 of the 14"), ({"stop": 3, "step": 5}, "the selection has 1"),
    ({"start": 20}, "the selection has 0"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_selections_that_cannot_be(room, options, message):
    with pytest.raises(ValueError, match=message):
        open_frames(room / "video.mp4", **options)


def test_frames_that_are_not_there(room):
    with open_frames(room / "video.mkv", stop=6, step=2) as frames:
        for wrong in ([-1], [1, 1], [2, 1]):
            with pytest.raises(ValueError, match="at least 0 and strictly ascending"):
                frames.take(wrong)
        with pytest.raises(ValueError, match=r"video\.mkv has no frame 3 in the selection"):
            frames.take([0, 3])
        with pytest.raises(ValueError, match="n must be at least 1; got 0"):
            frames.blocks(0)


def test_paths_that_cannot_be_read(tmp_path, room):
    def refused(name, kind, message, content=b""):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(kind, match=message):
            open_frames(tmp_path / name)

    refused("none.mp4", FileNotFoundError, r"there is no file or folder .*none\.mp4", None)
    refused("a.txt", ValueError, r"a\.txt is not of a known kind: a folder of images, or a file .*\.npy, \.npz, \.mp4")
    for name in ("a.mp4", "a.npy", "a.npz", "a.gif"):
        refused(name, ValueError, "is empty")
    refused("", ValueError, r"holds no images \(\.png, ", None)
    refused("a.mkv", ValueError, "cannot be read as a video: Invalid data", b"hello" * 99)
    (tmp_path / "b.mp4").write_bytes((room / "video.mp4").read_bytes())  # a list of other files is not followed
    refused("a.mp4", ValueError, "cannot be read as a video", b"ffconcat version 1.0\nfile b.mp4\n")
    refused("a.npy", ValueError, r"a\.npy is damaged: ", pickle.dumps([1, 2]))
    refused("a.npz", ValueError, r"a\.npz is damaged: File is not a zip file", pickle.dumps([1, 2]))
    raw = (room / "video.mp4").read_bytes()
    refused("a.mp4", ValueError, "needs a decoder that this build of PyAV does not have", raw.replace(b"avc1", b"zzzz"))
    with av.open(str(tmp_path / "a.avi"), "w") as container:
        sound = container.add_stream("pcm_s16le", rate=8000)
        silence = av.AudioFrame(format="s16", layout="mono", samples=800)
        silence.sample_rate = 8000
        container.mux(sound.encode(silence))
    refused("a.avi", ValueError, "holds no video", None)
    np.savez(tmp_path / "a.npz", a=np.zeros((2, 3, 4)), b=np.zeros((2, 3, 4, 3)))
    refused("a.npz", ValueError, "several arrays that may be frames: a, b; name one 'frames'", None)
    (tmp_path / "a.mp4").write_bytes(raw)
    with pytest.raises(ValueError, match="has frames of 1536 pixels, more than the 1000 allowed"):
        readers.VideoReader(tmp_path / "a.mp4", max_pixels=1000)


def test_a_bomb_is_not_unpacked(tmp_path):
    header = np.lib.format
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, archive.open("frames.npy", "w") as member:
        header.write_array_header_1_0(member, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 1000, 1000)})
    with pytest.raises(ValueError, match=r"holds 931\.3 GiB of frames, more than the 8\.0 GiB .* an \.npy file"):
        open_frames(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="damaged"):  # nor is it believed
        readers.open_npz(tmp_path / "a.npz", max_bytes=2**60)
    np.save(tmp_path / "a.npy", smooth())
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("frames.npy", (tmp_path / "a.npy").read_bytes() + b"more")
    with pytest.raises(ValueError, match="more bytes than its header says"):
        open_frames(tmp_path / "a.npz")


@pytest.mark.parametrize(("package", "name"), [("av", "video.mp4"), ("PIL", "pictures")])
def test_a_missing_package_is_named(room, monkeypatch, package, name):
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install graphlowrank\[video\]") as caught:
        open_frames(room / name)
    assert caught.value.name == package
    assert len(read(room / "frames.npz", scale=0.5)) == N


# --- damaged files -----------------------------------------------------------------------------------------------


def test_pictures_of_another_size_or_depth_are_named(tmp_path):
    Image.fromarray(np.zeros((4, 6), np.uint8)).save(tmp_path / "1.png")
    Image.fromarray(np.zeros((4, 6), np.uint16)).save(tmp_path / "2.png")
    with pytest.raises(ValueError, match=r"2\.png has 16 bits a value, unlike the first"):
        open_frames(tmp_path)
    Image.fromarray(np.zeros((5, 6), np.uint8)).save(tmp_path / "2.png")
    with pytest.raises(ValueError, match=r"2\.png is 6 x 5 pixels, unlike the first .* 6 x 4"):
        open_frames(tmp_path)
    Image.fromarray(np.zeros((4, 6), np.float32)).save(tmp_path / "2.tif")
    (tmp_path / "2.png").write_bytes((tmp_path / "1.png").read_bytes())
    with pytest.raises(ValueError, match=r"2\.tif .* 32 bits; save the frames as an \.npy file"):
        open_frames(tmp_path)
    (tmp_path / "2.tif").unlink()
    with open_frames(tmp_path) as frames:
        Image.fromarray(np.zeros((5, 6), np.uint8)).save(tmp_path / "2.png")  # meanwhile
        with pytest.raises(ValueError, match=r"2\.png is 6 x 5 pixels"):
            list(frames.blocks(9))


def test_a_video_that_changes_its_size_midway_is_named(tmp_path):
    packets = []
    for size in (32, 48):
        encode(tmp_path / "part.avi", smooth(3, size, size), "mjpeg", "yuvj420p")
        with av.open(str(tmp_path / "part.avi")) as part:
            packets += [bytes(packet) for packet in part.demux(video=0) if packet.size]
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("mjpeg", rate=Fraction(25))
        stream.height, stream.width, stream.pix_fmt = 32, 32, "yuvj420p"
        for i, data in enumerate(packets):
            packet = av.Packet(data)
            packet.stream, packet.time_base, packet.pts, packet.dts = stream, Fraction(1, 25), i, i
            container.mux(packet)
    with pytest.raises(ValueError, match=r"frame 3 of .*a\.mkv is 48 x 48 pixels, unlike the first, which is 32 x 32"):
        read(tmp_path / "a.mkv")


def read_damaged(path):
    """Return the frames or None, and the one sentence or the warnings that tell why not all are there."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            frames, reason = read(path), []
        except (ValueError, OSError) as error:
            frames, reason = None, [str(error)]
    assert all(warning.category is UserWarning for warning in warned)
    assert all(len(sentence) > 10 and "\n" not in sentence for sentence in reason)
    return frames, reason + [str(warning.message) for warning in warned]


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("video")])
@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_a_video_cut_off_says_so(tmp_path, name, share):
    with open_sink(tmp_path / name) as sink:
        sink.write(smooth(60))
    raw = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(raw[: int(share * len(raw))])
    _, sentences = read_damaged(tmp_path / name)
    said = ("announces 60 frames, only", "is cut off after frame", "is damaged", "no frames that can be read")
    assert any(part in sentence for part in said for sentence in sentences)


def test_a_gif_without_its_end_mark_is_cut_off(tmp_path, room):
    (tmp_path / "a.gif").write_bytes((room / "video.gif").read_bytes()[:-1])
    with pytest.warns(UserWarning, match=r"a\.gif is cut off after frame 13"):
        assert len(read(tmp_path / "a.gif")) == N


def test_what_is_missing_is_said_once_and_counted_from_then_on(tmp_path):
    with open_sink(tmp_path / "a.mp4") as sink:
        sink.write(smooth(60))
    with av.open(str(tmp_path / "a.mp4")) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    raw = (tmp_path / "a.mp4").read_bytes()
    (tmp_path / "a.mp4").write_bytes(raw[: places[50]])  # between two frames
    with open_frames(tmp_path / "a.mp4", step=2) as frames:
        assert frames.n_frames == 30
        with pytest.warns(UserWarning, match=r"a\.mp4 announces 60 frames, only \d\d could be read"):
            n_read = sum(map(len, frames.blocks(7)))
        assert 2 <= n_read < 30
        assert frames.n_frames == n_read
        assert sum(map(len, frames.blocks(9))) == n_read


def victim(room, tmp_path, name):
    """Copy a source; return the copy, and the file in it to damage."""
    copy = tmp_path / name
    if name != "pictures":
        return copy, copy, (room / name).read_bytes()
    copy.mkdir(exist_ok=True)
    for picture in (room / name).iterdir():
        (copy / picture.name).write_bytes(picture.read_bytes())
    return copy, copy / "frame_00003.png", (room / name / "frame_00003.png").read_bytes()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_files_cut_off_anywhere(tmp_path, room, name, share):
    source, file, raw = victim(room, tmp_path, name)
    file.write_bytes(raw[: int(len(raw) * share) + 1])
    seen, _ = read_damaged(source)
    if name.startswith(("frames", "pictures")):
        assert seen is None or np.array_equal(seen, smooth())  # only the end mark of a picture may be missed


@pytest.mark.parametrize("name", FILES)
@quick
@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=4))
def test_files_with_bits_flipped(tmp_path, room, name, flips):
    source, file, raw = victim(room, tmp_path, name)
    damaged = bytearray(raw)
    for place, bit in flips:
        damaged[int(place**3 * len(raw))] ^= 1 << bit  # more often in the headers
    file.write_bytes(damaged)
    seen, _ = read_damaged(source)
    if name == "frames.npz" and seen is not None:  # zip files carry a sum
        assert_array_equal(seen, smooth())
