"""What works without torch: audits of files and arrays, plans, projections of arrays, the command line."""

import json
import subprocess
import sys

import numpy
import pytest

import reynolds as rn
from reynolds import models

PLAN = """
group = "C4"
[[layer]]
name = "body.weight"
domain = "1 regular"
codomain = "2 regular"
"""


def haar(weights, out_fields, in_fields):
    """The specification: the mean of π′(g)⁻¹ W π(g) over C4, term by term, for regular fields."""
    total = numpy.zeros_like(weights)
    for turns in range(4):
        turned = numpy.rot90(weights, turns, axes=(2, 3))
        fields = turned.reshape(out_fields, 4, in_fields, 4, *weights.shape[2:])
        total += numpy.roll(fields, (turns, turns), axis=(1, 3)).reshape(weights.shape)
    return total / 4


def test_importing_reynolds_does_not_import_torch():
    code = "import sys, reynolds; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("kind", [numpy.float32, numpy.float64])
def test_a_projector_is_the_haar_average(kind):
    weights = numpy.random.default_rng(1).normal(size=(8, 4, 3, 3)).astype(kind)
    projector = rn.Projector("C4", "1 regular", "2 regular", kernel=3)
    assert (projector.shape, projector.rank) == ((8, 4, 3, 3), 8 * 4 * 9 // 4)
    found = projector(weights)
    assert found.dtype == kind
    expected = haar(weights, 2, 1)
    numpy.testing.assert_allclose(found, expected, atol=1e-6 if kind == numpy.float32 else 1e-13)
    equivariant, perp = projector.energies(weights)
    numpy.testing.assert_allclose([equivariant, perp], [(expected**2).sum(), ((weights - expected) ** 2).sum()], rtol=1e-5)
    lower, upper = projector.worst_defect(weights)
    assert (2 * perp) ** 0.5 * 0.999 <= lower <= upper <= 2 * perp**0.5 * 1.001


def test_a_projector_refuses_what_it_cannot_read():
    projector = rn.Projector("C4", "1 trivial", "1 regular", kernel=3)
    for wrong, what in [
        (numpy.zeros((4, 1, 3, 5)), r"\[4, 1, 3, 3\]"),
        (numpy.zeros((4, 1, 3, 3), numpy.int32), "f32 or f64"),
        ([1.0], "list"),
        (numpy.full((4, 1, 3, 3), numpy.nan), "NaN|not finite"),
    ]:
        with pytest.raises(rn.Error, match=what):
            projector(wrong)
    strided = numpy.zeros((4, 1, 3, 6))[..., ::2]
    assert projector(strided).shape == (4, 1, 3, 3)
    with pytest.raises(rn.Error, match="unknown group|X7"):
        rn.Projector("X7", "1 trivial", "1 trivial")


def test_audits_of_arrays_and_files_agree_with_the_command_line(tmp_path):
    weights = numpy.random.default_rng(2).normal(size=(8, 4, 3, 3)).astype(numpy.float32)
    tensors = {"body.weight": weights, "step": numpy.array(3)}
    file = tmp_path / "model.safetensors"
    file.write_bytes(models.to_safetensors(tensors))
    plan = rn.Plan.from_toml(PLAN)
    (found,) = rn.audit(tensors, plan=plan).layers
    (of_file,) = rn.audit(file, plan=plan).layers
    assert found == of_file
    equivariant = haar(weights, 2, 1)
    assert abs(found["energy"] - (equivariant**2).sum() / (weights**2).sum()) < 1e-6
    (tmp_path / "plan.toml").write_text(PLAN)
    out = subprocess.run(
        [sys.executable, "-c", "import sys, reynolds.cli; sys.exit(reynolds.cli.main())", "audit", file, "--plan", tmp_path / "plan.toml", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(out.stdout)["audits"][0]["layers"] == [found]


def test_an_audit_shows_a_table_a_page_and_a_ranking(tmp_path):
    kernel = numpy.ones((4, 2, 3, 3), numpy.float32)
    audit = rn.audit({"conv.weight": kernel}, group="C4", fields="trivial", rank=True)
    assert audit.total["energy"] == 1.0 and "conv.weight" in str(audit)
    assert (audit.ranking[0]["group"], audit.ranking[0]["indistinguishable_from"]) == ("C4", ["D4"])
    assert rn.audit({"conv.weight": kernel}).ranking == audit.ranking
    page = audit.to_html(tmp_path / "audit.html")
    assert page == (tmp_path / "audit.html").read_text() == audit._repr_html_() and "<html" in page


def test_bad_input_says_what_was_expected(tmp_path):
    (tmp_path / "bad.safetensors").write_bytes(b"not a checkpoint at all")
    for call, what in [
        (lambda: rn.audit(tmp_path / "bad.safetensors", group="C4"), "bad.safetensors"),
        (lambda: rn.audit(tmp_path / "none.npz", group="C4"), "none.npz"),
        (lambda: rn.audit({}, group="C4", fields="regular"), "expected a tensor with channels"),
        (lambda: rn.audit({"w": 3}, group="C4"), "w"),
        (lambda: rn.audit(3, group="C4"), "int"),
        (lambda: rn.Plan.from_toml("group = 4"), "group"),
        (lambda: rn.Plan.uniform("C4", "vector"), "regular or trivial"),
        (lambda: rn.Plan.uniform("C4", "regular").to_toml(), "Plan.suggest writes rules"),
    ]:
        with pytest.raises(rn.Error, match=what):
            call()


def test_plans_are_those_of_the_command_line():
    shapes = {"conv.weight": numpy.zeros((8, 4, 3, 3)), "conv.bias": numpy.zeros(8)}
    plan = rn.Plan.suggest(shapes, "C4")
    assert plan.group == "C4" and "2 regular" in plan.to_toml()
    assert rn.Plan.from_toml(plan.to_toml()).to_toml() == plan.to_toml()
    assert [row["name"] for row in plan.resolve(shapes).describe()] == ["conv.weight", "conv.bias"]
    assert plan.restricted_to("C2").resolve(shapes).group == "C2"


def test_the_compiled_part_survives_wrong_addresses():
    layers = rn.Plan.from_toml(PLAN)._plan.resolve([("body.weight", [8, 4, 3, 3])])
    for place in [(0, 0, True), (0, 12, True), (1, 8, True)]:
        with pytest.raises(rn.Error):
            layers.energies([place])


def test_guessed_fields_are_those_of_the_suggested_plan(tmp_path):
    weights = {"conv.weight": numpy.random.default_rng(2).normal(size=(8, 3, 3, 3)).astype(numpy.float32)}
    guessed = rn.audit(weights, group="C4", fields="auto")
    assert guessed.layers == rn.audit(weights, plan=rn.Plan.suggest(weights, "C4")).layers
    assert guessed.layers[0]["codomain"] == "2 regular"
    path = tmp_path / "weights.npz"
    numpy.savez(path, **weights)
    assert rn.audit(path, group="C4", fields="auto", rank=True).layers == guessed.layers
