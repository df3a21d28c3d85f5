"""The shared base of all HTML pages: one environment, one style, one set of parts.

A page is a template that extends ``templates/base.html``, which has the style and shows what every page has: title,
summary, warnings, facts, command and versions. ``templates/parts.html`` has the charts and tables that pages share.
"""

from __future__ import annotations

from base64 import b64encode
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from platform import python_version
from typing import Literal

from .. import __version__

EXTRAS = ("matplotlib", "jinja2")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu")
LIGHT_INK, DARK_INK = "#1c1f24", "#e6e8eb"  # text colors of the two color schemes
TEMPLATES = Path(__file__).with_name("templates")
DEFAULTS: dict[str, object] = {"over": "", "summary": (), "warnings": (), "facts": (), "command": None, "versions": {}}


def missing_extras() -> list[str]:
    """Names of the packages that pages need and that are not installed."""
    return [name for name in EXTRAS if find_spec(name) is None]


def render(
    template: str, *, folder: Path | None = None, extra: Literal["plots", "video"] = "plots", **context: object
) -> str:
    """Render a page to one self-contained HTML file: inline style, pictures as data URIs, nothing is fetched.

    Parameters
    ----------
    template : str
        File name of a template that extends "base.html".
    folder : Path or None, default=None
        Where the template is, if not in this package.
    extra : {"plots", "video"}, default="plots"
        Extra of the package to name if Jinja is missing.
    **context
        Variables of the template. The base shows ``title`` and, where given, ``over`` (the line above the title),
        ``summary`` and ``warnings`` (sentences), ``facts`` ((name, value) pairs), ``command`` and ``versions``.

    Raises
    ------
    ImportError
        Without Jinja.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(f"Pages need Jinja: pip install graphlowrank[{extra}]") from error
    environment = Environment(
        loader=FileSystemLoader([*([] if folder is None else [folder]), TEMPLATES]),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template(template).render({**DEFAULTS, **context})
    return page.encode(errors="replace").decode()  # file names may hold surrogates, which UTF-8 cannot encode


def library_versions() -> dict[str, str]:
    """Versions of the libraries that results depend on, without importing them."""
    found = {"graphlowrank": __version__, "python": python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:  # a build under another name, such as conda's
            continue
    return found


def data_uri(image: bytes) -> str:
    """Return the data URI of a PNG or JPEG image."""
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{b64encode(image).decode()}"
