"""The penalty in PyTorch loops."""

import copy
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402
from reynolds import _reynolds  # noqa: E402
from reynolds.tiles import Tiles  # noqa: E402

from torch import nn  # noqa: E402

PLAN = rn.Plan.uniform("C4", "regular")


def network(seed=1, dtype=torch.float64):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten(), nn.Linear(4 * 16, 3)).to(dtype)


def data(dtype=torch.float64):
    torch.manual_seed(7)
    return torch.rand(6, 4, 8, 8, dtype=dtype), torch.rand(6, 3, dtype=dtype)


def loss_of(model, dtype=torch.float64):
    x, y = data(dtype)
    return (model(x) - y).square().mean()


def autograd_penalty(model, penalty, form="squared", whole=False, lambda_g=0.0, lambda_perp=0.0):
    """The penalty by autograd through P, in torch operations."""
    total = 0.0
    for layer in penalty.layers:
        flat = layer.parameter.reshape(-1)
        p = layer.tiles.project_flat(flat)
        squares = (flat if whole else p).square().sum(), (flat - p).square().sum()
        if form == "plain":
            squares = [(s + 1e-12).sqrt() for s in squares]
        total = total + lambda_g * squares[0] + lambda_perp * squares[1]
    return total


@pytest.mark.parametrize(
    ("group", "fields"),
    [("C4", ("2 trivial", "1 regular")), ("D4", ("1 regular", "2 regular")), ("C4", ("2 irrep(1)", "1 irrep(2) + 1 regular")), ("SO2", ("2x0 + 1x1", "1x1 + 1x2"))],
)
@pytest.mark.parametrize("kernel", [None, 3, 5])
def test_tiles_are_the_projector_of_the_core(group, fields, kernel):
    if group == "SO2" and kernel == 3:
        pytest.skip("three rings do not carry these degrees")
    projector = rn.Projector(group, *fields, kernel=kernel)
    weights = torch.randn(projector.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    tiles = Tiles(projector._layers, 0)
    torch.testing.assert_close(tiles.project(weights), projector(weights), rtol=0, atol=1e-12)
    torch.testing.assert_close(projector(weights.float()).double(), projector(weights), rtol=0, atol=1e-5)
    half = projector(weights.bfloat16())
    assert half.dtype == torch.bfloat16 and (half.double() - projector(weights)).abs().max() < 0.1


def test_equal_after_rounding_stays_exactly_equivariant():
    projector = rn.Projector("C4", "1 trivial", "1 regular", kernel=3)
    half = projector(torch.randn(projector.shape, generator=torch.Generator().manual_seed(3)).bfloat16())
    assert torch.equal(projector(half), half)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("kind", ["plain", "foreach", "fused"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_form_is_autograds_own_penalty_after_twenty_steps(optimizer, kind, dtype):
    options = {"lr": 1e-2, "foreach": kind == "foreach"} | ({"fused": True} if kind == "fused" else {})
    models = [network(dtype=dtype) for _ in range(2)]
    optimizers = [getattr(torch.optim, optimizer)(model.parameters(), **options) for model in models]
    penalties = [rn.Penalty(model, PLAN, lambda_g=0.01, lambda_perp=0.3, step="gradient") for model in models]
    penalties[0].attach(optimizers[0])
    for _ in range(20):
        for at, (model, opt) in enumerate(zip(models, optimizers)):
            opt.zero_grad()
            loss = loss_of(model, dtype)
            if at == 1:
                loss = loss + autograd_penalty(model, penalties[1], lambda_g=0.01, lambda_perp=0.3)
            loss.backward()
            opt.step()
    assert penalties[0].steps == 20
    tolerance = 1e-12 if dtype == torch.float64 else 1e-6
    for ours, theirs in zip(models[0].parameters(), models[1].parameters()):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("form", ["squared", "plain"])
@pytest.mark.parametrize("whole", [False, True])
def test_the_decoupled_form_is_the_cores_on_memory_and_in_torch_operations(form, whole):
    models = [network() for _ in range(2)]
    with torch.no_grad():
        for model in models:
            model[3].weight.mul_(0.1)
    settings = {"lambda_g": 0.02, "lambda_perp": 0.5, "form": form, "whole": whole}
    penalties = [rn.Penalty(model, PLAN, **settings) for model in models]
    parts = [layer.split() for layer in penalties[1].layers]
    penalties[0].step_(0.1)
    for layer in penalties[1].layers:
        penalties[1]._shrink(layer, torch.tensor(0.1, dtype=torch.float64), None)
    for ours, theirs, (p, q) in zip(penalties[0].layers, penalties[1].layers, parts):
        torch.testing.assert_close(ours.parameter, theirs.parameter, rtol=0, atol=1e-13)
        assert not torch.equal(ours.parameter.reshape(-1), p + q) or not (p + q).any()
        if form == "squared" and not whole:
            expected = p / (1 + 2 * 0.1 * 0.02) + q / (1 + 2 * 0.1 * 0.5)
            torch.testing.assert_close(ours.parameter.detach().reshape(-1), expected, rtol=0, atol=1e-13)


def test_no_strength_leaves_the_bits_alone_and_a_huge_one_is_the_projection():
    model = network(dtype=torch.float32)
    before = copy.deepcopy(model.state_dict())
    rn.Penalty(model, PLAN, lambda_perp=0.0).step_(0.1)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    penalty = rn.Penalty(model, PLAN, lambda_perp=1e12)
    penalty.step_(0.1)
    assert penalty.residual() < 1e-6


def test_the_plain_form_makes_layers_exactly_equivariant_and_says_since_when():
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    penalty = rn.Penalty(model, PLAN, lambda_perp=3.0, form="plain", strengths={"0.*": 0.0})
    penalty.attach(optimizer)
    for _ in range(30):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    rows = {row.name: row for row in penalty.report()}
    assert rows["3.weight"].equivariant_since is not None and rows["3.weight"].residual == 0.0
    assert rows["0.weight"].equivariant_since is None and rows["0.weight"].residual > 0.1
    assert "exactly equivariant since step" in str(penalty.report())
    assert "not penalised: 5.weight: 2 dimensions" in str(penalty.report())
    state = pickle.loads(pickle.dumps(penalty.state_dict()))
    other = rn.Penalty(model, PLAN, lambda_perp=1.0, form="plain")
    other.load_state_dict(state)
    assert other.state_dict() == state and other.lambda_perp == 3.0


@pytest.mark.parametrize("scope", ["layer", "network"])
def test_a_target_is_kept_after_every_step(scope):
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
    penalty = rn.Penalty(model, PLAN, target=0.05, target_scope=scope)
    penalty.attach(optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
        found = [row.residual for row in penalty.report()] if scope == "layer" else [penalty.residual()]
        assert max(found) <= 0.05 * (1 + 1e-9)
    assert max(row.residual for row in penalty.report()) > 0.049


@pytest.mark.parametrize("form", ["squared", "plain"])
@pytest.mark.parametrize("by", ["scaling", "dual"])
@pytest.mark.parametrize("scope", ["layer", "network"])
def test_a_target_takes_the_steps_of_its_definition_beside_lambda_g_and_says_which_strength_it_was(form, by, scope):
    tau, rate, lr, lambda_g = 0.1, 3.0, 0.2, 0.01
    model = network()
    # By the compiled part, by torch operations on weights in another memory format, and by hand.
    models = [model, copy.deepcopy(model).to(memory_format=torch.channels_last)]
    settings = {"target": tau, "target_scope": scope, "target_by": by, "target_rate": rate if by == "dual" else 1.0}
    penalties = [rn.Penalty(one, PLAN, lambda_g=lambda_g, form=form, **settings) for one in models]
    by_hand = copy.deepcopy(model)
    shrink = rn.Penalty(by_hand, PLAN, lambda_g=lambda_g, lambda_perp=0.0, form=form)
    strengths = {layer.name: 0.0 for layer in shrink.layers}
    for step in range(4):
        if step == 2:  # a checkpoint goes on as if there had been none
            for nth, one in enumerate(models):
                restored = rn.Penalty(one, PLAN, lambda_g=lambda_g, form=form, **settings)
                restored.load_state_dict(pickle.loads(pickle.dumps(penalties[nth].state_dict())))
                penalties[nth] = restored
        for penalty in penalties:
            penalty.step_(lr)
        shrink.step_(lr)
        parts = {layer.name: layer.split() for layer in shrink.layers}
        squares = {name: [float(part.square().sum()) for part in both] for name, both in parts.items()}
        if scope == "network":
            squares = {name: [sum(both[part] for both in squares.values()) for part in (0, 1)] for name in squares}
        for layer in shrink.layers:
            first, second = squares[layer.name]
            if by == "dual":
                residual = (second / (first + second)) ** 0.5 if second else 0.0
                strengths[layer.name] = max(0.0, strengths[layer.name] + rate * (residual - tau))
                factor = 1 / (1 + 2 * lr * strengths[layer.name])
            else:
                factor = min(1.0, tau / (1 - tau * tau) ** 0.5 * (first / second) ** 0.5) if second else 1.0
                strengths[layer.name] = (1 / factor - 1) / (2 * lr)
            equivariant, perp = parts[layer.name]
            with torch.no_grad():
                layer.parameter.copy_((equivariant + factor * perp).view_as(layer.parameter))
        for penalty, one in zip(penalties, models):
            for ours, expected in zip(one.parameters(), by_hand.parameters()):
                torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
            found = {name: value for name, value in penalty.metrics().items() if name.startswith("reynolds/lambda_perp")}
            expected = {"": next(iter(strengths.values()))} if scope == "network" else {f"/{name}": value for name, value in strengths.items()}
            assert found == {f"reynolds/lambda_perp{name}": pytest.approx(value, rel=1e-9) for name, value in expected.items()}
    assert any(strengths.values())


def test_a_layer_that_became_zero_is_not_reported_as_equivariant():
    for moved in (network(), network().to(memory_format=torch.channels_last)):
        penalty = rn.Penalty(moved, PLAN, lambda_g=1e3, lambda_perp=1e3, form="plain", whole=True)
        penalty.step_(1.0)
        assert all(row.norm == 0.0 and row.equivariant_since is None for row in penalty.report())


def test_a_closure_gets_the_penalty_once_a_gradient_and_lbfgs_needs_one():
    models = [network() for _ in range(2)]
    penalties = [rn.Penalty(model, PLAN, lambda_perp=0.3, step="gradient") for model in models]
    optimizers = [torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe") for model in models]
    penalties[0].attach(optimizers[0])
    with pytest.raises(rn.Error, match="closure"):
        optimizers[0].step(None)
    for at, (model, optimizer) in enumerate(zip(models, optimizers)):

        def closure(at=at, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = loss_of(model)
            if at == 1:
                loss = loss + autograd_penalty(model, penalties[1], lambda_perp=0.3)
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
    for ours, theirs in zip(models[0].parameters(), models[1].parameters()):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)


def test_parameter_groups_and_tensor_learning_rates_are_each_parameters_own():
    model = network()
    first, second = model[0], model[3]
    rates = {id(first.weight): 0.2, id(second.weight): 0.05}
    groups = [{"params": first.parameters(), "lr": 0.2}, {"params": second.parameters(), "lr": torch.tensor(0.05, dtype=torch.float64)}]
    one = torch.optim.SGD(groups, lr=1.0)
    others = torch.optim.SGD([*model[1].parameters(), *model[5].parameters()], lr=1.0)
    penalty = rn.Penalty(model, PLAN, lambda_perp=2.0)
    penalty.attach(one, others)
    parts = {id(layer.parameter): layer.split() for layer in penalty.layers if id(layer.parameter) in rates}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    one.step()
    others.step()
    for module in (first, second):
        p, q = parts[id(module.weight)]
        expected = p + q / (1 + 4 * rates[id(module.weight)])
        torch.testing.assert_close(module.weight.detach().reshape(-1), expected, rtol=0, atol=1e-13)


def test_nothing_happens_before_a_gradient_was_seen():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    penalty = rn.Penalty(model, PLAN, lambda_perp=2.0)
    penalty.attach(optimizer)
    before = copy.deepcopy(model.state_dict())
    optimizer.step()  # as ZeRO does at its start
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items()) and penalty.steps == 0


@pytest.mark.parametrize("step", ["gradient", "decoupled"])
def test_an_optimizer_that_was_copied_is_noticed_and_attached_again(step):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    penalty = rn.Penalty(model, PLAN, lambda_perp=2.0, step=step)
    penalty.attach(optimizer)
    again = pickle.loads(pickle.dumps(optimizer.state_dict()))
    copied = torch.optim.SGD(model.parameters(), lr=0.1)
    copied.load_state_dict(again)
    loss_of(model).backward()
    with pytest.warns(UserWarning, match="attached again"):
        copied.step()
    assert penalty.steps == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copied.step()
        optimizer.step()
    assert penalty.steps == 3
    penalty.detach()
    copied.step()
    assert penalty.steps == 3


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_a_fused_optimizer_under_a_scaler_skips_and_unscales_the_penalty_too(optimizer):
    model = network()
    fused = optimizer(model.parameters(), lr=0.1, fused=True)
    rn.Penalty(model, PLAN, lambda_perp=2.0).attach(fused)
    loss_of(model).backward()
    before = copy.deepcopy(model[0].weight.detach())
    fused.found_inf = torch.tensor(1.0)  # what GradScaler leaves there for the step
    fused.step()
    assert torch.equal(model[0].weight, before)
    fused.found_inf = torch.tensor(0.0)
    fused.step()
    assert not torch.equal(model[0].weight, before)

    # The same step with gradients that are scaled by 8 and without a scaler.
    weights = []
    for scale in (1.0, 8.0):
        model = network()
        fused = optimizer(model.parameters(), lr=0.1, fused=True)
        rn.Penalty(model, PLAN, lambda_perp=2.0, step="gradient").attach(fused)
        (loss_of(model) * scale).backward()
        if scale != 1.0:
            fused.grad_scale = torch.tensor(scale)
            fused.found_inf = torch.tensor(0.0)
        fused.step()
        weights.append(model[0].weight.detach())
    torch.testing.assert_close(*weights, rtol=1e-12, atol=1e-14)


def test_gradscaler_on_the_cpu_passes_over_infinite_gradients():
    model = network(dtype=torch.float32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    penalty = rn.Penalty(model, PLAN, lambda_perp=2.0)
    penalty.attach(optimizer)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for infinite in (True, False):
        optimizer.zero_grad()
        scaler.scale(loss_of(model, torch.float32) * (float("inf") if infinite else 1.0)).backward()
        before = model[0].weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        assert torch.equal(before, model[0].weight) == infinite
    assert penalty.steps == 1


def test_accumulated_gradients_get_the_penalty_once_a_step():
    models = [network() for _ in range(2)]
    for micro_batches, model in zip((1, 3), models):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        rn.Penalty(model, PLAN, lambda_perp=2.0, step="gradient").attach(optimizer)
        model.eval()
        for _ in range(micro_batches):
            (loss_of(model) / micro_batches).backward()
        optimizer.step()
    torch.testing.assert_close(models[0][0].weight, models[1][0].weight, rtol=0, atol=1e-14)


def test_clipping_sees_the_penalty_with_add_grad():
    model = network()
    penalty = rn.Penalty(model, PLAN, lambda_perp=100.0, step="gradient")
    loss_of(model).backward()
    penalty.add_grad_()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert norm > 10 and abs(sum(float(p.grad.square().sum()) for p in model.parameters()) - 1.0) < 1e-6


@pytest.mark.parametrize("form", ["squared", "plain"])
@pytest.mark.parametrize("norm", ["frobenius", "spectral", "(2,1)"])
def test_the_value_can_be_differentiated(form, norm):
    torch.manual_seed(5)
    model = nn.Sequential(nn.Conv2d(1, 4, 3, bias=False)).double()
    plan = rn.Plan.uniform("C4", "trivial")
    penalty = rn.Penalty(model, plan, lambda_g=0.1, lambda_perp=0.5, step="gradient", form=form, norm=norm)
    assert torch.autograd.gradcheck(lambda w: penalty(), (model[0].weight,), eps=1e-6, atol=1e-6)
    torch.testing.assert_close(penalty(), penalty.value())


def test_values_and_gradients_in_torch_operations_are_those_of_the_core():
    model = network()
    for form in ("squared", "plain"):
        for whole in (False, True):
            penalty = rn.Penalty(model, PLAN, lambda_g=0.1, lambda_perp=0.5, step="gradient", form=form, whole=whole)
            direct = [(penalty._value(layer), penalty._gradient(layer)) for layer in penalty.layers]
            # Weights in another memory format take the other path.
            other = copy.deepcopy(model).to(memory_format=torch.channels_last)
            moved = rn.Penalty(other, PLAN, lambda_g=0.1, lambda_perp=0.5, step="gradient", form=form, whole=whole)
            assert any(not layer.parameter.is_contiguous() for layer in moved.layers)
            for layer, (value, gradient) in zip(moved.layers, direct):
                torch.testing.assert_close(moved._value(layer), value, rtol=1e-12, atol=1e-12)
                torch.testing.assert_close(moved._gradient(layer), gradient, rtol=1e-11, atol=1e-12)


def test_channels_last_and_bfloat16_weights_are_trained():
    for model in (network(dtype=torch.float32).to(memory_format=torch.channels_last), network(dtype=torch.bfloat16)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            penalty = rn.Penalty(model, PLAN, lambda_perp=1e9)
        penalty.step_(1.0)
        assert penalty.residual() < (1e-6 if model[0].weight.dtype == torch.float32 else 1e-2)


def test_torch_compile_does_not_see_the_penalty():
    model = network(dtype=torch.float32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    penalty = rn.Penalty(torch.compile(model, backend="eager", fullgraph=True), PLAN, lambda_perp=2.0)
    penalty.attach(optimizer)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    before = penalty.residual()
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(compiled, torch.float32).backward()
        optimizer.step()
    assert penalty.residual() < before and penalty.steps == 3


def test_ema_copies_are_untouched():
    model = network()
    average = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rn.Penalty(model, PLAN, lambda_perp=2.0).attach(optimizer)
    before = copy.deepcopy(average.state_dict())
    loss_of(model).backward()
    optimizer.step()
    assert all(torch.equal(value, before[name]) for name, value in average.state_dict().items())


def test_bad_use_says_what_was_expected():
    model = network()
    frozen = network()
    frozen[0].weight.requires_grad_(False)
    other = torch.optim.SGD(network().parameters(), lr=0.1)
    twins = nn.Sequential(nn.Conv2d(4, 4, 3, bias=False), nn.Conv2d(4, 4, 3, bias=False))
    twins[1].weight = nn.Parameter(twins[0].weight.data)
    for call, what in [
        (lambda: rn.Penalty(model, PLAN), "lambda_perp"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=-1.0), "lambda_perp"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0, target=0.1), "target"),
        (lambda: rn.Penalty(model, PLAN, target=1.0), "below 1"),
        (lambda: rn.Penalty(model, PLAN, target=0.1, step="gradient"), "target"),
        (lambda: rn.Penalty(model, PLAN, target=0.1, target_by="hand"), "dual"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0, target_by="dual"), "expected a number with"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0, target_scope="network"), "expected a number with"),
        (lambda: rn.Penalty(model, PLAN, target=0.1, target_rate=2.0), "target_rate: expected 1"),
        (lambda: rn.Penalty(model, PLAN, target=0.1, target_by="dual", target_rate=0.0), "above 0"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0, step="both"), "decoupled"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0, norm="spectral"), 'needs step="gradient"'),
        (lambda: rn.Penalty(model, "C4", lambda_perp=1.0), "expected a Plan"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0, strengths={"x.*": 1.0}), "x\\.\\*"),
        (lambda: rn.Penalty(model, rn.Plan.from_toml('group = "C4"\n[[layer]]\nname = "no.*"\ndomain = "1 regular"\ncodomain = "1 regular"'), lambda_perp=1.0), "no\\.\\*"),
        (lambda: rn.Penalty(frozen, PLAN, lambda_perp=1.0), "frozen"),
        (lambda: rn.Penalty(nn.Linear(3, 3), PLAN, lambda_perp=1.0), "expected layers"),
        (lambda: rn.Penalty(twins, PLAN, lambda_perp=1.0), "1.weight: it shares its memory with 0.weight"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0).attach(other), "0.weight"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0).attach(), "in none of these optimizers"),
        (lambda: rn.Penalty(model, PLAN, lambda_perp=1.0).attach(3), "int"),
    ]:
        with pytest.raises(rn.Error, match=what):
            call()
    assert rn.Penalty(frozen, PLAN, lambda_perp=1.0, exclude=["0.*"]).left_out["0.weight"] == "excluded"


