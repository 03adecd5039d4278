"""Builds and checks the documentation site.

    python tools/docs_site.py build OUT        build it into the folder OUT; warnings are errors
    python tools/docs_site.py check OUT        open every page in Chromium
    python tools/docs_site.py screenshots      regenerate the images in tools/docs/images

Requires `pip install -e '.[docs]'`; the last two also require Chromium.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "tools/docs"
SAMPLE = ROOT / "tests/data/sample.jsonl.zst"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PHONE, DESK = {"width": 390, "height": 800}, {"width": 1280, "height": 800}
SCREENSHOTS = {"search": "?q=first+train", "dispersion": "?q=train&mode=case&view=dispersion"}  # file: page


def build(out: Path) -> None:
    strict = ["-q", "-E", "-W", "--keep-going"]
    subprocess.run([sys.executable, "-m", "sphinx", *strict, "-b", "html", DOCS, out], check=True)


@contextmanager
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


def check(out: Path) -> list[str]:
    """Open every page of a site at desktop and phone widths. Returns errors, missing files and bad links."""
    wrong: list[str] = []
    with browser() as opened:
        page = opened.new_page()
        page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
        page.on("requestfailed", lambda request: wrong.append(f"{page.url}: {request.url} cannot be loaded"))
        for size in (DESK, PHONE):
            page.set_viewport_size(size)
            for path in sorted(out.glob("*.html")):
                page.goto(path.as_uri())
                wrong += [f"{path.name}: {fault}" for fault in faults(page, out)]
    return wrong


def faults(page: Any, out: Path) -> Iterator[str]:
    if not page.title():
        yield "no title"
    if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
        yield f"wider than {page.viewport_size['width']} pixels"
    for link in set(page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")):
        name, _, anchor = link.partition("#")
        target = Path(name.removeprefix("file://"))
        if not name.startswith("file://"):
            continue
        if not target.exists():
            yield f"a link to {target}, which does not exist"
        elif anchor and out in target.parents and f'id="{anchor}"' not in target.read_text(encoding="utf-8"):
            yield f"a link to {target.name}#{anchor}, which does not exist"


def take_screenshots() -> None:
    with tempfile.TemporaryDirectory() as folder, browser() as opened:
        index = ["index", "ids.u16", "-o", "idx", "--words", "--fields", "meta.lang"]
        for words in (["tokenize", SAMPLE, "-o", "ids.u16", "--metadata"], index):
            subprocess.run([sys.executable, "-m", "pyunitok", *words], cwd=folder, check=True)
        serving = [sys.executable, "-m", "pyunitok", "serve", "idx", "--port", "0"]
        with Popen(serving, cwd=folder, text=True, stdout=PIPE, stderr=STDOUT) as server:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            (DOCS / "images").mkdir(exist_ok=True)
            for name, query in SCREENSHOTS.items():
                page = opened.new_page(viewport=DESK)
                page.goto(f"{address}{query}")
                page.wait_for_load_state("networkidle")
                page.screenshot(path=DOCS / "images" / f"{name}.png")
            server.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["build", "check", "screenshots"])
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "build/site")
    options = parser.parse_args()
    if options.action == "build":
        build(options.out)
    elif options.action == "screenshots":
        take_screenshots()
    elif wrong := check(options.out.resolve()):
        print("\n".join(wrong))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
