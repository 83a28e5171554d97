"""The examples of docs/python.md and of the README run as printed."""

import json
import pathlib
import re

import pytest

pytest.importorskip("torch")

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_the_examples_run_as_printed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert "residual" in capsys.readouterr().out


def test_the_table_of_digits_is_what_was_measured():
    rows = json.loads((ROOT / "results/python/digits.json").read_text())["rows"]
    table = re.search(r"(\| channels, b .*?)\n\n", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.S)[1].splitlines()
    names, shown = table[0].strip("| ").split(" | ")[1:], {}
    for line in table[2:]:
        place, *cells = line.strip("| ").split(" | ")
        shown.update({(*place.split(", "), name): cell for name, cell in zip(names, cells)})
    assert shown == {(str(row["channels"]), f"{row['b']:g}", row["row"]): f"{row['test']:.1f} ± {row['error']:.1f}" for row in rows}