def test_not_finite_weights_are_an_error_that_names_the_layer():
    model = network()
    penalty = rn.Penalty(model, PLAN, lambda_perp=1.0)
    with torch.no_grad():
        model[3].weight[0, 0, 0, 0] = float("nan")
    with pytest.raises(rn.Error, match="3.weight"):
        penalty.step_(0.1)


@pytest.mark.parametrize("settings", [{"lambda_perp": 0.5, "lambda_g": 0.1}, {"target": 0.3}, {"lambda_perp": 0.5, "step": "gradient"}])
def test_equal_layers_elsewhere_are_worked_on_together_as_alone(settings):
    torch.manual_seed(2)
    model = nn.ModuleList(nn.Conv2d(4, 8 if at == 3 else 4, 3) for at in range(6)).double()
    other = copy.deepcopy(model).to(memory_format=torch.channels_last)
    strengths = {"1.*": 2.0} if "target" not in settings else {}
    weights = []
    for one in (model, other):
        penalty = rn.Penalty(one, PLAN, strengths=strengths, **settings)
        rates = [{"params": part.parameters(), "lr": 0.1 if at < 4 else 0.2} for at, part in enumerate(one)]
        optimizer = torch.optim.SGD(rates)
        penalty.attach(optimizer)
        for parameter in one.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        weights.append([parameter.detach().clone() for parameter in one.parameters()])
        assert any(layer.place() is None for layer in penalty.layers) == (one is other)
    for ours, theirs in zip(*weights):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)


