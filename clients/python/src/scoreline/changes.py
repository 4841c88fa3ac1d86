"""Changes of a deployment: challengers, promotion, the way back, and who approves them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .connection import given, segment
from .errors import ScorelineError, ServiceError, refuse
from .frames import frame_of
from .registry import Challenger, Deployment, Model, ModelName, Registry
from .transport import Call
from .values import encode

if TYPE_CHECKING:
    from pandas import DataFrame

_WAITING = "waiting"
_APPROVED = "approved"
_WAIT_SECONDS = 0.5
_WAIT_SECONDS_MAX = 10.0
_REQUEST_COLUMNS = (
    *("id", "deployment_id", "action", "state", "reason", "requested_by", "created_at"),
    *("expires_at", "decided_by", "decided_at", "comment"),
)


@dataclass(frozen=True)
class Change:
    """A change of a deployment, made or waiting for a second person.

    Attributes:
        deployment: slug.
        action: what was asked for, such as `promote`.
        request: id of the change request, `chg_…`; None where nobody had to approve.
        state: `applied`, or the state of the request: `waiting`, `approved` (and applied),
            `declined`, `expired` or `outdated`.
        added: features that callers must send from now on.
        removed: features that no model knows any more.
        answer: of the service.

    """

    deployment: str
    action: str
    request: str | None
    state: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    answer: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _client: Changes | None = field(default=None, repr=False, compare=False)

    @property
    def pending(self) -> bool:
        """Whether it waits for a second owner or admin."""
        return self.state == _WAITING

    def wait(self, timeout_seconds: float = 3600.0) -> Change:
        """Wait until a second person has decided.

        Returns:
            The change, which is applied now.

        Raises:
            ScorelineError: `change_declined`, `change_expired` or `change_outdated`, with the
                comment of who decided; `change_waiting` after the time.

        """
        change = self
        end = time.monotonic() + timeout_seconds
        pause = _WAIT_SECONDS
        while change.pending:
            left = end - time.monotonic()
            if left <= 0:
                raise ScorelineError(
                    f"the change {self.request} still waits for approval", code="change_waiting"
                )
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _WAIT_SECONDS_MAX)
            change = self._again()
        if change.state in ("applied", _APPROVED):
            return change
        comment = change.answer.get("comment")
        raise ServiceError(
            f"the change {self.request} was {change.state}" + (f": {comment}" if comment else ""),
            code=f"change_{change.state}",
            status=200,
        )

    def _again(self) -> Change:
        if self._client is None or self.request is None:
            return self
        return self._client.change(self.request)


class Changes(Registry):
    """Changes deployments; a part of `Client`.

    They take the token of an owner or admin. Where a deployment requires approval, a change waits:
    `change.pending` says so, and `change.wait()` returns when a second person has decided.
    """

    def challenge(
        self,
        deployment: Any,
        model: Any,
        *,
        share: float = 10.0,
        shadow: bool | None = None,
        accept_features: bool = False,
    ) -> Change:
        """Add a challenger.

        Args:
            deployment: its name, its slug, or what `deploy` or `deployment` returned.
            model: its id, or what `deploy` or `model` returned.
            share: of the applicants whom it decides in a live split, 1 to 50 percent.
            shadow: whether the challengers of the deployment score without deciding; as it is when
                left out.
            accept_features: that callers of a strict deployment send what the model adds.

        Raises:
            ScorelineError: `live_challengers`, if shadow mode would end a live split, and
                `approval_first`, if the switch of the mode waits for approval itself.

        """
        at = self._at(deployment)
        if shadow is not None and shadow != at.shadow_mode:
            if shadow and at.challengers:
                raise ScorelineError(
                    f"{at.name} has challengers in a live split, which shadow mode would end: end "
                    "it yourself, with shadow(deployment, True)",
                    code="live_challengers",
                )
            switched = self.shadow(at, shadow, accept_features=accept_features)
            if switched.pending:
                raise ScorelineError(
                    f"the switch of the mode waits for approval ({switched.request}): add the "
                    "challenger when it is approved",
                    code="approval_first",
                )
        body = {"model_id": self._model_id(model), "traffic_pct": share}
        return self._traffic(at, "add_challenger", accept_features, body)

    def set_traffic(
        self,
        deployment: Any,
        share: float,
        *,
        challenger: Any = None,
        accept_features: bool = False,
    ) -> Change:
        """Change the share of a challenger, in percent.

        Args:
            deployment: as for `challenge`.
            share: 1 to 50 percent.
            challenger: its id, its model or its version; may be left out if there is one.
            accept_features: as for `challenge`.

        """
        at = self._at(deployment)
        body = {"challenger_id": _challenger(at, challenger).id, "traffic_pct": share}
        return self._traffic(at, "update_traffic", accept_features, body)

    def remove_challenger(self, deployment: Any, *, challenger: Any = None) -> Change:
        """End a challenger; the arguments are those of `set_traffic`."""
        at = self._at(deployment)
        body = {"challenger_id": _challenger(at, challenger).id}
        return self._traffic(at, "remove_challenger", False, body)

    def shadow(self, deployment: Any, is_on: bool, *, accept_features: bool = False) -> Change:
        """Let all challengers score without deciding, or decide for their shares."""
        body = {"shadow_mode": is_on}
        return self._traffic(self._at(deployment), "toggle_shadow", accept_features, body)

    def promote(
        self,
        deployment: Any,
        *,
        reason: str,
        challenger: Any = None,
        accept_features: bool = False,
    ) -> Change:
        """Make a challenger the champion; this ends all challengers.

        Args:
            deployment: as for `challenge`.
            reason: is kept in the audit log.
            challenger: as for `set_traffic`.
            accept_features: as for `challenge`.

        """
        at = self._at(deployment)
        body = {"challenger_id": _challenger(at, challenger).id, "reason": reason}
        return self._changed(at.slug, "promote", "POST", "/promote", body, accept_features)

    def roll_back(
        self,
        deployment: Any,
        *,
        reason: str,
        emergency: bool = False,
        accept_features: bool = False,
    ) -> Change:
        """Make the previous champion the champion again.

        Args:
            deployment: as for `challenge`.
            reason: is kept in the audit log.
            emergency: does not wait for approval, where the deployment allows that.
            accept_features: as for `challenge`.

        """
        slug = self._slug(deployment)
        body = {"reason": reason, **given(emergency=emergency or None)}
        return self._changed(slug, "rollback", "POST", "/rollback", body, accept_features)

    def set_cutoff(self, deployment: Any, cutoff: float | None) -> Change:
        """Note the present cut-off of the lender, which reports take; it decides nothing."""
        return self._changed(
            self._slug(deployment), "update", "PATCH", "", {"cutoff": cutoff}, is_keyed=False
        )

    def require_approval(self, deployment: Any, is_on: bool = True) -> Change:
        """Let changes of a deployment wait for a second owner or admin, or no longer."""
        body = {"require_approval": is_on}
        return self._changed(self._slug(deployment), "update", "PATCH", "", body, is_keyed=False)

    def archive(self, model: Any) -> Model:
        """Archive a model, which ends its challengers; a champion can't be archived."""
        return self._set_status(model, "archived")

    def activate(self, model: Any) -> Model:
        """Take a model out of the archive, so that it can be a challenger again."""
        return self._set_status(model, "active")

    def change(self, request: str) -> Change:
        """Read a change request, `chg_…`."""
        path = f"/v1/change-requests/{segment(request)}"
        return self._read(path, None, self._request_of)

    def change_requests(self, deployment: Any = None, *, state: str | None = _WAITING) -> DataFrame:
        """List change requests; those that wait, unless `state` says otherwise (None for all).

        Returns:
            A row for each: `id`, `deployment_id`, `action`, `state`, `reason`, `requested_by`,
            `created_at`, `expires_at`, `decided_by`, `decided_at` and `comment`.

        """
        slug = None if deployment is None else self._slug(deployment)
        rows = self._listed("/v1/change-requests", "change_requests", deployment=slug, state=state)
        return frame_of(rows, columns=_REQUEST_COLUMNS)

    def approve(self, change: Change | str, *, comment: str | None = None) -> Change:
        """Approve the change that somebody else has asked for, which applies it."""
        return self._decide(change, "approve", comment)

    def decline(self, change: Change | str, *, comment: str | None = None) -> Change:
        """Decline a change, or take back a request of one's own."""
        return self._decide(change, "decline", comment)

    def _decide(self, change: Change | str, decision: str, comment: str | None) -> Change:
        request = change.request if isinstance(change, Change) else change
        if request is None:
            raise refuse("the change was made already, and nobody has to approve it")
        path = f"/v1/change-requests/{segment(request)}/{decision}"
        # What came of a decision whose answer was lost says `change`.
        content = encode(given(comment=comment))
        call = Call("POST", path, self._manager(), content=content, is_repeatable=False)
        return self._json(call, self._request_of)

    def _request_of(self, answer: Mapping[str, Any]) -> Change:
        features = answer.get("features", {})
        return Change(
            deployment=str(answer["deployment_id"]),
            action=str(answer["action"]),
            request=str(answer["id"]),
            state=str(answer["state"]),
            added=tuple(features.get("added", ())),
            removed=tuple(features.get("removed", ())),
            answer=answer,
            _client=self,
        )

    def _set_status(self, model: Any, status: str) -> Model:
        found = self._model_id(model)
        content = encode({"status": status})
        call = Call("PATCH", f"/v1/models/{segment(found)}", self._manager(), content=content)
        self._json(call, dict)
        return self.model(found)

    def _at(self, deployment: Any) -> Deployment:
        """Read a deployment anew: what the caller has may be older than the last change."""
        return self.deployment(self._slug(deployment))

    def _model_id(self, model: Any) -> str:
        known = getattr(model, "model_id", None)
        return self.model(model).model_id if known is None else str(known)

    def _traffic(
        self, at: Deployment, action: str, accept_features: bool, body: Mapping[str, Any]
    ) -> Change:
        order = {"action": action, **body}
        return self._changed(at.slug, action, "PATCH", "/traffic", order, accept_features)

    def _changed(
        self,
        slug: str,
        action: str,
        method: str,
        path: str,
        body: Mapping[str, Any],
        accept_features: bool = False,
        *,
        is_keyed: bool = True,
    ) -> Change:
        accepted = {"accept_features": True} if accept_features else {}
        at = f"/v1/deployments/{segment(slug)}{path}"
        content = encode({**body, **accepted})
        call = self._keyed_call(at, content, method=method)(self._manager())
        if not is_keyed:
            # The same settings twice are the same.
            call = replace(call, idempotency_key=None)
        return self._json(call, lambda answer: self._change_of(slug, action, answer))

    def _change_of(self, slug: str, action: str, answer: Mapping[str, Any]) -> Change:
        if str(answer.get("id", "")).startswith("chg_"):
            return self._request_of(answer)
        features = answer.get("features", {})
        return Change(
            deployment=slug,
            action=action,
            request=None,
            state="applied",
            added=tuple(features.get("added", ())),
            removed=tuple(features.get("removed", ())),
            answer=answer,
            _client=self,
        )


def _challenger(at: Deployment, wanted: Any) -> Challenger:
    """Find a challenger by its id, its model or its version.

    Raises:
        ScorelineError: where there is none, or where it could be several.

    """
    known = getattr(wanted, "model_id", getattr(wanted, "id", wanted))
    found = [one for one in at.challengers if known is None or known in _names(one.id, one.model)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{one.model.version} ({one.id})" for one in at.challengers) or "none"
    raise ScorelineError(
        f"{at.name} has the challengers {listed}: say which with challenger=",
        code="challenger_not_found" if not found else "several_found",
    )


def _names(entry: str, model: ModelName) -> tuple[str, ...]:
    return (entry, model.model_id, model.version)
