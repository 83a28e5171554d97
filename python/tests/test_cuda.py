"""The package on a GPU: what the CPU computes, without waiting for it, in a captured step too."""

import copy

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from reynolds import cuda  # noqa: E402

from torch import nn  # noqa: E402

if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

PLAN = rn.Plan.uniform("C4", "regular")
SETTINGS = {
    "decoupled": {"lambda_perp": 0.5, "lambda_g": 0.02},
    "gradient": {"lambda_perp": 0.5, "lambda_g": 0.02, "step": "gradient"},
    "plain": {"lambda_perp": 0.5, "form": "plain"},
    "plain gradient": {"lambda_perp": 0.5, "form": "plain", "step": "gradient"},
    "target": {"target": 0.1},
    "network target": {"target": 0.1, "target_scope": "network"},
}


def network(dtype=torch.float64):
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).to(dtype)


def batch(model):
    return torch.linspace(0, 1, 2 * 4 * 8 * 8, dtype=torch.float64).sin().view(2, 4, 8, 8).to(model[0].weight)


def step_of(model, optimizer, x):
    def step():
        optimizer.zero_grad(set_to_none=False)
        model(x).square().mean().backward()
        optimizer.step()

    return step


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_gpu_trains_what_a_cpu_trains_and_is_not_waited_for(name, fused):
    trained = []
    for device in ("cpu", "cuda"):
        model = network().to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=fused)
        penalty = rn.Penalty(model, PLAN, **SETTINGS[name])
        penalty.attach(optimizer)
        step = step_of(model, optimizer, batch(model))
        for _ in range(5):
            step()
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("error")
            try:
                step()
                value = penalty.value()
            finally:
                torch.cuda.set_sync_debug_mode("default")
        else:
            step()
            value = penalty.value()
        trained.append([value.cpu(), *(parameter.detach().cpu() for parameter in model.parameters())])
    for on_host, on_device in zip(*trained):
        torch.testing.assert_close(on_device, on_host, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("step_kind", ["decoupled", "gradient"])
def test_a_captured_step_has_strengths_that_change_between_replays(step_kind):
    strengths = [0.3, 3.0, 30.0]

    def trained(captured):
        model = network().cuda()
        x = batch(model)  # must outlive the graph, which reads its memory
        optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-2, device="cuda"), capturable=True)
        strength = torch.tensor(0.0, device="cuda", dtype=torch.float64)
        penalty = rn.Penalty(model, PLAN, lambda_perp=strength, step=step_kind)
        penalty.attach(optimizer)
        step = step_of(model, optimizer, x)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        if captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            step = graph.replay
        residuals = []
        for value in strengths:
            strength.fill_(value)
            for _ in range(3):
                step()
            residuals.append(penalty.residual())
        return residuals

    replayed, plain = trained(True), trained(False)
    assert replayed == pytest.approx(plain, rel=1e-8)
    if step_kind == "decoupled":
        assert replayed[0] > replayed[1] > 2 * replayed[2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "more",
    [
        {"lambda_g": 0.1},
        {"lambda_g": 0.1, "whole": True},
        {"strengths": {"2.*": 0.3}},
        {"lambda_g": torch.tensor(0.1, device="cuda")},
        {"step": "gradient", "lambda_g": 0.1, "strengths": {"2.*": 0.3}},
        {"step": "gradient", "lambda_g": 0.1, "whole": True},
    ],
)
def test_kernels_do_what_torch_operations_do(monkeypatch, dtype, more):
    suits, trained = cuda._suits, []
    for by_kernels in (True, False):
        monkeypatch.setattr(cuda, "_suits", suits if by_kernels else lambda *_: False)
        model = network(dtype).cuda()
        groups = [{"params": model[0].parameters(), "lr": 0.02}, {"params": model[2].parameters(), "lr": 0.05}]
        optimizer = torch.optim.SGD(groups)
        penalty = rn.Penalty(model, PLAN, lambda_perp=0.5, **more)
        penalty.attach(optimizer)
        step = step_of(model, optimizer, batch(model))
        for _ in range(5):
            step()
        penalty.add_grad_(torch.tensor(0.5, device="cuda"))
        assert any(penalty._kernels._known.values()) == by_kernels
        trained.append([tensor for parameter in model.parameters() for tensor in (parameter.detach(), parameter.grad)])
    for ours, theirs in zip(*trained):
        tolerance = 1e-5 if dtype == torch.float32 else 1e-12
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_tensors_that_kernels_do_not_take_are_left_to_torch_operations():
    model = network(torch.float32).cuda().to(memory_format=torch.channels_last)
    model[0].bias.data = model[0].bias.data.to(torch.float64)
    penalty = rn.Penalty(model, PLAN, lambda_perp=5.0)
    before = penalty.residual()
    penalty.step_(0.1)
    assert penalty.residual() == pytest.approx(before / 2, rel=1e-4)
    assert [key[1] for key in penalty._kernels._known] == [torch.float64, torch.float32]  # the biases alone


def test_a_scaler_that_skips_a_step_shrinks_nothing():
    model = network(torch.float32).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    rn.Penalty(model, PLAN, lambda_perp=2.0).attach(optimizer)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**10)
    for infinite in (True, False):
        optimizer.zero_grad()
        loss = model(torch.rand(2, 4, 8, 8, device="cuda")).square().mean()
        scaler.scale(loss * (float("inf") if infinite else 1.0)).backward()
        before = model[0].weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        assert torch.equal(before, model[0].weight) == infinite


def test_projections_audits_and_errors_are_those_of_the_cpu():
    model = network()
    on_device = copy.deepcopy(model).cuda()
    assert rn.audit(on_device, plan=PLAN).total == rn.audit(model, plan=PLAN).total
    before = [rn.equivariance_error(one, torch.ones(1, 4, 8, 8).to(one[0].weight), "C4", "1 regular", "1 regular").worst for one in (model, on_device)]
    assert before[0] == pytest.approx(before[1], rel=1e-10) and before[0] > 1e-3
    for one in (model, on_device):
        rn.project_(one, PLAN)
    torch.testing.assert_close(on_device[2].weight.cpu(), model[2].weight, rtol=0, atol=1e-14)
    rn.constrain_(on_device, PLAN)
    on_device(torch.rand(1, 4, 8, 8, device="cuda", dtype=torch.float64)).sum().backward()
    rn.bake_(on_device)
    torch.testing.assert_close(on_device[2].weight.cpu(), model[2].weight, rtol=0, atol=1e-14)
    half = rn.Projector("C4", "1 regular", "2 regular", kernel=3)
    weights = half(torch.randn(half.shape, device="cuda", dtype=torch.bfloat16))
    assert torch.equal(half(weights), weights)  # equal weights stay equal when they are rounded
    spectral = rn.Penalty(network().cuda(), PLAN, lambda_perp=1.0, step="gradient", norm="spectral")
    assert float(spectral.value()) == pytest.approx(float(rn.Penalty(network(), PLAN, lambda_perp=1.0, step="gradient", norm="spectral").value()))


def test_a_compiled_model_trains_as_it_does_alone():
    weights = []
    for compiled in (False, True):
        model = network().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        rn.Penalty(model, PLAN, lambda_perp=2.0).attach(optimizer)
        run = torch.compile(model, fullgraph=True) if compiled else model
        for _ in range(3):
            optimizer.zero_grad()
            run(torch.ones(1, 4, 8, 8, device="cuda", dtype=torch.float64)).square().mean().backward()
            optimizer.step()
        weights.append(model[2].weight.detach())
    torch.testing.assert_close(*weights, rtol=1e-10, atol=1e-12)
