"""Frames read from wherever they are: the same frames whatever the blocks, and one sentence when they cannot be."""

import tracemalloc
from functools import cache

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from video_helpers import FILES, SOURCES, N, encode, quick, read, smooth, source_of

from graphlowrank.video import readers
from graphlowrank.video.frames import AreaAverage, open_frames
from graphlowrank.video.sink import open_sink

# --- the same frames, whatever the way to them -------------------------------------------------------------------


@cache
def whole(room, name):
    return read(source_of(room, name))


@pytest.mark.parametrize("name", SOURCES)
def test_what_a_source_says_of_itself(room, name):
    source = source_of(room, name)
    with open_frames(source, step=2) as frames:
        assert (frames.shape, frames.height, frames.width, frames.color) == ((32, 48, 3), 32, 48, True)
        assert frames.dtype == np.uint8
        assert frames.n_frames == (None if name == "video.mkv" else 7)
        assert frames.fps == (pytest.approx(5) if name.startswith("video") else None)
        assert frames.name == ("the array of frames" if name == "array" else str(source))
        assert sum(map(len, frames.blocks(3))) == 7
        assert frames.n_frames == 7  # known once it has been read
        assert frames.name in repr(frames)


@pytest.mark.parametrize("name", SOURCES)
@quick
@given(start=st.integers(0, 5), stop=st.none() | st.integers(10, 20), step=st.integers(1, 4), n=st.integers(1, 20))
def test_blocks_are_slices_of_the_whole(room, name, start, stop, step, n):
    expected = whole(room, name)[start:stop:step]
    with open_frames(source_of(room, name), start=start, stop=stop, step=step) as frames:
        for _ in range(2):  # every call starts again
            blocks = list(frames.blocks(n))
            assert_array_equal(np.concatenate(blocks), expected)
            assert [len(block) for block in blocks[:-1]] == [n] * (len(blocks) - 1)
            assert 1 <= len(blocks[-1]) <= n


@pytest.mark.parametrize("name", SOURCES)
@quick
@given(indices=st.sets(st.integers(0, 5)), start=st.integers(0, 3), step=st.integers(1, 2))
def test_take_is_indexing(room, name, indices, start, step):
    with open_frames(source_of(room, name), start=start, step=step) as frames:
        chosen = sorted(indices)
        assert_array_equal(frames.take(chosen), whole(room, name)[start::step][chosen])


@pytest.mark.parametrize("name", SOURCES)
def test_two_readings_at_once_do_not_disturb_each_other(room, name):
    with open_frames(source_of(room, name)) as frames:
        for slow, quick in zip(frames.blocks(3), frames.blocks(3), strict=True):
            assert_array_equal(slow, quick)
            slow[:] = 0  # the caller's own
        assert read(source_of(room, name)).any()


@pytest.mark.parametrize("name", [name for name in FILES if name != "frames.npz"])  # that is unpacked to memory
def test_memory_is_that_of_a_few_blocks(tmp_path, name):
    with open_sink(tmp_path / name) as sink:
        for _ in range(20):
            sink.write(smooth(4, 120, 160))
    with open_frames(tmp_path / name) as frames:
        tracemalloc.start()
        n_read = sum(len(block) for block in frames.blocks(4))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert n_read == 80
    assert peak < 6 * smooth(4, 120, 160).nbytes  # of 20 blocks


def test_decoding_ends_with_the_last_frame_wanted(room, monkeypatch):
    decoded = []
    decode = readers.VideoReader._decode

    def counting(self, *args):
        for frame in decode(self, *args):
            decoded.append(frame.pts)
            yield frame

    monkeypatch.setattr(readers.VideoReader, "_decode", counting)
    with open_frames(room / "video.mp4", start=1) as frames:
        decoded.clear()
        frames.take([2, 5])
        assert len(decoded) == 7
        assert frames.take([]).shape == (0, 32, 48, 3)
        assert len(decoded) == 7


def test_a_closed_source_reads_no_more(room):
    frames = open_frames(room / "video.mp4")
    blocks = frames.blocks(3)
    next(blocks)
    frames.close()
    frames.close()
    for attempt in (lambda: next(blocks), lambda: next(frames.blocks(3)), lambda: frames.take([0])):
        with pytest.raises(ValueError, match=r"video\.mp4 is closed"):
            attempt()


# --- kinds of frames ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32, np.float64, ">u2", ">f4"])
@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
def test_arrays_keep_their_type_and_lose_their_opacity(tmp_path, dtype, channels, rng):
    array = (200 * rng.random((5, 4, 6, *channels))).astype(dtype)
    expected = {(): array, (1,): array[..., :1].squeeze(-1) if channels else array}.get(channels, array[..., :3])
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", pictures=array, times=np.arange(5.0), shift=np.zeros((5, 2)))
    np.savez_compressed(tmp_path / "b.npz", frames=np.asfortranarray(array), masks=array)
    for source in (array, *sorted(tmp_path.iterdir())):
        seen = read(source)
        assert seen.dtype == open_frames(source).dtype == np.dtype(dtype).newbyteorder("=")
        assert_array_equal(seen, expected)


