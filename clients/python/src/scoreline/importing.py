"""A fitted card as a request to import it, and what the service finds out about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .cards import FittedCard
from .cards.card import Scored, floats
from .cards.scorecardpy import ask_for_scale
from .errors import CardError, ScorelineError, ask, refuse
from .frames import Frames, frame_of, pandas
from .samples import sample_fields
from .values import encode, require_columns

_NEEDS_PROBABILITIES = (
    "the card has no scale that its scores follow ({why}): say probabilities='fit' to fit one to "
    "predict_proba of the frame, or probabilities='none' for a model that answers no pd"
)


@dataclass(frozen=True)
class Said:
    """What the caller says about a model, beside the words of its library."""

    name: str
    version: str | None = None
    target: str | None = None
    unseen: str | None = None
    probabilities: str | None = None
    risk_grades: list[dict[str, Any]] | None = None
    base_points: float | None = None
    rename: Mapping[str, str] | None = None
    categorical: list[str] | None = None
    tolerance: float = 0.0
    scores: Any = None
    pds: Any = None


#: What the caller says of a comparison, which takes applicants.
COMPARED = ("scores", "pds", "tolerance")


def require_frame(frame: Any, said: Mapping[str, Any]) -> None:
    """Refuse what says how to compare, where there is nobody to compare.

    Raises:
        ValueRefused: naming it.

    """
    given = [name for name in COMPARED if said.get(name) is not None]
    if frame is None and given:
        raise refuse(
            f"{given[0]!r} is for a comparison, and there is no frame, so that nothing would be "
            f"compared: hand over the applicants, too, as in deploy(card, df, {given[0]}=…)"
        )


def import_body(fitted: FittedCard, frame: Any, said: Said) -> dict[str, Any]:
    """Make the body of `POST /v1/models/import`, without `register`.

    Args:
        fitted: the card.
        frame: applicants to check it with; None to check nothing.
        said: what the caller says.

    Raises:
        CardError: asking for what neither the card nor the caller holds.

    """
    body: dict[str, Any] = {"tool": fitted.tool, **fitted.options}
    if said.probabilities is not None:
        body.pop("scaling", None)
    elif "scaling" not in body:
        raise _ask_for_probabilities(fitted)
    categorical = [*fitted.options.get("categorical", ()), *(said.categorical or ())]
    if categorical:
        body["categorical"] = sorted(set(categorical))
    for name in (
        *("name", "version", "target", "unseen", "probabilities"),
        *("risk_grades", "base_points", "rename"),
    ):
        value = getattr(said, name)
        if value is not None:
            body[name] = dict(value) if name == "rename" else value
    body["card"] = encode(fitted.table).decode()
    if frame is not None:
        body.update(_sample(fitted, frame, said))
        if said.tolerance:
            body["tolerance"] = said.tolerance
    return body


def _ask_for_probabilities(fitted: FittedCard) -> CardError:
    if fitted.tool == "scorecardpy":
        return ask_for_scale(["points0", "odds0", "pdo"])
    why = fitted.notes[0] if fitted.notes else "it was not scaled by pdo_odds"
    return ask("probabilities", _NEEDS_PROBABILITIES.format(why=why))


def _sample(fitted: FittedCard, frame: Any, said: Said) -> dict[str, str]:
    require_columns(frame, fitted.features, "the card")
    # Libraries align what they compute by the index, which can be anything in the caller's frame.
    applicants = frame.reset_index(drop=True)
    scored = _scored(fitted, applicants, said)
    return sample_fields(applicants, fitted.features, scored, said.rename or {})


def _scored(fitted: FittedCard, applicants: Any, said: Said) -> Scored:
    pds = None if said.pds is None else floats(said.pds)
    if said.scores is not None:
        return Scored(scores=floats(said.scores), pds=pds)
    try:
        scored = fitted.score(applicants)
    except ScorelineError:
        raise
    except Exception as error:
        message = f"{fitted.tool} could not score the frame: {type(error).__name__}: {error}"
        raise ask("frame", message) from error
    return scored if pds is None else Scored(scored.scores, scored.points, pds)


class ParityReport(Frames):
    """What the check of a card found.

    Frames:
        certificate: one row: how many applicants were compared, and how many agree to the bit.
        differences: the first applicants that differ, one row for each feature, under the index
            that they have in the frame.
        rounded: applicants who agree, but not to the bit, because the library adds the same points
            in another order: both scores, and how many doubles (`ulps`) lie between them. The first
            1,000.
        conversions: where the model is written in another form than the card.
    """

    def __init__(self, answer: Mapping[str, Any], frame: Any, notes: tuple[str, ...]) -> None:
        certificate = answer.get("parity")
        conversions = [*answer.get("conversions", ()), *answer.get("spec_warnings", ())]
        conversions += [{"path": "card", "message": note} for note in notes]
        super().__init__(
            certificate=frame_of([] if certificate is None else [_flat(certificate)]),
            differences=_differences(answer.get("differences", ()), frame),
            rounded=_rounded(answer.get("rounded", ()), frame),
            conversions=frame_of(conversions, columns=["path", "message"]),
        )
        self.spec: dict[str, Any] | None = answer.get("spec")
        self._parity: dict[str, Any] | None = certificate

    @property
    def agrees(self) -> bool | None:
        """Whether every applicant agrees; None if none was compared."""
        parity = self._parity
        return None if parity is None else bool(parity["agrees"])

    @property
    def verdict(self) -> str:
        """The result in words, as the command line says it."""
        parity = self._parity
        if parity is None:
            return "NOT CHECKED"
        if not parity["agrees"]:
            return "DIFFERS"
        if parity["pd_checked"]:
            return "AGREES"
        has_pd = (self.spec or {}).get("has_pd", True)
        return (
            "AGREES IN SCORES, PROBABILITIES NOT CHECKED"
            if has_pd
            else ("AGREES, WITHOUT PROBABILITIES")
        )

    def __repr__(self) -> str:
        parity = self._parity
        if parity is None:
            return self.verdict
        counts = (
            f"{self.verdict}: {parity['rows']} applicants, {parity['equal']} equal to the bit, "
            f"{parity['within_rounding']} within the rounding of a sum{self._rounding()}, "
            f"{parity['within_tolerance']} within the tolerance, {parity['differing']} differ"
        )
        return counts if parity["agrees"] else f"{counts}\n{self['differences']!r}"

    def _rounding(self) -> str:
        """How far off the applicants are that are not equal to the bit."""
        rounded = self["rounded"]
        if rounded.empty or len(rounded) < (self._parity or {})["within_rounding"]:
            return ""
        return f" (by {rounded['ulps'].max()} ulp at most)"


def _flat(certificate: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in certificate.items():
        if isinstance(value, Mapping):
            row.update({f"{name}_{key}": one for key, one in value.items()})
        else:
            row[name] = value
    return row


_DIFFERENCE_COLUMNS = (
    *("expected_score", "score", "expected_pd", "pd"),
    *("feature", "bin", "expected_points", "points"),
)


def _differences(differences: Any, frame: Any) -> Any:
    rows, labels = [], []
    for one in differences:
        found = {
            "expected_score": one["expected_score"],
            "score": one["actual_score"],
            "expected_pd": one["expected_pd"],
            "pd": one["actual_pd"],
        }
        label = _label(one["path"], frame)
        for feature in one["features"] or [{}]:
            labels.append(label)
            rows.append(
                {
                    **found,
                    "feature": feature.get("feature"),
                    "bin": feature.get("bin"),
                    "expected_points": feature.get("expected_points"),
                    "points": feature.get("actual_points"),
                }
            )
    index = pandas().Index(labels, name=None if frame is None else frame.index.name)
    return frame_of(rows, columns=list(_DIFFERENCE_COLUMNS), index=index)


def _rounded(rounded: Any, frame: Any) -> Any:
    rows = [
        {
            "expected_score": one["expected_score"],
            "score": one["actual_score"],
            "ulps": one["ulps"],
        }
        for one in rounded
    ]
    labels = [_label(one["path"], frame) for one in rounded]
    index = pandas().Index(labels, name=None if frame is None else frame.index.name)
    return frame_of(rows, columns=["expected_score", "score", "ulps"], index=index)


def _label(path: str, frame: Any) -> Any:
    """The label of an applicant from `row 7` of the sample, whose first row is the heading."""
    number = path.removeprefix("row ")
    if frame is None or not number.isdigit():
        return path
    return frame.index[int(number) - 2]
