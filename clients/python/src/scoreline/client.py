"""The client: from a fitted card to a checked endpoint, and from a frame to scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .backtests import Backtests
from .batches import FileBatches
from .connection import given, segment
from .decisions import Decisions
from .deploys import Deploys
from .errors import refuse
from .exports import Exports
from .monitoring import Monitoring
from .outcomes import Outcomes
from .scores import Scores
from .transport import Call
from .values import encode, listed
from .watching import Watching


class Client(
    Scores,
    Deploys,
    Monitoring,
    Watching,
    Exports,
    Decisions,
    Outcomes,
    Backtests,
    FileBatches,
):
    """Calls Scoreline.

    A client is for one thread. Use it as a context manager, or call `close`.

    Args:
        url: of the service; `SCORELINE_URL` when left out.
        token: of a service account (`sa_…`) or of a signed-in user, for all but scoring;
            `SCORELINE_TOKEN` when left out. An API key is taken for `key`.
        key: API key (`sk_…`), with which scores are made; `SCORELINE_KEY` when left out.
        retries: how long a request is tried.
        timeout_seconds: longest wait for an answer, and then until it is complete.
        http: replaces the connections, for proxies and certificates of your own.
        answer_bytes_max: longest answer that is held in memory, decompressed.
        on_not_kept: called when the service could not keep an answer, for a log or a counter.

    """

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
        body = {"name": name, "scopes": listed(scopes, "scopes"), **given(environment=environment)}
        call = self._keyed_call("/v1/keys", encode(body))
        secret = self._json(call(self._manager()), lambda answer: str(answer["key"]))
        self._key = self._key or secret
        return secret

    def define_outcome(
        self,
        definition: str,
        *,
        label: str,
        window_months: int,
        bad_rule_text: str,
        maturity_months: int = 0,
    ) -> dict[str, Any]:
        """Define what is bad.

        Args:
            definition: its id, such as `gb12`.
            label: what people call it.
            window_months: months after which an outcome counts.
            bad_rule_text: what is bad, in words.
            maturity_months: months until an account is mature.

        """
        fields = {
            "label": label,
            "window_months": window_months,
            "bad_rule_text": bad_rule_text,
            "maturity_months": maturity_months,
        }
        path = f"/v1/outcome-definitions/{segment(definition)}"
        return self._json(Call("PUT", path, self._manager(), content=encode(fields)), dict)

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Read any other endpoint, as JSON.

        Args:
            path: of the endpoint, such as `/v1/models`.
            params: of its query.

        """
        if not isinstance(path, str) or not path.startswith("/"):
            raise refuse(f"the path begins with a slash, as '/v1/models' does, and is not {path!r}")
        return self._get(path, params, lambda answer: answer)
