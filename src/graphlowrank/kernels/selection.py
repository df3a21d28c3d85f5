"""The nearest points to each query, from blocks of products."""

from .._typing import Array
from .compiling import compiled

GROUP = 16  # points whose smallest distance is compared first: nearly always none of them is near


@compiled(fastmath=True)
def keep_nearest(
    products: Array,  # (n_queries, n_points) products of a block of queries with a block of points
    squares: Array,  # (n_points,) squared norms of the points
    first: int,  # number of the first point
    best: Array,  # (n_queries, k) squared distances, less the query's squared norm, nearest first; inf for none
    found: Array,  # (n_queries, k) numbers of the points
) -> None:
    """Insert the points of a block among the nearest ones so far; of equal ones, the first stays first."""
    n_points, last = products.shape[1], best.shape[1] - 1
    for query in range(products.shape[0]):
        row, nearest, who = products[query], best[query], found[query]
        for start in range(0, n_points, GROUP):
            stop = min(start + GROUP, n_points)
            least = squares[start] - (row[start] + row[start])  # a literal 2 would make it float64
            for j in range(start + 1, stop):
                least = min(least, squares[j] - (row[j] + row[j]))
            if not least < nearest[last]:
                continue
            for j in range(start, stop):
                distance = squares[j] - (row[j] + row[j])
                if distance < nearest[last]:
                    place = last
                    while place > 0 and nearest[place - 1] > distance:
                        nearest[place], who[place] = nearest[place - 1], who[place - 1]
                        place -= 1
                    nearest[place], who[place] = distance, first + j
