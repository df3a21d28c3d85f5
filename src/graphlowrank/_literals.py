"""String values of options; imports nothing heavy, so that the command line reads them at once."""

from typing import Literal

TomographyLoss = Literal["l2", "l1", "huber"]
ClusterScaling = Literal["auto", "none", "samples", "features", "counts"]
RecoveryScaling = Literal["auto", "none", "features"]
