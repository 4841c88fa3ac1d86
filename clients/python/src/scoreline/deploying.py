"""From a fitted card to a checked model behind an endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .cards import FittedCard, is_specification, read_card
from .cards.card import Scored, Words, floats
from .changes import Changes
from .checks import IMPORT_SECONDS, Checks
from .connection import given, segment
from .deployed import Deployed, deployed_of, faulty, in_words
from .errors import CardError, ParityError, ScorelineError, refuse
from .evaluation import spec_flags
from .importing import COMPARED, Said, import_body, require_frame
from .model_card import About, described, made_card
from .parity import ParityReport, parity_error
from .reasons import ReasonOrder, with_reasons
from .registry import Deployment, Model, card_hash
from .samples import Sample, sample_fields
from .values import encode, require_columns

_NAME = "Scorecard"
#: The service gives it to a card that has none.
_VERSION = "1.0.0"
_SHARE = 10.0
_NEEDS_SCORES = "say the scores to check the specification with: scores=…"


@dataclass(frozen=True)
class Prepared:
    """A card with the request that imports it.

    Attributes:
        fitted: the card of a library; None for a specification.
        body: of the import.
        spec: a specification; None for the card of a library.
        features: columns that the model reads, by their names there.

    """

    fitted: FittedCard | None
    body: Mapping[str, Any]
    spec: Mapping[str, Any] | None
    features: tuple[str, ...]
    #: What was done to read the card.
    notes: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[str, str]:
        """Name and version of the model."""
        names = self.body if self.spec is None else self.spec
        return str(names["name"]), str(names.get("version") or _VERSION)

    @property
    def scored(self) -> tuple[Sequence[float], bool] | None:
        """What tells good from bad in the sample, and whether the good ones have more of it."""
        sample = self.body.get("sample")
        if not isinstance(sample, Sample):
            return None
        pds = sample.known("pd")
        if pds is not None:
            return pds, False
        scaling = (self.body if self.spec is None else self.spec).get("scaling") or {}
        return self.expected or (), scaling.get("pdo", 1) > 0

    @property
    def expected(self) -> Sequence[float] | None:
        """Scores to compare with; None without applicants."""
        sample = self.body.get("sample")
        column = str(self.body.get("score_column", "score"))
        return sample.known(column) if isinstance(sample, Sample) else None

    @property
    def is_compared(self) -> bool:
        """Whether there are applicants to compare scores of."""
        return "sample" in self.body

    def words(self, faults: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Say faults in the words of this package."""
        return faults if self.fitted is None else in_words(self.fitted, faults)

    def fault(self, faults: Sequence[Mapping[str, Any]]) -> CardError:
        """Make the error of a card with faults."""
        tool = "scoreline" if self.fitted is None else self.fitted.tool
        return CardError(
            faulty(tool, faults), code="invalid_spec", status=200, details=self.words(faults)
        )


@dataclass(frozen=True)
class Order:
    """What to make of a card."""

    environment: str
    auto_deploy: bool
    onto: Deployment | None
    shadow: bool
    share: float | None
    #: Further ones of the registration.
    fields: Mapping[str, Any]
    description: str | None = None
    about: About | None = None
    bad: int = 1
    reasons: ReasonOrder | None = None

    def register(self, prepared: Prepared, frame: Any) -> dict[str, Any]:
        """The registration as the service takes it."""
        text = self.description
        if self.about is not None:
            card = made_card(
                prepared.named,
                self.about,
                frame,
                prepared.features,
                prepared.scored,
                bad=self.bad,
            )
            text = described(card, text)
        place = {"environment": self.environment, "auto_deploy": self.auto_deploy}
        return {**place, **self.fields, **given(description=text)}


