"""PSNR and SSIM of pairs of slices by scikit-image, with the conventions of golden/ct_metrics.py.

    peers/.venv/bin/python peers/metrics_skimage.py --images IN.npz [--out OUT.npz] [--repeats N] [--threads T] [--json]

IN holds `truth` and `image` [n, h, w] from 0 to 255, and perhaps `keep` [n, h, w], the mask, from 0 to 1. Both images are cut to [0, 127.5], doubled,
rounded to 8 bits and multiplied by the mask; SSIM has a Gaussian window of 11 pixels and width 1.5, biased covariances, and leaves out a border
of 5. OUT gets `psnr` and `ssim` [n]. `seconds` is the median over repeats for all pairs together, reading the file not counted.
"""

import argparse
import json
import os

import projection_rows
import report


def eight_bits(numpy, image, keep):
    return numpy.round(numpy.clip(image / 255, 0, 0.5) / 0.5 * 255).astype(numpy.uint8) * keep


def measure(file):
    """A function that returns PSNR and SSIM of each pair."""
    import numpy
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity

    arrays = numpy.load(file)
    truth, image = (arrays[name].astype(numpy.float64) for name in ("truth", "image"))
    keep = arrays["keep"].astype(numpy.float64) if "keep" in arrays else numpy.ones_like(truth)
    if not truth.shape == image.shape == keep.shape or truth.ndim != 3:
        raise SystemExit(f"{file}: expected truth and image (and keep) of one shape [n, h, w], found {truth.shape}, {image.shape}, {keep.shape}")
    settings = dict(gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255)

    def work():
        psnr, ssim = [], []
        for one, other, mask in zip(image, truth, keep):
            x, y = eight_bits(numpy, one, mask), eight_bits(numpy, other, mask)
            psnr.append(peak_signal_noise_ratio(y, x, data_range=255))
            ssim.append(structural_similarity(x, y, **settings))
        return numpy.array(psnr), numpy.array(ssim)

    return work


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True, metavar="IN.npz")
    parser.add_argument("--out", metavar="OUT.npz", help="where to write `psnr` and `ssim`")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one object a line instead of text")
    options = parser.parse_args()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, str(options.threads))
    found = {"row": "metrics", "who": "scikit-image"}
    try:
        versions = report.versions("scikit-image", "numpy", "scipy")
        work = measure(options.images)
    except ImportError as error:  # importlib.metadata.PackageNotFoundError is one
        found["missing"] = f"{type(error).__name__}: {error}"
        print(json.dumps(found) if options.json else f"scikit-image is missing: {found['missing']}")
        return
    seconds = projection_rows.median_seconds(work, options.repeats, warm=1)
    psnr, ssim = work()
    if options.out:
        projection_rows.write(options.out, psnr=psnr, ssim=ssim)
    found |= {"who": f"scikit-image {versions['scikit-image']}", "seconds": seconds, "images": len(psnr), "threads": options.threads,
              "psnr": psnr.tolist(), "ssim": ssim.tolist(), "versions": versions}
    text = f"{found['who']}: {seconds * 1e3:.1f} ms for {len(psnr)} pairs; mean PSNR {psnr.mean():.4f} dB, SSIM {ssim.mean():.6f}"
    print(json.dumps(found) if options.json else text, flush=True)


if __name__ == "__main__":
    main()
