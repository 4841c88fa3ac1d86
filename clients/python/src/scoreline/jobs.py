"""Work that takes longer than a request: backtests and replays."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .connection import Connection, given, segment, slug_of
from .errors import ServiceError, refuse
from .frames import Frames, frames_of
from .importing import ParityReport
from .progress import Progress, is_watched
from .reports import model_of, moment
from .transport import Call
from .values import encode

_FIRST_WAIT_SECONDS = 0.1
_WAIT_SECONDS_MAX = 2.0
_ENDS = ("done", "failed", "cancelled")


class Jobs(Connection):
    """Starts jobs and waits for their results; a part of `Client`."""

    def backtest(
        self,
        candidate: Any,
        deployment: Any,
        *,
        cutoffs: Sequence[float] = (),
        definition: str | None = None,
        since: Any = None,
        until: Any = None,
        dedupe: str | None = None,
        progress: bool | None = None,
    ) -> Frames:
        """Say what a candidate card would have given to the applicants of a deployment.

        Args:
            candidate: a specification, the report of `check`, the id of a model, or what `deploy`
                returned.
            deployment: a slug, or what `deploy` returned: whose applicants.
            cutoffs: scores from which an applicant is approved.
            definition: id of a definition of outcomes, for the performance.
            since: beginning of the period.
            until: its end.
            dedupe: which scoring of a reference counts: `last`, `first` or `none`.
            progress: whether to show the progress.

        Returns:
            `summary` with `exact_share`, `features` with how sure each is, `bands`, and
            `swap_sets` for the cut-offs.

        """
        source = given(
            **{
                "deployment": slug_of(deployment),
                "from": moment(since),
                "to": moment(until),
            }
        )
        body = {
            **_candidate(candidate),
            "source": source,
            **given(cutoffs=list(cutoffs) or None, definition=definition, dedupe=dedupe),
        }
        return self._job("/v1/backtests", body, progress)

    def replay(
        self,
        deployment: Any,
        *,
        since: Any = None,
        until: Any = None,
        progress: bool | None = None,
    ) -> Frames:
        """Compute the logged scores of a period again, to the bit.

        Returns:
            `summary` with the verdict, `deterministic` or `differs`, and `different`.

        """
        body = given(**{"from": moment(since), "to": moment(until)})
        return self._job(f"/v1/deployments/{segment(slug_of(deployment))}/replays", body, progress)

    def _job(self, path: str, body: Mapping[str, Any], progress: bool | None) -> Frames:
        # A job that is started twice runs twice.
        call = Call("POST", path, self._manager(), content=encode(body), is_repeatable=False)
        job = self._json(call)
        read = Call("GET", f"/v1/jobs/{job['id']}", self._manager())
        ended = awaited(lambda: self._json(read), job, progress)
        if ended["status"] != "done":
            raise failure_of(ended)
        return frames_of(ended["result"])


def awaited(
    read: Callable[[], Mapping[str, Any]], job: Mapping[str, Any], progress: bool | None
) -> Mapping[str, Any]:
    """Read a job until it has ended, and show its progress."""
    wait = _FIRST_WAIT_SECONDS
    with Progress(None, is_shown=is_watched(progress)) as shown:
        while True:
            shown.show(job["progress"]["done"], job["progress"]["total"])
            if job["status"] in _ENDS:
                return job
            time.sleep(wait)
            wait = min(wait * 1.5, _WAIT_SECONDS_MAX)
            job = read()


def failure_of(job: Mapping[str, Any]) -> ServiceError:
    """Make the error of a job that was not done."""
    message = job.get("message") or f"the job {job['id']} was cancelled"
    code = job.get("error") or f"job_{job['status']}"
    return ServiceError(f"{message} ({job['id']})", code=code, status=200)


def _candidate(candidate: Any) -> dict[str, Any]:
    if isinstance(candidate, ParityReport):
        if candidate.spec is None:
            raise refuse("the report has no specification, because the card has faults")
        return {"spec": candidate.spec}
    if isinstance(candidate, Mapping):
        return {"spec": dict(candidate)}
    return {"model_id": model_of(candidate)}
