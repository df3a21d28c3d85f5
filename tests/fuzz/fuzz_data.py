"""Random data and random edge weights of many kinds, most of them unpleasant."""

import numpy as np
import scipy.sparse as sp

EXPONENTS = (30, 100, 150, 160, 200, 290, 300)


def groups(rng, n, p):
    k = rng.integers(1, 5)
    return rng.choice([2, 10, 1e3]) * rng.standard_normal((k, p))[rng.integers(0, k, n)] + rng.standard_normal((n, p))


def low_rank(rng, n, p):
    k = rng.integers(1, 5)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, p))


def with_missing(share, *, one_per_line=True):
    def make(rng, n, p):
        missing = rng.random((n, p)) < share
        if one_per_line:
            missing[np.arange(n), rng.integers(0, p, n)] = False
            missing[rng.integers(0, n, p), np.arange(p)] = False
        return np.where(missing, np.nan, low_rank(rng, n, p) + 0.1 * rng.standard_normal((n, p)))

    return make


def with_entry(value):
    def make(rng, n, p):
        X = rng.standard_normal((n, p))
        X[rng.integers(n), rng.integers(p)] = value
        return X

    return make


def missing_line(rng, n, p):
    X = rng.standard_normal((n, p))
    if rng.random() < 0.5:
        X[rng.integers(n)] = np.nan
    else:
        X[:, rng.integers(p)] = np.nan
    return X


def constant_columns(rng, n, p):
    X = rng.standard_normal((n, p))
    X[:, rng.random(p) < 0.7] = rng.choice([0, 5.0, 1e-200])
    return X


def mostly_equal(rng, n, p):
    X = rng.standard_normal((n, p))
    X[rng.random(n) < 0.95] = X[0]
    return X


def isolated(rng, n, p):
    X, k = rng.standard_normal((n, p)), max(1, n // 10)
    X[:k] += 10.0 ** rng.uniform(2, 12, (k, 1))
    return X


def sparse(rng, n, p):
    X = sp.random_array((n, p), density=rng.choice([0.01, 0.1, 0.5]), rng=rng, format="csr")
    return X.asformat(str(rng.choice(["csr", "csr", "csc", "coo", "lil", "dia", "bsr"])))


def sparse_with(change):
    def make(rng, n, p):
        X = sp.random_array((n, p), density=0.3, rng=rng, format="csr")
        return change(rng, X)

    return make


def sparse_zeros(rng, X):
    X.data[::2] = 0
    return X


def sparse_unsorted(rng, X):
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:stop] = X.indices[start:stop][::-1].copy()
    X.has_sorted_indices = False
    return X


