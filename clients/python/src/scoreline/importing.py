"""A fitted card as a request to import it, and what the service finds out about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .cards import FittedCard
from .cards.card import Scored, floats
from .cards.scorecardpy import ask_for_scale
from .errors import CardError, ScorelineError, ask, refuse
from .samples import sample_fields
from .values import Flags, encode, flags_of, is_frame, require_columns

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
    accept_unreached: bool = False


#: What the caller says of a comparison, which takes applicants.
COMPARED = ("scores", "pds", "tolerance")


def require_frame(frame: Any, said: Mapping[str, Any]) -> None:
    """Refuse what is no frame, and what says how to compare, where there is nobody to compare.

    Raises:
        ValueRefused: naming it.

    """
    if frame is not None and not is_frame(frame):
        raise refuse(f"the applicants are a frame, and not {type(frame).__name__}: pd.DataFrame(…)")
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


def _sample(fitted: FittedCard, frame: Any, said: Said) -> dict[str, Any]:
    require_columns(frame, fitted.features, "the card")
    # Libraries align what they compute by the index, which can be anything in the caller's frame.
    applicants = frame.reset_index(drop=True)
    scored = _scored(fitted, applicants, said)
    return sample_fields(
        applicants, fitted.features, scored, said.rename or {}, _flags(fitted, applicants)
    )


def _flags(fitted: FittedCard, frame: Any) -> dict[str, Flags]:
    """What a card reads for False and True, of the columns that hold them.

    A card that groups categories names the texts in its table, and otherwise has bounds.
    """
    found: dict[str, Flags] = {}
    for name in fitted.features:
        if str(frame[name].dtype) not in ("bool", "boolean", "object"):
            continue
        said = str(_rows_of(fitted.table, name))
        texts = [text for text in ("True", "False", "true", "false") if text in said]
        found[name] = flags_of(texts, is_numeric=False) or (0, 1)
    return found


def _rows_of(table: Any, feature: str) -> Any:
    """The part of a card's table that is about a feature."""
    if isinstance(table, Mapping):
        return table.get(feature)
    names = ("Variable", "variable", "feature", "name")
    return [row for row in table if feature in (row.get(name) for name in names)]


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
