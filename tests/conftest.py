"""What the tests share: how hard hypothesis tries, where the real data lies, and what this processor can run.

HYPOTHESIS_PROFILE=expensive pytest tests/test_encode.py    many more examples; also: ci, sanitizers, default
PYUNITOK_SHARED=folder pytest                               where the shared data lies, if not in ../shared
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pyunitok import Tokenizer
from pyunitok._c import library
from pyunitok.errors import VocabularyError

_CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("default", max_examples=100, **_CALM)
settings.register_profile("ci", max_examples=60, derandomize=True, print_blob=True, **_CALM)
settings.register_profile("expensive", max_examples=5000, **_CALM)
settings.register_profile("sanitizers", max_examples=25, derandomize=True, print_blob=True, **_CALM)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def fewer(times: int) -> settings:
    """For tests whose examples are slow: so many times fewer of them than the profile says."""
    return settings(max_examples=max(1, settings().max_examples // times))


SHARED = Path(os.environ.get("PYUNITOK_SHARED") or Path(__file__).resolve().parents[2] / "shared")
CPUS = [name for name in library.CPUS if library.cpu_supported(name)]
ENGINES = list(library.ENGINES)


def find_shared(path: str) -> Path:
    """data/`path` in the shared folder; skips the test where it is not."""
    ret = SHARED / "data" / path
    if not ret.exists():
        pytest.skip(f"{ret} is not here")
    return ret


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of the shared data; the test is skipped where there is none."""
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


def heed_interrupts() -> None:
    """For a child's preexec_fn: what a shell runs in its background has SIGINT ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
