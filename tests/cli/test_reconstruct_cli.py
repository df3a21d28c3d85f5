"""The command ``graphlowrank reconstruct``, as its users meet it."""

import json
import re
import sys
from functools import cache
from inspect import signature
from unittest.mock import Mock

import numpy as np
import pytest
import typer
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from command_helpers import invoke, succeeded, tree
from graphlowrank import _files
from graphlowrank.cli import app
from graphlowrank.cli import reconstruct as command
from graphlowrank.datasets import shepp_logan_phantom
from graphlowrank.metrics import psnr
from graphlowrank.tomography import projection_matrix, reconstruct

SIZE, N_ANGLES = 24, 15
ANGLES = np.arange(N_ANGLES) * 180 / N_ANGLES
HELP = "see graphlowrank reconstruct --help, or run it again with --debug to see where it failed"
PLACE = "choose another place for the output"
INPUT = "check the name of the input, and that it may be read"
PHANTOM = shepp_logan_phantom(SIZE)


def readings(angles=ANGLES):
    """Angle by angle."""
    return (projection_matrix(PHANTOM.shape, angles) @ PHANTOM.ravel()).reshape(len(angles), -1)


@cache
def answer_of_the_library():
    return expected(readings())


def expected(b, angles=ANGLES, size=SIZE, **options):
    A = projection_matrix((size, size), angles, n_detectors=b.shape[1])
    return reconstruct(A, b.ravel(), (size, size), nonnegative=True, **options)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules[reconstruct.__module__], "MAX_SPLITS", 1)  # enough to see what is chosen
    np.save("in.npy", readings().T)
    return tmp_path


def run(words):
    return invoke("reconstruct", words)


def done(words):
    return succeeded(run(words))


def failure(result):
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    cause, remedy = result.stderr.splitlines()
    return cause.removeprefix("error: "), remedy


def test_the_image_is_that_of_the_library_and_like_the_phantom(here):
    result = done("in.npy -o new/out.npy")
    found, wanted = np.load("new/out.npy"), answer_of_the_library()
    assert_array_equal(found, wanted.image)
    assert psnr(PHANTOM, found) > 25
    first, why, work, _ = result.stdout.splitlines()
    assert first == "24 x 24 pixels from 24 detectors at 15 angles."
    chosen = f"gamma {wanted.gamma_features:.3g}, chain {wanted.chain:g}: of {len(wanted.tried)} tried"
    assert why.startswith(f"{chosen} it predicts held-out readings best")
    assert re.fullmatch(rf"{wanted.n_iter} iterations with {wanted.n_graphs} pairs of graphs, [\d.]+ s\.", work)
    assert result.stderr.splitlines()[-1] == "wrote new/out.npy"


@pytest.mark.parametrize("bits", [8, 16])
def test_pictures_are_clipped_and_their_white_is_told(here, bits):
    np.save("in.npy", -readings().T + 3)  # mostly negative
    white = json.loads(done(f"in.npy -o out.png --bits {bits} --signed --gamma 0 --json").stdout)["white"]
    done("in.npy -o out.npy --signed --gamma 0")
    image, picture = np.load("out.npy"), np.asarray(Image.open("out.png"))
    assert image.min() < 0 < image.max() == white
    assert picture.dtype == f"uint{bits}"
    assert np.abs(picture / (2**bits - 1) - np.clip(image / white, 0, 1)).max() <= 0.51 / (2**bits - 1)


def test_a_black_picture_is_no_failure(here):
    np.save("in.npy", np.zeros((8, 5)))
    done("in.npy -o out.png --gamma 1")
    assert_array_equal(np.asarray(Image.open("out.png")), np.zeros((8, 8), dtype=np.uint8))


@pytest.mark.parametrize("given", ["", "--angles angles.txt", "--angles angles.npy", "--angles -30:120:10"])
@pytest.mark.parametrize("angles_first", [False, True])
def test_angles_from_everywhere(here, given, angles_first):
    start, stop = (-30, 120) if given else (0, 180)
    angles = start + np.arange(10) * (stop - start) / 10
    b = readings(angles)
    np.save("in.npy", b if angles_first else b.T)
    np.save("angles.npy", angles)
    (here / "angles.txt").write_text("\n".join(map(repr, angles.tolist())) + "\n\n")
    done(f"in.npy {given} {'--angles-first' if angles_first else ''} --gamma 0 -o out.npy")
    wanted = expected(b, angles, gamma_features=0, gamma_samples=0).image
    assert_allclose(np.load("out.npy"), wanted, atol=1e-8)


