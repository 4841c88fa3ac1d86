"""Cards for other systems: SQL, PMML, and the specification."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from .connection import given, segment
from .errors import ScorelineError
from .model_card import ModelCard, card_in
from .registry import Model, Registry
from .transport import Call
from .values import listed, path_of

if TYPE_CHECKING:
    import os

Format = Literal["sql", "pmml", "spec"]
Dialect = Literal["postgresql", "spark", "bigquery", "snowflake", "duckdb"]


class Exports(Registry):
    """Exports cards; a part of `Client`."""

    def model_card(self, model: Any) -> ModelCard:
        """Read the card that `deploy(…, about=…)` made of a model, with its certificate.

        Args:
            model: its id, or what `deploy`, `model` or `deployment` returned; its name, if it has
                one version only.

        Returns:
            The card: `markdown()`, `json()` and `save(path)` export it.

        Raises:
            ScorelineError: `model_card_not_found`, for a model that was deployed without one.

        """
        found = self._meant(model)
        card = card_in(found.description)
        if card is None:
            raise ScorelineError(
                f"{found.name} {found.version} has no model card: deploy(…, about=About(…)) makes "
                "one",
                code="model_card_not_found",
            )
        return dataclasses.replace(card, certificate=found.certificate)

    def export(
        self,
        model: Any,
        format: Format,  # noqa: A002
        *,
        out: str | os.PathLike[str] | None = None,
        dialect: Dialect | None = None,
        table: str | None = None,
        key: Sequence[str] = (),
        number_column: Sequence[str] = (),
        column_case: Literal["as_is", "upper", "lower"] | None = None,
        reasons: int | None = None,
        reason_baseline: str | None = None,
    ) -> str:
        """Write a card for another system, whose scores have the same bits.

        Args:
            model: as for `model_card`.
            format: `sql`, `pmml` or `spec`.
            out: file to write; the text is returned, too.
            dialect: of SQL: `postgresql`, `spark`, `bigquery`, `snowflake` or `duckdb`.
            table: of applicants, for SQL; `applicants` when left out.
            key: columns that identify a row.
            number_column: categorical features whose column holds numbers.
            column_case: how columns are written.
            reasons: columns of reasons.
            reason_baseline: what they are measured against, `rbl_…`.

        """
        target = None if out is None else path_of(out, "out")
        params = given(
            format=format,
            dialect=dialect,
            table=table or ("applicants" if format == "sql" else None),
            key=listed(key, "key") or None,
            number_column=listed(number_column, "number_column") or None,
            column_case=column_case,
            reasons=reasons,
            reason_baseline=reason_baseline,
        )
        found = self._meant(model).model_id
        path = f"/v1/models/{segment(found)}/export"
        call = Call("GET", path, self._manager(), params=params)
        content = self._transport.send(call).content
        if target is not None:
            target.write_bytes(content)
        return content.decode()

    def _meant(self, model: Any) -> Model:
        """Find a model whose version is certain: the newest need not be the one that decides.

        Raises:
            ScorelineError: `several_found`, for a name with several versions.

        """
        if isinstance(model, str) and not model.startswith("mod_"):
            versions = sorted(set(self.models(name=model)["version"]))
            if len(versions) > 1:
                raise ScorelineError(
                    f"{model!r} has the versions {', '.join(versions)}: hand over "
                    "client.deployment(name) for the champion, or client.model(name, version)",
                    code="several_found",
                )
        return self.model(model)
