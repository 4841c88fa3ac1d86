"""What the service knows about its scores, as frames."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .errors import refuse
from .frames import Frames, frame_of, frames_of, pandas
from .transport import Call
from .values import encode, is_frame, plain, require_columns

if TYPE_CHECKING:
    from pandas import DataFrame

_RECORDS_MAX = 1000
_OUTCOMES_MAX = 10_000
#: Of an empty list, too.
_FOUND_COLUMNS = (
    *("request_id", "record_index", "deployment_id", "scored_at", "score", "risk_grade", "pd"),
    *("model_version", "reference"),
)
_OUTCOME_COLUMNS = ("status", "request_id", "record_index", "matched_of", "message")


class Reports:
    """Reads of scores and deployments; a part of `Client`."""

    def _get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        raise NotImplementedError

    def _post(self, call: Callable[[str], Call], *, scores: bool) -> Any:
        raise NotImplementedError

    def read(self, request_id: str, *, record: int | None = None) -> DataFrame:
        """Read a score back as it was answered.

        Args:
            request_id: of the answer.
            record: index of one record of a batch; without it, all of its records.

        Returns:
            A row for each record, model and feature, with the bin and its points.

        """
        rows: list[dict[str, Any]] = []
        path = f"/v1/scores/{_segment(request_id)}"
        params: dict[str, Any] = {"limit": _RECORDS_MAX} if record is None else {"record": record}
        while True:
            answer = self._get(path, params)
            for one in answer["records"]:
                rows += _logged_rows(answer, one)
            if "next_cursor" not in answer:
                return frame_of(rows)
            params["cursor"] = answer["next_cursor"]

    def find(self, reference: str, **query: Any) -> DataFrame:
        """List the scores of an application, newest first.

        Args:
            reference: `reference` of a score, or the id of a record.
            query: `deployment`, `since` and `until` narrow the list.

        """
        params = {"reference": reference, "limit": _RECORDS_MAX, **_query(query)}
        rows: list[Any] = []
        while True:
            answer = self._get("/v1/scores", params)
            rows += answer["scores"]
            if "next_cursor" not in answer:
                return frame_of(rows, columns=_FOUND_COLUMNS)
            params["cursor"] = answer["next_cursor"]

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
        params = _given(record=record, cutoff=cutoff, lang=lang)
        return frames_of(self._get(f"/v1/scores/{_segment(request_id)}/explanation", params))

    def reasons(self, deployment: Any, **query: Any) -> Frames:
        """Count the reasons of a model's answers.

        Args:
            deployment: a slug, or what `deploy` returned.
            query: `model`, `since`, `until` and `lang`.

        Returns:
            `summary`, `reasons`, the most frequent first, and `grades` with the reasons of each
            in `grades_reasons`.

        """
        return frames_of(self._of(deployment, "reason-counts", query))

    def stats(self, deployment: Any, **query: Any) -> Frames:
        """Count what a deployment answered.

        Args:
            deployment: a slug, or what `deploy` returned.
            query: `since`, `until` and `recent`, the length of `recent_scores`.

        Returns:
            `summary`, `buckets` of 100 points, and `recent_scores`.

        """
        answer = self._of(deployment, "stats", query)
        buckets = answer["summary"].pop("score_buckets")
        frames = frames_of(answer)
        counted = [{"scores": name, "applicants": count} for name, count in buckets.items()]
        frames["buckets"] = frame_of(counted, columns=["scores", "applicants"])
        return frames

    def stats_series(self, deployment: Any, **query: Any) -> DataFrame:
        """Return the same by minute, hour or day; `since` and `until` choose the period."""
        return frame_of(self._of(deployment, "stats/series", query)["points"])

    def stability(self, deployment: Any, **query: Any) -> Frames:
        """Compare applicants with the development sample of a model.

        Args:
            deployment: a slug, or what `deploy` returned.
            query: `model`, `since`, `until`, `zero_fill`, `watch`, `act`, `population` and
                `dedupe`, as the service takes them.

        Returns:
            `summary` with the index of the score, `bands`, `features` and `cells`.

        """
        return frames_of(self._of(deployment, "stability", query))

    def stability_series(self, deployment: Any, **query: Any) -> Frames:
        """Return the same by `interval`: `day`, `week` or `month`; `points` and `features`."""
        return frames_of(self._of(deployment, "stability/series", query))

    def performance(self, deployment: Any, definition: str, **query: Any) -> Frames:
        """Measure how good the scores were.

        Args:
            deployment: a slug, or what `deploy` returned.
            definition: id of a definition of outcomes.
            query: `model`, `since`, `until`, `as_known_at` and `development_auc`.

        Returns:
            `summary` with AUC, Gini and KS and their intervals, `gains`, calibration by `grades`
            and `bands`, `features` and `bins`.

        """
        return frames_of(self._of(deployment, "performance", {"definition": definition, **query}))

    def outcomes(self, outcomes: Any, **same: Any) -> Any:
        """Send what became of applicants.

        Args:
            outcomes: a frame whose columns are fields of an outcome, such as `reference`,
                `outcome`, `as_of` and `event_date`; or mappings. Empty cells are left out.
            same: fields that all of them have, such as `deployment`, `kind` and `definition`.

        Returns:
            For a frame, a frame with its index: the status of each, and the applicant whom it
            belongs to. For mappings, a list.

        """
        fields = {
            name: _slug(value) if name == "deployment" else value for name, value in same.items()
        }
        if not is_frame(outcomes):
            items = [{**fields, **_outcome(one, at)} for at, one in enumerate(outcomes)]
            return self._send_outcomes(items)
        require_columns(outcomes, [], "the request")
        names = [str(name) for name in outcomes.columns]
        columns = [outcomes[name].tolist() for name in outcomes.columns]
        items = [
            {**fields, **_outcome(dict(zip(names, row, strict=True)), at)}
            for at, row in enumerate(zip(*columns, strict=True))
        ]
        results = self._send_outcomes(items)
        return pandas().DataFrame(results, columns=list(_OUTCOME_COLUMNS), index=outcomes.index)

    def _send_outcomes(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for start in range(0, len(items), _OUTCOMES_MAX):
            body = encode({"outcomes": items[start : start + _OUTCOMES_MAX]})
            # Nothing is lost by sending an outcome twice.
            call = _outcomes_call(body)
            results += [_outcome_row(one) for one in self._post(call, scores=True)["results"]]
        return results

    def _of(self, deployment: Any, path: str, query: Mapping[str, Any]) -> Any:
        slug = _segment(_slug(deployment))
        return self._get(f"/v1/deployments/{slug}/{path}", _query(query))


def _outcomes_call(body: bytes) -> Callable[[str], Call]:
    return lambda token: Call("POST", "/v1/outcomes", token, content=body)


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


def _outcome(one: Mapping[str, Any], at: int) -> dict[str, Any]:
    """The fields of an outcome that are not empty."""
    fields: dict[str, Any] = {}
    for name, value in one.items():
        if name == "deployment":
            value = _slug(value)
        if isinstance(value, list | tuple):
            fields[name] = [str(text) for text in value]
            continue
        if isinstance(value, bool) or type(value).__name__ == "bool_":
            fields[name] = bool(value)
            continue
        is_date = isinstance(value, datetime.date) and value == value
        text = date_text(value) if is_date else plain(value, f"{name!r} of outcome {at}")
        if text is not None:
            whole = isinstance(text, float) and text.is_integer() and name.endswith("index")
            fields[name] = int(text) if whole else text
    return fields


def date_text(value: Any) -> str:
    """Write a date, or a moment; one without a time zone must be a whole day."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            return value.isoformat()
        if (value.hour, value.minute, value.second, value.microsecond) != (0, 0, 0, 0):
            raise refuse(f"{value} has no time zone: add one, such as with .tz_localize('UTC')")
        return value.date().isoformat()
    return str(value.isoformat())


def _outcome_row(one: Mapping[str, Any]) -> dict[str, Any]:
    applicant = one.get("applicant", {})
    return {
        "status": one["status"],
        "request_id": applicant.get("request_id"),
        "record_index": applicant.get("record_index"),
        "matched_of": one.get("matched_of"),
        "message": one.get("message"),
    }


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
    """Write query parameters; `from` is a keyword of Python, so that it is `since` here."""
    names = {"since": "from", "until": "to"}
    return {
        names.get(name, name): _parameter(value)
        for name, value in query.items()
        if value is not None
    }


def _parameter(value: Any) -> Any:
    value = getattr(value, "slug", value)
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        raise refuse(f"{value} has no time zone: add one, such as datetime.timezone.utc")
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def _given(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _slug(deployment: Any) -> str:
    """The slug of a deployment, from itself or from what `deploy` returned."""
    slug = getattr(deployment, "slug", deployment)
    if isinstance(slug, str) and slug:
        return slug
    raise refuse(
        "the deployment is a slug, such as dep_…, or what deploy() returned with auto_deploy=True"
    )


def _segment(text: str) -> str:
    return quote(text, safe="")