@pytest.mark.parametrize("kind", [np.float32, ">f8", np.int32])
def test_numbers_of_other_kinds(here, kind):
    b = np.rint(100 * readings()).astype(kind)
    np.save("in.npy", np.asfortranarray(b.T))
    done("in.npy -o out.npy --gamma 0")
    assert_array_equal(np.load("out.npy"), expected(b, gamma_features=0, gamma_samples=0).image)


def test_missing_readings_are_left_out_and_counted(here):
    b = readings()
    b[:, 7] = b[3] = np.nan  # a dead detector, a lost angle
    np.save("in.npy", b.T)
    assert "at 15 angles, 38 readings missing." in done("in.npy -o out.npy").stdout
    assert psnr(PHANTOM, np.load("out.npy")) > 22


def test_an_image_larger_than_the_detectors(here):
    done("in.npy -o out.npy --size 30 --gamma 0.1")
    image = np.load("out.npy")
    assert_array_equal(image, expected(readings(), size=30, gamma_features=0.1, gamma_samples=0.1).image)
    assert psnr(PHANTOM, image[3:27, 3:27]) > 20  # the axis stays in the middle


def test_options_reach_the_work(here, monkeypatch):
    asked = {"noise": 0.5, "loss": "huber", "nonnegative": False, "n_neighbors": 5, "max_iter": 77}
    seen = Mock(side_effect=ValueError("enough"))
    monkeypatch.setattr(command, "reconstruct", seen)
    run("in.npy -o out.npy --noise 0.5 --loss huber --signed --neighbors 5 --max-iter 77")
    assert seen.call_args.kwargs == {**asked, "gamma_features": "auto", "gamma_samples": "auto"}
    run("in.npy -o out.npy --gamma 0.25")
    assert seen.call_args.kwargs.items() >= {"gamma_features": 0.25, "gamma_samples": 0.25, "nonnegative": True}.items()
    for name in ("loss", "n_neighbors", "max_iter"):  # not given: the library's own
        assert seen.call_args.kwargs[name] == signature(reconstruct).parameters[name].default


@pytest.mark.parametrize(
    ("given", "text"),
    [("--gamma 0.5", ": gamma as given, chain by held-out readings."), ("--gamma 0", ": gamma as given."),
     ("--noise 0.3", ": the smoothest of "), ("--noise 1e-9", ": the sharpest of 13 tried: none explains the ")],
)  # fmt: skip
def test_why_this_gamma(here, given, text):
    assert text in done(f"in.npy -o out.npy {given}").stdout


def test_json_is_all_of_stdout(here):
    found, wanted = json.loads(done("in.npy -o out.npy --json").stdout), answer_of_the_library()
    assert (found["gamma"], found["iterations"], found["converged"]) == (wanted.gamma_features, wanted.n_iter, True)
    assert [(row[0], *row) for row in found["tried"]] == [(*one, judged) for one, judged in wanted.tried.items()]
    assert found["chain"] == wanted.chain
    assert (found["height"], found["angles"], found["missing_readings"], found["white"]) == (24, 15, 0, None)
    assert found["largest"] == np.load("out.npy").max()


@pytest.mark.filterwarnings("default")
def test_too_few_iterations_are_said_in_one_line(here):
    result = done("in.npy -o out.npy --gamma 100 --max-iter 1 --json")
    (said,) = json.loads(result.stdout)["warnings"]
    assert f"warning: {said}" in result.stderr.splitlines()


def test_help_shows_examples_and_every_option():
    shown = run("--help").stdout
    options = typer.main.get_command(app).commands["reconstruct"].params
    assert all(name in shown for option in options for name in option.opts if name.startswith("-"))
    assert "graphlowrank reconstruct sinogram.npy --angles 0:180:36 --noise 0.5 -o image.npy" in shown


@pytest.mark.parametrize(
    ("given", "text"),
    [("", "--output"), ("-o out.npy --size 0", "--size"), ("-o out.npy --loss l3", "huber"),
     ("-o out.png --bits 12", "16"), ("-o out.npy --gamma -1", "--gamma"), ("-o .", "--output"),
     ("-o out.npy --gamma 1 --noise 1", "not both")],
)  # fmt: skip
def test_wrong_usage_exits_with_2(here, given, text):
    result = run(f"in.npy {given}")
    assert (result.exit_code, result.stdout, tree(here), text in result.stderr) == (2, "", ["in.npy"], True)


