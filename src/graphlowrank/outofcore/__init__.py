"""Data that do not fit in memory: dask arrays, and files that are read in blocks.

.. autosummary::
    settings     memory and folder: :func:`large_data`
    sources      a dask array from files and arrays of other libraries
    method       whole, out of core, or two-level
    tasks        tasks on threads or on the workers of a dask client
    storage      rows on disk in fixed blocks, checked as they are written
    clustering   clusters of rows on disk, on the graph of all of them
    recovery     low-rank matrix of rows on disk: covariance and factors in passes over the blocks
    two_level    some rows that represent all, rare groups included
    extension    labels and scores of all rows, block by block
    resume       arrays that are written block by block, and continued after a stop
"""
