"""What is an answer of the service, and what is not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from .errors import CardError, ParityError, ScorelineError, ServiceError

_CLASSES: Mapping[str, type[ServiceError]] = {
    "invalid_spec": CardError,
    "parity_failed": ParityError,
}
_JSON_TYPE = re.compile(r"application/([a-z.-]+\+)?json\s*(;|$)", re.IGNORECASE)
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """What came back for a request, whoever sent it."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """Return the JSON of an answer.

        Raises:
            ServiceError: `foreign_answer`, for what is none: a page of a proxy, a part of an
                answer, an empty one.

        """
        kind = self.headers.get("content-type", "")
        if not _JSON_TYPE.match(kind):
            raise foreign(self, "is no JSON" if self.content else "is empty")
        try:
            return json.loads(self.content, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise foreign(self, "is no whole JSON") from None


def foreign(answer: Answer, what: str) -> ServiceError:
    """Make the error of an answer that is not one of the service; it is not quoted."""
    return ServiceError(
        f"the answer {what} (status {answer.status}): something between here and the service "
        "has made or changed it",
        code="foreign_answer",
        status=answer.status,
    )


def understood(answer: Answer, read: Callable[[Any], T]) -> T:
    """Read the JSON of an answer.

    Raises:
        ServiceError: `foreign_answer`, where it lacks what `read` looks for.

    """
    parsed = answer.json()
    try:
        return read(parsed)
    except ScorelineError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise foreign(answer, f"has another form: {type(error).__name__}") from error


def require_score(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the answer for one applicant.

    Raises:
        ValueError: for one that would give the applicant no score, or a text for one.

    """
    _require(answer, request_id=str, model_version=str)
    _require_result(answer)
    return answer


def require_results(answer: Mapping[str, Any], names: Sequence[str | None]) -> Mapping[str, Any]:
    """Check the answer for a batch.

    Args:
        answer: of the service.
        names: what the applicants were called in the request, in their order.

    Raises:
        ValueError: where it is not the score of each of these applicants, in this order.

    """
    _require(answer, request_id=str, model_version=str, results=list)
    results = answer["results"]
    if len(results) != len(names):
        raise ValueError(f"{len(results)} results for {len(names)} applicants")
    for one, name in zip(results, names, strict=True):
        _require_result(one)
        if one["id"] != name:
            raise ValueError("a result of another applicant")
    return answer


def error_of(answer: Answer, secret: str) -> ServiceError:
    """Read the error of an answer, also of one that a proxy made; it never shows the secret."""
    hidden = secret.encode() or b"\0"
    try:
        body = json.loads(answer.content.replace(hidden, b"[the key]"))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("error"), str):
        body = {}
    code = str(body.get("error", f"http_{answer.status}"))
    message = str(body.get("message", f"the answer has the status {answer.status}"))
    details = body.get("details")
    request_id = body.get("request_id") or answer.headers.get("x-request-id")
    return _CLASSES.get(code, ServiceError)(
        message,
        code=code,
        status=answer.status,
        request_id=None if request_id is None else str(request_id).replace(secret, "[the key]"),
        details=[one for one in details if isinstance(one, dict)]
        if isinstance(details, list)
        else (),
    )


def _require(answer: Mapping[str, Any], **types: type) -> None:
    for name, kind in types.items():
        if not isinstance(answer[name], kind):
            raise TypeError(f"{name} is no {kind.__name__}")


def _require_result(one: Mapping[str, Any]) -> None:
    """Check all of a result that becomes a part of the caller's rows."""
    _require(one, warnings=list)
    numbers = [one["score"], *one.get("contributions", {}).values()]
    if one["pd"] is not None:
        numbers.append(one["pd"])
    numbers += [shadow["score"] for shadow in one.get("shadow_scores", ())]
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError("a score that is no number")
        if not math.isfinite(number):
            raise ValueError("a score that is not finite")
    if not isinstance(one["risk_grade"], str | None):
        raise TypeError("a grade that is no text")
    for warning in one["warnings"]:
        if not isinstance(warning, str):
            _require(warning, type=str, variable=str)
    for reason in one.get("reasons", ()):
        _require(reason, rank=int, code=str, text=str)
    for shadow in one.get("shadow_scores", ()):
        _require(shadow, challenger_id=str)


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON")
