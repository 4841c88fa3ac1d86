"""Makes the notebook of the examples from its script, and executes it.

python notebook.py          writes examples/german_credit.ipynb with what was seen
python notebook.py --check  executes it and writes nothing
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "examples"
SCRIPT = FOLDER / "german_credit.py"


def made() -> Any:
    """The notebook of the script: a cell begins at each line `# %%`."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    for number, part in enumerate(SCRIPT.read_text().split("# %%")[1:]):
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


def main() -> None:
    notebook = made()
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": FOLDER}}).execute()
    for cell in notebook.cells:
        cell.get("metadata", {}).pop("execution", None)
        # What libraries say there names folders of this machine.
        if "outputs" in cell:
            cell["outputs"] = [one for one in cell["outputs"] if one.get("name") != "stderr"]
    if "--check" not in sys.argv:
        nbformat.write(notebook, SCRIPT.with_suffix(".ipynb"))
    print(f"{sum(one['cell_type'] == 'code' for one in notebook.cells)} cells ran")


if __name__ == "__main__":
    main()
