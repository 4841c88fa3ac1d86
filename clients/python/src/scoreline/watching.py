"""What the risk team sees: the overview, alarms, and the report of a month."""

from __future__ import annotations

import datetime
import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .changes import Change, Changes
from .connection import given, segment
from .frames import Frames, frame_of, frames_of
from .reports import Moment, moment
from .transport import Call
from .values import encode, path_of

if TYPE_CHECKING:
    import os

    from pandas import DataFrame

_OVERVIEW_COLUMNS = (
    *("slug", "name", "environment", "is_active", "attention", "model_version", "challengers"),
    *("cutoff", "alarm", "week_n", "week_verdict", "week_psi", "week_moved", "month_n"),
    *("month_verdict", "month_psi", "month_moved", "missing", "auc", "gini", "waiting_changes"),
    "judged_at",
)
_PERIOD_COLUMNS = (
    *("from", "to", "n", "model_version", "mean_score", "mean_expected", "psi", "verdict"),
    *("moved", "missing"),
)
_CHANGE_COLUMNS = ("at", "action", "reason")


class MonthlyReport(Frames):
    """The report of a month.

    Frames:
        summary: one row: deployment, period, champion, cut-off, applicants and verdict.
        weeks: a row for each week that begins in the month, as `summary` judges it.
        bands: bands of the score against the development sample.
        features: a row for each feature: its indices, its verdict, and its missing values.
        cutoffs: approval rates and expected bads; `grades` the same by grade.
        performance: one row: AUC and its interval, Gini, KS; empty without a definition.
        calibration: grades with their bad rates; empty without a definition.
        changes: of the deployment in the month, oldest first.

    Attributes:
        answer: of the service, which can be made again by its `as_known_at`.

    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        stability = frames_of(answer["stability"])
        cutoffs = frames_of(answer["cutoffs"])
        known = answer["performance"]
        measured = Frames() if known is None else frames_of(known)
        champion = answer["champion_model"]
        summary = {
            **{name: answer[name] for name in ("deployment_id", "name", "environment", "month")},
            **{"is_complete": answer["is_complete"], "as_known_at": answer["as_known_at"]},
            **{"cutoff": answer["cutoff"], "model_name": champion["name"]},
            **_period(answer["verdicts"]),
        }
        nothing = frame_of([])
        super().__init__(
            summary=frame_of([summary]),
            weeks=frame_of(map(_period, answer["weeks"]), columns=_PERIOD_COLUMNS),
            bands=stability.get("bands", nothing),
            features=stability.get("features", nothing),
            cutoffs=cutoffs.get("cutoffs", nothing),
            grades=cutoffs.get("grades", nothing),
            performance=measured.get("summary", nothing),
            calibration=measured.get("grades", nothing),
            changes=frame_of(answer["changes"], columns=_CHANGE_COLUMNS),
        )
        self.answer = answer

    def html(self) -> str:
        """Write the report as a page that needs nothing else."""
        answer = self.answer
        title = html.escape(f"{answer['name']}, {answer['month']}")
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
            f"<style>{_STYLE}</style><h1>{title}</h1>{self._repr_html_()}</html>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        path_of(path, "path").write_text(self.html(), encoding="utf-8")


_STYLE = (
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:2px 6px;text-align:right}"
)


class Watching(Changes):
    """Watches deployments; a part of `Client`."""

    def overview(self, environment: str | None = None) -> DataFrame:
        """List all deployments as the risk team sees them, those that need attention first.

        Args:
            environment: `staging` or `production`; both when left out.

        Returns:
            A row for each: `attention` (`act`, `watch`, `unknown` or `none`), the verdicts of the
            newest complete week and month with the features that moved and are missing, `alarm`,
            `auc` and `gini` where outcomes are known, and `waiting_changes`.

        """
        rows = self._listed("/v1/overview", "deployments", page_items=100, environment=environment)
        return frame_of(map(_overview_row, rows), columns=_OVERVIEW_COLUMNS)

    def monthly_report(
        self,
        deployment: Any,
        month: str | datetime.date,
        *,
        definition: str | None = None,
        as_known_at: Moment = None,
    ) -> MonthlyReport:
        """Read the report of a month.

        Args:
            deployment: its name, its slug, or what `deploy` or `deployment` returned.
            month: such as `2026-10`, or a date in it.
            definition: id of a definition of outcomes, for the performance.
            as_known_at: what became known later does not count: the same report comes again.

        """
        named = f"{month:%Y-%m}" if isinstance(month, datetime.date) else month
        path = f"/v1/deployments/{segment(self._slug(deployment))}/reports/{segment(named)}"
        params = given(definition=definition, as_known_at=moment(as_known_at))
        return self._get(path, params, MonthlyReport)

    def alarm(self, deployment: Any) -> Frames:
        """Read the alarm of a deployment.

        Returns:
            `summary` with its levels and its last verdict, `moved` with the features that moved,
            and `input_faults` with those whose values the development sample does not count.

        """
        path = f"/v1/deployments/{segment(self._slug(deployment))}/stability/alarm"
        return self._get(path, None, frames_of)

    def set_alarm(
        self,
        deployment: Any,
        *,
        is_on: bool = True,
        watch: float | None = None,
        act: float | None = None,
        n_min: int | None = None,
        days: int | None = None,
    ) -> Change:
        """Set the levels of the alarm of a deployment.

        Args:
            deployment: as for `monthly_report`.
            is_on: whether it is evaluated.
            watch: index from which a shift is moderate.
            act: index from which it is major.
            n_min: applicants below which there is no verdict.
            days: length of the period, which ends now.

        """
        body = {"is_on": is_on, **given(watch=watch, act=act, n_min=n_min, days=days)}
        return self._changed(
            self._slug(deployment), "set_alarm", "PUT", "/stability/alarm", body, is_keyed=False
        )

    def set_reason_baseline(
        self,
        deployment: Any,
        *,
        method: str = "mean_at_cutoff",
        cutoff: float | None = None,
        band_points: float | None = None,
        model: Any = None,
        since: Moment = None,
        until: Moment = None,
        min_population: int | None = None,
    ) -> Change:
        """Compute what reasons are measured against from the log, and put it in force.

        Args:
            deployment: as for `monthly_report`.
            method: `mean_at_cutoff` or `mean_all`.
            cutoff: lowest score that passes.
            band_points: how far above it a score may lie; the pdo when left out.
            model: the champion when left out.
            since: beginning of the period.
            until: its end.
            min_population: fewest applicants, 200 when left out.

        """
        at = self._at(deployment)
        chosen = at.champion.model_id if model is None else self._model_id(model)
        body = {
            **{"model_id": chosen, "method": method},
            **given(cutoff=cutoff, band_points=band_points, min_population=min_population),
            **given(**{"from": moment(since), "to": moment(until)}),
        }
        path = f"/v1/deployments/{segment(at.slug)}/reason-baselines"
        # One that is computed twice is there twice, and changes nothing until it is in force.
        call = Call("POST", path, self._manager(), content=encode(body))
        made = self._json(call, lambda answer: str(answer["id"]))
        order = {"model_id": chosen, "baseline_id": made}
        return self._changed(
            at.slug, "set_reason_baseline", "PUT", "/reason-baseline", order, is_keyed=False
        )


def _names(listed: Any) -> str | None:
    return ", ".join(str(one["name"]) for one in listed) or None


def _period(verdicts: Mapping[str, Any]) -> dict[str, Any]:
    stability = verdicts["stability"]
    return {
        **{name: verdicts[name] for name in ("from", "to", "n", "model_version")},
        **{name: verdicts[name] for name in ("mean_score", "mean_expected")},
        "psi": stability["psi"],
        "verdict": stability["verdict"],
        "moved": _names(stability["moved"]),
        "missing": _names(verdicts["missing"]["features"]),
    }


def _overview_row(one: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {name: one.get(name) for name in _OVERVIEW_COLUMNS}
    row["model_version"] = one["champion_model"]["version"]
    row["challengers"] = ", ".join(str(entry["version"]) for entry in one["challengers"]) or None
    row["alarm"] = None if one["alarm"] is None else one["alarm"]["verdict"]
    for name in ("week", "month"):
        if one[name] is not None:
            period = _period(one[name])
            for key in ("n", "verdict", "psi", "moved"):
                row[f"{name}_{key}"] = period[key]
            row["missing"] = period["missing"]
    known = one["performance"] or {}
    return {**row, "auc": known.get("auc"), "gini": known.get("gini")}
