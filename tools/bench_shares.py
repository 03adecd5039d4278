"""Where the time of `tokenize` goes: the processor time of each stage, and how much of it only one thread can do."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyunitok import Tokenizer
from pyunitok.corpus import inputs, workers
from pyunitok.corpus.block import Block
from pyunitok.corpus.reading import InputBlocks
from pyunitok.run.options import TokenizeOptions
from pyunitok.run.pipeline import Writer, tokenize
from pyunitok.run.plan import Plan

STAGES = ("turn", "write", "decompress", "finish", "encode")  # one thread at a time may be in each of the first two


class Stages:
    """Seconds of processor time that threads spend in each stage, those of stages within it not counted."""

    def __init__(self) -> None:
        self.cpu = dict.fromkeys(STAGES, 0.0)
        self._lock = threading.Lock()
        self._thread = threading.local()

    @contextmanager
    def within(self, stage: str) -> Iterator[None]:
        outer, self._thread.inner = getattr(self._thread, "inner", 0.0), 0.0
        start = time.thread_time()
        try:
            yield
        finally:
            seconds = time.thread_time() - start
            with self._lock:
                self.cpu[stage] += seconds - self._thread.inner
            self._thread.inner = outer + seconds

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with self.within(stage):
                return function(*arguments, **options)

        return call


def shares(path: Path, out: Path, threads: int, tokenizer: Tokenizer) -> dict[str, Any]:
    """Tokenize a file by lines; the share of each stage in the processor time of the process.

    at_most  how many times as fast as one core any number of cores can be: the longest stage that only one thread at a
             time can be in takes its processor time of the wall time
    """
    stages = Stages()
    make = InputBlocks.__init__

    def init(self: InputBlocks, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        find = self.readahead.claim

        def claim_timed() -> Any:
            task = find()
            return None if task is None else stages.timed("decompress", task)

        self.readahead.claim = claim_timed  # type: ignore[method-assign]

    with ExitStack() as stack:
        for target, name, stage in (
            (InputBlocks, "fill", "turn"), (Block, "finish", "finish"), (Writer, "append", "write"),
            (workers.Workers, "_result", "encode"),
        ):  # fmt: skip
            stack.enter_context(patch.object(target, name, stages.timed(stage, getattr(target, name))))
        stack.enter_context(patch.object(InputBlocks, "__init__", init))
        before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        options = TokenizeOptions(eod=tokenizer.eod_id, separator=b"\n", threads=threads, overwrite=True)
        plan = Plan(options, inputs.find([str(path)]), out, tokenizer)
        tokenize(plan)
        wall = time.perf_counter() - wall
        after = resource.getrusage(resource.RUSAGE_SELF)
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    parts = {name: seconds / total for name, seconds in stages.cpu.items()}
    parts["other"] = 1 - sum(parts.values())
    longest = max(stages.cpu["turn"], stages.cpu["write"])
    return {
        "cpu_s": total, "wall_s": wall, "faults": after.ru_minflt - before.ru_minflt,
        "kernel": (after.ru_stime - before.ru_stime) / total, **parts, "at_most": total / longest,
    }  # fmt: skip
