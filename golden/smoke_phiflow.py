"""Smoke in a closed box by PhiFlow 2.1.4 on NumPy, in its single precision, for the simulator in paper/smoke/data.

    peers/setup.sh                                                         # once: peers/.venv-phiflow
    peers/.venv-phiflow/bin/python golden/smoke_phiflow.py [FILE.npz]      # rewrites golden/smoke_phiflow*.npz: minutes

FILE holds `velocity` float32 (100, 2, 64, 64), frames 1 to 100 of the rotation simulation k = 5, as an earlier run of PhiFlow left them; without
it they are made again, to the same bits. `--double` says instead how far double precision leads away from them.

Single precision rounds the two mirror images of a plume differently, and the plume amplifies what is not symmetric a thousandfold between
frames 50 and 100: whoever rounds otherwise is 3e-2 apart at frame 100, PhiFlow in double precision included.
"""

import pathlib
import sys

import numpy as np
from phi.flow import (Box, CenteredGrid, HardGeometryMask, Solve, Sphere, StaggeredGrid, advect, batch, channel, extrapolation, fluid, math,
                      tensor)
from scipy.ndimage import map_coordinates

HERE = pathlib.Path(__file__).parent
FRAMES = [1, 5, 20, 50, 100]


def run(steps, side, centre, radius, lift, step, tolerance):
    """Staggered velocities after each step: [steps, 2, side + 1, side + 1], (x, y) by y by x."""
    grid = dict(x=side, y=side, bounds=Box(x=side, y=side))
    smoke = CenteredGrid(0, extrapolation.BOUNDARY, **grid)
    velocity = StaggeredGrid(0, extrapolation.ZERO, **grid)
    sphere = Sphere(center=tensor([centre], batch("run"), channel(vector="x,y")), radius=radius)
    inflow = CenteredGrid(sphere, extrapolation.BOUNDARY, **grid)
    out = []
    for _ in range(steps):
        smoke = advect.mac_cormack(smoke, velocity, dt=1) + inflow
        force = lift(smoke, velocity, grid)
        velocity = advect.semi_lagrangian(velocity, velocity, dt=step) + force
        velocity, _ = fluid.make_incompressible(velocity, (), Solve("auto", tolerance, 0, x0=None))
        out.append(velocity.staggered_tensor().numpy(["run", "vector", "y", "x"])[0])
    return np.array(out)


def rotation(steps):
    """k = 5, at the side below; the first frame is not kept."""
    lift = lambda smoke, velocity, grid: smoke * (0, 0.01 * 5) @ velocity
    return run(steps + 1, 64, (32, 5), 5, lift, 1, 1e-5)[1:, :, :64, :64]


def translation(steps):
    """Inflow at (32, 5), across the border between the halves; all frames are kept."""

    def lift(smoke, velocity, grid):
        left = StaggeredGrid(HardGeometryMask(Box(x=(None, 32), y=None)), extrapolation.ZERO, **grid)
        right = StaggeredGrid(HardGeometryMask(Box(x=(32, None), y=None)), extrapolation.ZERO, **grid)
        return (smoke * left * (0, 0.1) @ velocity) + (smoke * right * (0, 0.2) @ velocity)

    return run(steps, 64, (32, 5), 5, lift, 0.5, 1e-5)[:, :, :64, :64]


def scaling(steps):
    """i = 3: 83 cells a side, shrunk by 1.3 with corners on corners; the first frame is not kept."""
    f = 1 + 0.1 * 3
    side = int(64 * f)
    points = int((side + 1) / f)
    lift = lambda smoke, velocity, grid: smoke * (0, 0.1 * f) @ velocity
    frames = run(steps + 1, side, (32 * f, 5 * f), 5 * f, lift, 0.5, 1e-5)[1:]
    places = np.meshgrid(*2 * [np.linspace(0, side, points)], indexing="ij")
    shrink = lambda plane: map_coordinates(plane.astype(np.float64), places, order=1, mode="nearest") / f
    return np.array([[shrink(plane) for plane in frame] for frame in frames])[:, :, :64, :64]


def main():
    if "--double" in sys.argv:
        math.set_global_precision(64)
        double, single = rotation(100), np.load(HERE / "smoke_phiflow.npz")["rotation"].astype(np.float64)
        for number, frame in zip(FRAMES, single):
            apart = np.linalg.norm(double[number - 1] - frame) / np.linalg.norm(frame)
            print(f"frame {number}: single and double apart by {apart:.2e}")
        return
    frames = np.load(sys.argv[1])["velocity"] if len(sys.argv) > 1 else rotation(100)
    assert frames.shape == (100, 2, 64, 64) and frames.dtype == np.float32
    np.savez_compressed(HERE / "smoke_phiflow.npz", rotation=frames[[n - 1 for n in FRAMES]])
    arrays = {"translation": translation(40)[[39]], "scaling": scaling(30)[[29]]}
    np.savez_compressed(HERE / "smoke_phiflow_others.npz", **{name: array.astype(np.float32) for name, array in arrays.items()})


main()
