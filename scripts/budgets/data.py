"""Image sets on the device, each image in its four quarter turns, so that turning is a choice of rows."""

import numpy
import torch

from fields import TURNS

SPLITS = {"train": "train", "validation": "val", "test": "test"}


class Turned:
    """A set in MedMNIST's format; row `turn · count + i` of a split is image i after `turn` quarter turns of its first two axes."""

    def __init__(self, path, dtype, device):
        self.images, self.labels, self.count = {}, {}, {}
        with numpy.load(path) as file:
            arrays = {split: (file[f"{key}_images"], file[f"{key}_labels"]) for split, key in SPLITS.items()}
        scale = 1 / numpy.sqrt(numpy.mean(numpy.square(arrays["train"][0][:2000], dtype=numpy.float32)))
        for split, (images, labels) in arrays.items():
            images = torch.from_numpy(images).to(device)
            images = torch.cat([images.rot90(turn, (1, 2)) for turn in range(TURNS)])
            self.images[split] = (images.float() * float(scale)).to(dtype).unsqueeze(-1)
            self.labels[split] = torch.from_numpy(labels.astype(numpy.int64).ravel()).to(device).repeat(TURNS)
            self.count[split] = len(labels)

    def drawn(self, split, upright, generator):
        """A row for each image of the split: upright with probability `upright`, else turned by a random quarter (of four)."""
        count = self.count[split]
        return broken_turns(count, 1 - upright, generator) * count + torch.arange(count, device=generator.device)

    def batch(self, split, rows):
        return self.images[split].index_select(0, rows), self.labels[split].index_select(0, rows)


def broken_turns(count, probability, generator):
    """With the probability a random number of quarter turns (0 to 3, uniform), else 0: int64 `[count]`."""
    turns = torch.randint(TURNS, (count,), generator=generator, device=generator.device)
    return turns * (torch.rand(count, generator=generator, device=generator.device) < probability)


def minibatches(data, job, generator):
    """The rows of every minibatch of a training, int32 `[steps, batch]`: whole epochs in random order, augmented by quarter turns."""
    count, device = data.count["train"], generator.device
    chosen = torch.randperm(count, generator=generator, device=device)[: job.train]
    rows = data.drawn("train", job.upright, generator)[chosen]
    total = job.steps * job.batch
    epochs = -(-total // len(rows))
    order = torch.rand(epochs, len(rows), generator=generator, device=device).argsort(1).flatten()[:total]
    rows = (rows[order] + count * broken_turns(total, job.augmentation, generator)) % (TURNS * count)
    return rows.int().view(job.steps, job.batch)


def other_turns(rows, count, generator):
    """The same images after one, two or three further quarter turns, drawn anew for each place of a minibatch."""
    turns = torch.randint(1, TURNS, rows.shape, generator=generator, device=generator.device, dtype=rows.dtype)
    return (rows + count * turns) % (TURNS * count)
