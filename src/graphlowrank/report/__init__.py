"""Self-contained HTML pages of results; imported by the commands only."""
