"""A Ray cluster of several nodes on this machine, which listens to this machine alone."""

import os
import secrets
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_TOKEN = secrets.token_hex(32)  # a process that has joined one cluster joins others by the same


def settings(folder: Path) -> dict[str, str]:
    """The environment of everything that belongs to a cluster: a token of its own, no network."""
    folder.mkdir(parents=True, exist_ok=True)
    token = folder / "token"
    token.write_text(_TOKEN)
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_enable_metrics_collection": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }


class MiniCluster:
    """A head that drivers connect to and that does no work, and nodes with one core each.

    Args:
        folder: where nodes have scratch folders of their own.
        carried: whether nodes work in these, as if they did not see the disk of the driver.
    """

    def __init__(self, folder: Path, carried: bool, port: int | None = None):
        from ray.cluster_utils import Cluster

        self.folder, self._carried, self._count = folder, carried, 0
        head = {"num_cpus": 0, "include_dashboard": False}
        head |= {} if port is None else {"gcs_server_port": port}
        self.ray = Cluster(initialize_head=True, head_node_args=head)

    @property
    def address(self) -> str:
        return str(self.ray.address)

    def add(self, environment: Mapping[str, str] | None = None, cores: int = 1) -> Any:
        """A node, in an environment of its own."""
        self._count += 1
        own = dict(environment or {})
        if self._carried:
            own["DRSPCRL_SCRATCH"] = str(self.folder / f"node-{self._count}")
        return self.ray.add_node(num_cpus=cores, env_vars=own)

    def kill_worker(self, piece: str) -> None:
        """Kill the process that works at a piece."""
        for worker, _ in self._workers(piece):
            os.kill(worker, signal.SIGKILL)

    def lose_node_of(self, piece: str) -> None:
        """Kill the node that works at a piece; all of its processes die with it."""
        for _, node in self._workers(piece):
            self.ray.remove_node(node, allow_graceful=False)

    def _workers(self, piece: str) -> list[tuple[int, Any]]:
        """The processes that work at a piece, and their nodes."""
        nodes = {n.all_processes["raylet"][0].process.pid: n for n in self.ray.worker_nodes}
        return [(w, nodes[_parent(w)]) for w in workers(piece) if _parent(w) in nodes]


@contextmanager
def mini_cluster(
    folder: Path, nodes: int, carried: bool = True, port: int | None = None
) -> Iterator[MiniCluster]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings(folder).items():
            patch.setenv(name, value)
        patch.delenv("RAY_ADDRESS", raising=False)
        cluster = MiniCluster(folder, carried, port)
        try:
            for _ in range(nodes):
                cluster.add()
            yield cluster
        finally:
            import ray

            ray.shutdown()
            cluster.ray.shutdown()


def workers(piece: str) -> list[int]:
    """The processes of all clusters of this machine that work at a piece of such a name."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if words.startswith(b"ray::") and piece.encode() in words:
            found.append(int(process.name))
    return found


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
