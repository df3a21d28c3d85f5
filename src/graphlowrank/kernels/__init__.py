"""Compiled loops (numba).

Each kernel processes a range of rows, releases the GIL and writes to its own rows only. Each has a plain numpy or scipy
twin, to which tests compare it. Compiled code is cached on disk.
"""