class Deploying(Checks, Changes):
    """Checks and registers cards; the base of `Deploys`, which names what the caller says."""

    def _checked(self, prepared: Prepared, frame: Any, progress: bool | None) -> ParityReport:
        """Compare a card; nothing is stored."""
        answer = self._import(prepared.body, progress)
        if answer["faults"]:
            raise prepared.fault(answer["faults"])
        return ParityReport(answer, frame, prepared.notes, prepared.expected)

    def _deployed(
        self, prepared: Prepared, frame: Any, order: Order, progress: bool | None
    ) -> Deployed:
        if order.reasons is not None:
            prepared = self._explained(prepared, frame, order.reasons, progress)
        deployed = self._again(prepared, frame, order, progress) or self._new(
            prepared, frame, order, progress
        )
        at = order.onto
        if at is None:
            return deployed
        endpoint = self._transport.url(f"/v1/score/{segment(at.slug)}")
        deployed = replace(deployed, slug=at.slug, endpoint=endpoint)
        ids = (at.champion.model_id, *(one.model.model_id for one in at.challengers))
        if deployed.model_id in ids or not (order.shadow or order.share is not None):
            return deployed
        share = _SHARE if order.share is None else order.share
        shadow = True if order.shadow else None
        return replace(
            deployed, change=self.challenge(at, deployed.model_id, share=share, shadow=shadow)
        )

    def _agreed(self, prepared: Prepared, frame: Any, progress: bool | None) -> ParityReport:
        """Compare a card, and refuse one that does not agree."""
        report = self._checked(prepared, frame, progress)
        if report.agrees is False:
            raise report.error()
        return report

    def _explained(
        self, prepared: Prepared, frame: Any, order: ReasonOrder, progress: bool | None
    ) -> Prepared:
        """Add reasons to what a card becomes; the sample then proves that it is the same card."""
        if prepared.fitted is None or not prepared.is_compared:
            raise refuse(
                "`reasons` are made from a fitted card and its sample, deploy(card, df, "
                "reasons=…): a specification holds its own"
            )
        report = self._agreed(prepared, frame, progress)
        spec = with_reasons(report.spec or {}, order, prepared.body.get("rename", {}), frame)
        kept = {
            name: prepared.body[name]
            for name in ("sample", "score_column", "tolerance")
            if name in prepared.body
        }
        body = {"tool": "scoreline", "name": spec["name"], "card": encode(spec).decode(), **kept}
        conversions = report.conversions[["path", "message"]].astype(str).agg(": ".join, axis=1)
        notes = tuple(conversions.tolist()) if len(report.conversions) else ()
        return replace(prepared, body=body, spec=spec, notes=notes)

    def _new(self, prepared: Prepared, frame: Any, order: Order, progress: bool | None) -> Deployed:
        """Register a card."""
        register = order.register(prepared, frame)
        if not prepared.is_compared and prepared.spec is not None:
            call = self._keyed_call(
                "/v1/models/deploy", encode({"spec": prepared.spec, **register}), IMPORT_SECONDS
            )
            return self._json(
                call(self._manager()), lambda answer: deployed_of(answer, prepared.features, None)
            )
        try:
            answer = self._import({**prepared.body, "register": register}, progress)
        except CardError as error:
            error.details = tuple(prepared.words(error.details))
            raise
        except ParityError as error:
            found = error.checked or self._import(prepared.body, progress)
            report = ParityReport(found, frame, prepared.notes, prepared.expected)
            raise parity_error(error, frame, report) from None
        report = ParityReport(answer, frame, prepared.notes, prepared.expected)
        return deployed_of(answer["registered"], prepared.features, report)

    def _again(
        self, prepared: Prepared, frame: Any, order: Order, progress: bool | None
    ) -> Deployed | None:
        """Find the model that a card became before; None if it has become none.

        Raises:
            ScorelineError: `version_taken`, if another card has its name and version.

        """
        name, version = prepared.named
        listed = self._listed("/v1/models", "models", environment=order.environment)
        ids = [one["id"] for one in listed if (one["name"], one["version"]) == (name, version)]
        if not ids:
            return None
        report = None
        if prepared.spec is None or prepared.is_compared:
            report = self._agreed(prepared, frame, progress)
        spec = prepared.spec if report is None else report.spec
        models = [self.model(str(one)) for one in ids]
        same = [
            one for one in models if spec is not None and card_hash(one.spec) == card_hash(spec)
        ]
        if not same:
            raise ScorelineError(
                f"{name} {version} is another card in {order.environment} ({', '.join(ids)}): say "
                "another version, version='…', or another name",
                code="version_taken",
            )
        return self._known(same, prepared, report, order)

    def _known(
        self,
        same: Sequence[Model],
        prepared: Prepared,
        report: ParityReport | None,
        order: Order,
    ) -> Deployed:
        """Find where a model is deployed.

        Raises:
            ScorelineError: `not_deployed`, if it should have a deployment and has none.

        """
        model = max(same, key=lambda one: (one.status == "active", one.created_at))
        slug = None
        if order.auto_deploy:
            model, slug = self._deployment_with(same, order.environment)
        endpoint = None if slug is None else self._transport.url(f"/v1/score/{segment(slug)}")
        return Deployed(
            model_id=model.model_id,
            name=model.name,
            version=model.version,
            slug=slug,
            endpoint=endpoint,
            features=prepared.features,
            report=report,
            is_known=True,
        )

    def _deployment_with(self, same: Sequence[Model], environment: str) -> tuple[Model, str]:
        """Find the deployment of models: their champion's first, then a challenger's."""
        by_id = {one.model_id: one for one in same}
        beside: list[tuple[Model, str]] = []
        for one in self._listed("/v1/deployments", "deployments", environment=environment):
            path = f"/v1/deployments/{segment(one['slug'])}"
            answer = self._read(path, None, dict)
            champion = by_id.get(answer["champion_model"]["id"])
            if champion is not None:
                return champion, str(one["slug"])
            others = [answer.get("previous_champion_model", {}).get("id")]
            others += [entry["model_id"] for entry in answer["challengers"]]
            beside += [(by_id[other], str(one["slug"])) for other in others if other in by_id]
        if beside:
            return beside[0]
        raise ScorelineError(
            f"the card is registered as {same[0].model_id}, and no deployment has it: add it to "
            "one with challenge(deployment, model), or say another version",
            code="not_deployed",
        )


