"""Implements the `serve` command."""

from __future__ import annotations

import socket
import threading
from typing import Any

import click

from pyunitok.cli.arguments import model_override_option
from pyunitok.errors import count
from pyunitok.index.opened import open_index

MAX_WORK = 2_000_000_000  # the limit for a search of all shards: about two seconds and 2 GB


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 picks a free port.")
@click.option(
    "--allow-host", multiple=True, metavar="NAME",
    help="Also accept requests for this host name; requests for other names are rejected.",
)
@model_override_option
def serve(folder: str, host: str, port: int, allow_host: tuple[str, ...], model: Any) -> None:
    """Serve a search page for an index.

    Requires `pip install 'pyunitok[serve]'`. The page has no login: anyone who can reach it can read the corpus.

    \b
    Examples:
      pyunitok serve idx
      pyunitok serve idx --host 0.0.0.0 --allow-host search.example.org
    """
    try:
        import uvicorn

        from pyunitok.index.page.app import make_app
        from pyunitok.index.page.server import config
    except ImportError as error:
        raise click.ClickException(f"{error.name} is not installed: pip install 'pyunitok[serve]'") from error
    index = open_index(folder, model=model)
    index.max_work = min(index.max_work, MAX_WORK // max(1, len(index.shards)))
    index.tables  # noqa: B018 - builds the tables before the first search
    threading.Thread(target=index.prefetch, daemon=True).start()
    names = {"localhost", "127.0.0.1", "::1", "[::1]", host, *allow_host}
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()  # before the address is printed, so that a script can connect immediately
        except OSError as error:
            raise click.ClickException(f"{host}:{port}: {error.strerror}; choose another --port or --host") from error
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        click.echo(f"{count(index.n_tokens, 'token')} in {count(index.n_documents, 'document')}: {address}")
        click.echo("Press Ctrl-C to stop.", err=True)
        uvicorn.Server(config(make_app(index, names))).run(sockets=[listening])
