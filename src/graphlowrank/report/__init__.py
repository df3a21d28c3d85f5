"""One self-contained HTML page of results."""

from .page import GraphSize, Report, Score, missing_extras, render_page

__all__ = ["GraphSize", "Report", "Score", "missing_extras", "render_page"]
