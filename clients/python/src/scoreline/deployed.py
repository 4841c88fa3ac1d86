"""What a card became, and what stands in its way, in the words of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .cards import FittedCard
from .changes import Change
from .parity import ParityReport


@dataclass(frozen=True)
class Deployed:
    """A registered model, and its deployment.

    Attributes:
        model_id: id of the model.
        name: of the model.
        version: of the model.
        slug: of the deployment; None without `auto_deploy`.
        endpoint: its scoring URL; None without `auto_deploy`.
        features: columns that the model reads.
        report: what the check of the card found; None for a specification.
        is_known: whether the same card was registered before, so that nothing new was made.
        change: what `onto` asked of the deployment; None without it.

    """

    model_id: str
    name: str
    version: str
    slug: str | None
    endpoint: str | None
    features: tuple[str, ...]
    report: ParityReport | None = None
    is_known: bool = False
    change: Change | None = None


def deployed_of(
    answer: Mapping[str, Any], features: tuple[str, ...], report: ParityReport | None
) -> Deployed:
    """Read the answer of a registration."""
    deployment = answer["deployment"] or {}
    return Deployed(
        model_id=answer["model_id"],
        name=answer["name"],
        version=answer["version"],
        slug=deployment.get("slug"),
        endpoint=deployment.get("endpoint"),
        features=features,
        report=report,
    )


def faulty(tool: str, faults: Sequence[Any]) -> str:
    """Say how many faults a card has."""
    count = f"{len(faults)} fault" + ("" if len(faults) == 1 else "s")
    return f"the card of {tool} has {count}"


#: What a fault of the service is about, as this package has it.
_PATHS = {
    "scaling.pdo": "pdo",
    "scaling.base_score": "the base score",
    "scaling.odds": "the odds",
}


def in_words(fitted: FittedCard, faults: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Say in the words of this package what a fault asks for."""
    said: list[dict[str, Any]] = []
    for fault in faults:
        path, message = str(fault["path"]), str(fault["message"])
        if "the service has one number for both" in message and "unseen" in message:
            message += (
                f". {fitted.tool} does so; say unseen='missing' to give an unseen category the "
                "points of a missing value"
            )
        said.append({**fault, "path": _PATHS.get(path, path), "message": message})
    return said
