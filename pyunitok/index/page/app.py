"""The HTTP server of the search page: a Starlette application that accepts only GET requests.

    /                      the page; its state is in the query string
    /static/app.js …       the files of the page
    /api/NAME.json, .csv   the API in answers.py
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyunitok.errors import UnitokError
from pyunitok.index.concordance import spreadsheet_cell
from pyunitok.index.manifest import resolved_path
from pyunitok.index.opened import Index
from pyunitok.index.page.answers import ANSWERS, COLUMNS, ask, rows_of
from pyunitok.index.page.parameters import BadRequest

STATIC = Path(__file__).parent / "static"
N_SEARCHES = 4  # the maximum number of concurrent searches; further ones wait
MAX_WAITING = 64
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(), b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer", b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}  # fmt: skip


def make_app(index: Index, hosts: Iterable[str]) -> Starlette:
    """Returns the application for an open index.

    hosts  allowed values of the Host header, without port; other requests are rejected as protection against DNS
           rebinding
    """
    searches = anyio.CapacityLimiter(N_SEARCHES)

    async def page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    def api(name: str, form: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            parameters: dict[str, list[str]] = {}
            for key, value in request.query_params.multi_items():
                parameters.setdefault(key, []).append(value)
            if searches.statistics().tasks_waiting >= MAX_WAITING:
                return JSONResponse({"error": "too many concurrent searches; try again"}, 503)
            try:
                found = await anyio.to_thread.run_sync(ask, index, name, parameters, limiter=searches)
            except BadRequest as error:
                return JSONResponse({"error": str(error)}, 400)
            except UnitokError as error:
                return JSONResponse({"error": _without_folders(str(error), index)}, 500)
            return _json(found) if form == "json" else _csv(name, rows_of(found))

        return answer

    routes = [Route("/", page, methods=["GET"]), Mount("/static", StaticFiles(directory=STATIC))]
    routes += [
        Route(f"/api/{name}.{form}", api(name, form), methods=["GET"]) for name in ANSWERS for form in ("json", "csv")
    ]
    middleware = [Middleware(_Headers), Middleware(TrustedHostMiddleware, allowed_hosts=sorted(hosts))]
    return Starlette(routes=routes, middleware=middleware)


def _without_folders(message: str, index: Index) -> str:
    """Remove local folders from an error message, so that they are not disclosed."""
    known = [resolved_path(file.path, index.folder) for file in index.manifest.files]  # some may be stored in the index
    for path in (index.folder / "x", *(array.path for array in index.arrays), *known):
        message = message.replace(f"{path.parent}/", "")
    return message.replace(str(index.folder), index.folder.name)


def _json(answer: dict[str, Any]) -> Response:
    # Metadata from JSON Lines can contain lone surrogates, which require ASCII escapes.
    return Response(json.dumps(answer, ensure_ascii=True), media_type="application/json")


def _csv(name: str, rows: list[dict[str, Any]]) -> Response:
    out = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(out, columns or COLUMNS.get(name, ()))
    writer.writeheader()
    for row in rows:
        writer.writerow({key: spreadsheet_cell(value) for key, value in row.items()})
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return Response(out.getvalue().encode("utf-8", "replace"), media_type="text/csv", headers=headers)


class _Headers:
    """Middleware that adds the security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS.items()]
            await send(message)

        await self._app(scope, receive, with_headers)
