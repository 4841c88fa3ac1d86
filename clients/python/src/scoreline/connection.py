"""Credentials and connections: what every call of a client needs."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from .answers import understood
from .errors import ScorelineError, refuse
from .scoring import Wants
from .transport import ANSWER_BYTES_MAX, Call, NotKept, Retries, Transport
from .version import VERSION

_KEY_PREFIX = "sk_"
Self = TypeVar("Self", bound="Connection")
T = TypeVar("T")


class Connection:
    """Holds the credentials of a client, and sends its calls; the base of all parts of `Client`.

    The arguments are those of `Client`.
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
        answer_bytes_max: int = ANSWER_BYTES_MAX,
        on_not_kept: Callable[[NotKept], None] | None = None,
    ) -> None:
        base = url or os.environ.get("SCORELINE_URL")
        if not base:
            raise refuse("say the URL of the service: Client(url, token), or SCORELINE_URL")
        self._token = _secret(token or os.environ.get("SCORELINE_TOKEN"), "token")
        self._key = _secret(key or os.environ.get("SCORELINE_KEY"), "key")
        if self._token is not None and token is not None and token.strip().startswith(_KEY_PREFIX):
            self._token, self._key = None, _secret(key or token, "key")
        connections = http or httpx.Client(
            timeout=httpx.Timeout(timeout_seconds, connect=5.0),
            headers={"user-agent": f"scoreline-python/{VERSION}"},
        )
        try:
            connections.base_url = httpx.URL(base)
        except (TypeError, ValueError, httpx.InvalidURL) as error:
            raise refuse(f"the URL of the service is none: {error}") from None
        #: Tag of the schema of deployments, and what it says they want, by slug.
        self._schemas: dict[str, tuple[str, Wants]] = {}
        self._transport = Transport(
            connections,
            retries or Retries(),
            answer_bytes_max=answer_bytes_max,
            on_not_kept=on_not_kept,
        )

    def __enter__(self: Self) -> Self:
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

    @staticmethod
    def _keyed_call(
        path: str, content: bytes, timeout_seconds: float | None = None, *, method: str = "POST"
    ) -> Callable[[str], Call]:
        """A change that is made once, however often it is sent."""
        call = Call(method, path, "", content=content, idempotency_key=uuid.uuid4().hex)
        return lambda token: replace(call, token=token, timeout_seconds=timeout_seconds)

    def _json(self, call: Call, read: Callable[[Any], T]) -> T:
        return understood(self._transport.send(call), read)

    def _get(self, path: str, params: Mapping[str, Any] | None, read: Callable[[Any], T]) -> T:
        return self._json(Call("GET", path, self._reader(), params=params), read)

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

    def _sender(self) -> str:
        """The key, or the token of somebody who may deploy: of outcomes, and of files."""
        credential = self._key or self._token
        if credential is None:
            raise _no_credential("an API key with the scope `score`, or a token")
        return credential


def given(**params: Any) -> dict[str, Any]:
    """Leave out what is None."""
    return {name: value for name, value in params.items() if value is not None}


def segment(text: str) -> str:
    """Write a text as one part of a path."""
    if not isinstance(text, str):
        raise refuse(f"an id is a text, and not {type(text).__name__}")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise refuse(f"{text!r} holds half of a character, as no id does") from None


def slug_of(deployment: Any) -> str:
    """Return the slug of a deployment, from itself or from what `deploy` returned."""
    slug = getattr(deployment, "slug", deployment)
    if isinstance(slug, str) and slug:
        return slug
    raise refuse(
        "the deployment is its name, its slug (dep_…), or what deploy() returned with "
        "auto_deploy=True"
    )


def _secret(value: str | None, what: str) -> str | None:
    """A token without the line break of its file; the error does not quote it."""
    if not isinstance(value, str | None):
        raise refuse(f"the {what} is a text, and not {type(value).__name__}")
    secret = (value or "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise refuse(f"the {what} has characters that no {what} has: copy it anew")
    return secret or None


def _no_credential(wanted: str) -> ScorelineError:
    return ScorelineError(f"this takes {wanted}", code="no_credential")
