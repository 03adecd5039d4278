"""Runs on a Ray cluster of several node processes, one of which is killed: the output equals that of one machine.

pip install 'pyunitok[ray-test]', then pytest -m ray. Skipped where Ray is not installed.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.ray
ray = pytest.importorskip("ray")
cluster_utils = pytest.importorskip("ray.cluster_utils")

from click.testing import CliRunner  # noqa: E402
from test_parts import UNIT, check_equal, corpus, frames, json_lines, plan_of  # noqa: E402, F401
from toys.plans import on_cluster  # noqa: E402

import pyunitok.ray  # noqa: E402
import pyunitok.run.cluster  # noqa: E402
from pyunitok.clean import decontaminate as decontaminate_module  # noqa: E402
from pyunitok.clean import repeats  # noqa: E402
from pyunitok.cli import cli  # noqa: E402
from pyunitok.corpus.reading import ReadingOptions  # noqa: E402
from pyunitok.errors import ClusterWarning, InputError, OutputError, UnitokError  # noqa: E402
from pyunitok.run import cluster as cluster_module  # noqa: E402
from pyunitok.run.merge import finished_parts  # noqa: E402
from pyunitok.run.parts import parts_folder  # noqa: E402
from pyunitok.run.pipeline import tokenize  # noqa: E402

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def cluster():
    """Three nodes on this machine: the driver's, which has no cores, and two workers."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    made = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.workers = [made.add_node(num_cpus=2) for _ in range(2)]
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def connected(cluster):
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR", ignore_reinit_error=True)
    yield cluster
    ray.shutdown()


@pytest.mark.parametrize("options", [{}, {"metadata": True, "on_error": "skip"}])
def test_output_equals_that_of_one_machine(toy, corpus, connected, options):  # noqa: F811
    manifest = tokenize(plan_of(toy, corpus, "whole", **options))
    seen = []
    made = on_cluster(
        plan_of(toy, corpus, "ids", **options), unit_bytes=1000, on_progress=lambda p: seen.append((p.bytes, p.tokens))
    )
    check_equal(corpus, toy)
    assert made.hash == manifest.hash
    assert seen == sorted(seen) and seen[-1] == (manifest.bytes, manifest.tokens)


