//! PSNR and SSIM against scikit-image, by `golden/ct_metrics.py`.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use reynolds_lab::experiments::{psnr, ssim};
use reynolds_testkit::golden::Golden;
use reynolds_torch::tch::Tensor;

fn image(golden: &Golden, name: &str) -> Tensor {
    let (shape, numbers) = golden.tensor(name);
    Tensor::from_slice(&numbers).view([1, 1, shape[0] as i64, shape[1] as i64])
}

#[test]
fn metrics_are_those_of_scikit_image() {
    let golden = Golden::open("ct_metrics");
    for case in ["noise", "streaks", "near"] {
        let [x, truth, keep] = ["image", "truth", "keep"].map(|part| image(&golden, &format!("{case}.{part}")));
        let found = [("psnr", psnr(&x, &truth, &keep).unwrap()), ("ssim", ssim(&x, &truth, &keep).unwrap())];
        for (metric, found) in found {
            let (found, expected) = (found.double_value(&[0]), golden.number(&format!("{case}.{metric}")));
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "{case}: {metric} {found}, {expected}");
        }
    }
}
