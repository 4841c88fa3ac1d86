"""The guide shows code that Python reads, and methods that the client has."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import scoreline
from scoreline import Client
from service import ROOT

PAGES = [ROOT / "docs" / "python.md", ROOT / "clients" / "python" / "README.md"]
EXAMPLES = ROOT / "clients" / "python" / "examples"


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_block_is_python_and_calls_methods_that_exist(page: Path) -> None:
    found = blocks(page)
    assert found
    for block in found:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "client":
                assert hasattr(Client, node.attr), f"{page.name}: client.{node.attr}"


def test_each_method_of_the_table_exists() -> None:
    text = PAGES[0].read_text()
    named = re.findall(r"^\| `(\w+)\(", text, re.MULTILINE)
    assert len(named) >= 7
    assert [name for name in named if not hasattr(Client, name)] == []


def test_the_three_lines_are_those_that_the_example_times() -> None:
    wanted = [line for line in blocks(PAGES[0])[0].splitlines() if "client" in line.lower()]
    shown = (EXAMPLES / "first_score.py").read_text()
    deploy = next(line for line in wanted if ".deploy(" in line)
    assert deploy in shown
    assert len([line for line in wanted if not line.startswith("from ")]) == 3


def test_what_is_exported_is_what_the_guide_names() -> None:
    text = PAGES[0].read_text()
    errors = [name for name in scoreline.__all__ if name.endswith(("Error", "Failed", "Refused"))]
    forgotten = [name for name in errors if name not in text and name != "ServiceError"]
    assert forgotten == []


@pytest.mark.parametrize("name", ["german_credit", "two_years"])
def test_each_notebook_is_that_of_its_script_and_has_few_cells(name: str) -> None:
    cells = (EXAMPLES / f"{name}.py").read_text().split("# %%")[1:]
    shown = json.loads((EXAMPLES / f"{name}.ipynb").read_text())["cells"]
    assert len(shown) == len(cells) < 60
    for cell, text in zip(shown, cells, strict=True):
        head, _, body = text.partition("\n")
        if "[markdown]" not in head:
            assert "".join(cell["source"]) == body.strip().replace("  # noqa: E402", "")


def test_the_version_is_that_of_the_package() -> None:
    project = (ROOT / "clients" / "python" / "pyproject.toml").read_text()
    assert f'version = "{scoreline.__version__}"' in project
