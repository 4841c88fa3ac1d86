"""Models and deployments by their names."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .connection import Connection, T, given, segment, slug_of
from .errors import ScorelineError, refuse
from .frames import frame_of
from .transport import Call

if TYPE_CHECKING:
    from pandas import DataFrame

_PAGE_ITEMS = 200
_ENVIRONMENTS = ("production", "staging")
_DEPLOYMENT_COLUMNS = (
    *("slug", "name", "environment", "is_active", "model_name", "model_version", "created_at"),
)
_MODEL_COLUMNS = (
    *("id", "name", "version", "environment", "status", "description", "deployed_by"),
    "created_at",
)


@dataclass(frozen=True)
class ModelName:
    """A model by its id, its name and its version."""

    model_id: str
    name: str
    version: str


@dataclass(frozen=True)
class Challenger:
    """A challenger of a deployment.

    Attributes:
        id: of the entry, `ch_…`.
        model: that it scores with.
        share: of the applicants, in percent, in a live split.

    """

    id: str
    model: ModelName
    share: float


@dataclass(frozen=True)
class Deployment:
    """A deployment as it was when it was read.

    Attributes:
        slug: by which it is called.
        name: of the deployment.
        environment: `staging` or `production`.
        is_active: whether it scores.
        champion: the model that decides.
        previous: the champion after a rollback; None if there was one only.
        challengers: active ones, oldest first.
        shadow_mode: whether challengers score without deciding.
        strict_mode: whether missing and unknown features are refused.
        require_approval: whether changes wait for a second person.
        cutoff: present cut-off of the lender; None without one.
        features: columns that the champion reads.
        created_at: when it was made.

    """

    slug: str
    name: str
    environment: str
    is_active: bool
    champion: ModelName
    previous: ModelName | None
    challengers: tuple[Challenger, ...]
    shadow_mode: bool
    strict_mode: bool
    require_approval: bool
    cutoff: float | None
    features: tuple[str, ...]
    created_at: datetime.datetime

    @property
    def model_id(self) -> str:
        """Id of the champion, where a method takes a model."""
        return self.champion.model_id


@dataclass(frozen=True)
class Model:
    """A registered model.

    Attributes:
        model_id: of the model.
        name: of the model.
        version: of the model.
        environment: `staging` or `production`.
        status: `active` or `archived`.
        description: what its maker wrote, such as a model card; None without one.
        spec: its specification.
        spec_sha256: hash of the specification as stored.
        certificate: of the check that it was registered with; None without one.
        created_at: when it was registered.

    """

    model_id: str
    name: str
    version: str
    environment: str
    status: str
    description: str | None
    spec: Mapping[str, Any]
    spec_sha256: str
    certificate: Mapping[str, Any] | None
    created_at: datetime.datetime

    @property
    def features(self) -> tuple[str, ...]:
        """Columns that the model reads."""
        return tuple(str(feature["name"]) for feature in self.spec["features"])

    def __repr__(self) -> str:
        return (
            f"Model({self.name!r}, {self.version!r}, {self.environment!r}, "
            f"model_id={self.model_id!r}, status={self.status!r}, {len(self.features)} features)"
        )


class Registry(Connection):
    """Finds models and deployments; a part of `Client`."""

    def deployments(self, environment: str | None = None) -> DataFrame:
        """List the deployments of the team.

        Args:
            environment: `staging` or `production`; both when left out.

        Returns:
            A row for each: `slug`, `name`, `environment`, `is_active`, `model_name` and
            `model_version` of the champion, and `created_at`.

        """
        return frame_of(
            [
                {
                    **one,
                    "environment": place,
                    "model_name": one["champion_model"]["name"],
                    "model_version": one["champion_model"]["version"],
                }
                for place in _places(environment)
                for one in self._listed("/v1/deployments", "deployments", environment=place)
            ],
            columns=_DEPLOYMENT_COLUMNS,
        )

    def deployment(self, name: Any, environment: str | None = None) -> Deployment:
        """Find a deployment.

        Args:
            name: of the deployment, its slug, or what `deploy` returned.
            environment: `staging` or `production`; needed where both have one of this name.

        Raises:
            ScorelineError: `deployment_not_found`, or `several_found`, naming the slugs.

        """
        wanted = slug_of(name)
        found = {
            str(one["slug"]): place
            for place in _places(environment)
            for one in self._listed("/v1/deployments", "deployments", environment=place)
            if wanted in (one["slug"], one["name"])
        }
        if wanted in found:
            found = {wanted: found[wanted]}
        where = "" if environment is None else f" in {environment}"
        slug, place = _only(found, "deployment", f"called {wanted!r}{where}")
        path = f"/v1/deployments/{segment(slug)}"
        read = self._read(path, None, lambda answer: _deployment_of(answer, place))
        model = self.model(read.champion)
        return Deployment(**{**vars(read), "features": model.features})

    def models(self, environment: str | None = None, *, name: str | None = None) -> DataFrame:
        """List the models of the team, newest first.

        Args:
            environment: `staging` or `production`; both when left out.
            name: only models of this name.

        Returns:
            A row for each: `id`, `name`, `version`, `environment`, `status`, `description`,
            `deployed_by` and `created_at`.

        """
        rows = self._listed("/v1/models", "models", environment=environment)
        wanted = [one for one in rows if name in (None, one["name"])]
        return frame_of(wanted, columns=_MODEL_COLUMNS)

    def model(self, name: Any, version: str | None = None, environment: str | None = None) -> Model:
        """Find a model.

        Args:
            name: of the model, its id, what `deploy` returned, or a deployment for its champion.
            version: of the model; the newest one when left out.
            environment: `staging` or `production`; needed where the models of both differ.

        Raises:
            ScorelineError: `model_not_found`, or `several_found`, where models of one name and
                version differ.

        """
        known = getattr(name, "model_id", name)
        if not isinstance(known, str) or not known:
            raise refuse("the model is a name, an id, or what deploy() returned")
        if known is not name or known.startswith("mod_"):
            return self._read(f"/v1/models/{segment(known)}", None, model_from)
        listed = [
            one
            for one in self._listed("/v1/models", "models", environment=environment)
            if one["name"] == known and version in (None, one["version"])
        ]
        newest = max((str(one["created_at"]) for one in listed), default="")
        chosen = version or next(
            (one["version"] for one in listed if one["created_at"] == newest), None
        )
        same = [self.model(str(one["id"])) for one in listed if one["version"] == chosen]
        of = {card_hash(one.spec): one for one in sorted(same, key=lambda one: one.created_at)}
        said = f"called {known!r}" + ("" if chosen is None else f" with the version {chosen!r}")
        where = "" if environment is None else f" in {environment}"
        found: Model = _only({one.model_id: one for one in of.values()}, "model", said + where)[1]
        return found

    def _slug(self, deployment: Any) -> str:
        """Return the slug of what may be a name."""
        named = slug_of(deployment)
        if named.startswith("dep_"):
            return named
        if self._token is None:
            raise refuse(
                f"{named!r} is no slug, as dep_… is, and a name is found with a token only: "
                "Client(url, token)"
            )
        return self.deployment(named).slug

    def _read(self, path: str, params: Mapping[str, Any] | None, read: Callable[[Any], T]) -> T:
        """Read what no API key may."""
        return self._json(Call("GET", path, self._manager(), params=params), read)

    def _listed(
        self, path: str, what: str, *, page_items: int = _PAGE_ITEMS, **filters: str | None
    ) -> list[dict[str, Any]]:
        """Read all pages of a list."""
        rows: list[dict[str, Any]] = []
        params: dict[str, Any] = {"limit": page_items, **given(**filters)}
        while True:
            page, cursor = self._read(
                path, params, lambda answer: (list(answer[what]), answer.get("next_cursor"))
            )
            rows += page
            if cursor is None:
                return rows
            params["cursor"] = cursor


def card_hash(spec: Mapping[str, Any]) -> str:
    """Hash what a specification scores and says, without the counts of a sample.

    Two equal numbers have one hash, whether they are written as 1 or 1.0.
    """
    text = json.dumps(_canonical(spec), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


#: What the sample adds to a card, which is the same card without it.
_COUNTS = ("baseline_count", "baseline_bads", "baseline_outcomes")


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _canonical(part) for name, part in value.items() if name not in _COUNTS}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_canonical(part) for part in value]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_number else value


def _places(environment: str | None) -> Sequence[str]:
    if environment is None:
        return _ENVIRONMENTS
    if environment not in _ENVIRONMENTS:
        raise refuse(f"the environment is 'staging' or 'production', and not {environment!r}")
    return (environment,)


def _only(found: Mapping[str, Any], what: str, said: str) -> tuple[str, Any]:
    """Return the one that was found.

    Raises:
        ScorelineError: where there is none, or where there are several.

    """
    if not found:
        raise ScorelineError(f"there is no {what} {said}", code=f"{what}_not_found")
    if len(found) > 1:
        listed = ", ".join(sorted(found))
        raise ScorelineError(
            f"{len(found)} {what}s are {said}: name one of them, {listed}", code="several_found"
        )
    return next(iter(found.items()))


def time_of(text: str) -> datetime.datetime:
    """Read a moment of an answer."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def _name_of(one: Mapping[str, Any], prefix: str = "") -> ModelName:
    return ModelName(
        str(one[f"{prefix}id"]),
        str(one["model_name" if prefix else "name"]),
        str(one["model_version" if prefix else "version"]),
    )