def sparse_duplicates(rng, X):
    if X.nnz:
        X.indices[:] = np.repeat(X.indices[::2], 2)[: X.nnz]
    return sp.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def sparse_nan(rng, X):
    X.data[: X.nnz // 4] = np.nan
    return X


def strided(rng, n, p):
    return rng.standard_normal((2 * n, 3 * p))[::2, ::3][:, ::-1]


def read_only(rng, n, p):
    X = rng.standard_normal((n, p))
    X.flags.writeable = False
    return X


def frame(rng, n, p):
    import pandas as pd

    X = pd.DataFrame(rng.standard_normal((n, p)), columns=[f"c{i}" for i in range(p)])
    if rng.random() < 0.5:
        X.iloc[0, 0] = None
    return X


def masked(rng, n, p):
    return np.ma.masked_array(rng.standard_normal((n, p)), mask=rng.random((n, p)) < 0.3)


def normal(rng, n, p):
    return rng.standard_normal((n, p))


def of_type(dtype, scales=(1.0,)):
    return lambda rng, n, p: (normal(rng, n, p) * rng.choice(scales)).astype(dtype)


DATA = {
    "normal": normal,
    "groups": groups,
    "low rank": low_rank,
    "zeros": lambda rng, n, p: np.zeros((n, p)),
    "constant": lambda rng, n, p: np.full((n, p), rng.choice([1.0, -3.0, 1e200, 1e-200, 255])),
    "constant columns": constant_columns,
    "constant rows": lambda rng, n, p: np.repeat(rng.standard_normal((n, 1)), p, axis=1),
    "duplicates": lambda rng, n, p: normal(rng, n, p)[rng.integers(0, max(1, n // 4), n)],
    "mostly equal": mostly_equal,
    "almost constant": lambda rng, n, p: 1.0 + 1e-16 * normal(rng, n, p),
    "huge": lambda rng, n, p: normal(rng, n, p) * 10.0 ** rng.choice(EXPONENTS),
    "tiny": lambda rng, n, p: normal(rng, n, p) * 10.0 ** -float(rng.choice(EXPONENTS)),
    "subnormal": lambda rng, n, p: normal(rng, n, p) * 5e-324 * rng.choice([1, 100, 1e10]),
    "mixed scales": lambda rng, n, p: normal(rng, n, p) * 10.0 ** rng.uniform(-300, 300, p),
    "mixed scales of rows": lambda rng, n, p: normal(rng, n, p) * 10.0 ** rng.uniform(-150, 150, (n, 1)),
    "integers": lambda rng, n, p: rng.integers(-5, 6, (n, p)),
    "large integers": lambda rng, n, p: rng.integers(-(2**63), 2**63 - 1, (n, p)),
    "pixels": lambda rng, n, p: rng.integers(0, 256, (n, p)).astype(np.uint8),
    "booleans": lambda rng, n, p: rng.random((n, p)) < 0.5,
    "float16": of_type(np.float16, [1, 1000]),
    "float32": of_type(np.float32, [1, 1e-30, 1e30, 1e37, 1e-42]),
    "longdouble": of_type(np.longdouble),
    "big-endian": of_type(">f8"),
    "object": of_type(object),
    "complex": of_type(complex),
    "strings": of_type("U8"),
    "list": lambda rng, n, p: normal(rng, n, p).tolist(),
    "fortran": lambda rng, n, p: np.asfortranarray(normal(rng, n, p)),
    "strided": strided,
    "read-only": read_only,
    "frame": frame,
    "masked": masked,
    "isolated": isolated,
    "separate": lambda rng, n, p: 0.01 * normal(rng, n, p) + 1e6 * rng.integers(0, 4, (n, 1)),
    "offset": lambda rng, n, p: normal(rng, n, p) + rng.choice([1e6, 1e12, 1e16]),
    "heavy tails": lambda rng, n, p: rng.pareto(0.3, (n, p)),
    "one-hot": lambda rng, n, p: np.eye(p)[rng.integers(0, p, n)],
    "negative": lambda rng, n, p: -np.abs(normal(rng, n, p)),
    "signed zeros": lambda rng, n, p: np.where(normal(rng, n, p) > 0, 0.0, -0.0),
    "alternating": lambda rng, n, p: np.where(np.add.outer(np.arange(n), np.arange(p)) % 2, 1.0, -1.0),
    "infinite": with_entry(np.inf),
    "missing": with_missing(0.1),
    "missing half": with_missing(0.5),
    "missing most": with_missing(0.99),
    "missing at random": with_missing(0.5, one_per_line=False),
    "missing line": missing_line,
    "one-dimensional": lambda rng, n, p: normal(rng, n, p)[:, 0],
    "three-dimensional": lambda rng, n, p: normal(rng, n, p)[..., None],
    "empty": lambda rng, n, p: normal(rng, n, p)[:0] if rng.random() < 0.5 else normal(rng, n, p)[:, :0],
    "sparse": sparse,
    "sparse, empty": lambda rng, n, p: sp.csr_array((n, p)),
    "sparse, stored zeros": sparse_with(sparse_zeros),
    "sparse, unsorted": sparse_with(sparse_unsorted),
    "sparse, duplicates": sparse_with(sparse_duplicates),
    "sparse, missing": sparse_with(sparse_nan),
    "sparse, integers": sparse_with(lambda rng, X: (10 * X).astype(rng.choice(["i1", "i8", "u2", "?"]))),
    "sparse, extreme": sparse_with(lambda rng, X: X * 10.0 ** rng.choice([-300, -160, 160, 300])),
    "sparse, matrix": sparse_with(lambda rng, X: sp.csr_matrix(X)),
}


def shape(rng):
    """A number of samples and one of features."""
    return [
        (rng.integers(2, 13), rng.integers(1, 8)),
        (rng.integers(12, 60), rng.integers(1, 25)),
        (rng.integers(60, 200), rng.integers(2, 30)),
        (rng.integers(11, 40), rng.integers(30, 60)),
        (rng.integers(11, 200), rng.integers(1, 3)),
    ][rng.choice(5, p=[0.25, 0.35, 0.15, 0.1, 0.15])]


def copied(X):
    return X.copy() if hasattr(X, "copy") else X


def is_same(X, other):
    """Whether two inputs are equal to the bit, in whatever format."""
    if sp.issparse(X):
        arrays = [name for name in ("data", "indices", "indptr", "row", "col") if hasattr(X, name)]
        return all(is_same(np.asarray(getattr(X, name)), np.asarray(getattr(other, name))) for name in arrays)
    if isinstance(X, np.ma.MaskedArray):
        return is_same(X.data, other.data) and is_same(X.mask, other.mask)
    if hasattr(X, "equals"):
        return X.equals(other)
    if isinstance(X, np.ndarray):
        if X.dtype == object:
            return X.shape == other.shape and all(a is b or a == b for a, b in zip(X.flat, other.flat, strict=True))
        return X.dtype == other.dtype and X.tobytes() == other.tobytes()
    return X is other or other == X


# --- edge weights ---


def symmetric(rng, n):
    W = sp.random_array((n, n), density=min(1, 4 / n), rng=rng, format="csr")
    W = sp.csr_array(W + W.T)
    W.setdiag(0)
    W.eliminate_zeros()
    return W


def with_weight(value):
    def make(rng, n):
        W = symmetric(rng, n).tolil()
        W[0, n - 1] = W[n - 1, 0] = value
        return W.tocsr()

    return make


def two_parts(rng, n):
    half = np.arange(n) < n // 2
    return (half[:, None] == half).astype(float) - np.eye(n)


def repeated(rng, n):
    W = symmetric(rng, n).tocoo()
    row, col = W.coords
    return sp.coo_array((np.r_[W.data, W.data], (np.r_[row, row], np.r_[col, col])), shape=W.shape)


def unsorted(rng, n):
    W = symmetric(rng, n)
    for start, stop in zip(W.indptr[:-1], W.indptr[1:], strict=True):
        W.indices[start:stop] = W.indices[start:stop][::-1].copy()
        W.data[start:stop] = W.data[start:stop][::-1].copy()
    return sp.csr_array((W.data, W.indices, W.indptr), shape=W.shape)


def path(rng, n):
    return (
        sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1], shape=(n, n)) if n > 1 else np.zeros((1, 1))
    )


def some_isolated(rng, n):
    W = symmetric(rng, n).toarray()
    alone = rng.random(n) < 0.5
    W[alone], W[:, alone] = 0, 0
    return W


def spread(rng, n):
    W = symmetric(rng, n)
    return W * (10.0 ** rng.uniform(-12, 12) * W.power(rng.uniform(1, 12)))


WEIGHTS = {
    "random": symmetric,
    "path": path,
    "two parts": two_parts,
    "isolated": some_isolated,
    "complete": lambda rng, n: np.ones((n, n)) - np.eye(n),
    "dense": lambda rng, n: symmetric(rng, n).toarray(),
    "no edges": lambda rng, n: sp.csr_array((n, n)),
    "integers": lambda rng, n: (symmetric(rng, n) > 0).astype(int),
    "booleans": lambda rng, n: symmetric(rng, n) > 0,
    "float32": lambda rng, n: symmetric(rng, n).astype(np.float32),
    "spread": spread,
    "repeated": repeated,
    "unsorted": unsorted,
    "large": lambda rng, n: symmetric(rng, n) * 10.0 ** rng.choice([10, 50, 100, 140]),
    "small": lambda rng, n: symmetric(rng, n) * 10.0 ** -float(rng.choice([10, 50, 100, 140])),
}
BAD_WEIGHTS = {
    "self-loops": lambda rng, n: symmetric(rng, n) + sp.eye_array(n),
    "huge": lambda rng, n: symmetric(rng, n) * 10.0 ** rng.choice([150, 200, 300]),
    "tiny": lambda rng, n: symmetric(rng, n) * 10.0 ** -float(rng.choice([150, 200, 300, 320])),
    "negative": lambda rng, n: -symmetric(rng, n),
    "not symmetric": lambda rng, n: sp.random_array((n, n), density=0.3, rng=rng, format="csr"),
    "NaN": with_weight(np.nan),
    "infinite": with_weight(np.inf),
    "wrong size": lambda rng, n: symmetric(rng, n + 1),
    "not square": lambda rng, n: np.ones((n, n + 1)),
    "complex": lambda rng, n: symmetric(rng, n).astype(complex),
    "text": lambda rng, n: "nothing",
    "number": lambda rng, n: 5,
    "list": lambda rng, n: symmetric(rng, n).toarray().tolist(),
}
