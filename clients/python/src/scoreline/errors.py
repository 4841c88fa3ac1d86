"""What can go wrong, as exceptions that carry the code of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Details = Sequence[Mapping[str, Any]]


class ScorelineError(Exception):
    """A failure that this package reports.

    Decide by `code`, which is stable; texts may change.

    Attributes:
        code: of the service, such as `deployment_not_found`; or one of this package:
            `connection_failed`, `foreign_answer` (what came is no answer of the service),
            `card_question`, `value_refused`.
        status: of the answer; None when the service was not asked or did not answer.
        message: what is wrong, and what to change.
        request_id: id of the request in the log of the service; None without an answer.
        details: where in the request it is wrong, each with `path` and `message`.
        scored: of `score`, what was scored before the failure; of a file, its batch; else None.
        idempotency_key: of `score`: within 24 hours the same call with this key scores and logs
            nobody twice; else None.

    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        request_id: str | None = None,
        details: Details = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.request_id = request_id
        self.details: tuple[Mapping[str, Any], ...] = tuple(details)
        self.scored: Any = None
        self.idempotency_key: str | None = None

    def __str__(self) -> str:
        where = f" [{self.code}" + (f", {self.request_id}]" if self.request_id else "]")
        listed = "".join(f"\n  {line(detail)}" for detail in self.details[:20])
        more = len(self.details) - 20
        return self.message + where + listed + (f"\n  and {more} more" if more > 0 else "")


class ServiceError(ScorelineError):
    """The service refused a request, or failed."""


class CardError(ServiceError):
    """A card can't become a model as it is.

    Each of `details` says what the card lacks, in the words of the library that made it.
    """


class ParityError(ServiceError):
    """The service would give other scores than the library; nothing was registered.

    Attributes:
        report: the `ParityReport` of the comparison, with the differences under the index of the
            frame; None if the applicants could not be compared once more.

    """

    report: Any = None
    #: The answer of the check, where there is one already.
    checked: Any = None


class ConnectionFailed(ScorelineError):  # noqa: N818
    """The service could not be reached, or did not answer, after all tries."""


class ValueRefused(ScorelineError, ValueError):  # noqa: N818
    """A value can't be sent as it is; what was sent before is in `scored`."""


def refuse(message: str) -> ValueRefused:
    """Make the error of a value that can't be sent."""
    return ValueRefused(message, code="value_refused")


def ask(path: str, message: str) -> CardError:
    """Make the error that asks for what a card does not hold."""
    details = [{"path": path, "message": message}]
    return CardError("the card can't be read as it is", code="card_question", details=details)


def line(detail: Mapping[str, Any]) -> str:
    """Write a detail as one line, with the row of the frame if it has one."""
    row = f"row {detail['row']!r}, " if "row" in detail else ""
    return f"{row}{detail.get('path', '')}: {detail.get('message', '')}"
