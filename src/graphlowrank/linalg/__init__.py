"""Linear algebra: conjugate gradients, extreme eigenvalues, small singular value decompositions."""
