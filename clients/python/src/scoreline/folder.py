"""The folder from which a pipeline brings a card into production."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .deploying import Prepared, prepare
from .errors import refuse
from .samples import Sample
from .values import encode, frame_from

#: The service takes it with the card, in one request.
_SAMPLE_BYTES_MAX = 8_000_000
_HERE = Path(__file__).resolve().parent
#: In the wheel, and in the checkout.
_TEMPLATES = (_HERE / "ci", *(one / "docs/examples/deploy-card" for one in _HERE.parents))
_SCRIPT = "deploy.sh"
_WORKFLOW = "workflow.yml"
_EXAMPLE = "cards/consumer-loans"


def init(
    folder: str | os.PathLike[str],
    card: Any,
    frame: Any,
    *,
    name: str,
    version: str = "1.0.0",
    options: Mapping[str, Any] | None = None,
) -> Path:
    """Write the folder with which a pipeline checks and deploys a card.

    The script and the workflow are written once, and are yours from then on. The files of the card
    are written anew each time: commit them.

    Args:
        folder: of the repository.
        card: a fitted card.
        frame: applicants with the columns of the card; these columns alone are written, with the
            scores of the library.
        name: of the model.
        version: of the model.
        options: what `deploy` takes beside these, such as `{"unseen": "missing"}`.

    Returns:
        The folder of the card.

    Raises:
        CardError: for what the card lacks.
        ValueRefused: for a specification, for a sample of more than 8 MB, and where every
            applicant misses a value.

    """
    frame = frame_from(frame)
    prepared = prepare(card, frame, name, {"version": version, **(options or {})})
    sample = prepared.body.get("sample")
    if prepared.fitted is None or not isinstance(sample, Sample):
        raise refuse("the folder is written from a fitted card and its applicants")
    text = sample.text(_SAMPLE_BYTES_MAX)
    if text is None:
        raise refuse("the sample is larger than 8 MB: give fewer applicants, of each bin some")
    said = {key: value for key, value in prepared.body.items() if key not in ("card", "sample")}
    if (options or {}).get("accept_unreached"):
        said["accept_unreached"] = True
    smoke = _smoke(prepared, text)
    root = Path(folder)
    place = f"cards/{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'card'}"
    cards = root / place
    cards.mkdir(parents=True, exist_ok=True)
    (cards / "card.json").write_text(str(prepared.body["card"]) + "\n", encoding="utf-8")
    (cards / "options.json").write_text(_pretty(said), encoding="utf-8")
    (cards / "sample.ndjson").write_text(text, encoding="utf-8")
    (cards / "smoke.json").write_text(_pretty(smoke), encoding="utf-8")
    _write_once(root / _SCRIPT, _template(_SCRIPT), 0o755)
    workflow = _template(_WORKFLOW).replace(_EXAMPLE, place)
    _write_once(root / ".github" / "workflows" / "scorecard.yml", workflow, 0o644)
    return cards


def _smoke(prepared: Prepared, text: str) -> dict[str, Any]:
    """The first applicant who misses no value, with the score of the library."""
    head, *rows = (json.loads(line) for line in text.splitlines())
    count = len(prepared.features)
    for row in rows:
        if None not in row[:count]:
            applicant = dict(zip(head[:count], row[:count], strict=True))
            return {"applicant": applicant, "score": row[count]}
    raise refuse("every applicant misses a value, and the pipeline scores one who misses none")


def _pretty(value: Any) -> str:
    encode(value)
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _template(name: str) -> str:
    for place in _TEMPLATES:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8")
    raise refuse(f"this installation lacks {name}: install the wheel of the package")


def _write_once(path: Path, text: str, mode: int) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
