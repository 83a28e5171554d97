"""Lightning and transformers' Trainer, with the real packages."""

import pytest

torch = pytest.importorskip("torch")

import reynolds as rn  # noqa: E402

from torch import nn  # noqa: E402

PLAN = rn.Plan.uniform("C4", "regular")


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3))


@pytest.mark.parametrize("step", ["gradient", "decoupled"])
def test_lightning_attaches_logs_and_keeps_the_state(tmp_path, step):
    lightning = pytest.importorskip("lightning.pytorch")
    from reynolds.callbacks import lightning_callback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network()

        def training_step(self, batch, _):
            return self.network(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    module = Module()
    penalty = rn.Penalty(module, PLAN, lambda_perp=5.0, step=step)
    before = penalty.residual()
    trainer = lightning.Trainer(
        max_steps=6,
        callbacks=[lightning_callback(penalty, every=2)],
        default_root_dir=tmp_path,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
    )
    images = torch.utils.data.TensorDataset(torch.rand(24, 4, 8, 8))
    trainer.fit(module, torch.utils.data.DataLoader(images, batch_size=4))
    assert penalty.steps == 6 and penalty.residual() < before
    assert "reynolds/residual" in trainer.logged_metrics
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    kept = torch.load(tmp_path / "last.ckpt", weights_only=False)["callbacks"]
    assert any(state.get("steps") == 6 for state in kept.values() if isinstance(state, dict))


@pytest.mark.parametrize("step", ["gradient", "decoupled"])
def test_the_trainer_of_transformers_attaches_and_logs(tmp_path, step):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from reynolds.callbacks import trainer_callback

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network()

        def forward(self, images, labels=None):
            return {"loss": self.network(images).square().mean()}

    model = Model()
    penalty = rn.Penalty(model, PLAN, lambda_perp=5.0, step=step)
    before = penalty.residual()
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=4, per_device_train_batch_size=2, learning_rate=1e-2, logging_steps=2, report_to=[], use_cpu=True,
        save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    images = [{"images": torch.rand(4, 8, 8), "labels": torch.tensor(0)} for _ in range(8)]
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=images, callbacks=[trainer_callback(penalty)])
    trainer.train()
    assert penalty.steps == 4 and penalty.residual() < before
    assert any("reynolds/residual" in entry for entry in trainer.state.log_history)
