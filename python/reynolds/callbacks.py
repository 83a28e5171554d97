"""The penalty in Lightning and in transformers' Trainer: attached when training starts, logged as it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._reynolds import Error
from .penalty import Penalty

if TYPE_CHECKING:
    from lightning.pytorch import Callback as _LightningCallback
    from transformers import TrainerCallback as _TransformersCallback
else:
    _LightningCallback = _TransformersCallback = object


def lightning_callback(penalty: Penalty, every: int = 50) -> _LightningCallback:
    """A callback for ``lightning.Trainer(callbacks=[…])``: attaches the penalty to the optimisers of the run, logs its metrics every so
    many steps, and keeps its state in checkpoints."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback  # type: ignore[no-redef,assignment,unused-ignore]

    class ReynoldsPenalty(Callback):
        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            penalty.detach()
            penalty.attach(*trainer.optimizers)

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            if trainer.global_step % every == 0:
                pl_module.log_dict(penalty.metrics())

        def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
            penalty.detach()

        def state_dict(self) -> dict[str, Any]:
            return penalty.state_dict()

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            penalty.load_state_dict(state_dict)

    return ReynoldsPenalty()


def trainer_callback(penalty: Penalty) -> _TransformersCallback:
    """A callback for ``transformers.Trainer(callbacks=[…])``: attaches the penalty when training starts, and adds its metrics to what the
    Trainer logs."""
    from transformers import TrainerCallback

    class ReynoldsPenalty(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            optimizer = kwargs.get("optimizer")
            if optimizer is None:
                raise Error("trainer_callback: expected the Trainer's optimizer when training starts, found none")
            penalty.detach()
            # accelerate wraps the optimizer that steps.
            penalty.attach(getattr(optimizer, "optimizer", optimizer))

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
            found = penalty.metrics()
            if logs is not None:
                logs.update(found)
            if state.log_history:  # what the Trainer keeps is a copy, made before callbacks are told
                state.log_history[-1].update(found)

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            penalty.detach()

    return ReynoldsPenalty()
