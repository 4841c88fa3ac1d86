"""What the service knows about its scores, as frames."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .connection import T, given, segment
from .errors import refuse
from .frames import Frames, frame_of, frames_of
from .registry import Registry
from .values import reference_text

if TYPE_CHECKING:
    from pandas import DataFrame

#: A moment with a time zone, or its text.
Moment = datetime.datetime | str | None
_RECORDS_MAX = 1000
#: Of an empty list, too.
_FOUND_COLUMNS = (
    *("request_id", "record_index", "deployment_id", "scored_at", "score", "risk_grade", "pd"),
    *("model_version", "reference"),
)
#: Parameters that name a model.
_MODELS = ("model", "other")


class Reports(Registry):
    """Reads of scores and deployments; a part of `Client`."""

    def read(self, request_id: str, *, record: int | None = None) -> DataFrame:
        """Read a score back as it was answered.

        Args:
            request_id: of the answer.
            record: index of one record of a batch; without it, all of its records.

        Returns:
            A row for each record, model and feature, with the bin and its points.

        """
        rows: list[dict[str, Any]] = []
        path = f"/v1/scores/{segment(request_id)}"
        params: dict[str, Any] = {"limit": _RECORDS_MAX} if record is None else {"record": record}
        while True:
            page, cursor = self._get(path, params, _logged_page)
            rows += page
            if cursor is None:
                return frame_of(rows)
            params["cursor"] = cursor

    def find(
        self,
        reference: Any,
        *,
        deployment: Any = None,
        since: Moment = None,
        until: Moment = None,
    ) -> DataFrame:
        """List the scores of an application, newest first.

        Args:
            reference: `reference` of a score, or the id of a record.
            deployment: only of this one.
            since: beginning of the period, a moment with a time zone.
            until: its end.

        Returns:
            A row for each: `request_id`, `record_index`, `deployment_id`, `scored_at`, `score`,
            `risk_grade`, `pd`, `model_version` and `reference`.

        """
        asked = {"deployment": deployment, "since": since, "until": until}
        params = {"reference": reference_text(reference), "limit": _RECORDS_MAX, **_query(asked)}
        rows: list[Any] = []
        while True:
            page, cursor = self._get(
                "/v1/scores", params, lambda answer: (answer["scores"], answer.get("next_cursor"))
            )
            rows += page
            if cursor is None:
                return frame_of(rows, columns=_FOUND_COLUMNS)
            params["cursor"] = cursor

    def explain(
        self,
        request_id: str,
        *,
        record: int | None = None,
        cutoff: float | None = None,
        lang: str | None = None,
    ) -> Frames:
        """Explain a score.

        Returns:
            `summary`, `features` with what each added in words, `reasons` if the model has rules
            for them, `single` with the changes of one feature that would have been enough, and
            `sensitivity` and `bins` with the scores of all other bins.

        """
        params = given(record=record, cutoff=cutoff, lang=lang)
        return self._get(f"/v1/scores/{segment(request_id)}/explanation", params, frames_of)

    def reasons(
        self,
        deployment: Any,
        *,
        model: Any = None,
        since: Moment = None,
        until: Moment = None,
        lang: str | None = None,
    ) -> Frames:
        """Count the reasons of a model's answers.

        Args:
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            model: the champion when left out.
            since: beginning of the period, a moment with a time zone.
            until: its end.
            lang: of the texts.

        Returns:
            `summary`, `reasons`, the most frequent first, and `grades` with the reasons of each
            in `grades_reasons`.

        """
        query = {"model": model, "since": since, "until": until, "lang": lang}
        return self._of(deployment, "reason-counts", query, frames_of)

    def stats(
        self,
        deployment: Any,
        *,
        since: Moment = None,
        until: Moment = None,
        recent: int | None = None,
    ) -> Frames:
        """Count what a deployment answered.

        Args:
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            since: beginning of the period, a moment with a time zone.
            until: its end.
            recent: length of `recent_scores`.

        Returns:
            `summary`, `buckets` of 100 points, and `recent_scores`.

        """
        query = {"since": since, "until": until, "recent": recent}
        return self._of(deployment, "stats", query, _stats_of)

    def stats_series(
        self,
        deployment: Any,
        *,
        since: Moment = None,
        until: Moment = None,
        interval: Literal["minute", "hour", "day"] | None = None,
    ) -> DataFrame:
        """Return the same by `interval`: `minute`, `hour` or `day`, a row for each."""
        query = {"since": since, "until": until, "interval": interval}
        return self._of(
            deployment, "stats/series", query, lambda answer: frame_of(answer["points"])
        )

    def _of(
        self,
        deployment: Any,
        path: str,
        query: Mapping[str, Any],
        read: Callable[[Any], T],
    ) -> T:
        slug = segment(self._slug(deployment))
        return self._get(f"/v1/deployments/{slug}/{path}", _query(query), read)


def _stats_of(answer: Mapping[str, Any]) -> Frames:
    summary = dict(answer["summary"])
    buckets = summary.pop("score_buckets")
    frames = frames_of({**answer, "summary": summary})
    counted = [{"scores": name, "applicants": count} for name, count in buckets.items()]
    frames["buckets"] = frame_of(counted, columns=["scores", "applicants"])
    return frames


def _logged_page(answer: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Any]:
    rows = [row for one in answer["records"] for row in _logged_rows(answer, one)]
    return rows, answer.get("next_cursor")


def _logged_rows(answer: Mapping[str, Any], one: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for result in one["results"]:
        same = {
            "record_index": one["index"],
            "id": one["id"] if answer["is_batch"] else answer["reference"],
            "scored_at": answer["scored_at"],
            "model_id": result["model_id"],
            "model_version": result["model_version"],
            "role": result["role"],
            "served": result["served"],
            "score": result["score"],
            "risk_grade": result["risk_grade"],
            "pd": result["pd"],
            "base_points": result["base_points"],
        }
        for feature in result["features"] or [{}]:
            found = feature.get("bin") or {}
            yield {
                **same,
                "feature": feature.get("name"),
                "points": feature.get("points"),
                "outcome": feature.get("outcome"),
                "bin": found.get("label", found.get("range", found.get("value"))),
            }


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
    """Write query parameters; `from` is a keyword of Python, so that it is `since` here."""
    names = {"since": "from", "until": "to"}
    return {
        names.get(name, name): _parameter(name, value)
        for name, value in query.items()
        if value is not None
    }


def _parameter(name: str, value: Any) -> Any:
    if name in _MODELS:
        return model_of(value)
    value = getattr(value, "slug", value)
    return moment(value) if isinstance(value, datetime.datetime) else value


def moment(value: Moment) -> str | None:
    """Write a moment, which has a time zone; None stays None.

    Raises:
        ValueRefused: for a moment without a time zone, and for a date, which has none.

    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.isoformat()
    raise refuse(f"{value} has no time zone: add one, such as datetime.timezone.utc")


def model_of(model: Any) -> str:
    """Return the id of a model, from itself or from what `deploy` returned."""
    found = getattr(model, "model_id", model)
    if isinstance(found, str) and found:
        return found
    raise refuse("the model is an id, such as mod_…, or what deploy() or model() returned")
