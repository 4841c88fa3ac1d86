"""Scoring with a client: one applicant, a frame, or a file in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

from .answers import foreign, require_results, require_score, understood
from .batching import BATCH_ROWS_MAX, Batches, Send, header_text
from .batching import idempotency_key as batch_key
from .connection import given, segment
from .errors import ScorelineError, refuse
from .registry import Registry
from .scoring import (
    Asked,
    Begun,
    LeftOut,
    Wants,
    features_of,
    reference_of,
    refuse_left_out,
    result_of,
    score_frame,
    score_rows,
)
from .transport import Call
from .values import (
    ArrowTable,
    PolarsFrame,
    applicant_from,
    encode,
    flags_of,
    frame_from,
    is_frame,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_NOT_MODIFIED = 304
#: Deployments whose schema one client keeps.
_SCHEMAS_MAX = 64
_ROUTING_KEY_CHARS_MAX = 500
#: Of a feature that every model takes for a number.
_NUMERIC_TYPES = (["number"], ["number", "null"])
_REFERENCE_CHARS_MAX = 128


@dataclass(frozen=True)
class Unfinished:
    """A call of `score` that ended before all were scored.

    Attributes:
        key: with which the same call scores nobody twice, within 24 hours.
        scored: all applicants up to the one where it ended, as `score` would have returned them;
            None for a single one.

    """

    key: str
    scored: Any
    _data: Any = field(repr=False)
    _slug: str = field(repr=False)
    _asked: Asked = field(repr=False)
    _begun: Begun | None = field(repr=False)


class Scores(Registry):
    """Scores applicants; a part of `Client`."""

    #: The call that ended early last; None after one that was finished.
    unfinished: Unfinished | None = None

    @overload
    def score(
        self,
        data: DataFrame | PolarsFrame | ArrowTable,
        deployment: Any,
        *,
        features: Sequence[str] | None = ...,
        reference: str | None = ...,
        routing_key: str | None = ...,
        points: bool = ...,
        reasons: int | None = ...,
        lang: str | None = ...,
        strict: bool = ...,
        batch_rows: int = ...,
        progress: bool | None = ...,
        idempotency_key: str | None = ...,
    ) -> DataFrame: ...

    @overload
    def score(
        self,
        data: Mapping[Any, Any] | Series[Any],
        deployment: Any,
        *,
        features: Sequence[str] | None = ...,
        reference: str | None = ...,
        routing_key: str | None = ...,
        points: bool = ...,
        reasons: int | None = ...,
        lang: str | None = ...,
        strict: bool = ...,
        batch_rows: int = ...,
        progress: bool | None = ...,
        idempotency_key: str | None = ...,
    ) -> dict[str, Any]: ...

    @overload
    def score(
        self,
        data: Iterable[Mapping[Any, Any]],
        deployment: Any,
        *,
        features: Sequence[str] | None = ...,
        reference: str | None = ...,
        routing_key: str | None = ...,
        points: bool = ...,
        reasons: int | None = ...,
        lang: str | None = ...,
        strict: bool = ...,
        batch_rows: int = ...,
        progress: bool | None = ...,
        idempotency_key: str | None = ...,
    ) -> list[dict[str, Any]]: ...

    def score(
        self,
        data: Any,
        deployment: Any,
        *,
        features: Sequence[str] | None = None,
        reference: str | None = None,
        routing_key: str | None = None,
        points: bool = False,
        reasons: int | None = None,
        lang: str | None = None,
        strict: bool = False,
        batch_rows: int = BATCH_ROWS_MAX,
        progress: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Score applicants; each is logged once, however often a request is repeated.

        A frame is looked at before anything is sent: a value that can't be sent stops the call
        before anybody is scored.

        Args:
            data: a frame, also of polars, or a table of Arrow; or a row of a frame or a mapping for
                one applicant, or several mappings.
            deployment: its name or slug, or what `deploy` or `deployment` returned. The columns
                that its champion or any of its challengers wants are sent, and no others.
            features: the columns to send in place of these.
            reference: the column with the numbers of the applications; `id` if there is such a
                column.
            routing_key: by which a live split draws the model, one for all applicants of the call;
                when left out, the reference of a single applicant, otherwise at random.
            points: answers the points of each feature, too. They are kept for a day for a retry,
                which takes several times the room; `read` has them without.
            reasons: number of reasons to answer.
            lang: of their texts.
            strict: refuses applicants with missing or unknown values.
            batch_rows: applicants of one request at most.
            progress: whether to show the progress; by itself in a terminal or notebook.
            idempotency_key: with which the same call can be made again within 24 hours.

        Returns:
            For a frame, a frame with its index, in its order: `score`, `pd`, `risk_grade`, with
            `points` those of each feature (`age_points`), with `reasons` `reason_1` and
            `reason_1_text` and so on, `shadow_ch_…_score` of challengers in shadow mode,
            `warnings`, `model_version`, and `request_id` with `record_index`. For mappings the same
            as dicts.

        Raises:
            ScorelineError: its `scored` holds what was scored before the failure: all applicants
                up to the one where it happened. `resume()` goes on, and scores nobody twice.
            KeyboardInterrupt: `unfinished` has the same, and `resume()` goes on, too.

        """
        self.unfinished = None
        key = batch_key(idempotency_key)
        slug = self._slug(deployment)
        wanted = Asked(
            features=features,
            reference=reference,
            routing_key=routing_key,
            idempotency_key=key,
            points=points,
            reasons=reasons,
            lang=lang,
            strict=strict,
            batch_rows=batch_rows,
            progress=progress,
        )
        if wanted.features is None:
            is_checked = getattr(deployment, "features", None) is not None
            wanted = replace(wanted, wants=self._wants(slug, is_checked=is_checked))
        return self._score(applicant_from(frame_from(data)), slug, wanted, key)

    def resume(self, idempotency_key: str | None = None) -> Any:
        """Go on with the last call of `score` that ended early.

        Who was scored is not sent again. A batch that had no answer is: with the same key, so that
        nobody is logged twice.

        Args:
            idempotency_key: of the call, to be sure that it is meant.

        Returns:
            What that call would have returned, all applicants included.

        """
        last = self.unfinished
        if last is None or idempotency_key not in (None, last.key):
            raise refuse(
                "this client has no such call: make it again, with score(…, idempotency_key=…)"
            )
        if isinstance(last._data, Iterator):
            raise refuse(
                "the applicants came from an iterator, which can't be read again: make the call "
                "again with another one and idempotency_key=client.unfinished.key"
            )
        return self._score(last._data, last._slug, last._asked, last.key, last._begun)

    def _score(
        self, data: Any, slug: str, wanted: Asked, key: str, begun: Begun | None = None
    ) -> Any:
        self.unfinished = None
        try:
            if isinstance(data, Mapping):
                return self._score_one(data, slug, wanted)
            # The same call with the same key goes to the same model, in the same batches.
            begun = begun or self._begin(slug, wanted, key)
            return (score_frame if is_frame(data) else score_rows)(begun, data, wanted)
        except (ScorelineError, KeyboardInterrupt) as error:
            if isinstance(error, ScorelineError):
                error.idempotency_key = key
            scored = getattr(error, "scored", None)
            self.unfinished = Unfinished(key, scored, data, slug, wanted, begun)
            raise

    def score_chunks(
        self,
        frames: Iterable[DataFrame],
        deployment: Any,
        *,
        features: Sequence[str] | None = None,
        reference: str | None = None,
        routing_key: str | None = None,
        points: bool = False,
        reasons: int | None = None,
        lang: str | None = None,
        strict: bool = False,
        batch_rows: int = BATCH_ROWS_MAX,
        progress: bool | None = None,
        idempotency_key: str | None = None,
    ) -> Iterator[DataFrame]:
        """Score a file that is larger than the memory, such as `pd.read_csv(…, chunksize=…)`.

        All chunks have one routing key, and go to one model of a live split. The arguments are
        those of `score`.
        """
        key = batch_key(idempotency_key)
        if not isinstance(frames, Iterable) or is_frame(frames):
            raise refuse("the chunks are several frames, as of pd.read_csv(…, chunksize=…)")
        for number, frame in enumerate(frames):
            try:
                scored = self.score(
                    frame,
                    deployment,
                    features=features,
                    reference=reference,
                    routing_key=routing_key or key,
                    points=points,
                    reasons=reasons,
                    lang=lang,
                    strict=strict,
                    batch_rows=batch_rows,
                    progress=progress,
                    idempotency_key=f"{key}-{number}",
                )
            except (ScorelineError, KeyboardInterrupt) as error:
                if isinstance(error, ScorelineError):
                    error.idempotency_key = key
                if self.unfinished is not None:
                    self.unfinished = replace(self.unfinished, key=key)
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
        answer = self._json(call, require_score)
        left = LeftOut(asked)
        left.note(applicant, body)
        refuse_left_out(answer, answer, left)
        kept = answer if asked.points else {**answer, "contributions": {}}
        row = result_of(kept, 0, answer, asked.reasons)
        del row["_features"]
        return row

    def _wants(self, slug: str, *, is_checked: bool) -> Wants:
        """Ask the deployment what it wants; the answer is kept while its tag holds."""
        path = f"/v1/score/{segment(slug)}/schema"
        known = self._schemas.get(slug)
        headers = None if known is None else {"if-none-match": known[0]}
        answer = self._transport.send(Call("GET", path, self._scorer(), headers=headers))
        if known is not None and answer.status == _NOT_MODIFIED:
            wants = known[1]
        else:
            wants = understood(answer, _wants_of)
            if len(self._schemas) >= _SCHEMAS_MAX:
                self._schemas.clear()
            self._schemas[slug] = (answer.headers.get("etag", ""), wants)
        return wants if is_checked else replace(wants, required=())

    def _begin(self, slug: str, wanted: Asked, key: str) -> Begun:
        send = self._batch_sender(slug, _routing_key(wanted.routing_key or key))
        return Begun(Batches(send, rows_max=wanted.batch_rows, fields=wanted.fields(), key=key))

    def _batch_sender(self, slug: str, routing_key: str) -> Send:
        call = Call(
            "POST",
            f"/v1/score/{segment(slug)}/batch",
            self._scorer(),
            headers={"x-routing-key": routing_key},
        )

        #: Key of each answer of this call: a cache in between would give one to two batches.
        seen: dict[str, str] = {}

        def send(content: bytes, key: str, names: Sequence[str | None]) -> tuple[Any, int]:
            answer = self._transport.send(replace(call, content=content, idempotency_key=key))
            parsed = understood(answer, lambda parsed: require_results(parsed, names))
            if seen.setdefault(parsed["request_id"], key) != key:
                raise foreign(answer, "is that of an earlier batch")
            return parsed, len(answer.content)

        return send


def _wants_of(schema: Any) -> Wants:
    properties = {
        str(name): one for name, one in schema["properties"].items() if name != "strict_mode"
    }
    flags = {
        name: flags_of(
            map(str, one.get("examples", ())), is_numeric=one.get("type") in _NUMERIC_TYPES
        )
        for name, one in properties.items()
    }
    return Wants(
        tuple(properties),
        tuple(map(str, schema["required"])),
        {name: known for name, known in flags.items() if known is not None},
        frozenset(name for name, one in properties.items() if one.get("type") in _NUMERIC_TYPES),
    )


def _routing_key(value: object) -> str:
    return header_text(value, "routing_key", _ROUTING_KEY_CHARS_MAX)


def _reference(text: str) -> str:
    """Check the number of an application for its header, which takes no space."""
    if " " in header_text(text, "the reference", _REFERENCE_CHARS_MAX):
        raise refuse(f"the reference {text!r} has a space, which a single score does not take")
    return text
