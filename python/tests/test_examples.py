"""The examples run, in small."""

import json
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def test_digits_compares_all_methods(tmp_path, monkeypatch, capsys):
    pytest.importorskip("sklearn")
    arguments = ["digits.py", "--b", "1", "--channels", "8", "--steps", "60", "--chunk", "30", "--seeds", "1", "--lr", "0.02", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # faster for networks this small
    runpy.run_path(str(EXAMPLES / "digits.py"), run_name="__main__")
    torch.set_num_threads(threads)
    written = json.loads((tmp_path / "digits.json").read_text())
    rows = {row["row"]: row for row in written["rows"]}
    assert len(rows) == 7 and rows["strict"]["residual"] < 1e-5 < rows["none"]["residual"]
    assert rows["strict"]["stays"] > 0.99 > rows["none"]["stays"] and rows["none"]["test"] > 30
    residuals = [one["residual"] for one in written["models"] if one["row"] == "decoupled"]
    assert residuals == sorted(residuals, reverse=True) and residuals[0] > 2 * residuals[-1]
    assert "decoupled" in capsys.readouterr().out


def test_two_processes_share_a_model():
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(EXAMPLES / "fsdp.py")]
    out = subprocess.run([*run, "--channels", "16", "--steps", "20"], capture_output=True, text=True)
    found = re.search(r"2 processes: .* was (\S+), is (\S+)", out.stdout)
    assert found, out.stderr
    assert 0.0 < float(found[2]) < 0.5 < float(found[1])
