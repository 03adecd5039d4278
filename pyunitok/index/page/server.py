"""The web server of the search page, which gives connections a limited number and a limited time."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 256  # at a time: what comes beyond is closed at once
REQUEST_SECONDS = 20.0  # for a whole request to arrive, from the connection or from the answer before
CONNECTION_SECONDS = 600.0  # for all that goes over one connection


def config(app: Any) -> uvicorn.Config:
    """For uvicorn.Server."""
    return uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, http=Connection, ws="none")


class Connection(H11Protocol):
    """A connection that is closed when its time is over. uvicorn waits for a first request for ever."""

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
        self._timers[1:] = [self.loop.call_later(REQUEST_SECONDS, self._close_unless_asked)]

    def _close_unless_asked(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
