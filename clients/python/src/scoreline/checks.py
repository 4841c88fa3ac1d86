"""Imports of cards, and checks of them with samples of any size."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .connection import Connection, segment
from .deployed import deployed_of
from .errors import CardError, ParityError
from .jobs import awaited, failure_of, job_of
from .progress import Progress, is_watched
from .samples import Sample
from .transport import Call
from .values import encode

#: The service ends an import after a minute, and one of another team may run before it.
IMPORT_SECONDS = 150.0
#: Between two pieces of a file, and until the service has stored it.
_FILE_SECONDS = 300.0
#: A longer sample does not go with the card, but as a file: proxies and the service have bounds.
_SAMPLE_BYTES_MAX = 8_000_000


class Checks(Connection):
    """Imports cards; a part of `Client`."""

    def _import(self, body: Mapping[str, Any], progress: bool | None) -> Any:
        """Import a card, and register it if the body says so.

        Returns:
            The answer of `POST /v1/models/import`.

        """
        sample = body.get("sample")
        if isinstance(sample, Sample):
            text = sample.text(_SAMPLE_BYTES_MAX)
            if text is None:
                return self._check_file(body, sample, progress)
            body = {**body, "sample": text}
        call = self._keyed_call("/v1/models/import", encode(body), IMPORT_SECONDS)
        return self._json(call(self._manager()), _imported_of)

    def _check_file(self, body: Mapping[str, Any], sample: Sample, progress: bool | None) -> Any:
        """Send a sample as a file, and wait for the job that compares it."""
        order = {name: body[name] for name in body if name not in ("sample", "register")}
        handle, name = tempfile.mkstemp(prefix="scoreline-", suffix=".ndjson")
        path = Path(name)
        try:
            with (
                os.fdopen(handle, "wb") as file,
                Progress(len(sample), is_shown=is_watched(progress)) as shown,
            ):
                file.write(encode(order) + b"\n")
                for rows, portion in sample.portions():
                    file.write(portion)
                    shown.add(rows)
            call = Call(
                "POST",
                "/v1/models/checks",
                self._manager(),
                file=path,
                content_type="application/x-ndjson",
                timeout_seconds=_FILE_SECONDS,
            )
            job = self._json(call, job_of)
        finally:
            path.unlink(missing_ok=True)
        read = Call("GET", f"/v1/jobs/{segment(job['id'])}", self._manager())
        ended = awaited(lambda: self._json(read, _checked_of), job, progress)
        if ended["status"] != "done":
            raise failure_of(ended)
        answer = {**ended["result"], "registered": None}
        if "register" in body:
            answer["registered"] = self._register(answer, str(job["id"]), body["register"])
        return answer

    def _register(self, answer: Mapping[str, Any], check: str, register: Mapping[str, Any]) -> Any:
        """Register what a check has proved."""
        faults = answer["faults"]
        if faults:
            message = f"the card has {len(faults)} fault" + ("" if len(faults) == 1 else "s")
            raise CardError(message, code="invalid_spec", status=200, details=faults)
        body = {**register, "spec": answer["spec"], "check_id": check}
        call = self._keyed_call("/v1/models/deploy", encode(body), IMPORT_SECONDS)
        try:
            return self._json(call(self._manager()), _registered_of)
        except ParityError as error:
            error.checked = answer
            raise


def _imported_of(answer: Any) -> Any:
    """Check that an answer is that of an import."""
    if not all(isinstance(fault, Mapping) for fault in answer["faults"]):
        raise TypeError("faults of another form")
    if answer.get("registered") is not None:
        deployed_of(answer["registered"], (), None)
    return answer


def _checked_of(answer: Any) -> Any:
    """Check that an answer is that of a job that checks a card."""
    job = job_of(answer)
    if job["status"] == "done":
        _imported_of(job["result"])
    return job


def _registered_of(answer: Any) -> Any:
    """Check that an answer is that of a registration."""
    deployed_of(answer, (), None)
    return answer
