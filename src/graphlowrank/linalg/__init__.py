"""Linear algebra: conjugate gradients, multigrid, polynomial filters, extreme eigenvalues, small decompositions."""
