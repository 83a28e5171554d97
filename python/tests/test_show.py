"""Figures and tables for notebooks."""

import sys

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402


def shown():
    torch.manual_seed(1)
    model, x = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)), torch.rand(2, 1, 8, 8)
    plan = rn.Plan.infer(model, "C4", "1 trivial", output="4 trivial", example=x)
    penalty = rn.Penalty(model, plan, lambda_perp=1.0)
    for _ in range(3):
        penalty.step_(0.5)
        penalty.metrics()
    error = rn.equivariance_error(model, x, "C4", plan=plan, trace=True)
    chain = nn.Sequential(nn.Linear(4, 4))
    certificate = rn.certify(chain, rn.Plan.infer(chain, "C4", "1 regular", output="1 regular"))
    return model, plan, penalty, error, certificate


def test_figures_show_what_was_measured():
    pytest.importorskip("matplotlib")
    model, plan, penalty, error, _ = shown()
    lines = penalty.plot().axes[0].lines[0]
    assert list(lines.get_xdata()) == [1, 2, 3] and list(lines.get_ydata()) == [residual for _, residual in penalty.history]
    assert list(lines.get_ydata()) == sorted(lines.get_ydata(), reverse=True)
    assert list(error.plot().axes[0].lines[0].get_ydata()) == error.by_element
    report = penalty.report()
    assert [bar.get_width() for bar in report.plot().axes[0].patches] == [row.energy for row in report]
    audit = rn.audit(model, plan=plan)
    assert len(audit.plot().axes[0].patches) == len(audit.layers)
    kernels = plan.plot(model, "2.weight", count=5)
    pictures = [axis.images[0].get_array() for axis in kernels.axes]
    assert len(pictures) == 15
    for original, projected, rest in zip(pictures[:5], pictures[5:10], pictures[10:]):
        assert abs(original - projected - rest).max() < 1e-12
    assert abs(pictures[0] - model[2].weight[0, 0].detach().double().numpy()).max() < 1e-12
    with pytest.raises(rn.Error, match="none named x"):
        plan.plot(model, "x")
    with pytest.raises(rn.Error, match="metrics"):
        rn.Penalty(model, plan, lambda_perp=1.0).plot()


def test_notebooks_get_tables():
    _, plan, penalty, error, certificate = shown()
    for thing, text in ((plan, "2.weight"), (penalty, "2.weight"), (penalty.report(), "<td>"), (error, "first leak"), (certificate, "Lipschitz")):
        assert text in thing._repr_html_()
    hostile = rn.Plan.from_toml('group = "C4" # <script>\n[[layer]]\nname = "a"\ndomain = "1 trivial"\ncodomain = "1 trivial"\n')
    assert "<script>" not in hostile._repr_html_()


def test_what_is_optional_may_be_missing(monkeypatch):
    _, _, penalty, _, _ = shown()
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown()
    with pytest.raises(rn.Error, match="pip install matplotlib"):
        penalty.plot()
