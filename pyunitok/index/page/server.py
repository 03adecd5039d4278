"""The web server of the search page, which limits the number and the duration of connections."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256  # further connections are closed immediately
REQUEST_SECONDS = 20.0  # time to receive a request, from the start of the connection or the end of the last response
CONNECTION_SECONDS = 600.0


def config(app: Any) -> uvicorn.Config:
    """The configuration for uvicorn.Server."""
    return uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, http=Connection, ws="none")


class Connection(H11Protocol):
    """A connection with timeouts. By itself, uvicorn waits forever for the first request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timers = [self.loop.call_later(CONNECTION_SECONDS, transport.abort)]
        self._wait_for_request()
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in self._timers:
            timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._wait_for_request()
        super().on_response_complete()

    def _wait_for_request(self) -> None:
        for timer in self._timers[1:]:
            timer.cancel()
        self._timers[1:] = [self.loop.call_later(REQUEST_SECONDS, self._close_if_idle)]

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
