"""What the service found out about a card."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import ParityError
from .frames import Frames, frame_of, pandas
from .picture import drawn


class ParityReport(Frames):
    """What the check of a card found.

    Frames:
        certificate: one row: how many applicants were compared, and how many agree to the bit.
        differences: the first applicants that differ, one row for each feature, under the index
            that they have in the frame.
        rounded: applicants who agree, but not to the bit, because the library adds the same points
            in another order: both scores, and how many doubles (`ulps`) lie between them. The first
            1,000.
        unreached: one row for each feature of which no applicant reached some bins, bounds of bins,
            missing or unseen values: nothing is proved there.
        conversions: where the model is written in another form than the card.

    Attributes:
        spec: the specification.
        finding: what all applicants that differ have in common; None if nothing.

    """

    def __init__(
        self,
        answer: Mapping[str, Any],
        frame: Any,
        notes: tuple[str, ...],
        expected: Sequence[float] | None = None,
    ) -> None:
        certificate = answer.get("parity")
        conversions = [*answer.get("conversions", ()), *answer.get("spec_warnings", ())]
        conversions += [{"path": "card", "message": note} for note in notes]
        super().__init__(
            certificate=frame_of([] if certificate is None else [_flat(certificate)]),
            unreached=frame_of((certificate or {}).get("unreached", ())),
            differences=_differences(answer.get("differences", ()), frame),
            rounded=_rounded(answer.get("rounded", ()), frame),
            conversions=frame_of(conversions, columns=["path", "message"]),
        )
        self.spec: dict[str, Any] | None = answer.get("spec")
        self.finding: str | None = answer.get("finding")
        self._parity: dict[str, Any] | None = certificate
        self._expected = expected

    @property
    def agrees(self) -> bool | None:
        """Whether every applicant agrees; None if none was compared."""
        parity = self._parity
        return None if parity is None else bool(parity["agrees"])

    def error(self) -> ParityError:
        """Make the error of applicants who differ."""
        counts = self._parity or {}
        first = self["differences"].groupby(level=0, sort=False).first()
        error = ParityError(
            f"{counts['differing']} of {counts['rows']} applicants differ, or their means do",
            code="parity_failed",
            status=200,
            details=[
                {"row": row, "path": "score", "message": f"is {score!r} here, not {expected!r}"}
                for row, score, expected in zip(
                    first.index, first["score"], first["expected_score"], strict=True
                )
            ],
        )
        error.report = self
        return error

    @property
    def verdict(self) -> str:
        """The result in words, as the command line says it."""
        parity = self._parity
        if parity is None:
            return "NOT CHECKED"
        if not parity["agrees"]:
            return "DIFFERS" if parity["differing"] else "DIFFERS IN THE MEAN"
        unreached = parity.get("bins_unreached", 0)
        gap = f", {unreached} OF {parity['bins']} BINS NOT REACHED" if unreached else ""
        if parity["pd_checked"]:
            return f"AGREES{gap}"
        if (self.spec or {}).get("has_pd", True):
            return f"AGREES IN SCORES, PROBABILITIES NOT CHECKED{gap}"
        return f"AGREES, WITHOUT PROBABILITIES{gap}"

    def __repr__(self) -> str:
        text = self._summary()
        return text if self.agrees is not False else f"{text}\n{self['differences']!r}"

    def _repr_html_(self) -> str:
        shown = (
            f"<h4>{name}</h4>{frame.head(_ROWS_SHOWN).to_html()}"
            + (f"<p>and {len(frame) - _ROWS_SHOWN} more</p>" if len(frame) > _ROWS_SHOWN else "")
            for name, frame in self.items()
            if not frame.empty
        )
        lines = "<br>".join(html.escape(line) for line in self._summary().split("\n"))
        return f"<p><strong>{lines}</strong></p>{self.picture() or ''}{''.join(shown)}"

    def picture(self) -> str | None:
        """Draw the scores that the service gives against the expected ones, as SVG.

        Applicants who differ are rings off the line; None if nobody was compared.
        """
        if self._expected is None or self._parity is None:
            return None
        differing = self["differences"].groupby(level=0, sort=False).first()
        off = zip(differing["expected_score"].tolist(), differing["score"].tolist(), strict=True)
        return drawn(self._expected, [*off], self._parity["differing"])

    def _summary(self) -> str:
        """The verdict with its figures, and what all that differ have in common."""
        parity = self._parity
        if parity is None:
            return self.verdict
        pd = parity["largest_pd_difference"]
        lines = [
            f"{self.verdict}: {parity['rows']} applicants, {parity['equal']} equal to the bit, "
            f"{parity['within_rounding']} within the rounding of a sum{self._rounding()}, "
            f"{parity['within_tolerance']} within the tolerance, {parity['differing']} differ"
            + ("" if pd is None else f"; largest difference of pd: {pd:.3g}")
        ]
        scale = parity.get("scale")
        if scale is not None:
            lines.append(
                f"scale: {_scale(scale['given'])}; the frame shows {_scale(scale['fitted'])}"
            )
        if self.finding is not None:
            lines.append(self.finding)
        return "\n".join(lines)

    def _rounding(self) -> str:
        """How far off the applicants are that are not equal to the bit."""
        rounded = self["rounded"]
        if rounded.empty or len(rounded) < (self._parity or {})["within_rounding"]:
            return ""
        return f" (by {rounded['ulps'].max()} ulp at most)"


#: Rows of a frame that a notebook shows.
_ROWS_SHOWN = 20


def _scale(scale: Mapping[str, Any] | None) -> str:
    if scale is None:
        return "none"
    score, odds, pdo = scale["base_score"], scale["base_odds"], scale["pdo"]
    return f"{score:.5g} points at odds of {odds:.5g}, pdo {pdo:.5g}"


def _flat(certificate: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in certificate.items():
        if name == "unreached":
            continue
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
    """The label of an applicant from `applicant 7`, the seventh of the sample."""
    number = path.removeprefix("applicant ")
    if frame is None or not number.isdigit():
        return path
    return frame.index[int(number) - 1]


def parity_error(error: ParityError, frame: Any, report: ParityReport) -> ParityError:
    """Give an error the report of its comparison, and the labels of the frame to its details."""
    details = []
    for detail in error.details:
        path = str(detail.get("path", "")).removeprefix("sample, ")
        is_row = path.startswith("applicant ")
        named = {"row": _label(path, frame), "path": "score"} if is_row else {}
        details.append({**detail, **named})
    error.details = tuple(details)
    error.report = report
    return error
