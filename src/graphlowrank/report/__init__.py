"""Self-contained HTML pages of results; imported by the commands only."""

from .demo_page import GraphSize, Report, Score, render_page
from .page import missing_extras, render

__all__ = ["GraphSize", "Report", "Score", "missing_extras", "render", "render_page"]