BAD = {
    "flat.npy": np.ones(5), "none.npy": np.full((4, 3), np.nan),
    "inf.npy": np.array([[1.0, np.inf]]), "complex.npy": np.ones((4, 3), dtype=complex),
    "nan.npy": np.full(15, np.nan), "empty.npy": np.ones((0, 3)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "cause", "remedy"),
    [
        ("missing.npy -o new/out.npy", "there is no file missing.npy.", INPUT),
        ("flat.npy -o out.npy", "a sinogram has two dimensions, detectors and angles; flat.npy has 1.", HELP),
        ("none.npy -o out.npy", "every reading in none.npy is missing (NaN).", HELP),
        ("inf.npy -o out.npy", "inf.npy has infinite readings", HELP),
        ("empty.npy -o out.npy", "empty.npy is empty.", HELP),
        ("complex.npy -o out.npy", "complex.npy must hold real numbers, got dtype complex128.", HELP),
        ("pickle.npy -o out.npy", "pickle.npy cannot be read as a .npy file of numbers", HELP),
        ("half.npy -o out.npy", "half.npy cannot be read as a .npy file of numbers", HELP),
        ("in.npy -o out.npy --angles 0:9:14", "14 angles were given, but in.npy has 15 columns.", HELP),
        ("in.npy -o out.npy --angles 0:9:24", "24 angles were given, but in.npy has 15 columns; give --ang", HELP),
        ("in.npy -o out.npy --angles 0:180", "--angles 0:180 is neither a file nor start:stop:count", HELP),
        ("in.npy -o out.npy --angles words.txt", "words.txt, line 2: 'two' is not a number.", HELP),
        ("in.npy -o out.npy --angles in.npy", "in.npy must hold a list of angles, got shape (24, 15).", HELP),
        ("in.npy -o out.npy --angles nan.npy", "nan.npy has angles that are not finite.", HELP),
        ("in.npy -o out.npy --angles no.txt", "there is no file no.txt.", INPUT),
        ("in.npy -o out.npy --noise 0", "--noise must be a positive number, got 0.0.", HELP),
        ("in.npy -o out.npy --gamma inf", "--gamma must be a number of at least 0, got inf.", HELP),
        ("in.npy -o out.jpg", "out.jpg is not of a known kind: a file that ends in .png or .npy.", HELP),
        ("in.npy -o words.txt/out.npy", "cannot write words.txt/out.npy: ", PLACE),
        ("in.npy -o ./in.npy", "--output is the input itself", HELP),
    ],
)
def test_refusals_before_any_work(here, monkeypatch, given, cause, remedy):
    monkeypatch.setattr(command, "projection_matrix", lambda *_, **__: pytest.fail("it has begun"))
    for name, array in BAD.items():
        np.save(name, array)
    np.save("pickle.npy", np.array([{}], dtype=object), allow_pickle=True)
    (here / "half.npy").write_bytes((here / "in.npy").read_bytes()[:-99])
    (here / "words.txt").write_text("1\ntwo\n")
    before = tree(here)
    said, advice = failure(run(given))
    assert (said[: len(cause)], advice, tree(here)) == (cause, remedy, before)


def test_without_pillow_arrays_work_and_pictures_say_what_to_install(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    done("in.npy -o out.npy --gamma 0")
    assert failure(run("in.npy -o out.png")) == ("writing a PNG needs Pillow", "pip install graphlowrank[video]")


@pytest.mark.parametrize("error", [OSError(28, "no space"), KeyboardInterrupt()])
def test_a_failure_leaves_the_older_file_and_nothing_else(here, monkeypatch, error):
    (here / "out.npy").write_text("older")
    monkeypatch.setattr(_files.Path, "replace", Mock(side_effect=error))
    result = run("in.npy -o out.npy --gamma 0")
    assert (result.exit_code, result.stdout) == (1 if isinstance(error, OSError) else 130, "")
    assert ("error: cannot write out.npy: no space" in result.stderr) == isinstance(error, OSError)
    assert ((here / "out.npy").read_text(), tree(here)) == ("older", ["in.npy", "out.npy"])


def test_the_page_shows_image_readings_and_what_was_tried(here):
    b = readings()
    b[3, 4] = np.nan
    np.save("in.npy", b.T)
    record = json.loads(done("in.npy -o out.png -r r.html --json").stdout)
    text = (here / "r.html").read_text(encoding="utf-8")
    assert record["report"] == "r.html"
    assert text.count('<img src="data:image/png;base64,') == 3  # image, readings, residual
    assert "1 are missing (black)" in text
    assert text.count('class="used"') == 1
    assert "it predicts held-out readings best" in text
    assert len(re.findall(r"<tr[^>]*><td class=.number.>", text)) == len(record["tried"])


def test_without_jinja_the_page_is_refused_before_the_work(here, monkeypatch):
    monkeypatch.setattr("graphlowrank.cli.console.find_spec", lambda name: None if name == "jinja2" else name)
    assert failure(run("in.npy -o out.npy -r r.html"))[1] == "pip install graphlowrank[video]"
    assert tree(here) == ["in.npy"]