STACKED = {
    "squared": {"lambda_g": 0.02},
    "gradient": {"lambda_g": 0.02, "step": "gradient"},
    "plain": {"form": "plain", "whole": True, "lambda_g": 0.01},
    "plain gradient": {"form": "plain", "step": "gradient"},
    "target": {"target": 0.1},
    "network target": {"target": 0.1, "target_scope": "network"},
    "dual target": {"target": 0.1, "target_by": "dual", "target_rate": 5.0},
}


@pytest.mark.parametrize("kind", STACKED)
def test_a_stack_of_models_is_trained_as_each_of_them_alone(kind):
    settings, strengths = STACKED[kind], [0.0, 0.4, 7.0]
    with_target = "target" in settings

    def strength(value):
        return {} if with_target else {"lambda_perp": value}

    x, y = data()
    models = [network(seed)[::2] for seed in (1, 2, 3)]  # without the normalisation
    stack, buffers = torch.func.stack_module_state(models)
    optimizer = torch.optim.SGD(stack.values(), lr=1e-2)
    penalty = rn.Penalty(stack, PLAN, stacked=True, **strength(torch.tensor(strengths, dtype=torch.float64)), **settings)
    penalty.attach(optimizer)

    def loss(weights, values):
        return (torch.func.functional_call(models[0], (weights, values), (x,)).flatten(1)[:, :3] - y).square().mean()

    for _ in range(5):
        optimizer.zero_grad()
        torch.func.vmap(loss)(stack, buffers).sum().backward()
        optimizer.step()
    alone = []
    for model, value in zip(models, strengths):
        opt = torch.optim.SGD(model.parameters(), lr=1e-2)
        alone.append(rn.Penalty(model, PLAN, **strength(value), **settings))
        alone[-1].attach(opt)
        for _ in range(5):
            opt.zero_grad()
            loss(dict(model.named_parameters()), dict(model.named_buffers())).backward()
            opt.step()
    for number, model in enumerate(models):
        for name, value in model.named_parameters():
            torch.testing.assert_close(stack[name][number], value, rtol=0, atol=1e-13)
    torch.testing.assert_close(penalty.value(), torch.stack([one.value() for one in alone]), rtol=1e-10, atol=1e-12)
    assert len(penalty.report()) == len(alone[0].report()) and penalty.metrics()["reynolds/residual"] > 0
    penalty.load_state_dict(penalty.state_dict())
    if not with_target and penalty.step_kind == "gradient":
        penalty().sum().backward()
    with pytest.raises(rn.Error, match="one number"):
        rn.Penalty(models[0], PLAN, lambda_perp=torch.tensor([1.0, 2.0]))
    with pytest.raises(rn.Error, match="leading axis"):
        rn.Penalty({"a.weight": stack["0.weight"], "b": torch.zeros((), requires_grad=True)}, PLAN, lambda_perp=1.0, stacked=True)


