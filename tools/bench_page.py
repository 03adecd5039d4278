"""bench.py search --part page: from Enter to the count on the screen, in a browser, over an index of a gigabyte."""

from __future__ import annotations

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zstandard
from bench_timing import Corpora, Report, command, documents, fail, run, verdict

from pyunitok import open_index

TARGET_MS = 150
SHARD_TOKENS = "64M"
FREQUENT = ["the", "e", " ", "a", " the ", "of the", "in", "的"]
ABSENT = ["qwxzvkj", "the the of of", "zzzzzzzzzz", "日本語xyz", "th e", "An absent phrase of six words"]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip

# Milliseconds from the key to the first frame that has the count.
_WATCH = """() => {
  const count = document.getElementById("count");
  window.asked = 0;
  window.took = null;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { window.asked = performance.now(); window.took = null; }
  }, true);
  new MutationObserver(() => {
    if (!/occurrence/.test(count.textContent) || window.took !== null) return;
    requestAnimationFrame(() => { if (window.took === null) window.took = performance.now() - window.asked; });
  }).observe(count, { childList: true, characterData: true, subtree: true });
}"""

_TOOK = """() => new Promise((resolve) => {
  const look = () => window.took === null ? setTimeout(look, 5) : resolve(window.took);
  look();
})"""


def build(corpora: Corpora, megabytes: int, folder: Path) -> Path:
    """An index of so much text: all corpora over and over, their parts shuffled each time; a line is a document."""
    parts, rng, left = documents(corpora.round_robin()), random.Random(1), megabytes * 1_000_000
    with (folder / "text.txt.zst").open("wb") as file, zstandard.ZstdCompressor(1).stream_writer(file) as writer:
        while left > 0:
            rng.shuffle(parts)
            for part in parts:
                writer.write(part[: max(0, left)])
                left -= len(part)
    run([*command(), "tokenize", str(folder / "text.txt.zst"), "-o", str(folder / "ids.u16"), "--doc", "\\n"])
    run([*command(), "index", str(folder / "ids.u16"), "-o", str(folder / "idx"), "--shard-tokens", SHARD_TOKENS])
    return folder / "idx"


def queries(english: str, text: str, n: int) -> list[str]:
    """Phrases of 1 to 6 words, frequent and absent ones, and substrings from anywhere to anywhere: n of them."""
    rng, words = random.Random(11), list(re.finditer(r"[A-Za-z]+", english))
    ret = FREQUENT + ABSENT
    while len(ret) < n:
        k, at = len(ret) % 6 + 1, rng.randrange(len(words) - 6)
        phrase = english[words[at].start() : words[at + k - 1].end()]
        if len(ret) % 3 == 0:  # from the middle of a token to that of another
            begin = rng.randrange(len(text) - 40)
            phrase = text[begin : begin + rng.randrange(2, 25)]
        if phrase.isprintable() and phrase.strip() and phrase not in ret:
            ret.append(phrase)
    rng.shuffle(ret)
    return ret[:n]


def forget(*folders: Path) -> None:
    """Drop the files from the system's memory, as far as it can be asked to."""
    for path in (path for folder in folders for path in folder.iterdir() if path.is_file()):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of its own process."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    argv = [*command(), "serve", str(folder), "--port", "0"]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            found = re.search(r"http://\S+", server.stdout.readline())
            if not found:
                raise fail("the server did not start")
            yield found[0]
        finally:
            server.terminate()


def ask(page: Any, query: str) -> tuple[float, str]:
    """(milliseconds, what is shown)"""
    page.fill("#q", query)
    page.evaluate("() => { window.took = null; }")
    page.press("#q", "Enter")
    return page.evaluate(_TOOK), page.inner_text("#count b")


def measure_page(folder: Path, texts: list[str], n: int, report: Report) -> None:
    """Cold: the files are not in memory, and each query is the first of its kind; then n times warm."""
    from playwright.sync_api import sync_playwright

    forget(folder, folder.parent)
    times: dict[str, list[float]] = {"cold": [], "warm": []}
    shown: dict[str, str] = {}
    with served(folder) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        page.evaluate(_WATCH)
        for turn in range(n + 1):
            for text in texts:
                took, found = ask(page, text)
                times["warm" if turn else "cold"].append(took)
                shown[text] = found
                page.wait_for_selector("#view:not(.loading)")  # the hits too: the next query finds the server idle
        browser.close()
    index = open_index(folder)
    for text, found in shown.items():
        expected = index.count(text)
        if "at least" in found or int(re.sub(r"\D", "", found)) != int(expected):
            raise fail(f"{text!r}: the page shows {found}, and there are {int(expected)}")
    for what, ms in times.items():
        worst = max(zip(ms, texts * n, strict=False))
        report.add(
            what=f"page, {what}: Enter to the count", tokens=index.n_tokens, queries=len(ms), wrong=0,
            occurrences=None, median_us=statistics.median(ms) * 1e3, p99_us=sorted(ms)[int(len(ms) * 0.99)] * 1e3,
            max_us=worst[0] * 1e3, verdict=verdict(worst[0] <= TARGET_MS),
        )  # fmt: skip
        report.notes.append(f"page, {what}: the slowest is {worst[1]!r}")


def has_browser() -> bool:
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return False
    return shutil.which("chromium") is not None and sys.platform == "linux"
