"""Self-contained HTML pages of results; imported by the commands only."""

from .demo_page import GraphSize, Report, Score, render_page
from .page import library_versions, missing_extras, render

__all__ = ["GraphSize", "Report", "Score", "library_versions", "missing_extras", "render", "render_page"]
