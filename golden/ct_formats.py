"""Tiny files in the formats of the CT data, as h5py, SciPy, NumPy and Pillow write them: golden/ct/.

    syndeeplesion/gt.h5, 0.h5, 1.h5   gzip chunks that do not divide the shape, as the published files have
    resized.npz                       a rectangle and a disk on 26 × 26 pixels, from 32 × 32 by Pillow's bilinear filter
    metal_masks.mat                   tumor_imgs [12, 16, 16], level 5, compressed, doubles stored as bytes
    {legs,trunk}_16.npz               stacks of slices: hu i16, z_mm f32, pixel_mm f32

python golden/ct_formats.py   (h5py 3.16, SciPy 1.17, NumPy 2.4, Pillow 13)
"""

import pathlib

import h5py
import numpy as np
import scipy.io
from PIL import Image

OUT = pathlib.Path(__file__).parent / "ct"
LESION = OUT / "syndeeplesion"
SIDE, FINE = 26, 32


def image(start):
    """Numbers that say where they are: start + row / 100 + column / 10000."""
    row, column = np.mgrid[0:SIDE, 0:SIDE]
    return (start + row / 100 + column / 10000).astype(np.float32)


def write_h5(name, arrays):
    with h5py.File(LESION / name, "w", track_order=False) as file:
        for key, values in arrays.items():
            file.create_dataset(key, data=values, chunks=(7, 13), compression="gzip", track_times=False)


def main():
    LESION.mkdir(parents=True, exist_ok=True)
    trace = np.zeros((20, 21), np.uint8)
    trace[:, 5:9] = 1
    write_h5("gt.h5", {"image": image(0.0), "poly_CT": image(0.1)})
    for number in (0, 1):
        write_h5(f"{number}.h5", {"ma_CT": image(1.0 + number), "LI_CT": image(0.5 + number), "metal_trace": trace})
    masks = np.zeros((FINE, FINE, 2), np.uint8, order="F")
    masks[4:11, 9:20, 0] = 1
    row, column = np.mgrid[0:FINE, 0:FINE]
    masks[..., 1] = (row - 20) ** 2 + (column - 12) ** 2 <= 36
    small = [Image.fromarray(masks[..., n].astype(np.float32), "F").resize((SIDE, SIDE), Image.BILINEAR) for n in (0, 1)]
    np.savez(OUT / "resized.npz", resized=np.stack([np.asarray(image, np.float32) for image in small]))

    # Shape n is a bar of n + 2 columns and 3 rows whose upper left corner is (2, 1), at 200; 127 beside it is not metal.
    shapes = np.zeros((12, 16, 16))
    for number in range(12):
        shapes[number, 2:5, 1 : 3 + number] = 200
        shapes[number, 5, 1 : 3 + number] = 127
    path = OUT / "metal_masks.mat"
    scipy.io.savemat(path, {"tumor_imgs": shapes}, do_compression=True)
    # The header holds the time of day; equal versions should write equal bytes.
    path.write_bytes(b"MATLAB 5.0 MAT-file, written by SciPy".ljust(116) + path.read_bytes()[116:])

    # A disk of tissue with a bone in it, larger from slice to slice.
    for name, count, pixel in (("legs", 24, 20.0), ("trunk", 12, 18.0)):
        row, column = np.mgrid[0:16, 0:16] - 7.5
        radius = np.hypot(row, column)
        stack = np.stack([np.where(radius < 2, 900, np.where(radius < 5 + n / 24, 40 + n, -1000)) for n in range(count)])
        z = np.arange(count, dtype=np.float32) * 3
        pixels = np.array([pixel, pixel], np.float32)
        np.savez_compressed(OUT / f"{name}_16.npz", hu=stack.astype(np.int16), z_mm=z, pixel_mm=pixels)


if __name__ == "__main__":
    main()
