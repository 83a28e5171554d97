"""The examples run, in small."""

import importlib.util
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
    if not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
        pytest.skip("FSDP2 is in torch 2.6 and newer")
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(EXAMPLES / "fsdp.py")]
    out = subprocess.run([*run, "--channels", "16", "--steps", "20"], capture_output=True, text=True)
    found = re.search(r"2 processes: .* was (\S+), is (\S+)", out.stdout)
    assert found, out.stderr
    assert 0.0 < float(found[2]) < 0.5 < float(found[1])


def run(*arguments):
    out = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=EXAMPLES)
    assert out.returncode == 0, out.stderr
    return out.stdout


def test_a_trained_network_is_fine_tuned_to_a_target():
    pytest.importorskip("sklearn")
    if importlib.util.find_spec("facenet_pytorch") is None:
        pytest.skip("the trained network is in the package facenet-pytorch")
    rows = re.findall(r"residual (\S+) → (\S+)  equivariance error (\S+)", run("finetune.py", "--steps", "12", "--target", "0.02", "--images", "1600"))
    (plain_start, plain, plain_error), (start, after, error) = [[float(number) for number in row] for row in rows]
    assert plain_start == start > 0.5 and plain > 0.5 and after <= 0.02 and error < plain_error / 3


def test_a_resnet_leaks_at_even_sizes():
    pytest.importorskip("torchvision")
    out = run("resnet_audit.py", "--sides", "32", "33")
    assert "typed: 102 tensors; left alone: 0" in out
    even, odd = out.split("projected, ")[1:]
    assert "conv1" in even and "stride 2 on 32 pixels" in even and "first leak" not in odd


def test_the_tour_runs(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    if importlib.util.find_spec("facenet_pytorch") is None:
        pytest.skip("the trained network is in the package facenet-pytorch")
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)  # committed without outputs
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in shown) == 4
    text = "".join(output.get("text", "") for output in shown)
    assert "first leak" in text and "bound" in text
