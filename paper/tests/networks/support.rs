//! What the golden tests of networks share: the numbers that scripts give to names, and tensors of golden files.

use reynolds_testkit::golden::Golden;
use reynolds_torch::tch::Tensor;

/// `count` numbers about `centre` by a formula that the scripts of `golden/` have too.
pub(crate) fn numbers(name: &str, count: usize, (centre, width): (f64, f64)) -> Vec<f64> {
    let tag: u64 = name.bytes().zip(1..).map(|(byte, place)| place * u64::from(byte)).sum();
    let number = |i: u64| centre + width * (((37 * i * i + 6185 * i + 611 * tag) % 10007) as f64 / 10007.0 - 0.5);
    (0..count as u64).map(number).collect()
}

pub(crate) fn tensor(golden: &Golden, name: &str) -> Tensor {
    let (shape, numbers) = golden.tensor(name);
    let shape: Vec<i64> = shape.iter().map(|&side| side as i64).collect();
    Tensor::from_slice(&numbers).view(shape.as_slice())
}

/// max |a − b| / max |b|.
pub(crate) fn distance(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.size(), b.size());
    f64::try_from((a.detach() - b).abs().max() / b.abs().max()).unwrap()
}
