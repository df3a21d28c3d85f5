"""The paper's tables and figures: each is a TOML file in ``tables/``, and our numbers go beside the paper's.

.. autosummary::
    spec        read a file
    kinds       what is done with each kind of file: expand it into cells, measure a cell
    panels      outcomes arranged as the paper's tables
    markdown    panels as CSV and markdown
    page        panels and figures as an HTML page
"""
