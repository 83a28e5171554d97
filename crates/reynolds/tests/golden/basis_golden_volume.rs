//! The split of kernels between the fields of the MedMNIST networks into equivariant part and rest is that of escnn's bases.
//!
//! `golden/medmnist_span.py` projects on escnn's span, in double precision; kernels come from one formula on both sides.

use reynolds::projection::{Basis, Dimensions, Projector};
use reynolds::rep::Rep;
use reynolds::steerable::RingsConfig;
use reynolds_testkit::golden::Golden;
use reynolds_testkit::projector_laws::largest_difference;
use reynolds_testkit::spaces::fields;

/// The numbers that the script gives to a name.
fn values(name: &str, count: usize) -> Vec<f64> {
    let tag: u64 = name.bytes().zip(1..).map(|(byte, place)| place * u64::from(byte)).sum();
    let number = |i: u64| ((37 * i * i + 6185 * i + 611 * tag) % 10007) as f64 / 10007.0 - 0.5;
    (0..count as u64).map(number).collect()
}

/// One field, "2", or one with gates, "2g": every irrep up to a degree, then a scalar for each of them.
fn field(group: &str, text: &str) -> Rep {
    let degree: usize = text.trim_end_matches('g').parse().unwrap();
    let (parities, scalar): (&[&str], _) = match (group, degree) {
        ("O3", 0) => (&["e"], "0e"),
        ("O3", _) => (&["e", "o"], "0e"),
        _ => (&[""], "0"),
    };
    let mut irreps: Vec<String> =
        parities.iter().flat_map(|parity| (0..=degree).map(move |l| format!("1x{l}{parity}"))).collect();
    if text.ends_with('g') {
        irreps.push(format!("{}x{scalar}", irreps.len()));
    }
    fields(group, &irreps.join(" + "))
}

#[test]
fn kernels_of_the_volume_networks_are_split_as_by_escnn() {
    let golden = Golden::open("medmnist_span");
    let names: Vec<String> =
        golden.names().into_iter().filter_map(|name| Some(name.strip_suffix(".projected")?.to_owned())).collect();
    assert_eq!(names.len(), 20);
    for name in names {
        let parts: Vec<&str> = name.split('.').collect();
        let (domain, codomain) = (field(parts[0], parts[1]), field(parts[0], parts[2]));
        let side = parts[3].parse().unwrap();
        let basis = Basis::derive(&domain, &codomain, side, 3, &RingsConfig::default()).unwrap();
        let weight = values(&name, basis.shape().iter().product());
        let squares = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>();
        let projected = basis.project(&weight).unwrap();

        let (_, expected) = golden.tensor(&format!("{name}.squares"));
        for (found, expected) in [&weight, &projected].into_iter().zip(expected) {
            assert!(
                (squares(found) - expected).abs() < 1e-11 * squares(&weight),
                "{name}: {} {expected}",
                squares(found)
            );
        }
        let stride = if weight.len() > 2500 { 11 } else { 1 };
        let (shape, expected) = golden.tensor(&format!("{name}.projected"));
        assert_eq!(shape, [weight.len().div_ceil(stride)], "{name}");
        let kept: Vec<f64> = projected.iter().step_by(stride).copied().collect();
        let off = largest_difference(&kept, &expected);
        assert!(off < 1e-11, "{name}: off by {off:e}");
        let (_, counts) = golden.tensor(&format!("{name}.dims"));
        assert_eq!(basis.rank() as f64, counts.iter().sum::<f64>(), "{name}");
    }
}
