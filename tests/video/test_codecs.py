"""Codecs of videos: what is asked for is what the file holds, and what cannot be written is refused before any work."""

import av
import numpy as np
import pytest
from typer.testing import CliRunner

from graphlowrank.cli import app
from graphlowrank.cli import video as command
from graphlowrank.video import encodings, open_frames, open_sink
from graphlowrank.video.encodings import CONTAINERS
from graphlowrank.video.sink import check_sink

PAIRS = [(kind, encoding.codec) for kind, container in CONTAINERS.items() for encoding in container.encodings]


def smooth(n=6, height=47, width=63):
    t, y, x = np.mgrid[:n, :height, :width]
    waves = [np.sin((x + t) / 9), np.cos((y - t) / 17), x / width + y / height / 3 - 1]
    return (128 + 100 * np.stack(waves, axis=-1)).astype(np.uint8)


def codec_of(path):
    with av.open(str(path)) as container:
        return container.streams.video[0].codec_context.name


@pytest.mark.parametrize(("kind", "codec"), PAIRS)
def test_a_file_has_the_codec_that_was_asked_for(tmp_path, kind, codec):
    frames, path = smooth(), tmp_path / f"out{kind}"
    with open_sink(path, codec=codec) as sink:
        sink.write(frames)
    assert codec_of(path) == codec
    with open_frames(path) as seen:
        pixels = np.concatenate(list(seen.blocks(100)))[:, :47, :63]
    assert len(pixels) == len(frames)
    assert np.mean((frames.astype(float) - pixels) ** 2) < (255**2 / 10**2.8 if kind == ".gif" else 255**2 / 10**3.3)


def test_only_h264_needs_an_encoder_under_the_gpl():
    gpl = {one.codec for container in CONTAINERS.values() for one in container.encodings if "x26" in one.encoder}
    assert gpl == {"h264"}
    assert all(container.encodings[-1].codec not in gpl for container in CONTAINERS.values())  # each has another


@pytest.mark.parametrize("fps", [120_000 / 1001, 999.37, 0.01])
def test_rates_that_mpeg4_cannot_write_exactly_are_rounded(tmp_path, fps):
    with open_sink(tmp_path / "out.mp4", fps=fps, codec="mpeg4") as sink:
        sink.write(smooth(3))
    with open_frames(tmp_path / "out.mp4") as seen:
        assert seen.fps == pytest.approx(fps, rel=1e-4)


def test_the_command_writes_videos_with_the_codec_and_arrays_without(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", smooth(12))
    result = CliRunner().invoke(app, ["video", "in.npy", "-b", "b.mp4", "-m", "m.npy", "--codec", "vp9"])
    assert result.exit_code == 0, result.stderr
    assert (codec_of("b.mp4"), np.load("m.npy").shape) == ("vp9", (12, 47, 63))
    monkeypatch.setattr(command, "open_sink", lambda *_, **__: pytest.fail("it has begun"))
    result = CliRunner().invoke(app, ["video", "in.npy", "-b", "new.mov", "--codec", "vp9"])
    assert result.exit_code == 1
    assert ".mov files are not written with the codec 'vp9', but h264 or mpeg4." in result.stderr
    assert not (tmp_path / "new.mov").exists()


def test_a_missing_encoder_is_refused_before_any_work(tmp_path, monkeypatch):
    missing = encodings.Encoding("h264", "libnothing", "yuv420p", {})
    monkeypatch.setitem(CONTAINERS, ".mp4", encodings.Container("mp4", (missing, CONTAINERS[".webm"].encodings[0])))
    with pytest.raises(ValueError, match=r"no encoder libnothing, which \.mp4 .*; choose another codec"):
        check_sink(tmp_path / "out.mp4")
    assert check_sink(tmp_path / "out.mp4", codec="vp9") == ".mp4"
    assert not list(tmp_path.iterdir())
