"""run() runs tokenize_in_parts() on a Ray cluster.

    driver: plan ──▶ a task for each unit (units.py) ──▶ parts on a shared file system ──▶ driver: merge
                      └ model and options: once in the object store, opened once by each worker process

If a machine is lost, other machines repeat its tasks. The driver keeps the plan and the counts. parts.py describes what
the driver does before and after the tasks, and how a run is resumed after the driver is killed.

Ray pickles a module-level function by name, but a nested function by value. The task is a nested function and takes its
item as bytes, so that a machine without pyunitok can report the problem.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyunitok
from pyunitok.errors import ClusterWarning, UnitokError, count
from pyunitok.run.options import check_address
from pyunitok.run.parts import tokenize_in_parts
from pyunitok.run.plan import SILENT, Callbacks, Plan
from pyunitok.tokens.manifest import Manifest

RETRIES = 10  # the maximum number of retries of a unit whose worker or machine is lost
TASKS_PER_CORE = 2  # tasks running or queued, so that no core waits for the driver
WAIT_SECONDS = 0.5
CONNECT_SECONDS = 10
MAX_DONE = 1000  # the maximum number of results per call of ray.wait

Item = TypeVar("Item")
Result = TypeVar("Result")


def run(plan: Plan, callbacks: Callbacks = SILENT) -> Manifest:
    """Execute the plan on the cluster at options.ray, or on the cluster that this process is connected to."""
    assert plan.options.ray is not None
    with connected(plan.options.ray):
        return tokenize_in_parts(plan, Cluster(plan.options.n_threads), callbacks)


# ------------------------------------------------------------------------------------------------------- the cluster


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to a cluster. Raises UnitokError if Ray is not installed, there is no cluster, or it rejects the
    connection."""
    check_address(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no telemetry
    try:
        ray = _ray()
    except ImportError as error:
        raise UnitokError("Ray is not installed: pip install 'pyunitok[ray]'") from error
    if ray.is_initialized():
        yield
        return
    with _quiet():
        try:
            _check_port(address)
            ray.init(address, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            raise _not_connected(address, error) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Stop Ray from printing its logs to stdout when a machine is lost. Ray has no option for this."""
    worker: Any = importlib.import_module("ray._private.worker")
    before = getattr(worker, "_worker_logs_enabled", True)
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = before


def _not_connected(address: str, error: BaseException) -> UnitokError:
    """The error to raise if connecting fails. Sometimes only the __cause__ of Ray's error mentions a missing token."""
    reason: BaseException | None = error
    while reason is not None:
        if "authentication token" in str(reason).lower():
            return UnitokError(
                f"the Ray cluster at {address} requires a token: set RAY_AUTH_MODE=token, and copy ~/.ray/auth_token"
                " from its head node to this machine or set RAY_AUTH_TOKEN"
            )
        reason = reason.__cause__
    return UnitokError(f"no Ray cluster responds at {address}: {error}; --ray local starts one here")


def _ray() -> Any:
    """The optional package, imported on first use."""
    return importlib.import_module("ray")


def _check_port(address: str) -> None:
    """Raise OSError if nothing listens at the address; Ray itself would retry for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


class Cluster:
    """A units.Each that runs every item as a task with `cores` cores. Issues ClusterWarning when a machine is lost."""

    def __init__(self, cores: int) -> None:
        self._cores = cores

    def __call__(
        self, function: Callable[[Any, Item], Result], shared: Any, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        ray = _ray()
        task = ray.remote(num_cpus=self._cores, max_retries=RETRIES, name="pyunitok")(_task(pyunitok.__version__))
        shared_at = [ray.put((function, shared))]  # in a list, because Ray would fetch a bare reference for every task
        waiting = iter(enumerate(items))
        running: dict[Any, int] = {}
        machines = _Machines(self._cores)
        try:
            while True:
                max_running = machines.n_tasks() * TASKS_PER_CORE
                while len(running) < max_running and (following := next(waiting, None)) is not None:
                    number, item = following
                    running[task.remote(shared_at, pickle.dumps(item))] = number
                if not running:
                    return
                n_wanted = min(len(running), MAX_DONE)
                done, _ = ray.wait(list(running), num_returns=n_wanted, timeout=WAIT_SECONDS)
                for ref in done:
                    yield running.pop(ref), self._result(ref)
        finally:
            for ref in running:
                ray.cancel(ref)

    @staticmethod
    def _result(ref: Any) -> Any:
        ray = _ray()
        try:
            return ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, ImportError):
                raise UnitokError(str(error.cause)) from None
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise UnitokError(f"a unit was lost {RETRIES + 1} times; last error: {error}") from error


class _Machines:
    """The machines of the cluster, updated every WAIT_SECONDS."""

    def __init__(self, cores: int) -> None:
        self._cores = cores
        self._alive: dict[str, str] = {}  # {node id: name}
        self._n_tasks, self._next_update = 1, 0.0

    def n_tasks(self) -> int:
        """The number of tasks that the cluster can run at once, at least 1. Warns of lost machines."""
        if time.monotonic() >= self._next_update:
            self._update()
            self._next_update = time.monotonic() + WAIT_SECONDS
        return max(1, self._n_tasks)

    def _update(self) -> None:
        nodes = [node for node in _ray().nodes() if node["Alive"]]
        alive = {node["NodeID"]: f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})" for node in nodes}
        for name in [name for node_id, name in self._alive.items() if node_id not in alive]:
            message = f"{name} has left the Ray cluster: other machines repeat its unfinished units"
            warnings.warn(ClusterWarning(message), stacklevel=1)
        self._alive = alive
        n_tasks = sum(int(node["Resources"].get("CPU", 0)) // self._cores for node in nodes)
        if n_tasks == 0 and self._n_tasks > 0:
            message = f"no machine in the Ray cluster has {count(self._cores, 'core')}: the run waits for one that does"
            warnings.warn(ClusterWarning(message), stacklevel=1)
        self._n_tasks = n_tasks


def _task(version: str) -> Callable[[list[Any], bytes], Any]:
    """The function that Ray sends to the machines. It raises ImportError if pyunitok is missing there."""

    def do(shared_at: list[Any], item: bytes) -> Any:
        hint = f"install pyunitok {version} on every machine of the cluster"
        try:
            cluster = importlib.import_module("pyunitok.run.cluster")
        except ImportError as error:
            raise ImportError(f"pyunitok cannot be imported on {socket.gethostname()} ({error}): {hint}") from None
        here = cluster.pyunitok.__version__
        if here != version:
            raise ImportError(f"pyunitok on {socket.gethostname()} is version {here}: {hint}")
        return cluster._do(shared_at, item)

    return do


_shared: dict[str, Any] = {}  # the last run's function and shared value, cached in this worker process


def _do(shared_at: list[Any], item: bytes) -> Any:
    """Run one task. Each process fetches the shared value once."""
    (ref,) = shared_at
    key = ref.hex()
    if key not in _shared:
        ray = _ray()
        _shared.clear()
        _shared[key] = ray.get(ref)
    function, shared = _shared[key]
    try:
        return function(shared, pickle.loads(item))
    except (UnitokError, OSError) as error:
        if isinstance(error, OSError) or isinstance(error.__cause__, OSError):
            raise _with_machine(error) from error
        raise


def _with_machine(error: Exception) -> UnitokError:
    """Add the name of this machine to a file system error, because the file may exist for other machines."""
    kind, what = UnitokError, str(error)
    if isinstance(error, UnitokError):
        kind = type(error)
    elif isinstance(error, OSError) and error.filename is not None:
        what = f"{os.fsdecode(error.filename)}: {error.strerror}"
    return kind(f"{what} (on {socket.gethostname()}; all machines must see inputs and outputs at the same paths)")
