"""The benchmark suite: jobs, the systems that compete in each, and tables of what they cost and how well they do.

Every cell (a system in a job) runs in a process of its own on the same stored data; see :mod:`.cells` and
:mod:`.worker`. Only the command ``graphlowrank bench`` prints.

.. autosummary::
    JOBS      every job by name
    Options   what the user may choose
    Results   what a job has given so far, kept on disk
    run_job   run every cell of a job
"""

from .clustering import CLUSTERING_JOBS
from .growth import GrowthJob
from .jobs import Job, Options
from .results import Results
from .runner import run_job
from .steps import StepsJob
from .video import VideoJob

JOBS: dict[str, Job] = {job.name: job for job in (*CLUSTERING_JOBS, VideoJob(), StepsJob(), GrowthJob())}
FULL_JOBS = tuple(JOBS)
QUICK_JOBS = ("usps", "video", "steps", "growth")  # one of each kind: the others run the same code

__all__ = ["FULL_JOBS", "JOBS", "QUICK_JOBS", "Job", "Options", "Results", "run_job"]
