"""What the service knows about its scores, as frames."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .connection import Connection, given, segment, slug_of
from .errors import refuse
from .frames import Frames, frame_of, frames_of
from .transport import Call
from .values import encode, reference_text

if TYPE_CHECKING:
    from pandas import DataFrame

_RECORDS_MAX = 1000
#: Of an empty list, too.
_FOUND_COLUMNS = (
    *("request_id", "record_index", "deployment_id", "scored_at", "score", "risk_grade", "pd"),
    *("model_version", "reference"),
)
#: Parameters that name a model.
_MODELS = ("model", "other")
#: Columns of a vintage, and the lists of the answer that they are from.
_VINTAGE = (
    *(("observed", "observed"), ("bad", "bad"), ("value", "values")),
    *(("low", "low"), ("high", "high")),
)


class Reports(Connection):
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
            answer = self._get(path, params)
            for one in answer["records"]:
                rows += _logged_rows(answer, one)
            if "next_cursor" not in answer:
                return frame_of(rows)
            params["cursor"] = answer["next_cursor"]

    def find(self, reference: Any, **query: Any) -> DataFrame:
        """List the scores of an application, newest first.

        Args:
            reference: `reference` of a score, or the id of a record.
            query: `deployment`, `since` and `until` narrow the list.

        """
        params = {"reference": reference_text(reference), "limit": _RECORDS_MAX, **_query(query)}
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
        params = given(record=record, cutoff=cutoff, lang=lang)
        return frames_of(self._get(f"/v1/scores/{segment(request_id)}/explanation", params))

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

    def vintages(self, deployment: Any, definition: str, **query: Any) -> DataFrame:
        """Follow accounts by month of booking.

        Args:
            deployment: a slug, or what `deploy` returned.
            definition: id of a definition of outcomes.
            query: `since` and `until`.

        Returns:
            A row for each cohort and month: how many were `observed`, how many of them were `bad`
            by then, and the share (`value`) with its interval.

        """
        answer = self._of(deployment, "performance/vintages", {"definition": definition, **query})
        rows = [
            {
                "cohort": one["cohort"],
                "month": month,
                **{name: one[key][month] for name, key in _VINTAGE},
            }
            for one in answer["vintages"]
            for month in range(len(one["values"]))
        ]
        return frame_of(rows, ["cohort", "month", *(name for name, _ in _VINTAGE)])

    def cutoffs(self, deployment: Any, cutoff: float | Sequence[float], **query: Any) -> Frames:
        """Say what cut-offs would approve.

        Args:
            deployment: a slug, or what `deploy` returned.
            cutoff: one score or several, from which an applicant is approved.
            query: `model`, `since`, `until` and `dedupe`.

        Returns:
            `summary`, `cutoffs` with approval rate and expected bads, `bands` and `grades`.

        """
        return frames_of(self._of(deployment, "cutoffs", {"cutoff": cutoff, **query}))

    def swap_set(self, deployment: Any, challenger_id: str, cutoff: float, **query: Any) -> Frames:
        """Say whom a challenger would decide otherwise.

        Args:
            deployment: a slug, or what `deploy` returned.
            challenger_id: of the challenger.
            cutoff: of the champion.
            query: `rule`, `challenger_cutoff`, `since`, `until` and `dedupe`.

        Returns:
            `summary`, and `cells` with the applicants whom both, one or none would approve.

        """
        asked = {"challenger_id": challenger_id, "cutoff": cutoff, **query}
        answer = self._of(deployment, "swap-set", asked)
        cells = answer.pop("cells")
        frames = frames_of(answer)
        frames["cells"] = frame_of([{"cell": name, **one} for name, one in cells.items()])
        return frames

    def migration(self, deployment: Any, challenger_id: str, **query: Any) -> Frames:
        """Count each pair of grades of champion and challenger, in `cells`."""
        return frames_of(
            self._of(deployment, "migration", {"challenger_id": challenger_id, **query})
        )

    def set_baseline(
        self, model: Any, deployment: Any, *, since: Any = None, until: Any = None
    ) -> dict[str, Any]:
        """Make the applicants of a period the development sample of a model.

        `stability` compares with it from now on. A model that was checked with a frame has one.

        Args:
            model: id of the model, or what `deploy` returned.
            deployment: a slug, or what `deploy` returned: whose applicants.
            since: beginning of the period.
            until: its end.

        """
        period = {"deployment": slug_of(deployment), "from": moment(since), "to": moment(until)}
        path = f"/v1/models/{segment(model_of(model))}/baseline"
        body = encode({"period": given(**period)})
        return dict(self._json(Call("PUT", path, self._manager(), content=body)))

    def _of(self, deployment: Any, path: str, query: Mapping[str, Any]) -> Any:
        slug = segment(slug_of(deployment))
        return self._get(f"/v1/deployments/{slug}/{path}", _query(query))


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


def moment(value: Any) -> str | None:
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
    raise refuse("the model is an id, such as mod_…, or what deploy() returned")
