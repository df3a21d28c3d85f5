"""Optimization problems, one file each, and the registry of those that can solve the compressed problem.

NaN in the data means missing. FRPCAG gives such an entry weight 0 in its loss and starts it from X0, or from the median
of its feature. RPCA and RPCAG take a mask of the observed entries, which :meth:`CompressedProblem.observed` derives
from NaN; their sparse part is 0 elsewhere. All of them return no NaN. GLPCA, MMF and GNMF raise a ValueError.
"""

from ..solvers.solution import LowRankPlusSparse
from . import frpcag, rpca, rpcag
from .frpcag import solve_frpcag
from .glpca import Embedding, solve_glpca
from .gnmf import NonNegativeFactors, solve_gnmf
from .mmf import solve_mmf
from .rpca import solve_rpca
from .rpcag import solve_rpcag
from .small_solver import CompressedProblem, SmallSolver

SOLVERS: dict[str, SmallSolver] = {solver.name: solver for solver in (frpcag.SOLVER, rpca.SOLVER, rpcag.SOLVER)}


def register_solver(solver: SmallSolver) -> SmallSolver:
    """Make ``solver`` available as the option ``solver=solver.name``."""
    SOLVERS[solver.name] = solver
    return solver


__all__ = [
    "SOLVERS", "CompressedProblem", "Embedding", "LowRankPlusSparse", "NonNegativeFactors", "SmallSolver",
    "register_solver", "solve_frpcag", "solve_glpca", "solve_gnmf", "solve_mmf", "solve_rpca", "solve_rpcag",
]  # fmt: skip