def _deployment_of(answer: Mapping[str, Any], environment: str) -> Deployment:
    previous = answer.get("previous_champion_model")
    return Deployment(
        slug=str(answer["slug"]),
        name=str(answer["name"]),
        environment=environment,
        is_active=bool(answer["is_active"]),
        champion=_name_of(answer["champion_model"]),
        previous=None if previous is None else _name_of(previous),
        challengers=tuple(
            Challenger(str(one["id"]), _name_of(one, "model_"), float(one["traffic_pct"]))
            for one in answer["challengers"]
        ),
        shadow_mode=bool(answer["shadow_mode"]),
        strict_mode=bool(answer["strict_mode"]),
        require_approval=bool(answer["require_approval"]),
        cutoff=None if answer["cutoff"] is None else float(answer["cutoff"]),
        features=(),
        created_at=time_of(answer["created_at"]),
    )


def model_from(answer: Mapping[str, Any]) -> Model:
    """Read a model."""
    return Model(
        model_id=str(answer["id"]),
        name=str(answer["name"]),
        version=str(answer["version"]),
        environment=str(answer["environment"]),
        status=str(answer["status"]),
        description=answer["description"],
        spec=dict(answer["spec"]),
        spec_sha256=str(answer["spec_sha256"]),
        certificate=answer.get("parity"),
        created_at=time_of(answer["created_at"]),
    )
