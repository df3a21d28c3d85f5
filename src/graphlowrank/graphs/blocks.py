"""Neighbor graphs of rows that do not fit in memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .._typing import RandomState
from ..preprocessing.rows import BlockRows
from ..preprocessing.sparse import Data
from .block_tasks import Map
from .graph import Graph
from .knn import graph_of_neighbors, knn_graph
from .search_blocks import search_blocks

IN_MEMORY_SHARE = 0.1  # of the memory: data up to this are searched in memory, which holds several copies


@dataclass(frozen=True, eq=False)
class Workspace:
    """Where data that do not fit in memory are worked on: a folder for files, who computes, and memory in bytes."""

    folder: Path
    map: Map
    memory: int  # of this process
    task_memory: int  # of a task, besides the program

    def knn_graph(
        self,
        points: Data | BlockRows,
        n_neighbors: int,
        *,
        bandwidth: float | Literal["published"],
        neighbors: str,
        random_state: RandomState,
    ) -> Graph:
        """Build the graph of :func:`~graphlowrank.graphs.knn_graph`; only the graph is in memory."""
        if isinstance(points, BlockRows) and points.n_bytes <= IN_MEMORY_SHARE * self.memory:
            points = points.to_array()
        if not isinstance(points, BlockRows):
            return knn_graph(points, n_neighbors, bandwidth=bandwidth, neighbors=neighbors, random_state=random_state)
        folder = self.folder / "search"
        folder.mkdir()
        found = search_blocks(
            points, n_neighbors, folder=folder, map=self.map, random_state=random_state, memory=self.task_memory
        )
        return graph_of_neighbors(*found, bandwidth)
