"""Hypothesis profiles, the shared data, the instruction sets of this machine, and fixtures that several files use.

HYPOTHESIS_PROFILE=expensive pytest tests/test_encode.py    many more examples; also: ci, sanitizers, default
PYUNITOK_SHARED=folder pytest                               the folder of the shared data, by default ../shared
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, settings
from toys import indexes

from pyunitok import Tokenizer
from pyunitok._c import library
from pyunitok.errors import VocabularyError

_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("default", max_examples=40, **_CALM)
settings.register_profile("ci", max_examples=40, derandomize=True, print_blob=True, **_CALM)
settings.register_profile("expensive", max_examples=5000, **_CALM)
settings.register_profile("sanitizers", max_examples=10, derandomize=True, print_blob=True, **_CALM)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def fewer(times: int) -> settings:
    """Settings for slow tests: divides the profile's number of examples by `times`."""
    return settings(max_examples=max(1, settings().max_examples // times))


SHARED = Path(os.environ.get("PYUNITOK_SHARED") or Path(__file__).resolve().parents[2] / "shared")
CPUS = [name for name in library.CPUS if library.cpu_supported(name)]
ENGINES = list(library.ENGINES)
CHROMIUM_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PIECES = [bytes([byte]) for byte in range(256)]
PIECES += [b"the", b" the", b"aa", b"aaaa", b"\n\n", "である".encode(), b"ab" * 20]


def find_shared(path: str) -> Path:
    """data/`path` in the shared folder. Skips the test if it does not exist."""
    ret = SHARED / "data" / path
    if not ret.exists():
        pytest.skip(f"{ret} does not exist")
    return ret


def decompressed(path: Path, n_bytes: int = -1) -> bytes:
    """The first n_bytes of the decompressed text of a .zst file; -1 for all of it."""
    with path.open("rb") as file:
        data: bytes = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read(n_bytes)
    return data


@pytest.fixture(
    scope="module", params=[(kind, dtype) for dtype in ("<u2", "<u4") for kind in ("suffix array", "compact")], ids=str
)
def both_kinds(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the tests of a module four times: indexes.make() returns suffix arrays or compact indexes, of uint16 or
    uint32 ids."""
    indexes.kind, indexes.dtype = request.param
    yield indexes.kind
    indexes.kind, indexes.dtype = "suffix array", "<u2"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of the shared data. Skips the test if there is none."""
    return find_shared("")


@pytest.fixture(scope="session")
def rwkv_path() -> Path:
    """The RWKV World vocabulary, from the shared data or from the installed distribution."""
    from pyunitok.vocab import rwkv

    path = SHARED / "data/models/rwkv" / rwkv.FILE_NAME
    try:
        return path if path.exists() else rwkv.find_installed()
    except VocabularyError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def rwkv(rwkv_path: Path) -> Tokenizer:
    return Tokenizer.from_file(rwkv_path)


@pytest.fixture(scope="session")
def toy() -> Tokenizer:
    """A greedy model of PIECES, with 300 as its eod."""
    return Tokenizer.from_pieces(PIECES, eod=300)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium. Skips the test if it or playwright is not installed."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(params=[1280, 390])
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page in Chromium at desktop or phone width. Fails if the page reports errors or gets wider than the window."""
    context = browser.new_context(viewport={"width": request.param, "height": 800})
    page = context.new_page()
    page.set_default_timeout(30_000)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield page
    assert not [problem for problem in problems if "status of 400" not in problem]
    assert page.evaluate("document.documentElement.scrollWidth") <= request.param
    context.close()


def heed_interrupts() -> None:
    """For preexec_fn: restores the SIGINT handler; shells ignore SIGINT in background jobs and their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
