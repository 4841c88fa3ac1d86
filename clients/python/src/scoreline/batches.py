"""Files of applicants that the service scores as jobs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .connection import given, segment
from .errors import refuse
from .frames import frame_of
from .jobs import awaited, failure_of, job_of
from .registry import Registry
from .transport import Call
from .values import path_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: Between two pieces of a file, and until the service has stored it.
_FILE_SECONDS = 300.0
_LIST_MAX = 200
_TYPES = {
    "csv": "text/csv",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
_ENDINGS = {".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet"}
_LISTED = (
    *("id", "status", "deployment_id", "scored", "errors", "warned", "created_at"),
    *("finished_at", "message"),
)


@dataclass(frozen=True)
class FileBatch:
    """A file that is scored, or was.

    Attributes:
        id: of the batch.
        status: `queued`, `running`, `done`, `failed` or `cancelled`.
        deployment_id: the slug of the deployment.
        cache_version: state of the deployment that scores the whole file.
        scored: applicants that were scored.
        errors: lines that were not.
        warned: scored applicants with a warning.
        unknown_columns: columns that no model knows, which are left out.
        warnings: features many of whose values match no bin, as of a file with decimal commas.

    """

    id: str
    status: str
    deployment_id: str
    cache_version: int
    scored: int
    errors: int
    warned: int
    unknown_columns: tuple[str, ...]
    warnings: tuple[str, ...]


class FileBatches(Registry):
    """Scores files; a part of `Client`."""

    def batch_file(
        self,
        path: str | os.PathLike[str],
        deployment: Any,
        out: str | os.PathLike[str],
        *,
        errors: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        reference: str | None = None,
        points: bool = False,
        strict: bool = False,
        routing_key: str | None = None,
    ) -> FileBatch:
        """Send a file of applicants, wait until it is scored, and write the results to a file.

        The applicants are never in the memory of this program. Formats follow from the endings of
        the names: `.csv`, `.ndjson`, `.jsonl` or `.parquet`.

        Args:
            path: of the file; docs/files.md says what it may hold.
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            out: file for the results.
            errors: file for the lines that were not scored, with their reasons, as NDJSON.
            progress: whether to show the progress; by itself in a terminal or notebook.
            reference: the column with the numbers of the applications; `id` when left out.
            points: adds the points of each feature.
            strict: puts applicants with missing or unknown values among the errors.
            routing_key: draws the model of a live split.

        Raises:
            ServiceError: its `scored` is the batch, if that failed or was cancelled. What was
                scored before is in `out`.

        """
        for file in (out, errors):
            # Before an hour of scoring, and not after it.
            if file is not None and not path_of(file, "a file").absolute().parent.is_dir():
                raise refuse(f"there is no folder for {os.fspath(file)!r}: make it first")
        started = self.batch_start(
            path,
            deployment,
            results=_format_of(out),
            reference=reference,
            points=points,
            strict=strict,
            routing_key=routing_key,
        )
        return self.batch_results(started, out, errors=errors, progress=progress)

    def batch_start(
        self,
        path: str | os.PathLike[str],
        deployment: Any,
        *,
        results: str | None = None,
        reference: str | None = None,
        points: bool = False,
        strict: bool = False,
        routing_key: str | None = None,
    ) -> FileBatch:
        """Send a file and return at once; `batch_results` waits for it.

        Args:
            path: of the file.
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            results: format of the results, `csv`, `ndjson` or `parquet`; that of the file when left
                out.
            reference: as for `batch_file`, like the other arguments.
            points: adds the points of each feature.
            strict: puts applicants with missing or unknown values among the errors.
            routing_key: draws the model of a live split.

        """
        params = given(
            deployment=self._slug(deployment),
            results=results,
            id_field=reference,
            include_contributions="true" if points else None,
            strict_mode="true" if strict else None,
            routing_key=routing_key,
        )
        call = Call(
            "POST",
            "/v1/batches/upload",
            self._sender(),
            file=path_of(path, "path"),
            content_type=_TYPES[_format_of(path)],
            params=params,
            # A file that is sent twice is scored twice.
            is_repeatable=False,
            timeout_seconds=_FILE_SECONDS,
        )
        return self._json(call, _batch_of)

    def batch_results(
        self,
        batch: FileBatch | str,
        out: str | os.PathLike[str],
        *,
        errors: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> FileBatch:
        """Wait for a batch, and write its results to a file; raises as `batch_file` does."""
        files = [
            (what, path_of(file, what))
            for what, file in (("results", out), ("errors", errors))
            if file is not None
        ]
        read = self._batch_call("GET", batch)
        ended = awaited(lambda: self._json(read, job_of), self._json(read, job_of), progress)
        for what, target in files:
            call = self._batch_call("GET", batch, f"/{what}", timeout_seconds=_FILE_SECONDS)
            self._transport.download(call, target)
        if ended["status"] != "done":
            error = failure_of(ended)
            error.scored = _batch_of(ended)
            raise error
        return _batch_of(ended)

    def batch_cancel(self, batch: FileBatch | str) -> FileBatch:
        """End a batch; what was scored stays in the score log and in the results."""
        return self._json(self._batch_call("POST", batch, "/cancel"), _batch_of)

    def batches(self) -> DataFrame:
        """List the batches of the team, newest first."""
        rows: list[dict[str, Any]] = []
        params: dict[str, Any] = {"limit": _LIST_MAX}
        while True:
            call = Call("GET", "/v1/batches", self._sender(), params=params)
            page, cursor = self._json(call, _page_of)
            rows += page
            if cursor is None:
                listed = [{name: row.get(name) for name in _LISTED} for row in rows]
                return frame_of(listed, columns=_LISTED)
            params["cursor"] = cursor

    def _batch_call(
        self, method: str, batch: FileBatch | str, what: str = "", **fields: Any
    ) -> Call:
        path = f"/v1/batches/{segment(getattr(batch, 'id', str(batch)))}{what}"
        return Call(method, path, self._sender(), **fields)


def _page_of(answer: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Any]:
    return [{**one, **one["counts"]} for one in answer["batches"]], answer.get("next_cursor")


def _batch_of(answer: Mapping[str, Any]) -> FileBatch:
    counts = answer["counts"]
    return FileBatch(
        id=answer["id"],
        status=answer["status"],
        deployment_id=answer["deployment_id"],
        cache_version=answer["cache_version"],
        scored=counts["scored"],
        errors=counts["errors"],
        warned=counts["warned"],
        unknown_columns=tuple(answer["unknown_columns"]),
        warnings=tuple(f"{one['path']}: {one['message']}" for one in answer["warnings"]),
    )


def _format_of(path: str | os.PathLike[str]) -> str:
    found = _ENDINGS.get(path_of(path, "a file").suffix.lower())
    if found is None:
        raise refuse(f"the name of {os.fspath(path)!r} ends in none of {', '.join(_ENDINGS)}")
    return found
