"""Training many small networks side by side: each on its own stream, all captured in one CUDA graph.

A small network waits for kernel launches and fills a fraction of a large GPU. A `Cohort` captures several steps of all its models,
as parallel branches of one graph; what changes from step to step (minibatch, learning rate) is read from tables on the device.
On a CPU, or with `graph=False`, the same steps run eagerly.
"""

import contextlib
import gc
import math
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from data import minibatches, other_turns
from fields import TURNS, orbit_table, residual
from methods import Spaces, method

EVALUATION_BATCH = 1000


@dataclass(frozen=True)
class Job:
    """One network to train."""

    data: str  # "mnist" or "modelnet10"
    train: int  # number of training images
    channels: int
    row: str  # a name in methods.METHODS
    upright: float  # b: probability that an image is upright, else turned by a random quarter
    rate: float  # peak learning rate
    steps: int
    seed: int
    weight_decay: float = 0.0  # decoupled, on weights only
    augmentation: float = 0.0  # probability that a training image is turned by a random quarter
    schedule: str = "cosine"  # or "constant"; both start with a linear warm-up
    batch: int = 128
    norm: str = "none"
    strength: float = 0.0  # of the method: a λ, or the target
    clip: float = 0.0  # norm of the gradient at most, if not 0


def rate_table(job):
    step = torch.arange(job.steps, dtype=torch.float64)
    warm = ((step + 1) / min(200, max(1, job.steps // 20))).clamp(max=1)
    decay = 0.5 + 0.5 * torch.cos(math.pi * step / job.steps) if job.schedule == "cosine" else torch.ones_like(step)
    return (job.rate * warm * decay).float()


class Model:
    """The state of one training, on the device."""

    def __init__(self, job, network, data, spaces, dtype, device, evaluated):
        self.job, self.network, self.data, self.dtype = job, network, data, dtype
        self.method = method(job.row, job.strength, spaces)
        self.stream = torch.cuda.Stream() if device.type == "cuda" else None
        self.initial = self.method.initial(network.initial(torch.Generator().manual_seed(job.seed)).to(device))
        self.trained = self.initial.clone()
        split = sum(part.size for part in network.weights())
        kernels, biases = self.trained[:split], self.trained[split:]
        self.rates = rate_table(job).to(device)
        self.rate = torch.zeros((), device=device)
        on_gpu = device.type == "cuda"
        self.optimiser = torch.optim.AdamW(
            [{"params": [kernels], "weight_decay": job.weight_decay}, {"params": [biases], "weight_decay": 0.0}],
            lr=self.rate, fused=on_gpu, foreach=False if not on_gpu else None, capturable=on_gpu)
        self.slices = kernels, biases
        self.plan = minibatches(data, job, torch.Generator(device).manual_seed(1000 + job.seed))
        if self.method.turns:
            self.turned = other_turns(self.plan, data.count["train"], torch.Generator(device).manual_seed(2000 + job.seed))
        drawn = torch.Generator(device).manual_seed(1)  # the same validation and test images for every model
        self.validation = data.drawn("validation", job.upright, drawn)[:evaluated].int()
        self.test = data.drawn("test", job.upright, drawn)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.sums = torch.zeros(3, device=device)  # training loss, validation loss, validation hits

    def weights(self):
        """The network's weights, made of what is trained."""
        return self.method.weights(self.trained)

    def reset(self):
        """Back to the first step, in place: captured graphs stay valid."""
        self.trained.copy_(self.initial)
        self.position.zero_()
        self.sums.zero_()
        for state in self.optimiser.state.values():
            for value in state.values():
                value.zero_()

    def step(self):
        rows = self.plan.index_select(0, self.position).view(-1)
        images, labels = self.data.batch("train", rows)
        self.rate.copy_(self.rates.index_select(0, self.position).view(()))
        parameters = self.network.split(self.weights().to(self.dtype))
        logits = self.network.logits(parameters, images)
        loss = F.cross_entropy(logits, labels)
        if self.method.turns:
            turned, _ = self.data.batch("train", self.turned.index_select(0, self.position).view(-1))
            extra = self.method.on_outputs(logits, self.network.logits(parameters, turned))
        else:
            extra = 0.0
        gradients = torch.autograd.grad(loss + extra, parameters)
        gradient = self.method.gradient(self.trained, torch.cat([part.reshape(-1) for part in gradients]).float())
        if self.job.clip:
            gradient = gradient * (self.job.clip / gradient.norm().clamp_min(1e-12)).clamp_max(1)
        start = 0
        for piece in self.slices:
            piece.grad = gradient[start : start + len(piece)]
            start += len(piece)
        self.optimiser.step()
        self.method.after(self.trained, self.rate)
        self.sums[0] += loss.detach()
        self.position += 1

    @torch.no_grad()
    def validate(self):
        parameters = self.network.split(self.weights().to(self.dtype))
        self.sums[1:].zero_()
        for rows in self.validation.split(EVALUATION_BATCH):
            images, labels = self.data.batch("validation", rows)
            logits = self.network.logits(parameters, images)
            self.sums[1] += F.cross_entropy(logits, labels, reduction="sum")
            self.sums[2] += (logits.argmax(1) == labels).sum()

    @torch.no_grad()
    def tested(self):
        """What the trained network does on the test images, in float32, and how far it is from equivariance."""
        torch.backends.cudnn.benchmark = False  # a few large batches: trying algorithms would cost more than it saves
        parameters = self.network.split(self.weights())
        images, count = self.data.images["test"], self.data.count["test"]
        predictions = torch.cat([self.network.logits(parameters, chunk.float()).argmax(1) for chunk in images.split(EVALUATION_BATCH)])
        labels = self.data.labels["test"]
        by_turn = predictions.view(TURNS, count)
        drawn, truth = predictions[self.test], labels[self.test]
        wrong = drawn != truth
        found = {
            "test_accuracy": 1 - wrong.float().mean().item(),
            "test_accuracy_by_turn": (by_turn == labels[:count]).float().mean(1).tolist(),
            "agreement_by_turn": (by_turn == by_turn[0]).float().mean(1).tolist()[1:],
            "residual": residual(self.weights(), self.method.spaces.table),
        }
        if self.job.data == "mnist":
            sixes = wrong & (((drawn == 6) & (truth == 9)) | ((drawn == 9) & (truth == 6)))
            found["test_errors_6_9"] = sixes.float().mean().item()
        return found


class Cohort:
    """Models with equal numbers of steps, trained side by side."""

    def __init__(self, models, unroll, graph):
        self.models, self.unroll, self.steps = models, unroll, models[0].job.steps
        self.on_gpu = models[0].stream is not None
        torch.backends.cudnn.benchmark = True
        if self.on_gpu:
            self.on_streams(lambda model: [model.step() for _ in range(2)] + [model.validate()])
            torch.cuda.synchronize()
        if self.on_gpu and graph:
            self.train, self.validate = (self.captured(work) for work in (self.unrolled, Model.validate))
        else:
            self.train, self.validate = (lambda: self.on_streams(self.unrolled)), (lambda: self.on_streams(Model.validate))
        for model in models:
            model.reset()

    def unrolled(self, model):
        for _ in range(self.unroll):
            model.step()

    def on_streams(self, work):
        """Runs the work of every model on its stream, between two points of the current one."""
        main = torch.cuda.current_stream() if self.on_gpu else None
        for model in self.models:
            with torch.cuda.stream(model.stream) if main else contextlib.nullcontext():
                if main:
                    model.stream.wait_stream(main)
                work(model)
        if main:
            for model in self.models:
                main.wait_stream(model.stream)

    def captured(self, work):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.on_streams(work)
        return graph.replay

    def run(self, records, deadline):
        """Trains; returns the learning curves, one a model, and the seconds. Stops early at the deadline (`time.monotonic`)."""
        every = max(self.unroll, self.steps // records // self.unroll * self.unroll)
        curves = [{"step": [], "train_loss": [], "validation_loss": [], "validation_accuracy": []} for _ in self.models]
        started, done = time.monotonic(), 0
        while done < self.steps and time.monotonic() < deadline:
            for model in self.models:
                model.sums[0] = 0
            take = min(every, self.steps - done)
            for _ in range(take // self.unroll):
                self.train()
            self.validate()
            done += take
            for model, curve, (loss, validation_loss, hits) in zip(self.models, curves, torch.stack([m.sums for m in self.models]).tolist()):
                count = len(model.validation)
                curve["step"].append(done)
                curve["train_loss"].append(loss / take)
                curve["validation_loss"].append(validation_loss / count)
                curve["validation_accuracy"].append(hits / count)
        return curves, time.monotonic() - started

    def close(self):
        del self.train, self.validate
        gc.collect()
        if self.on_gpu:
            torch.cuda.empty_cache()


class Trainer:
    """Loads sets and tables once and builds cohorts from jobs."""

    def __init__(self, folder, networks, dtype, device, evaluated=5000, unroll=5, graph=True):
        self.folder, self.networks, self.dtype, self.device = folder, networks, dtype, device
        self.evaluated, self.unroll, self.graph = evaluated, unroll, graph
        self.sets, self.tables = {}, {}

    def cohort(self, jobs):
        return Cohort([self.model(job) for job in jobs], self.unroll, self.graph)

    def model(self, job):
        file, build = self.networks[job.data]
        if (job.data, self.dtype) not in self.sets:
            from data import Turned
            self.sets[job.data, self.dtype] = Turned(self.folder / file, self.dtype, self.device)
        network = build(job.channels, job.norm)
        if network not in self.tables:
            self.tables[network] = Spaces(network, orbit_table(network).to(self.device))
        return Model(job, network, self.sets[job.data, self.dtype], self.tables[network], self.dtype, self.device, self.evaluated)
