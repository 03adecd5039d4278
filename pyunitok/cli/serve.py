"""The command serve."""

from __future__ import annotations

import socket
import threading

import click

from pyunitok.errors import count
from pyunitok.index.opened import open_index
from pyunitok.index.page.app import make_app
from pyunitok.index.page.server import config
from pyunitok.tokens.model import open_model

MAX_WORK = 2_000_000_000  # of one search of the page in all shards: about two seconds, and 2 GB


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 picks a free port.")
@click.option(
    "--allow-host", multiple=True, metavar="NAME",
    help="Another name under which browsers reach this server; requests under other names are refused.",
)
@click.option("-m", "--model", metavar="MODEL", help="Model to use instead of the one that the token files name.")
def serve(folder: str, host: str, port: int, allow_host: tuple[str, ...], model: str | None) -> None:
    """Search an index in the browser.

    Needs `pip install 'pyunitok[serve]'`. The page has no login: everyone who reaches it can read the whole corpus.

    \b
    Example:
      pyunitok serve idx
      pyunitok serve idx --host 0.0.0.0 --allow-host search.example.org
    """
    try:
        import uvicorn

    except ImportError as error:
        raise click.ClickException(f"{error.name} is not installed: pip install 'pyunitok[serve]'") from error
    index = open_index(folder, model=open_model(model) if model else None)
    index.max_work = min(index.max_work, MAX_WORK // max(1, len(index.shards)))
    index.tables  # noqa: B018 - made now, and not by the first search
    threading.Thread(target=index.prefetch, daemon=True).start()
    names = {"localhost", "127.0.0.1", "::1", "[::1]", host, *allow_host}
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise click.ClickException(f"{host}:{port}: {error.strerror}; choose another --port or --host") from error
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}/"
        click.echo(f"{count(index.n_tokens, 'token')} in {count(index.n_documents, 'document')}: {address}")
        click.echo("Press Ctrl-C to stop.", err=True)
        uvicorn.Server(config(make_app(index, names))).run(sockets=[listening])
