"""Warnings of the library."""


class WeakClustersWarning(UserWarning):
    """The clusters should not be relied on: fewer than asked for, tiny, or one of several answers that nearly tie."""
