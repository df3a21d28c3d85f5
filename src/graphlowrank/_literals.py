"""String values of options; imports nothing heavy, so that the command line reads them at once."""

from typing import Literal

LossName = Literal["l1", "l2", "huber"]
SolverName = Literal["frpcag", "rpca", "rpcag"]
ClusterScaling = Literal["auto", "none", "samples", "features"]
RecoveryScaling = Literal["auto", "none", "features"]
