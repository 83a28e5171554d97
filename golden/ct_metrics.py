"""PSNR and SSIM of masked slices by scikit-image, as the experiment with metal artefacts measures them.

Images go from 0 to 255. Both are cut to [0, 1/2] of that scale, written in 8 bits (halves to the even number) and multiplied by the mask,
which is between 0 and 1 at the edge of metal. SSIM has a Gaussian window of 11 pixels and width 1.5 and leaves out a border of 5.
"""

import numpy
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from conventions import close, write


def eight_bits(image, keep):
    return numpy.round(numpy.clip(image / 255, 0, 0.5) / 0.5 * 255).astype(numpy.uint8) * keep


def blurred(image, weights):
    rows = numpy.apply_along_axis(numpy.convolve, 0, image, weights, "valid")
    return numpy.apply_along_axis(numpy.convolve, 1, rows, weights, "valid")


def by_hand(x, y):
    """SSIM by its formula, to see that scikit-image's options say what is meant."""
    weights = numpy.exp(-numpy.arange(-5, 6) ** 2 / (2 * 1.5**2))
    weights /= weights.sum()
    mx, my = blurred(x, weights), blurred(y, weights)
    vx, vy, c = blurred(x * x, weights) - mx**2, blurred(y * y, weights) - my**2, blurred(x * y, weights) - mx * my
    a, b = 2.55**2, 7.65**2
    return ((2 * mx * my + a) * (2 * c + b) / ((mx**2 + my**2 + a) * (vx + vy + b))).mean()


def disk(side, y, x, radius):
    rows, columns = numpy.mgrid[:side, :side]
    return numpy.clip(radius + 0.5 - numpy.hypot(rows - y, columns - x), 0, 1)


def main():
    random = numpy.random.default_rng(6)
    noise = random.uniform(-20, 275, (24, 24)), random.uniform(-20, 275, (24, 24)), (random.uniform(size=(24, 24)) > 0.1) * 1.0
    body = 50 * disk(40, 20, 19, 16) + 30 * disk(40, 14, 12, 4) + 140 * disk(40, 27, 25, 3)
    streaks = 12 * numpy.sin(numpy.arange(40) / 2)[:, None] * numpy.cos(numpy.arange(40) / 5) + random.normal(0, 1, (40, 40))
    one, two = 1 - disk(40, 20, 30, 2.3), 1 - disk(40, 9, 20, 3) - disk(40, 30, 22, 1.7)
    cases = {"noise": noise, "streaks": (body + streaks, body, one), "near": (body + random.normal(0, 0.4, (40, 40)), body, two)}
    tensors = {}
    for name, (image, truth, keep) in cases.items():
        x, y = eight_bits(image, keep), eight_bits(truth, keep)
        psnr = peak_signal_noise_ratio(y, x, data_range=255)
        options = dict(gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255)
        ssim = structural_similarity(x, y, **options)
        close(psnr, 20 * numpy.log10(255 / numpy.sqrt(((x - y) ** 2).mean())), 1e-12, f"{name}: PSNR")
        close(ssim, by_hand(x, y), 1e-12, f"{name}: SSIM")
        print(f"{name}: {psnr:.4f} dB, {ssim:.6f}, without the mask {peak_signal_noise_ratio(eight_bits(truth, 1.0), eight_bits(image, 1.0), data_range=255):.4f} dB")
        tensors |= {f"{name}.image": image, f"{name}.truth": truth, f"{name}.keep": keep, f"{name}.psnr": [psnr], f"{name}.ssim": [ssim]}
    write("ct_metrics", tensors, """
        CASE.image, .truth from 0 to 255 and beyond, .keep from 0 to 1 [side, side]; .psnr in dB, .ssim: both images cut to [0, 127.5], doubled,
        rounded to 8 bits, times keep; data range 255, Gaussian window 11 of width 1.5, biased covariances, border of 5 left out
        """, 6, ["scikit-image", "numpy"])


if __name__ == "__main__":
    main()
