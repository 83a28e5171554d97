"""PhiFlow's smoke: the rotation simulation k = 5 of golden/smoke_phiflow.py, as seconds a frame, with its velocities.

    peers/.venv-phiflow/bin/python peers/smoke_phiflow.py [--frames 50] [--out OUT.npz] [--threads T] [--json]

OUT holds `velocity` float32 [frames, 2, 64, 64], frames 1 to the last; as in golden/smoke_phiflow.py the very first step is not kept. `seconds` is
the time of all steps over their number, the one that is not kept among them; importing PhiFlow and making the grids are not counted.
"""

import argparse
import json
import os
import time

import projection_rows
import report


def simulate(frames):
    """Velocities [frames, 2, 64, 64] and the seconds of each step."""
    import numpy
    from phi.flow import Box, CenteredGrid, Solve, Sphere, StaggeredGrid, advect, batch, channel, extrapolation, fluid, tensor

    grid = dict(x=64, y=64, bounds=Box(x=64, y=64))
    smoke = CenteredGrid(0, extrapolation.BOUNDARY, **grid)
    velocity = StaggeredGrid(0, extrapolation.ZERO, **grid)
    inflow = CenteredGrid(Sphere(center=tensor([(32, 5)], batch("run"), channel(vector="x,y")), radius=5), extrapolation.BOUNDARY, **grid)
    kept, start = [], time.perf_counter()
    for step in range(frames + 1):
        smoke = advect.mac_cormack(smoke, velocity, dt=1) + inflow
        lift = smoke * (0, 0.01 * 5) @ velocity
        velocity = advect.semi_lagrangian(velocity, velocity, dt=1) + lift
        velocity, _ = fluid.make_incompressible(velocity, (), Solve("auto", 1e-5, 0, x0=None))
        if step:
            kept.append(velocity.staggered_tensor().numpy(["run", "vector", "y", "x"])[0, :, :64, :64])
    return numpy.array(kept), (time.perf_counter() - start) / (frames + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=50)
    parser.add_argument("--out", metavar="OUT.npz", help="where to write the velocities")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one object a line instead of text")
    options = parser.parse_args()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, str(options.threads))
    found = {"row": "smoke-simulation", "who": "PhiFlow"}
    try:
        versions = report.versions("phiflow", "numpy", "scipy")
        velocity, seconds = simulate(options.frames)
    except ImportError as error:  # importlib.metadata.PackageNotFoundError is one
        found["missing"] = f"{type(error).__name__}: {error}"
        print(json.dumps(found) if options.json else f"PhiFlow is missing: {found['missing']}")
        return
    if options.out:
        projection_rows.write(options.out, velocity=velocity)
    found |= {"who": f"PhiFlow {versions['phiflow']}", "seconds": seconds, "frames": options.frames, "threads": options.threads, "versions": versions}
    print(json.dumps(found) if options.json else f"{found['who']}: {seconds * 1e3:.1f} ms a frame over {options.frames}", flush=True)


if __name__ == "__main__":
    main()
