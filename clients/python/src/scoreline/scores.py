"""Scoring with a client: one applicant, a frame, or a file in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from .batching import Send, header_text, idempotency_key
from .connection import Connection, given, segment, slug_of
from .errors import ScorelineError, refuse
from .scoring import Asked, features_of, reference_of, result_of, score_frame, score_rows
from .transport import Call
from .values import encode, is_frame

if TYPE_CHECKING:
    from pandas import DataFrame

_ROUTING_KEY_CHARS_MAX = 500
_REFERENCE_CHARS_MAX = 128


class Scores(Connection):
    """Scores applicants; a part of `Client`."""

    @overload
    def score(self, data: DataFrame, deployment: Any, **asked: Any) -> DataFrame: ...

    @overload
    def score(self, data: Mapping[Any, Any], deployment: Any, **asked: Any) -> dict[str, Any]: ...

    @overload
    def score(
        self, data: Iterable[Mapping[Any, Any]], deployment: Any, **asked: Any
    ) -> list[dict[str, Any]]: ...

    def score(self, data: Any, deployment: Any, **asked: Any) -> Any:
        """Score applicants; each is logged once, however often a request is repeated.

        Args:
            data: a frame; or a mapping for one applicant, or several mappings.
            deployment: a slug, or what `deploy` returned. With the latter, only the columns of
                its card are sent; otherwise all columns are.
            asked: `features`, the columns to send; `reference`, the column with the numbers of
                the applications (`id` if there is such a column); `routing_key`, by which a live
                split draws the model, one for all applicants of the call (left out: the reference
                of a single applicant, otherwise at random); `points=False` for answers without
                points; `reasons` and `lang`; `strict`; `batch_rows`; `progress`;
                `idempotency_key`, with which the same call can be made again within 24 hours.

        Returns:
            For a frame, a frame with its index, in its order: `score`, `pd`, `risk_grade`, the
            points of each feature, `warnings`, and the `request_id` with `record_index`. For
            mappings the same as dicts.

        Raises:
            ScorelineError: its `scored` holds what was scored before the failure: all applicants
                up to the one where it happened. The same call with its `idempotency_key` scores
                nobody twice.

        """
        wanted = _asked(asked, deployment)
        slug = slug_of(deployment)
        key = idempotency_key(wanted.idempotency_key)
        wanted = replace(wanted, idempotency_key=key)
        try:
            if isinstance(data, Mapping):
                return self._score_one(data, slug, wanted)
            # The same call with the same key goes to the same model, in the same batches.
            send = self._batch_sender(slug, _routing_key(wanted.routing_key or key))
            if is_frame(data):
                return score_frame(send, data, wanted)
            return score_rows(send, data, wanted)
        except ScorelineError as error:
            error.idempotency_key = key
            raise

    def score_chunks(
        self, frames: Iterable[DataFrame], deployment: Any, **asked: Any
    ) -> Iterator[DataFrame]:
        """Score a file that is larger than the memory, such as `pd.read_csv(…, chunksize=…)`.

        All chunks have one routing key, and go to one model of a live split.
        """
        key = idempotency_key(asked.pop("idempotency_key", None))
        asked = {"routing_key": key, **asked}
        for number, frame in enumerate(frames):
            try:
                scored = self.score(frame, deployment, idempotency_key=f"{key}-{number}", **asked)
            except ScorelineError as error:
                error.idempotency_key = key
                raise
            yield scored

    def _score_one(self, applicant: Mapping[str, Any], slug: str, asked: Asked) -> dict[str, Any]:
        body = features_of(applicant, asked, "the applicant")
        if asked.strict:
            body["strict_mode"] = True
        reference = reference_of(applicant, asked, "the applicant")
        routing_key = asked.routing_key or reference
        headers = given(
            **{
                "x-reference-id": None if reference is None else _reference(reference),
                "x-routing-key": None if routing_key is None else _routing_key(routing_key),
            }
        )
        call = Call(
            "POST",
            f"/v1/score/{segment(slug)}",
            self._scorer(),
            content=encode(body),
            params=given(reasons=asked.reasons, lang=asked.lang),
            idempotency_key=asked.idempotency_key,
            headers=headers,
        )
        answer = self._json(call)
        row = result_of(answer, 0, answer)
        del row["_features"]
        return row

    def _batch_sender(self, slug: str, routing_key: str) -> Send:
        call = Call(
            "POST",
            f"/v1/score/{segment(slug)}/batch",
            self._scorer(),
            headers={"x-routing-key": routing_key},
        )

        def send(content: bytes, key: str) -> tuple[Any, int]:
            response = self._transport.send(replace(call, content=content, idempotency_key=key))
            return response.json(), len(response.content)

        return send


def _routing_key(value: object) -> str:
    return header_text(value, "routing_key", _ROUTING_KEY_CHARS_MAX)


def _reference(text: str) -> str:
    """Check the number of an application for its header, which takes no space."""
    if " " in header_text(text, "the reference", _REFERENCE_CHARS_MAX):
        raise refuse(f"the reference {text!r} has a space, which a single score does not take")
    return text


def _asked(asked: Mapping[str, Any], deployment: Any) -> Asked:
    unknown = [name for name in asked if name not in Asked.__dataclass_fields__]
    if unknown:
        known = ", ".join(Asked.__dataclass_fields__)
        raise TypeError(f"score() takes no {unknown[0]!r}; it takes {known}")
    wanted = Asked(**asked)
    features = getattr(deployment, "features", None)
    return replace(wanted, features=features) if wanted.features is None else wanted
