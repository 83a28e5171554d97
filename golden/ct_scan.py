"""A sinogram and a reconstruction of a small CT slice by NumPy and SciPy: dense sampling along rays, direct convolution, one pixel at a time.

Scanner: source 550 mm from the centre, 950 mm from an arc of 50 cells of 14 mm, shifted by -1.25 cells, 40 views; slice: 32 x 32 pixels of 8 mm.
"""

import numpy
from scipy.ndimage import map_coordinates

from conventions import close, write

SIDE, PIXEL = 32, 8.0
RADIUS, DETECTOR, CELLS, CELL, OFFSET, VIEWS = 550.0, 950.0, 50, 14.0, -1.25, 40
STEP = 0.05

ANGLES = (numpy.arange(CELLS) - (CELLS - 1) / 2 + OFFSET) * CELL / DETECTOR
TURNS = 2 * numpy.pi * numpy.arange(VIEWS) / VIEWS


def slice_():
    """1/cm; smooth, so that how pixels are interpolated hardly matters."""
    at = (numpy.arange(SIDE) - (SIDE - 1) / 2) * PIXEL
    x, y = at[None, :], -at[:, None]
    blob = lambda a, b, s, v: v * numpy.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * s * s))
    return blob(0, 0, 34, 0.2) + blob(30, 20, 18, 0.1) + blob(-25, -35, 16, -0.08)


def sinogram(image):
    """Riemann sums of the image, interpolated linearly in both directions, every STEP mm."""
    along = numpy.arange(RADIUS - 200, RADIUS + 200, STEP) + STEP / 2
    rows = numpy.zeros((VIEWS, CELLS))
    for v, beta in enumerate(TURNS):
        source = RADIUS * numpy.array([numpy.cos(beta), numpy.sin(beta)])
        for c, gamma in enumerate(ANGLES):
            x = source[0] - along * numpy.cos(beta + gamma)
            y = source[1] - along * numpy.sin(beta + gamma)
            places = [(SIDE - 1) / 2 - y / PIXEL, (SIDE - 1) / 2 + x / PIXEL]
            rows[v, c] = map_coordinates(image, places, order=1, cval=0.0).sum() * STEP / 10
    return rows


def kernel():
    """The ramp of an equiangular fan under a Hann window and the width of a pixel, for differences -(CELLS - 1) ... CELLS - 1."""
    step = CELL / DETECTOR
    n = numpy.arange(-(CELLS - 1), CELLS)
    odd = n % 2 == 1
    g = numpy.zeros(n.shape)
    g[odd] = -1 / (2 * numpy.pi**2 * numpy.sin(n[odd] * step) ** 2)
    g[n == 0] = 1 / (8 * step**2)
    f = (numpy.arange(8192) + 0.5) / 8192 - 0.5
    response = (g * numpy.cos(2 * numpy.pi * f[:, None] * n)).sum(1)
    response *= numpy.cos(numpy.pi * f) ** 2 * numpy.sinc(f * PIXEL / (RADIUS * step))
    return (response[:, None] * numpy.cos(2 * numpy.pi * f[:, None] * n)).mean(0) * step


def reconstruct(rows):
    """The fan-beam formula, in cm."""
    g = kernel()
    step = CELL / DETECTOR
    at = (numpy.arange(SIDE) - (SIDE - 1) / 2) * PIXEL / 10
    x, y = numpy.meshgrid(at, -at)
    image = numpy.zeros((SIDE, SIDE))
    for beta, row in zip(TURNS, rows):
        weighted = row * RADIUS / 10 * numpy.cos(ANGLES)
        filtered = numpy.array([(g[CELLS - 1 + i - numpy.arange(CELLS)] * weighted).sum() for i in range(CELLS)])
        to_x, to_y = x - RADIUS / 10 * numpy.cos(beta), y - RADIUS / 10 * numpy.sin(beta)
        angle = numpy.arctan2(-to_y, -to_x) - beta
        angle = (angle + numpy.pi) % (2 * numpy.pi) - numpy.pi
        cell = angle / step + (CELLS - 1) / 2 - OFFSET
        image += numpy.interp(cell, numpy.arange(CELLS), filtered) / (to_x**2 + to_y**2)
    return image * 2 * numpy.pi / VIEWS


def main():
    image = slice_()
    rows = sinogram(image)
    # The largest blob is at the centre.
    close(rows[:, 20:30].max(), rows.max(), 1e-12, "the longest ray is a central one")
    back = reconstruct(rows)
    inside = numpy.hypot(*numpy.meshgrid(*2 * [(numpy.arange(SIDE) - 15.5) * PIXEL])) < 110
    error = numpy.sqrt(((back - image)[inside] ** 2).mean())
    assert error < 0.01, f"the reconstruction is off by {error}"
    write("ct_scan", {"image": image, "sinogram": rows, "reconstruction": back}, """
        image [32, 32] in 1/cm, rows from the top; sinogram [40, 50] by Riemann sums every 0.05 mm of the image interpolated bilinearly;
        reconstruction [32, 32] of that sinogram: equiangular ramp, Hann window, sinc of a pixel's width, linear interpolation, 1/L^2
        """, 0, ["numpy", "scipy"])


if __name__ == "__main__":
    main()
