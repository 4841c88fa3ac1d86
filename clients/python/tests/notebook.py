"""Makes the notebooks of the examples from their scripts, and executes them.

python notebook.py [NAME…]  writes their .ipynb with what was seen
python notebook.py --check  executes them and writes nothing
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "examples"
SCRIPTS = [FOLDER / "german_credit.py", FOLDER / "two_years.py"]
CELLS_MAX = 60
_CELL_SECONDS = 900


def made(script: Path) -> Any:
    """The notebook of the script: a cell begins at each line `# %%`."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    for number, part in enumerate(script.read_text().split("# %%")[1:]):
        head, _, text = part.partition("\n")
        if "[markdown]" in head:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.strip().split("\n")]
            cell = nbformat.v4.new_markdown_cell("\n".join(lines))
        else:
            cell = nbformat.v4.new_code_cell(text.strip().replace("  # noqa: E402", ""))
        # Ids by position, so that a second run changes only what is different.
        cell["id"] = f"cell-{number}"
        notebook.cells.append(cell)
    return notebook


def run(script: Path, *, is_written: bool) -> None:
    """Execute a notebook."""
    notebook = made(script)
    if len(notebook.cells) > CELLS_MAX:
        raise SystemExit(f"{script.name} has {len(notebook.cells)} cells, {CELLS_MAX} at most")
    started = time.monotonic()
    metadata = {"metadata": {"path": FOLDER}}
    NotebookClient(notebook, timeout=_CELL_SECONDS, resources=metadata).execute()
    for cell in notebook.cells:
        cell.get("metadata", {}).pop("execution", None)
        # What libraries say there names folders of this machine.
        if "outputs" in cell:
            cell["outputs"] = [one for one in cell["outputs"] if one.get("name") != "stderr"]
    if is_written:
        nbformat.write(notebook, script.with_suffix(".ipynb"))
    count = sum(one["cell_type"] == "code" for one in notebook.cells)
    print(f"{script.name}: {count} cells ran in {time.monotonic() - started:.0f} s")


def main() -> None:
    named = [word for word in sys.argv[1:] if not word.startswith("-")]
    for script in SCRIPTS:
        if not named or script.stem in named:
            run(script, is_written="--check" not in sys.argv)


if __name__ == "__main__":
    main()
