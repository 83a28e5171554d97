"""EMLP's projector `(rep >> rep).equivariant_projector()` on small dense maps: P = Q Q^T with Q from the null space of the constraints.

    peers/.venv-emlp/bin/python peers/projection_emlp.py [--row ID] [--weights in.npz --out out.npz] [--repeats N] [--threads T] [--json]

EMLP computes in single precision. Its own README limits it to representations of dimension below a thousand: hence the small rows. S_6 would take
it half a minute of one core (a singular value decomposition of 6480 x 1296) for a basis of 15 elements.
`build_seconds` is from the group to Q. The projector is applied as it comes and compiled by JAX; `seconds` is the faster of the two.
"""

import os
import time
import warnings

import projection_rows
from projection_rows import Projection

ROWS = ["dense-c4-small", "dense-s5", "dense-so2-small", "dense-so3-small"]


def build(name, row, options):
    warnings.filterwarnings("ignore")
    parallel = "" if options.threads > 1 else " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + parallel
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp
    import numpy
    from emlp.groups import S, SO, Z
    from emlp.reps import T, V

    start = time.perf_counter()
    if row.group == "C4":
        representation = row.copies * V(Z(4))
    elif row.group.startswith("SO"):
        representation = row.copies * V(SO(int(row.group[2:])))
    else:
        representation = T(row.power)(S(row.field))
    maps = representation >> representation
    basis = maps.equivariant_basis()
    projector = maps.equivariant_projector()
    built = time.perf_counter() - start

    as_it_comes = lambda vector: jax.block_until_ready(projector @ vector)  # noqa: E731
    compiled = jax.jit(lambda vector: projector @ vector)
    wait = lambda vector: jax.block_until_ready(compiled(vector))  # noqa: E731
    test = jnp.ones(maps.size(), jnp.float32)
    times = {work: projection_rows.median_seconds(lambda work=work: work(test), 5) for work in (as_it_comes, wait)}
    return Projection(
        lambda weights: jnp.asarray(weights.reshape(-1), jnp.float32),
        min(times, key=times.get),
        lambda vector: numpy.asarray(vector).reshape(row.shape),
        built,
        int(basis.shape[1]),
        {"compiled": min(times, key=times.get) is wait},
    )


if __name__ == "__main__":
    projection_rows.run(__doc__, "EMLP", ["emlp", "jax", "numpy"], ROWS, build)
