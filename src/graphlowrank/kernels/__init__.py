"""Compiled twins of hot loops.

Each kernel works on a range of rows, releases the GIL and writes to its own rows only; each has a plain
numpy or scipy counterpart that the tests hold it to. Compiled code is cached on disk.
"""
