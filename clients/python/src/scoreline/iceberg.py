"""The archived days of the score log as an Apache Iceberg table; needs `scoreline[iceberg]`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from .errors import ScorelineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

NEEDED = "this needs pyiceberg: pip install 'scoreline[iceberg]'"

#: The property of the table that says which archive it shows.
_ARCHIVE = "scoreline.archive"
#: Who is overtaken stops and compares anew; pyiceberg does not repeat what was compared before.
_NO_RETRIES = {"commit.retry.num-retries": "0"}
_MANIFEST_VERSION = 1
_MANIFEST_BYTES_MAX = 64 * 1024 * 1024
_DAYS_MAX = 100_000
_NAME = re.compile(r"(part|late)-\d{5,}-g\d+\.parquet")


@dataclass(frozen=True)
class Registered:
    """What a call changed in the table."""

    #: Files that the table shows from now on.
    added: int
    #: Files that it shows no more: rewritten, erased, or beyond retention.
    removed: int
    #: Files that it shows.
    files: int
    #: Their rows.
    rows: int
    #: The snapshot that was committed; None when nothing had changed.
    snapshot_id: int | None


@dataclass(frozen=True)
class _File:
    path: str
    day: date
    rows: int
    size: int


def register(archive: str, catalog: Catalog, table: str) -> Registered:
    """Make a table show the files that the archive's manifests name, and no others.

    All changes are one commit: a reader sees each file of a day before them or after them. A call
    that finds nothing changed commits nothing. Files are neither read nor copied, written or
    deleted; the columns come from the latest new one.

    Args:
        archive: what `SCORE_LOG_ARCHIVE` of the service is: `file:///…` or `s3://…`.
        catalog: of pyiceberg.
        table: `namespace.name`; both are made where they are missing.

    Returns:
        What changed.

    Raises:
        ScorelineError: `archive_unreadable`, `archive_changed`, `table_foreign` or
            `table_overtaken`, with what to do.

    """
    try:
        from pyiceberg.exceptions import (
            CommitFailedException,
            NoSuchTableError,
            TableAlreadyExistsError,
        )
    except ImportError as error:
        raise ImportError(NEEDED) from error
    if table.strip(".").count(".") < 1:
        raise ScorelineError(f"{table!r} is no table: say namespace.name", code="value_refused")
    identity, files = _read(archive)
    try:
        try:
            found = catalog.load_table(table)
        except NoSuchTableError:
            if not files:
                return Registered(0, 0, 0, 0, None)
            found = _make(catalog, table, identity, files[0])
        if found.properties.get(_ARCHIVE) != identity:
            raise ScorelineError(
                f"{table} is not the table of the archive {archive}: name another table",
                code="table_foreign",
            )
        return _commit(found, files)
    except (CommitFailedException, TableAlreadyExistsError) as error:
        raise ScorelineError(
            f"{table} was changed at the same time, and nothing was registered: run it again",
            code="table_overtaken",
        ) from error


def _commit(table: Table, files: list[_File]) -> Registered:
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    wanted = {file.path: file for file in files}
    shown = {task.file.file_path: task.file for task in table.scan().plan_files()}
    added = [file for path, file in wanted.items() if path not in shown]
    removed = [file for path, file in shown.items() if path not in wanted]
    rows = sum(file.rows for file in files)
    if not added and not removed:
        return Registered(0, 0, len(files), rows, None)
    with table.transaction() as transaction:
        if added:
            with transaction.update_schema() as update:
                update.union_by_name(_schema(added[-1]))
        with transaction.update_snapshot().overwrite() as snapshot:
            for old in removed:
                snapshot.delete_data_file(old)
            for file in added:
                # Without bounds of its columns, which would keep references that were erased.
                snapshot.append_data_file(
                    DataFile.from_args(
                        content=DataFileContent.DATA,
                        file_path=file.path,
                        file_format=FileFormat.PARQUET,
                        partition=Record((file.day - date(1970, 1, 1)).days),
                        record_count=file.rows,
                        file_size_in_bytes=file.size,
                        spec_id=table.metadata.default_spec_id,
                    )
                )
    current = table.current_snapshot()
    return Registered(
        len(added), len(removed), len(files), rows, current.snapshot_id if current else None
    )


def _make(catalog: Catalog, table: str, identity: str, file: _File) -> Table:
    """Make the table; `dt` is not in the files, and comes from the partition."""
    catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
    properties = {**_NO_RETRIES, _ARCHIVE: identity}
    with catalog.create_table_transaction(table, _schema(file), properties=properties) as made:
        names = made.table_metadata.schema().name_mapping.model_dump_json()
        made.set_properties({"schema.name-mapping.default": names})
        with made.update_spec() as update:
            update.add_identity("dt")
    return catalog.load_table(table)


def _schema(file: _File) -> Any:
    """Read the columns of a file, and `dt`."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import fs

    system, path = fs.FileSystem.from_uri(file.path)
    return pq.read_schema(path, filesystem=system).append(pa.field("dt", pa.date32()))


def _read(archive: str) -> tuple[str, list[_File]]:
    """Read the identity of an archive and the files that its manifests name."""
    from pyarrow import ArrowException, fs

    try:
        archive = archive.rstrip("/")
        system, root = fs.FileSystem.from_uri(archive)
        identity = _json(system, f"{root}/_archive.json")["archive"]
        found = system.get_file_info(fs.FileSelector(root))
        days = [one.base_name for one in found if one.base_name.startswith("dt=")]
        if len(days) > _DAYS_MAX:
            raise ValueError(f"it has more than {_DAYS_MAX} days")
        files = [file for day in sorted(days) for file in _files(system, root, archive, day)]
    except (OSError, ValueError, KeyError, TypeError, ArrowException) as error:
        raise ScorelineError(
            f"{archive} can't be read as an archive of the score log, and the table stays as it "
            f"is: {error}",
            code="archive_unreadable",
        ) from error
    return str(identity), files


def _files(system: Any, root: str, archive: str, day: str) -> list[_File]:
    try:
        manifest = _json(system, f"{root}/{day}/_manifest.json")
    except FileNotFoundError:
        return []
    if manifest["version"] != _MANIFEST_VERSION:
        raise ValueError(f"{day} has a manifest of another version: take a newer client")
    names = [str(one["name"]) for one in manifest["files"]]
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{day} names {name!r}, which is no file of a day")
    listed = [
        _File(
            f"{archive}/{day}/{one['name']}",
            date.fromisoformat(day.removeprefix("dt=")),
            int(one["rows"]),
            int(one["bytes"]),
        )
        for one in manifest["files"]
    ]
    seen = system.get_file_info([f"{root}/{day}/{name}" for name in names])
    for file, info in zip(listed, seen, strict=True):
        if info.size != file.size:
            raise ScorelineError(
                f"{file.path} is missing or has not the bytes of its manifest, and the table stays "
                "as it is: run it again if the day was just rewritten; otherwise "
                "scoreline_archive_faulty_files of the service tells",
                code="archive_changed",
            )
    return listed


def _json(system: Any, path: str) -> Mapping[str, Any]:
    with system.open_input_stream(path) as stream:
        text = stream.read(_MANIFEST_BYTES_MAX + 1)
    if len(text) > _MANIFEST_BYTES_MAX:
        raise ValueError(f"{path} has more than {_MANIFEST_BYTES_MAX} bytes")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{path} is no object")
    return found