def test_pictures_come_in_the_order_of_their_numbers(tmp_path):
    for value, name in enumerate(["a1.png", "frame2.PNG", "frame10.png", "frame11.bmp", "Frame100.tif"]):
        Image.fromarray(np.full((4, 6), value, np.uint8)).save(tmp_path / name)
    for name in (".hidden.png", "notes.txt"):
        (tmp_path / name).write_text("no picture")
    (tmp_path / "folder.png").mkdir()
    assert_array_equal(read(tmp_path)[:, 0, 0], np.arange(5))


def test_pictures_of_many_kinds(tmp_path, rng):
    grey, colour = rng.integers(0, 256, (8, 8), dtype=np.uint8), rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    opaque = np.dstack([colour, grey])
    Image.fromarray(grey).save(tmp_path / "1.png")
    Image.fromarray(np.dstack([grey, grey.T])).save(tmp_path / "2.png")
    Image.fromarray(grey > 127).save(tmp_path / "3.bmp")
    assert_array_equal(read(tmp_path), [grey, grey, 255 * (grey > 127)])
    Image.fromarray(opaque).save(tmp_path / "4.webp", lossless=True, exact=True)
    Image.fromarray(colour).save(tmp_path / "5.tiff")
    Image.fromarray(colour).quantize(64).save(tmp_path / "6.png")
    seen = read(tmp_path)
    assert_array_equal(seen[0], np.repeat(grey[..., None], 3, axis=2))  # one in colour, all in colour
    assert_array_equal(seen[3:5], [colour, colour])
    assert_array_equal(seen[5], np.asarray(Image.fromarray(colour).quantize(64).convert("RGB")))


def test_videos_without_loss_are_exact_and_grey_stays_grey(tmp_path):
    frames = smooth()
    assert_array_equal(read(encode(tmp_path / "colour.mkv", frames, "ffv1", "bgr0")), frames)
    assert_array_equal(read(encode(tmp_path / "grey.avi", frames[..., 1], "ffv1", "gray")), frames[..., 1])
    assert_array_equal(read(encode(tmp_path / "deep.mkv", frames[..., 1], "ffv1", "gray10le")), frames[..., 1])


@pytest.mark.skipif(not hasattr(av.video.stream.VideoStream, "set_display_rotation"), reason="an older PyAV")
def test_a_telephone_held_upright_gives_upright_frames(tmp_path):
    path = encode(tmp_path / "a.mov", smooth(3), "qtrle", "rgb24", lambda stream: stream.set_display_rotation(-90))
    assert_array_equal(read(path), np.rot90(smooth(3), -1, axes=(1, 2)))


def test_a_gif_by_another_hand(tmp_path):
    pictures = [Image.fromarray(frame).quantize(32) for frame in smooth(4)]
    pictures[0].save(tmp_path / "a.gif", save_all=True, append_images=pictures[1:], duration=100)
    assert_array_equal(read(tmp_path / "a.gif"), [np.asarray(picture.convert("RGB")) for picture in pictures])


# --- smaller frames ----------------------------------------------------------------------------------------------


@given(size=st.tuples(st.integers(1, 13), st.integers(1, 13)), scale=st.floats(0.01, 1), colour=st.booleans())
@settings(deadline=None)
def test_every_new_pixel_is_the_average_of_its_area(size, scale, colour):
    frame = np.random.default_rng(0).random((*size, 3) if colour else size)
    shrink = AreaAverage(frame.shape, frame.dtype, scale)
    height, width = shrink.shape[:2]
    fine = frame.repeat(height, axis=0).repeat(width, axis=1)  # every area is now made of whole pixels
    areas = fine.reshape(height, size[0], width, size[1], -1).mean(axis=(1, 3))
    assert_allclose(shrink(frame), areas.reshape(shrink.shape), rtol=1e-12)


@pytest.mark.parametrize("name", SOURCES)
def test_scaled_sources(room, name):
    seen, whole = read(source_of(room, name), scale=0.5), read(source_of(room, name))
    assert seen.dtype == np.uint8
    means = whole.reshape(N, 16, 2, 24, 2, 3).mean(axis=(2, 4))
    assert np.abs(seen - means).max() <= 0.5  # rounded, not cut off
    with open_frames(source_of(room, name), scale=0.5, step=3) as frames:
        assert_array_equal(frames.take([0, 2]), seen[[0, 6]])
        assert frames.shape == (16, 24, 3)


def test_sixteen_bits_are_scaled_whole():
    frames = np.array([[[65535, 65534], [65533, 65531]]] * 2, dtype=np.uint16)
    assert_array_equal(read(frames, scale=0.5), np.full((2, 1, 1), 65533))
