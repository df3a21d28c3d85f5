"""Warnings of the library."""


class WeakClustersWarning(UserWarning):
    """The clusters should not be relied on: fewer than asked for, tiny, one of several that nearly tie, or of noise."""


class DriftWarning(UserWarning):
    """New rows of a stream differ from those that the model was fitted to: call ``refit``."""
