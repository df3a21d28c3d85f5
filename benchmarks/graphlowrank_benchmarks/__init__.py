"""The benchmark harness of graphlowrank: one runner, one registry of systems, the paper's tables.

Not part of the wheel: it is installed with the repository (``pip install -e .``), and the commands ``graphlowrank
bench`` and ``graphlowrank reproduce`` use it. A *cell* is one measurement, and every cell goes through
:func:`.runner.measure`:

.. autosummary::
    cells      a cell, the record kept while it runs, its outcome
    runner     run cells: each in a fresh process (bench), or several at a time in a pool (reproduce)
    store      results on disk
    tables     markdown tables and how numbers are written
    systems    everything that is compared, by task and name
    data       data sets by name, noise, preparation, graphs
    datasets   loaders of the real data sets
    scenes     videos, and how a background is scored
    jobs       the benchmarks of ``graphlowrank bench``
    paper      the tables and figures of ``graphlowrank reproduce``
"""
