"""The paper's tables and figures: each a TOML file in ``paper/``, run by one runner, beside the paper's numbers."""

from .cells import Cell, Outcome
from .kinds import KINDS
from .spec import Experiment, experiment_names, read_experiment

__all__ = ["KINDS", "Cell", "Experiment", "Outcome", "experiment_names", "read_experiment"]
