"""The command line of the client.

`scoreline init DIR` writes the folder for a pipeline, and `scoreline register-archive`
shows the archive of the score log as an Iceberg table.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from pathlib import Path
from typing import Any

from .errors import ScorelineError
from .folder import init
from .frames import pandas
from .iceberg import NEEDED, register


def main(words: list[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code: 0, or 1 after an error, which is printed.

    """
    parser = argparse.ArgumentParser(prog="scoreline")
    commands = parser.add_subparsers(required=True)
    _add_init(commands)
    _add_register(commands)
    asked = parser.parse_args(words)
    try:
        sys.stdout.write(f"{asked.run(asked)}\n")
    except (ScorelineError, OSError, ImportError) as error:
        sys.stderr.write(f"scoreline: {error}\n")
        return 1
    return 0


def _add_init(commands: Any) -> None:
    command = commands.add_parser(
        "init", help="write the folder with which a pipeline checks and deploys a card"
    )
    command.set_defaults(run=_init)
    command.add_argument("folder", help="folder of the repository")
    command.add_argument(
        "--card", required=True, help="the fitted card, a pickle of your own: reading it runs code"
    )
    command.add_argument("--sample", required=True, help="applicants: .csv, .parquet or .pkl")
    command.add_argument("--name", required=True, help="of the model")
    command.add_argument("--version", default="1.0.0", help="of the model")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what deploy() takes, such as unseen=missing or points0=600",
    )


def _add_register(commands: Any) -> None:
    command = commands.add_parser(
        "register-archive",
        help="make an Iceberg table show the files of the score log's archive, and no others",
    )
    command.set_defaults(run=_register)
    command.add_argument(
        "--archive", required=True, help="SCORE_LOG_ARCHIVE of the service: file:///… or s3://…"
    )
    command.add_argument("--table", required=True, help="namespace.name; made where it is missing")
    command.add_argument(
        "--catalog", default="default", help="its name in the configuration of pyiceberg"
    )


def _init(asked: argparse.Namespace) -> object:
    card = pickle.loads(Path(asked.card).read_bytes())  # noqa: S301
    return init(
        asked.folder,
        card,
        _frame(asked.sample),
        name=asked.name,
        version=asked.version,
        options=dict(map(_option, asked.option)),
    )


def _register(asked: argparse.Namespace) -> object:
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError as error:
        raise ImportError(NEEDED) from error
    try:
        catalog = load_catalog(asked.catalog)
    except Exception as error:
        raise ScorelineError(
            f"the catalog {asked.catalog!r} can't be opened: {error}", code="catalog_unreadable"
        ) from error
    done = register(asked.archive, catalog, asked.table)
    return (
        f"{asked.table}: {done.added} files added, {done.removed} removed; it shows {done.files} "
        f"files with {done.rows} rows"
    )


def _frame(path: str) -> Any:
    readers = {".csv": "read_csv", ".parquet": "read_parquet", ".pkl": "read_pickle"}
    reader = readers.get(Path(path).suffix)
    if reader is None:
        raise OSError(f"{path} ends in none of {', '.join(readers)}")
    return getattr(pandas(), reader)(path)


def _option(text: str) -> tuple[str, Any]:
    """Read an option; a number is a number."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


if __name__ == "__main__":
    sys.exit(main())
