"""Automatic decisions: each returns a value and the reason for it."""
