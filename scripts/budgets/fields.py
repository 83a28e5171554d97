"""C4 acting on the weights of a convolutional network whose channels are regular fields.

A quarter turn permutes the weights: it turns the kernel in the plane of the turn and shifts the four channels of each field. So the whole
group is one table of indices, and the projection onto the equivariant networks is a mean of gathers:

    P(w) = (1/4) Σ_g g·w,    (g·w)[i] = w[table[g, i]]
"""

import torch

TURNS = 4


def turned_weight(weight, plane, fields_out, fields_in):
    """One quarter turn of a weight `[out, *kernel, in]`; `plane`: the two kernel axes that turn, None for a dense layer."""
    if fields_out:
        weight = weight.unflatten(0, (-1, TURNS)).roll(1, 1).flatten(0, 1)
    if fields_in:
        weight = weight.unflatten(-1, (-1, TURNS)).roll(1, -1).flatten(-2)
    return weight if plane is None else weight.rot90(1, plane)


def orbit_table(architecture):
    """Indices `[4, number of weights]` of the four turned copies of the flat weight vector."""
    images, start = [], 0
    for part in architecture.parts():
        index = torch.arange(start, start + part.size).view(part.shape)
        start += part.size
        orbit = [index]
        for _ in range(TURNS - 1):
            orbit.append(turned_weight(orbit[-1], part.plane, part.fields_out, part.fields_in))
        images.append(torch.stack([image.flatten() for image in orbit]))
    return torch.cat(images, 1)


def project(weights, table):
    """P(w) of the flat weight vector."""
    return weights[table].mean(0)


def residual(weights, table):
    """‖w − P(w)‖ / ‖w‖."""
    return ((weights - project(weights, table)).norm() / weights.norm()).item()