def prepared_specification(spec: Any, frame: Any, said: Mapping[str, Any]) -> Prepared:
    """Make the request that imports a specification with the applicants to check it with."""
    unknown = set(said) - {*COMPARED, "accept_unreached"}
    if unknown:
        raise refuse(f"a specification holds everything but its name: {sorted(unknown)[0]!r}")
    require_frame(frame, said)
    # What has no name is a fault that the service finds.
    features = tuple(
        str(one["name"]) for one in spec["features"] if isinstance(one, Mapping) and "name" in one
    )
    body: dict[str, Any] = {
        "tool": "scoreline",
        "name": spec.get("name", _NAME),
        "card": encode(spec).decode(),
    }
    if frame is not None:
        scores, pds = said.get("scores"), said.get("pds")
        if scores is None:
            raise refuse(_NEEDS_SCORES)
        require_columns(frame, features, "the specification")
        known = Scored(floats(scores), {}, None if pds is None else floats(pds))
        try:
            flags = spec_flags(spec)
        except (LookupError, TypeError, AttributeError) as error:
            raise refuse(f"a feature of the specification lacks something: {error}") from None
        body.update(sample_fields(frame.reset_index(drop=True), features, known, {}, flags))
        body.update(given(tolerance=said.get("tolerance")))
    return Prepared(None, body, spec, features)


def prepared_card(card: Any, frame: Any, name: str, said: Mapping[str, Any]) -> Prepared:
    """Make the request that imports the card of a library."""
    require_frame(frame, said)
    own = {field: value for field, value in said.items() if field in _SAID}
    words = {field: value for field, value in said.items() if field not in _SAID}
    fitted = read_card(card, Words(words))
    body = import_body(fitted, frame, Said(name=name, **own))
    renamed = body.get("rename", {})
    features = tuple(renamed.get(one, one) for one in fitted.features)
    return Prepared(fitted, body, None, features, fitted.notes)


def prepare(card: Any, frame: Any, name: str | None, said: Mapping[str, Any]) -> Prepared:
    """Make the request that imports a card."""
    if is_specification(card):
        spec = card if name is None else {**card, "name": name}
        return prepared_specification(spec, frame, said)
    return prepared_card(card, frame, name or _NAME, said)


_SAID = tuple(name for name in Said.__dataclass_fields__ if name != "name")