def test_deduplicate(tmp_path, connected, monkeypatch):
    monkeypatch.setattr(repeats, "CLUSTER_TASK_BYTES", 5000)
    lines = [f"{random.Random(k % 300).random()} is number {k % 200}, and {k} is larger.\n" * 2 for k in range(900)]
    (tmp_path / "in.txt").write_text("".join(lines))
    options = {"documents": True, "repeat": True, "min_bytes": 30, "reading": ReadingOptions(separator=b"\n")}
    whole = pyunitok.deduplicate(tmp_path / "in.txt", tmp_path / "whole.txt", **options)
    assert pyunitok.deduplicate(tmp_path / "in.txt", tmp_path / "clean.txt", ray=connected.address, **options) == whole
    assert whole.windows > 1000 and whole.rounds
    assert (tmp_path / "clean.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()


@pytest.mark.parametrize("max_common", [None, 5])
def test_decontaminate(tmp_path, connected, monkeypatch, max_common):
    monkeypatch.setattr(decontaminate_module, "default_unit_bytes", lambda _: 5000)
    (tmp_path / "in").mkdir()
    item = "one two three four five six seven eight nine ten eleven twelve thirteen"
    for k in range(6):
        lines = [f"document {i} of {k} " * 9 + item * (i % 50 == k) + "\n" for i in range(100)]
        (tmp_path / f"in/{k}.txt").write_text("".join(lines))
    (tmp_path / "items.txt").write_text(item + "\n")

    def clean(name, **options):
        return pyunitok.decontaminate(
            tmp_path / "in", tmp_path / name, tmp_path / "items.txt", against_format="text", max_common=max_common,
            report=tmp_path / f"{name}.hits", reading=ReadingOptions(separator=b"\n"), **options,
        )  # fmt: skip

    whole = clean("whole")
    assert clean("clean", ray=connected.address) == whole
    assert whole.documents_affected == (12 if max_common is None else 0)
    for k in range(6):
        assert (tmp_path / f"clean/{k}.txt").read_bytes() == (tmp_path / f"whole/{k}.txt").read_bytes()
    assert (tmp_path / "clean.hits").read_bytes() == (tmp_path / "whole.hits").read_bytes()
    assert not (tmp_path / "clean.parts").exists()


def test_a_node_is_killed(toy, corpus, connected):  # noqa: F811
    (corpus / "in/8.jsonl.zst").write_bytes(frames(json_lines(30000), 3000))
    tokenize(plan_of(toy, corpus, "whole"))
    killed = []

    def kill(progress):
        if not killed and progress.documents > 3000:
            node = connected.workers.pop()
            killed.append(node)
            connected.remove_node(node, allow_graceful=False)

    on_cluster(plan_of(toy, corpus, "ids"), unit_bytes=8000, on_progress=kill)
    check_equal(corpus, toy)
    assert killed
    connected.workers.append(connected.add_node(num_cpus=2))


def test_output_when_a_node_is_lost(cluster, capfd):
    """Regression: Ray printed 45 lines to stdout, including 20 from a log."""
    with cluster_module.connected(cluster.address), warnings.catch_warnings(record=True) as caught:
        results = cluster_module.Cluster(1)(lambda _, item: time.sleep(item), None, [0.2] * 2000)
        for number, _ in results:
            if number == 0:
                cluster.remove_node(cluster.workers.pop(), allow_graceful=False)
            if caught:  # Ray takes about 15 seconds to notice
                break
        results.close()
    cluster.workers.append(cluster.add_node(num_cpus=2))
    (warning,) = caught
    assert warning.category is ClusterWarning
    pattern = r"\S+ \([0-9.]+\) has left the Ray cluster: other machines repeat its unfinished units"
    assert re.fullmatch(pattern, str(warning.message))
    assert capfd.readouterr().out == ""


def test_a_worker_process_is_killed(toy, corpus, connected):  # noqa: F811
    (corpus / "in/8.jsonl.zst").write_bytes(frames(json_lines(30000), 3000))
    tokenize(plan_of(toy, corpus, "whole"))
    killed, is_done = set(), threading.Event()

    def kill():
        while len(killed) < 3 and not is_done.is_set():
            pid = _a_busy_worker()
            if pid is not None and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        on_cluster(plan_of(toy, corpus, "ids"), unit_bytes=20_000)
    finally:
        is_done.set()
        killer.join()
    check_equal(corpus, toy)
    assert len(killed) == 3


def _a_busy_worker():
    """The process id of a worker that is running a task; Ray names the process after the task."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            if path.read_bytes().startswith(b"ray::pyunitok"):
                return int(path.parent.name)
    return None


DRIVER = """
import sys, ray
from pyunitok.run import cluster as cluster_module
from pyunitok.corpus import inputs
from toys.plans import make_plan, on_cluster
from pyunitok.model.tokenizer import Tokenizer
from conftest import PIECES
address, corpus, unit = sys.argv[1:]
toy = Tokenizer.from_pieces(PIECES, eod=300)
from pathlib import Path
plan = make_plan(inputs.find([corpus + "/in"]), Path(corpus, "ids"), toy, 300, b"\\n\\n", threads=1)
on_cluster(plan, address=address, unit_bytes=int(unit), on_progress=lambda p: print(p.bytes, flush=True))
"""


def test_the_driver_is_killed(toy, corpus, cluster):  # noqa: F811
    tokenize(plan_of(toy, corpus, "whole"))
    command = [sys.executable, "-c", DRIVER, cluster.address, str(corpus), str(UNIT)]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT / "tests")
    assert driver.stdout is not None
    for _ in range(5):
        assert driver.stdout.readline(), "the driver ended"
    with pytest.raises(OutputError, match=r"ids\.parts: another process is writing it"):
        on_cluster(plan_of(toy, corpus, "ids"), address=cluster.address, unit_bytes=UNIT)
    ray.shutdown()
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    there = {path: path.stat().st_mtime_ns for path in finished_parts(parts_folder(corpus / "ids"))}
    assert len(there) >= 5
    started = []
    on_cluster(
        plan_of(toy, corpus, "ids"), address=cluster.address, unit_bytes=UNIT, keep_parts=True, on_start=started.append
    )
    assert started[0].documents > 0
    assert {path: path.stat().st_mtime_ns for path in there} == there  # no part was computed again
    on_cluster(plan_of(toy, corpus, "ids"), address=cluster.address, unit_bytes=UNIT)
    ray.shutdown()
    check_equal(corpus, toy)


def test_errors_keep_their_type_and_message(toy, corpus, connected):  # noqa: F811
    path = corpus / "in/0.jsonl.zst"
    lines = json_lines(100).splitlines(keepends=True)
    path.write_bytes(frames(b"".join([*lines[:70], b"no\n", *lines[70:]]), 500))
    with pytest.raises(InputError, match=rf"^{path}: line 71: ") as found:
        on_cluster(plan_of(toy, corpus, "ids"), unit_bytes=UNIT)
    assert type(found.value) is InputError
    with pytest.raises(OutputError, match=r"ids\.parts was started by another command"):
        on_cluster(plan_of(toy, corpus, "ids", eod=None), unit_bytes=UNIT)


def test_a_machine_without_pyunitok(tmp_path, cluster, monkeypatch):
    (tmp_path / "pyunitok.py").write_text("raise ModuleNotFoundError(\"No module named 'pyunitok'\")\n")
    monkeypatch.chdir(tmp_path)  # Ray's workers import from the driver's folder
    node = cluster.add_node(num_cpus=2, resources={"bare": 1}, env_vars={"PYTHONPATH": str(tmp_path)})
    for other in cluster.workers:
        cluster.remove_node(other)
    try:
        with cluster_module.connected(cluster.address), pytest.raises(UnitokError) as found:
            list(cluster_module.Cluster(1)(pow, 2, [3]))
        assert str(found.value) == (
            f"pyunitok cannot be imported on {socket.gethostname()} (No module named 'pyunitok'): "
            f"install pyunitok {pyunitok.__version__} on every machine of the cluster"
        )
    finally:
        cluster.remove_node(node)
        cluster.workers[:] = [cluster.add_node(num_cpus=2) for _ in range(2)]


def test_a_machine_with_another_version(connected, monkeypatch):
    monkeypatch.setattr(pyunitok, "__version__", "9.9")
    with pytest.raises(UnitokError, match=r" is version .*: install pyunitok 9\.9 on every machine"):
        list(cluster_module.Cluster(1)(pow, 2, [3]))


@pytest.mark.parametrize("unit", [1, 1 << 20])
def test_a_file_that_a_machine_cannot_see(toy, corpus, connected, unit):  # noqa: F811
    plan = plan_of(toy, corpus, "ids")
    path = corpus / "in/0.jsonl.zst"
    path.rename(corpus / "elsewhere")
    where = rf" \(on {re.escape(socket.gethostname())}; all machines must see inputs and outputs at the same paths\)$"
    with pytest.raises(InputError, match=rf"^{path}: cannot be .*: No such file or directory{where}"):
        on_cluster(plan, unit_bytes=unit)
    with pytest.raises(UnitokError, match=rf"^/no/such: No such file or directory{where}"):
        list(cluster_module.Cluster(1)(lambda _, item: Path(item).read_bytes(), None, ["/no/such"]))


def test_errors_of_data_do_not_name_machines(connected):
    def fail(_shared, _item):
        raise InputError("a.jsonl: line 7: no")

    with pytest.raises(InputError, match=r"^a\.jsonl: line 7: no$"):
        list(cluster_module.Cluster(1)(fail, None, [1]))


def test_more_threads_than_any_machine_has(monkeypatch):
    """Regression: the run waited without printing a message."""
    node = {"NodeID": "a", "Alive": True, "NodeManagerHostname": "h", "NodeManagerAddress": "1"}
    node["Resources"] = {"CPU": 2}
    monkeypatch.setattr(cluster_module, "_ray", lambda: SimpleNamespace(nodes=lambda: [node]))
    machines = cluster_module._Machines(3)
    with pytest.warns(ClusterWarning, match=r"^no machine in the Ray cluster has 3 cores: the run waits for one"):
        assert machines.n_tasks() == 1
    node["Resources"] = {"CPU": 8}
    machines._update()
    assert machines.n_tasks() == 2


def test_a_unit_that_kills_its_workers(connected, monkeypatch):
    monkeypatch.setattr(cluster_module, "RETRIES", 1)
    with pytest.raises(UnitokError, match="a unit was lost 2 times"):
        list(pyunitok.run.cluster.Cluster(1)(lambda _, item: os._exit(item), None, [1]))


def test_each_worker_opens_shared_objects_once(connected):
    class Shared:
        def __reduce__(self):
            return opened, ()

    def opened():
        import builtins

        builtins.times_opened = getattr(builtins, "times_opened", 0) + 1
        return builtins.times_opened

    def work(shared, item):
        time.sleep(0.02)
        return os.getpid(), shared

    done = [result for _, result in pyunitok.run.cluster.Cluster(1)(work, Shared(), list(range(30)))]
    assert len(done) == 30 and len(set(done)) == len({pid for pid, _ in done})


TWO_TOKENS = """
import os, subprocess, sys
from ray.cluster_utils import Cluster
made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
command = [sys.executable, "-m", "pyunitok", "tokenize", "in.jsonl", "-o", "ids", "--ray", made.address]
del os.environ["RAY_AUTH_TOKEN"]
done = subprocess.run(command, capture_output=True, text=True)
print(done.stdout, done.stderr)
os.environ["RAY_AUTH_MODE"] = "disabled"
done = subprocess.run(command, capture_output=True, text=True)
print(done.stdout, done.stderr)
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "t" * 40}
subprocess.run(command, check=True)
made.shutdown()
"""


@pytest.mark.skipif(not hasattr(ray.exceptions, "AuthenticationError"), reason="this Ray does not support tokens")
def test_a_cluster_that_requires_a_token(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(json_lines(10))
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "t" * 40, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", TWO_TOKENS], cwd=tmp_path, env=_environment() | token, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    errors = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert len(errors) == 2
    for error in errors:
        assert re.fullmatch(r"error: the Ray cluster at [0-9.:]+ requires a token: set RAY_AUTH_MODE=token, .*", error)
    assert "defect" not in done.stdout and (tmp_path / "ids.json").exists()


def _environment():
    return {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}


@pytest.fixture
def invoke(cluster, monkeypatch, corpus):  # noqa: F811
    monkeypatch.chdir(corpus)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)

    def run(*arguments: str):
        try:
            return CliRunner().invoke(cli, ["tokenize", *arguments], catch_exceptions=True)
        finally:
            ray.shutdown()

    return run


def test_the_command(invoke, rwkv_path, corpus):  # noqa: F811
    common = ["in", "-m", str(rwkv_path), "--doc", "\\n\\n", "--metadata"]
    assert invoke(*common, "-o", "whole").exit_code == 0
    done = invoke(*common, "-o", "ids", "--ray", "auto", "--unit", "1K")
    assert done.exit_code == 0, done.output
    check_equal(corpus, str(rwkv_path))
    again = invoke(*common, "-o", "ids", "--ray", "auto")
    assert again.exit_code == 0 and "already complete: ids" in again.output
    kept = invoke(*common, "-o", "parted", "--ray", "auto", "--unit", "1K", "--keep-parts")
    assert kept.exit_code == 0 and "pyunitok merge parted.parts -o parted" in kept.output, kept.output
    merged = CliRunner().invoke(cli, ["merge", "parted.parts", "-o", "parted"])
    assert merged.exit_code == 0, merged.output
    assert (corpus / "parted").read_bytes() == (corpus / "ids").read_bytes()


def test_invalid_options_of_the_command(invoke, rwkv_path):
    common = ["in", "-m", str(rwkv_path)]
    for options, message in [
        (["-o", "ids", "--unit", "1K"], "--unit and --keep-parts require --ray"),
        (["-o", "ids", "--ray", "auto", "--shard", "0/2"], "--ray itself divides the run; remove --shard"),
        (["-o", "memory://a/ids", "--ray", "auto"], "--ray requires an OUT on a file system that all machines see"),
        (["-o", "ids", "--ray", "auto", "--keep-parts", "--format", "npy"], "--format converts OUT, but --keep-parts"),
        (["-o", "ids", "--ray", "127.0.0.1:1"], "no Ray cluster responds at 127.0.0.1:1"),
        (["-o", "ids", "--ray", ""], "the address of the Ray cluster is empty; use auto, local or HOST:PORT"),
    ]:
        done = invoke(*common, *options)
        assert message in done.output + str(done.exception), (options, done.output, done.exception)
        assert done.exit_code


def test_ray_data(toy, tmp_path, connected):
    data = pytest.importorskip("ray.data")
    texts = [f"the {k} である" * (k % 3) for k in range(40)]
    made = data.from_items([{"text": text, "n": k} for k, text in enumerate(texts)]).map_batches(
        pyunitok.ray.TokenizeBatch, fn_constructor_kwargs={"model": toy, "eod": True}, concurrency=2, batch_size=8
    )
    rows = sorted(made.take_all(), key=lambda row: row["n"])
    assert [row["text"] for row in rows] == texts
    for row in rows:
        assert row["ids"].dtype == "u2" and row["ids"].tolist() == [*toy.encode(row["text"]).tolist(), 300]
    made.write_parquet(str(tmp_path / "ids"))
    assert data.read_parquet(str(tmp_path / "ids")).count() == len(texts)


def test_local(toy, corpus):  # noqa: F811
    """--ray local starts a cluster on this machine and stops it afterwards."""
    tokenize(plan_of(toy, corpus, "whole"))
    assert not ray.is_initialized()
    manifest = pyunitok.ray.tokenize(
        corpus / "in", corpus / "ids", model=toy, address="local", separator=b"\n\n", unit_bytes=3000
    )
    assert manifest.documents > 100 and not ray.is_initialized()
    check_equal(corpus, toy)
    assert threading.active_count() < 50
