"""Backtests: what a candidate card would have given to the applicants of a deployment."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .connection import given
from .errors import ScorelineError, refuse
from .evaluation import Card, Found, spec_flags
from .frames import Frames, frame_of
from .jobs import Jobs
from .measures import auc_of, bands_of, psi_of
from .monitoring import Dedupe
from .parity import ParityReport
from .reports import Moment, model_of, moment
from .transport import Call
from .values import bad_of, column, frame_from, listed, references, require_columns

if TYPE_CHECKING:
    from pandas import DataFrame

_EXPORT_SECONDS = 300.0
_SCORE_COLUMNS = ("reference", "scored_at", "score", "candidate_score", "pd", "candidate_pd")
_DIFFERENT_COLUMNS = ("reference", "feature", "logged_bin", "bin", "value")
#: Differences of a frame from the log that an error names.
_NAMED_MAX = 20


@dataclass(frozen=True)
class Logged:
    """A score of the log.

    Attributes:
        reference: of the applicant.
        scored_at: when.
        model_id: of the model that answered.
        score: as logged.
        pd: as logged.
        bins: for each feature the position of the bin in the card, -1 for none.

    """

    reference: str
    scored_at: str
    model_id: str
    score: float
    pd: float | None
    bins: Sequence[int]


class Backtests(Jobs):
    """Tries candidates on logged applicants; a part of `Client`."""

    def backtest(
        self,
        candidate: Any,
        deployment: Any,
        *,
        frame: DataFrame | None = None,
        reference: str | None = None,
        outcome: str | None = None,
        accept_different: bool = False,
        cutoffs: Sequence[float] = (),
        definition: str | None = None,
        since: Moment = None,
        until: Moment = None,
        dedupe: Dedupe | None = None,
        progress: bool | None = None,
    ) -> Frames:
        """Say what a candidate card would have given to the applicants of a deployment.

        The log has bins, and not values: where a bin of the deployed card lies in several bins of
        the candidate, the service gives bounds. With a frame of the same applicants the candidate
        is scored here, exactly. That the frame is what was logged is proved: each of its values
        must lie in the bin that was logged.

        Args:
            candidate: a specification, the report of `check`, a model, or what `deploy` returned.
            deployment: its name or slug, or what `deploy` returned: whose applicants.
            frame: the values of applicants, with `reference`; takes the token of an owner, admin or
                auditor, because it reads the log.
            reference: the column with the numbers of the applications, as they were scored.
            outcome: with a frame: the column with what became of them, 1 or `bad`, 0 or `good`, or
                empty.
            accept_different: with a frame: leaves out the applicants whose values are not what was
                logged, in place of an error.
            cutoffs: scores from which an applicant is approved.
            definition: without a frame: id of a definition of outcomes, for the performance.
            since: beginning of the period.
            until: its end.
            dedupe: without a frame: which scoring of a reference counts, `last`, `first` or `none`;
                with one it is the last.
            progress: whether to show the progress.

        Returns:
            Without a frame `summary` with `exact_share`, `features` with how sure each is, `bands`,
            and `swap_sets` for the cut-offs. With one `summary`, `proof`, `scores` (a row for each
            applicant, under the index of the frame: `reference`, `scored_at`, `score`,
            `candidate_score`, `pd`, `candidate_pd`), `bands`, `swap_sets`, `performance` and
            `different`.

        Raises:
            ScorelineError: `frame_differs`, naming the rows whose values are not what was logged.

        """
        cutoffs = listed(cutoffs, "cutoffs")
        if frame is None:
            if reference is not None or outcome is not None:
                raise refuse("`reference` and `outcome` are columns of a frame: say frame=…, too")
            period = {"from": moment(since), "to": moment(until)}
            body = {
                **_candidate(candidate),
                "source": given(deployment=self._slug(deployment), **period),
                **given(cutoffs=cutoffs or None, definition=definition, dedupe=dedupe),
            }
            return self._job("/v1/backtests", body, progress)
        if reference is None:
            raise refuse("say the column with the numbers of the applications: reference=…")
        if definition is not None or dedupe is not None:
            raise refuse("with a frame the outcome is its column: say outcome=…")
        named = _candidate(candidate)
        spec = named.get("spec") or self.model(named["model_id"]).spec
        slug = self._slug(deployment)
        logged = self._logged(slug, moment(since), moment(until))
        specs = {one: self.model(one).spec for one in {row.model_id for row in logged}}
        tried = Trial(frame_from(frame), reference, outcome, spec)
        return tried.result(logged, specs, cutoffs, accept_different=accept_different)

    def _logged(self, slug: str, since: str | None, until: str | None) -> list[Logged]:
        """Read the last score of each reference that a deployment answered."""
        params = given(format="ndjson", deployment=slug, **{"from": since, "to": until})
        call = Call(
            "GET",
            "/v1/log/export",
            self._manager(),
            params=params,
            timeout_seconds=_EXPORT_SECONDS,
        )
        last: dict[str, Logged] = {}
        with tempfile.TemporaryDirectory(prefix="scoreline-") as folder:
            path = Path(folder, "log.ndjson")
            self._transport.download(call, path)
            for one in _rows(path):
                before = last.get(one.reference)
                if before is None or before.scored_at <= one.scored_at:
                    last[one.reference] = one
        return [*last.values()]


class Trial:
    """A candidate on a frame of logged applicants."""

    def __init__(self, frame: Any, reference: str, outcome: str | None, spec: Any) -> None:
        self._frame = frame
        self._spec = spec
        self._candidate = Card(spec)
        self._is_good_high = (spec.get("scaling") or {}).get("pdo", 1) > 0
        extra = [] if outcome is None else [outcome]
        require_columns(frame, [*self._candidate.features, reference, *extra], "the backtest")
        named = references(frame, reference, (0, len(frame)))
        self._rows = {name: at for at, name in enumerate(named) if name is not None}
        self._outcome = None if outcome is None else frame[outcome].tolist()

    def result(
        self,
        logged: Sequence[Logged],
        specs: Mapping[str, Any],
        cutoffs: Sequence[float],
        *,
        accept_different: bool,
    ) -> Frames:
        """Compare, prove, and count."""
        met = [one for one in logged if one.reference in self._rows and one.bins]
        if not met:
            raise refuse("no reference of the frame is among the logged applicants of the period")
        different = [
            row
            for model_id, spec in specs.items()
            for row in self._proved([one for one in met if one.model_id == model_id], spec)
        ]
        wrong = {str(row["reference"]) for row in different}
        if wrong and not accept_different:
            raise _differs(different, len(wrong), len(met))
        sound = [one for one in met if one.reference not in wrong]
        places = [self._rows[one.reference] for one in sound]
        found = self._found(self._candidate, self._spec, places)
        scores = self._candidate.scores(found, len(sound))
        rows = [
            {
                **{"reference": one.reference, "scored_at": one.scored_at, "score": one.score},
                **{"candidate_score": score, "pd": one.pd},
                "candidate_pd": self._candidate.pd(score),
            }
            for one, score in zip(sound, scores, strict=True)
        ]
        before = [one.score for one in sound]
        bands = bands_of(before, scores) if sound else []
        summary = {
            "n": len(sound),
            "mean_score": _mean(before),
            "mean_candidate_score": _mean(scores),
            "mean_pd": _mean([one.pd for one in sound]),
            "mean_candidate_pd": _mean([*map(self._candidate.pd, scores)]),
            "psi": psi_of(bands) if bands else None,
        }
        proof = {
            **{"logged": len(logged), "in_frame": len(met), "agree": len(sound)},
            **{"differ": len(wrong), "not_in_frame": len(logged) - len(met)},
        }
        return Frames(
            summary=frame_of([summary]),
            proof=frame_of([proof]),
            scores=frame_of(rows, columns=_SCORE_COLUMNS, index=self._frame.index[places]),
            bands=frame_of(bands),
            swap_sets=frame_of(
                _swap_set(cutoff, before, scores, is_good_high=self._is_good_high)
                for cutoff in cutoffs
            ),
            performance=frame_of(self._performance(places, before, scores)),
            different=frame_of(different, columns=_DIFFERENT_COLUMNS),
        )

    def _values(self, spec: Any, name: str, places: Sequence[int]) -> list[Any]:
        values = self._frame[name].iloc[[*places]].to_frame()
        return column(values, name, 0, len(places), spec_flags(spec).get(name))

    def _found(self, card: Card, spec: Any, places: Sequence[int]) -> dict[str, list[Found]]:
        return {name: card.find(name, self._values(spec, name, places)) for name in card.features}

    def _proved(self, logged: Sequence[Logged], spec: Any) -> Iterator[dict[str, Any]]:
        """Compare the logged bins with those of the frame, for the features that it has."""
        card = Card(spec)
        places = [self._rows[one.reference] for one in logged]
        has = set(self._frame.columns)
        for position, name in enumerate(card.features):
            if name not in has:
                continue
            values = self._values(spec, name, places)
            for one, value, (at, _) in zip(logged, values, card.find(name, values), strict=True):
                if one.bins[position] != at:
                    yield {
                        **{"reference": one.reference, "feature": name, "bin": at},
                        **{"logged_bin": one.bins[position], "value": value},
                    }

    def _performance(
        self, places: Sequence[int], before: Sequence[float], scores: Sequence[float]
    ) -> list[dict[str, Any]]:
        if self._outcome is None:
            return []
        known = [(at, bad_of(self._outcome[place])) for at, place in enumerate(places)]
        told = [(at, bad) for at, bad in known if bad is not None]
        rows = []
        for card, given_scores in (("deployed", before), ("candidate", scores)):
            measured = auc_of(
                [given_scores[at] for at, _ in told],
                [bad for _, bad in told],
                is_good_high=self._is_good_high,
            )
            if measured is not None:
                rows.append({"card": card, **vars(measured), "gini": 2 * measured.auc - 1})
        return rows


def _rows(path: Path) -> Iterator[Logged]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            if one["served"] and one["reference"] is not None and one["score"] is not None:
                yield Logged(
                    reference=str(one["reference"]),
                    scored_at=str(one["scored_at"]),
                    model_id=str(one["model_id"]),
                    score=float(one["score"]),
                    pd=one["pd"],
                    bins=one["bins"],
                )


def _differs(different: Sequence[Mapping[str, Any]], wrong: int, met: int) -> ScorelineError:
    return ScorelineError(
        f"{wrong} of {met} applicants have other values in the frame than were scored: correct "
        "them, or leave these applicants out with accept_different=True",
        code="frame_differs",
        details=[
            {
                "row": row["reference"],
                "path": str(row["feature"]),
                "message": f"{row['value']!r} is in bin {row['bin']}, and {row['logged_bin']} was "
                "logged",
            }
            for row in different[:_NAMED_MAX]
        ],
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _swap_set(
    cutoff: float, before: Sequence[float], scores: Sequence[float], *, is_good_high: bool
) -> dict[str, Any]:
    sign = 1 if is_good_high else -1
    pairs = [
        (sign * old >= sign * cutoff, sign * new >= sign * cutoff)
        for old, new in zip(before, scores, strict=True)
    ]
    return {
        "cutoff": cutoff,
        "both_approve": pairs.count((True, True)),
        "swap_in": pairs.count((False, True)),
        "swap_out": pairs.count((True, False)),
        "both_decline": pairs.count((False, False)),
    }


def _candidate(candidate: Any) -> dict[str, Any]:
    if isinstance(candidate, ParityReport):
        if candidate.spec is None:
            raise refuse("the report has no specification, because the card has faults")
        return {"spec": candidate.spec}
    if isinstance(candidate, Mapping):
        return {"spec": dict(candidate)}
    return {"model_id": model_of(candidate)}
