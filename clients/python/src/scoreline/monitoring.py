"""Whether applicants and scores are still those of the development, as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .connection import given, segment
from .frames import Frames, frame_of, frames_of
from .reports import Moment, Reports, model_of, moment
from .transport import Call
from .values import encode

if TYPE_CHECKING:
    from pandas import DataFrame

#: Which scoring of a reference counts.
Dedupe = Literal["last", "first", "none"]
#: Columns of a vintage, and the lists of the answer that they are from.
_VINTAGE = (
    *(("observed", "observed"), ("bad", "bad"), ("value", "values")),
    *(("low", "low"), ("high", "high")),
)


class Monitoring(Reports):
    """Compares scores with samples and outcomes; a part of `Client`."""

    def stability(
        self,
        deployment: Any,
        *,
        model: Any = None,
        since: Moment = None,
        until: Moment = None,
        zero_fill: float | None = None,
        watch: float | None = None,
        act: float | None = None,
        population: Literal["all", "served"] | None = None,
        dedupe: Dedupe | None = None,
    ) -> Frames:
        """Compare applicants with the development sample of a model.

        Args:
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            model: the champion when left out.
            since: beginning of the period, a moment with a time zone.
            until: its end.
            zero_fill: what an empty cell counts as.
            watch: index from which a shift is moderate.
            act: index from which it is major.
            population: `served`, whom the model decided; `all` when left out.
            dedupe: which scoring of a reference counts: `last`, `first` or `none`.

        Returns:
            `summary` with the index of the score, `bands`, `features` and `cells`.

        """
        query = {
            **{"model": model, "since": since, "until": until, "zero_fill": zero_fill},
            **{"watch": watch, "act": act, "population": population, "dedupe": dedupe},
        }
        return self._of(deployment, "stability", query, frames_of)

    def stability_series(
        self,
        deployment: Any,
        *,
        interval: Literal["day", "week", "month"] | None = None,
        model: Any = None,
        since: Moment = None,
        until: Moment = None,
        zero_fill: float | None = None,
        watch: float | None = None,
        act: float | None = None,
        population: Literal["all", "served"] | None = None,
        dedupe: Dedupe | None = None,
    ) -> Frames:
        """Return the same by `interval`: `day`, `week` or `month`; `points` and `features`."""
        query = {
            **{"model": model, "since": since, "until": until, "zero_fill": zero_fill},
            **{"watch": watch, "act": act, "population": population, "dedupe": dedupe},
            "interval": interval,
        }
        return self._of(deployment, "stability/series", query, frames_of)

    def performance(
        self,
        deployment: Any,
        definition: str,
        *,
        model: Any = None,
        since: Moment = None,
        until: Moment = None,
        as_known_at: Moment = None,
        development_auc: float | None = None,
    ) -> Frames:
        """Measure how good the scores were.

        Args:
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            definition: id of a definition of outcomes.
            model: the champion when left out.
            since: beginning of the period, a moment with a time zone.
            until: its end.
            as_known_at: what became known later does not count.
            development_auc: of the development sample, to compare with.

        Returns:
            `summary` with AUC, Gini and KS and their intervals, `gains`, calibration by `grades`
            and `bands`, `features` and `bins`.

        """
        query = {
            **{"definition": definition, "model": model, "since": since, "until": until},
            **{"as_known_at": as_known_at, "development_auc": development_auc},
        }
        return self._of(deployment, "performance", query, frames_of)

    def vintages(
        self, deployment: Any, definition: str, *, since: Moment = None, until: Moment = None
    ) -> DataFrame:
        """Follow accounts by month of booking.

        Args:
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            definition: id of a definition of outcomes.
            since: beginning of the period, a moment with a time zone.
            until: its end.

        Returns:
            A row for each cohort and month: how many were `observed`, how many of them were `bad`
            by then, and the share (`value`) with its interval.

        """
        asked = {"definition": definition, "since": since, "until": until}
        return self._of(deployment, "performance/vintages", asked, _vintages_of)

    def cutoffs(
        self,
        deployment: Any,
        cutoff: float | Sequence[float] | None = None,
        *,
        model: Any = None,
        since: Moment = None,
        until: Moment = None,
        dedupe: Dedupe | None = None,
    ) -> Frames:
        """Say what cut-offs would approve.

        Args:
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            cutoff: one score or several, from which an applicant is approved; that of the
                deployment when left out.
            model: the champion when left out.
            since: beginning of the period, a moment with a time zone.
            until: its end.
            dedupe: as for `stability`.

        Returns:
            `summary`, `cutoffs` with approval rate and expected bads, `bands` and `grades`.

        """
        query = {
            **{"cutoff": cutoff, "model": model, "since": since, "until": until},
            "dedupe": dedupe,
        }
        return self._of(deployment, "cutoffs", query, frames_of)

    def swap_set(
        self,
        deployment: Any,
        challenger_id: str,
        cutoff: float | None = None,
        *,
        rule: Literal["same_cutoff", "same_approval_rate", "explicit"] | None = None,
        challenger_cutoff: float | None = None,
        since: Moment = None,
        until: Moment = None,
        dedupe: Dedupe | None = None,
    ) -> Frames:
        """Say whom a challenger would decide otherwise.

        Args:
            deployment: its name or slug, or what `deploy` or `deployment` returned.
            challenger_id: of the challenger.
            cutoff: of the champion; that of the deployment when left out.
            rule: `same_cutoff`, `same_approval_rate` or `explicit`.
            challenger_cutoff: with the rule `explicit`.
            since: beginning of the period, a moment with a time zone.
            until: its end.
            dedupe: as for `stability`.

        Returns:
            `summary`, and `cells` with the applicants whom both, one or none would approve.

        """
        asked = {
            **{"challenger_id": challenger_id, "cutoff": cutoff, "rule": rule},
            **{"challenger_cutoff": challenger_cutoff, "since": since, "until": until},
            "dedupe": dedupe,
        }
        return self._of(deployment, "swap-set", asked, _swap_set_of)

    def migration(
        self,
        deployment: Any,
        challenger_id: str,
        *,
        since: Moment = None,
        until: Moment = None,
        dedupe: Dedupe | None = None,
    ) -> Frames:
        """Count each pair of grades of champion and challenger, in `cells`."""
        query = {"challenger_id": challenger_id, "since": since, "until": until, "dedupe": dedupe}
        return self._of(deployment, "migration", query, frames_of)

    def set_baseline(
        self, model: Any, deployment: Any, *, since: Moment = None, until: Moment = None
    ) -> dict[str, Any]:
        """Make the applicants of a period the development sample of a model.

        `stability` compares with it from now on. A model that was checked with a frame has one.

        Args:
            model: id of the model, or what `deploy` returned.
            deployment: its name or slug, or what `deploy` returned: whose applicants.
            since: beginning of the period.
            until: its end.

        """
        period = {"deployment": self._slug(deployment), "from": moment(since), "to": moment(until)}
        path = f"/v1/models/{segment(model_of(model))}/baseline"
        body = encode({"period": given(**period)})
        return self._json(Call("PUT", path, self._manager(), content=body), dict)


def _vintages_of(answer: Mapping[str, Any]) -> DataFrame:
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


def _swap_set_of(answer: Mapping[str, Any]) -> Frames:
    cells = [{"cell": name, **one} for name, one in answer["cells"].items()]
    frames = frames_of({name: part for name, part in answer.items() if name != "cells"})
    frames["cells"] = frame_of(cells)
    return frames
