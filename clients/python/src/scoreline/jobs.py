"""Work that takes longer than a request."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from .connection import given, segment
from .errors import ServiceError
from .frames import Frames, frames_of
from .progress import Progress, is_watched
from .registry import Registry
from .reports import Moment, moment
from .transport import Call
from .values import encode

_FIRST_WAIT_SECONDS = 0.1
_WAIT_SECONDS_MAX = 2.0
_ENDS = ("done", "failed", "cancelled")


class Jobs(Registry):
    """Starts jobs and waits for their results; a part of `Client`."""

    def replay(
        self,
        deployment: Any,
        *,
        since: Moment = None,
        until: Moment = None,
        progress: bool | None = None,
    ) -> Frames:
        """Compute the logged scores of a period again, to the bit.

        Returns:
            `summary` with the verdict, `deterministic` or `differs`, and `different`.

        """
        body = given(**{"from": moment(since), "to": moment(until)})
        return self._job(
            f"/v1/deployments/{segment(self._slug(deployment))}/replays", body, progress
        )

    def _job(self, path: str, body: Mapping[str, Any], progress: bool | None) -> Frames:
        # A job that is started twice runs twice.
        call = Call("POST", path, self._manager(), content=encode(body), is_repeatable=False)
        job = self._json(call, job_of)
        read = Call("GET", f"/v1/jobs/{segment(job['id'])}", self._manager())
        ended = awaited(lambda: self._json(read, job_of), job, progress)
        if ended["status"] != "done":
            raise failure_of(ended)
        return frames_of(ended["result"])


def job_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check that an answer is that of a job."""
    number = (int, float)
    progress = answer["progress"]
    is_sound = isinstance(progress["done"], number) and isinstance(
        progress["total"], (*number, type(None))
    )
    if not (is_sound and isinstance(answer["id"], str) and isinstance(answer["status"], str)):
        raise TypeError("no job")
    if answer["status"] == "done" and not isinstance(answer.get("result", {}), Mapping):
        raise TypeError("no result")
    return answer


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
