"""The same run on a Ray cluster: tokenize(), and TokenizeBatch for Ray Data.

    driver: plan ──▶ tasks, a unit each (units.py) ──▶ parts on a file system that all machines see ──▶ driver: merge
                      └ model and options once in the object store, opened once by each worker process

A task whose machine is lost is given to another one. The driver holds the plan and counts; what it does before and
after the tasks, and how a run goes on whose driver was killed, parts.py says.

Needs `pip install 'pyunitok[ray]'`, here and on all machines of the cluster.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pyunitok.corpus import inputs
from pyunitok.errors import UnitokError
from pyunitok.run.parts import files_of_parts, tokenize_in_parts
from pyunitok.run.plan import Plan, Progress, Start
from pyunitok.tokenizer import Tokenizer
from pyunitok.tokens.manifest import Manifest

RETRIES = 10  # of a unit whose worker or machine is lost
TASKS_PER_CORE = 2  # handed to the cluster at a time, so that no core waits for the driver
WAIT_SECONDS = 0.5
CONNECT_SECONDS = 10
MAX_DONE = 1000  # results taken at a time

Item = TypeVar("Item")
Result = TypeVar("Result")
Model = str | os.PathLike[str] | Tokenizer | None


def tokenize(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], out: str | os.PathLike[str], *,
    model: Model = None, address: str = "auto", eod: int | str | None = "model", separator: bytes | None = None,
    input_format: str = "auto", text_key: str = "text", unit_bytes: int | None = None, keep_parts: bool = False,
    on_progress: Callable[[Progress], None] | None = None, **options: Any,
) -> Manifest:  # fmt: skip
    """Tokenize files into `out` on a Ray cluster; the manifest. The bytes are those of `pyunitok tokenize`.

    paths       files, directories, patterns or URLs, as the command takes them; all machines must see them
    out         a path on a file system that all machines see; the parts lie in OUT.parts until they are joined
    model       a model file, a Tokenizer, or None for the RWKV World vocabulary
    address     of the cluster; "auto": of the one this machine belongs to; "local": start one here
    eod         the id after each document, None for none, "model" for the model's own
    separator   text: between documents; None: each file is one
    unit_bytes  of the inputs, for one task; keep_parts: do not join the parts. See parts.tokenize_in_parts
    options     more of pipeline.Plan: overwrite, metadata, skip_bad, verify, sample, dtype, threads (of a task; 1) …

    The same call goes on where an earlier one stopped. InputError names the file and the line, OutputError what is in
    the way; UnitokError where there is no cluster, or a unit was lost too often.

        manifest = pyunitok.ray.tokenize("/shared/crawl/", "/shared/ids.u16", metadata=True)
    """
    tokenizer = _tokenizer(model)
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    target = Path(out)
    sources = inputs.find(
        [os.fspath(path) for path in named], input_format=input_format, text_key=text_key,
        exclude=map(str, files_of_parts(target)),
    )  # fmt: skip
    eod_id = tokenizer.eod_id if eod == "model" else eod
    if eod_id is not None and not isinstance(eod_id, int):
        raise ValueError(f'eod is an id, None or "model", not {eod!r}')
    plan = Plan(sources, target, tokenizer, eod_id, separator, text_key, **{"threads": 1} | options)
    return run(plan, address=address, unit_bytes=unit_bytes, keep_parts=keep_parts, on_progress=on_progress)


def run(
    plan: Plan, *, address: str = "auto", unit_bytes: int | None = None, keep_parts: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_start: Callable[[Start], None] | None = None,
    on_merge: Callable[[Progress], None] | None = None,
) -> Manifest:  # fmt: skip
    """parts.tokenize_in_parts() on the cluster at `address`. Where this process is connected to one, that is taken."""
    with _connected(address):
        return tokenize_in_parts(
            plan, _Cluster(plan.threads), unit_bytes=unit_bytes, keep_parts=keep_parts,
            on_progress=on_progress, on_start=on_start, on_merge=on_merge,
        )  # fmt: skip


class TokenizeBatch:
    """For ray.data.Dataset.map_batches: the column `column`, of texts, gives a column `ids` of arrays.

    Opens the model once an actor. With eod=True each document ends with the model's eod. TypeError for a null.

        ds = ray.data.read_parquet("/shared/corpus/")
        ds = ds.map_batches(pyunitok.ray.TokenizeBatch, fn_constructor_kwargs={"model": "m.model"}, concurrency=8)
    """

    def __init__(self, model: Model = None, column: str = "text", ids: str = "ids", *, eod: bool = False) -> None:
        self._tokenizer = _tokenizer(model)
        self._column, self._ids = column, ids
        self._eod = np.array([self._tokenizer.eod_id] if eod else [], self._tokenizer.dtype)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        packed = self._tokenizer.encode_batch(list(batch[self._column]), threads=1)
        rows = np.empty(len(packed), object)
        for k in range(len(packed)):
            rows[k] = np.concatenate((packed[k], self._eod))
        return {**batch, self._ids: rows}


def _tokenizer(model: Model) -> Tokenizer:
    if isinstance(model, Tokenizer):
        return model
    return Tokenizer.default() if model is None else Tokenizer.from_file(model)


# ------------------------------------------------------------------------------------------------------- the cluster


@contextlib.contextmanager
def _connected(address: str) -> Iterator[None]:
    """UnitokError where Ray is not installed, or there is no cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a tokenizer calls nobody
    try:
        import ray
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


def _knock(address: str) -> None:
    """OSError if nobody is there: Ray itself asks again for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


class _Cluster:
    """An units.Each: every item is a task of so many cores."""

    def __init__(self, cores: int) -> None:
        self._cores = cores

    def __call__(
        self, function: Callable[[Any, Item], Result], shared: Any, items: Sequence[Item]
    ) -> Iterator[tuple[int, Result]]:
        import ray

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
        import ray

        try:
            return ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise UnitokError(f"a unit was lost {RETRIES + 1} times, the last time so: {error}") from error


_shared: dict[str, Any] = {}  # what this worker process holds: the last run's function and what its items share


def _do(shared_at: list[Any], item: Any) -> Any:
    """One task. What items share is fetched and opened when a process first meets it."""
    (ref,) = shared_at
    key = ref.hex()
    if key not in _shared:
        import ray

        _shared.clear()
        _shared[key] = ray.get(ref)
    function, shared = _shared[key]
    return function(shared, item)
