"""The shared base of all HTML pages: one environment, one style, one set of parts, pictures as data URIs.

A page is a template that extends ``templates/base.html``, which has the style and shows what every page has: title,
summary, warnings, facts, command and versions. ``templates/parts.html`` has the charts and tables that pages share.
"""

from base64 import b64encode
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from platform import python_version
from typing import Any, Literal

from .. import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
TEMPLATES = Path(__file__).with_name("templates")
DEFAULTS: dict[str, object] = {
    "over": "", "summary": (), "notes": (), "warnings": (), "facts": (), "command": None, "python": "",
    "python_about": "", "versions": {},
}  # fmt: skip


def render(template: str, *, extra: Literal["plots", "video"] = "plots", **context: object) -> str:
    """Render a page to one self-contained HTML file: inline style, pictures as data URIs, nothing is fetched.

    The base shows ``title`` and, where given, ``over`` (the line above the title), ``summary``, ``notes`` and
    ``warnings`` (sentences), ``facts`` ((name, value) pairs), ``command``, ``python`` (lines that repeat it,
    ``python_about`` says with what data) and ``versions``. Without Jinja, ``extra`` is named.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ImportError(f"Pages need Jinja: pip install graphlowrank[{extra}]") from error
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
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


def data_uri(image: Any, kind: Literal["PNG", "JPEG"], **options: Any) -> str:
    """Return the data URI of a Pillow image."""
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind.lower()};base64,{b64encode(buffer.getvalue()).decode()}"
