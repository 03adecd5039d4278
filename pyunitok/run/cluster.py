"""run(): tokenize_in_parts on a Ray cluster.

    driver: plan ──▶ tasks, a unit each (units.py) ──▶ parts on a file system that all machines see ──▶ driver: merge
                      └ model and options once in the object store, opened once by each worker process

A task whose machine is lost is given to another one. The driver holds the plan and counts. parts.py describes what it
does before and after the tasks, and how a run whose driver was killed is resumed.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pyunitok.errors import UnitokError
from pyunitok.run.parts import tokenize_in_parts
from pyunitok.run.plan import Plan, Progress, Start
from pyunitok.tokens.manifest import Manifest

RETRIES = 10  # of a unit whose worker or machine is lost
TASKS_PER_CORE = 2  # handed to the cluster at a time, so that no core waits for the driver
WAIT_SECONDS = 0.5
CONNECT_SECONDS = 10
MAX_DONE = 1000  # results taken at a time

Item = TypeVar("Item")
Result = TypeVar("Result")


def run(
    plan: Plan, *, address: str = "auto", unit_bytes: int | None = None, keep_parts: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_start: Callable[[Start], None] | None = None,
    on_merge: Callable[[Progress], None] | None = None,
) -> Manifest:  # fmt: skip
    """parts.tokenize_in_parts() on the cluster at `address`; on the one this process is connected to, if it is."""
    with connected(address):
        return tokenize_in_parts(
            plan, Cluster(plan.threads), unit_bytes=unit_bytes, keep_parts=keep_parts,
            on_progress=on_progress, on_start=on_start, on_merge=on_merge,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------------- the cluster


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """UnitokError where Ray is not installed, or there is no cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a tokenizer does not phone home
    try:
        ray = _ray()
    except ImportError as error:
        raise UnitokError("Ray is not installed: pip install 'pyunitok[ray]'") from error
    if ray.is_initialized():
        yield
        return
    try:
        _knock(address)
        ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise UnitokError(f"no Ray cluster answers at {address}: {error}; --ray local starts one here") from error
    try:
        yield
    finally:
        ray.shutdown()


def _ray() -> Any:
    """The package, untyped: it is not needed where it is not used."""
    return importlib.import_module("ray")


def _knock(address: str) -> None:
    """OSError if nothing answers: Ray itself retries for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


class Cluster:
    """A units.Each: every item is a task with this many cores."""

    def __init__(self, cores: int) -> None:
        self._cores = cores

    def __call__(
        self, function: Callable[[Any, Item], Result], shared: Any, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        ray = _ray()
        task = ray.remote(num_cpus=self._cores, max_retries=RETRIES)(_do)
        shared_at = [ray.put((function, shared))]  # in a list: Ray would fetch it for every task
        waiting = iter(enumerate(items))
        under_way: dict[Any, int] = {}
        try:
            while True:
                room = max(1, int(ray.cluster_resources().get("CPU", 1)) // self._cores) * TASKS_PER_CORE
                while len(under_way) < room and (following := next(waiting, None)) is not None:
                    number, item = following
                    under_way[task.remote(shared_at, item)] = number
                if not under_way:
                    return
                n_wanted = min(len(under_way), MAX_DONE)
                done, _ = ray.wait(list(under_way), num_returns=n_wanted, timeout=WAIT_SECONDS)
                for ref in done:
                    yield under_way.pop(ref), self._result(ref)
        finally:
            for ref in under_way:
                ray.cancel(ref)

    @staticmethod
    def _result(ref: Any) -> Any:
        ray = _ray()
        try:
            return ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise UnitokError(f"a unit was lost {RETRIES + 1} times, the last time with: {error}") from error


_shared: dict[str, Any] = {}  # what this worker process holds: the last run's function and what its items share


def _do(shared_at: list[Any], item: Any) -> Any:
    """One task. What items share is fetched and opened when a process first meets it."""
    (ref,) = shared_at
    key = ref.hex()
    if key not in _shared:
        ray = _ray()
        _shared.clear()
        _shared[key] = ray.get(ref)
    function, shared = _shared[key]
    return function(shared, item)