def test_weights_that_the_plan_leaves_out_are_named():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
    with pytest.warns(UserWarning, match=r"not penalised, .* 0\.weight: 3 input channels .*Plan\.infer"):
        rn.Penalty(model, rn.Plan.uniform("C4", "regular"), lambda_perp=1.0)


def test_kernels_of_a_gpu_refuse_what_would_not_be_there():
    penalty = rn.Penalty(network(), PLAN, lambda_perp=1.0)
    kernels = _reynolds.Kernels.of(penalty._layers, [layer.number for layer in penalty.layers[:2]])
    members, shares = kernels.tables()
    assert len(members) == 4 * sum(layer.size for layer in penalty.layers[:2]) and len(shares) % 16 == 0
    assert _reynolds.Kernels.of(penalty._layers, [0] * 129) is None
    for call, words in {
        (lambda: _reynolds.Kernels.of(penalty._layers, [99])): "expected a number below",
        (lambda: kernels.prepare(0, False, 0, 8)): "multiple of 4, found 0x0",
        (lambda: kernels.rescale(0, [8, 8], 8)): "expected kernels that were prepared",
    }.items():
        with pytest.raises(rn.Error, match=words):
            call()
    if not torch.cuda.is_available():
        assert not kernels.prepare(0, False, 8, 8)  # no driver
