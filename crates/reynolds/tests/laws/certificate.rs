//! The network certificate: never below a searched worst case, honest about what it cannot bound.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use proptest::prelude::*;
use reynolds::Error;
use reynolds::certificate::{Activation, Certificate, Feature, Network, Stage, StageKind};
use reynolds::defect;
use reynolds::group::{self, Element, Family};
use reynolds::norm::Norm;
use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::random::Random;
use reynolds::rep::{self, Grid, Rep};

/// A random weight whose part W − P(W) is scaled by `perp`.
fn weight(space: &KernelSpace, perp: f64, random: &mut Random) -> Vec<f64> {
    let t: Vec<f64> = (0..space.len()).map(|_| random.normal() / (space.domain().dim() as f64).sqrt()).collect();
    let p = HaarProjector::new(space).unwrap().project(&t).unwrap();
    p.iter().zip(&t).map(|(p, t)| p + perp * (t - p)).collect()
}

fn linear(name: &str, space: &KernelSpace, perp: f64, random: &mut Random) -> Stage {
    let bias: Vec<f64> = {
        let space = KernelSpace::dense(&rep::trivial(space.group()), space.codomain()).unwrap();
        weight(&space, perp, random)
    };
    Stage::linear(name, space, weight(space, perp, random), Some(bias))
}

/// Three dense layers on permutation fields.
fn dense_network(group: &str, activation: Activation, perp: f64, seed: u64) -> Network {
    let group = group::parse(group).unwrap();
    let field =
        if matches!(group.family(), Family::Symmetric(_)) { rep::permutation(&group) } else { rep::regular(&group) }
            .unwrap();
    let wide = rep::sum(&group, &[(2, field.clone())]).unwrap();
    let mut random = Random::new(seed);
    let hop = |from: &Rep, to: &Rep| KernelSpace::dense(from, to).unwrap();
    Network::new(
        Feature::vector(&field),
        vec![
            linear("first", &hop(&field, &wide), perp, &mut random),
            Stage::activation("act1", activation),
            linear("second", &hop(&wide, &wide), perp, &mut random),
            Stage::activation("act2", activation),
            linear("head", &hop(&wide, &rep::trivial(&group)), perp, &mut random),
        ],
    )
    .unwrap()
}

/// Two convolutions on a 5×5 map, a shared normalisation, pooling and a head.
fn convolution_network(perp: f64, seed: u64) -> Network {
    let c4 = group::parse("C4").unwrap();
    let (scalar, field) = (rep::trivial(&c4), rep::regular(&c4).unwrap());
    let (kernel, map) = (Grid::new(&c4, 3, 2).unwrap(), Grid::new(&c4, 5, 2).unwrap());
    let mut random = Random::new(seed);
    let first = KernelSpace::kernel(&scalar, &field, &kernel).unwrap();
    let second = KernelSpace::kernel(&field, &field, &kernel).unwrap();
    let head = KernelSpace::dense(&field, &scalar).unwrap();
    Network::new(
        Feature::map(&scalar, &map).unwrap(),
        vec![
            linear("conv1", &first, perp, &mut random),
            Stage::new("norm1", StageKind::BatchNorm { scale: vec![0.7; 4], shift: vec![0.2; 4] }),
            Stage::activation("relu1", Activation::Relu),
            linear("conv2", &second, perp, &mut random),
            Stage::activation("silu2", Activation::Silu),
            Stage::new("pool", StageKind::MeanPool),
            linear("head", &head, perp, &mut random),
        ],
    )
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn searched_worst_case_never_exceeds_the_bound(
        seed in any::<u64>(), which in 0..4_usize, perp in 0.0..1.0_f64, radius in 0.1..10.0_f64,
    ) {
        let (group, activation) = [
            ("C4", Activation::Relu),
            ("S3", Activation::Sigmoid),
            ("D4", Activation::Tanh),
            ("C3", Activation::Gelu),
        ][which];
        let network = dense_network(group, activation, perp, seed);
        let certificate = network.certify(radius).unwrap();
        let found = network.search(radius, 3000, seed).unwrap();
        prop_assert!(found.value <= certificate.bound, "{}", certificate.with_search(found));
    }

    #[test]
    fn searched_worst_case_of_convolutions_never_exceeds_the_bound(
        seed in any::<u64>(), perp in 0.0..1.0_f64, radius in 0.1..10.0_f64,
    ) {
        let network = convolution_network(perp, seed);
        let certificate = network.certify(radius).unwrap();
        let found = network.search(radius, 500, seed).unwrap();
        prop_assert!(found.value <= certificate.bound, "{}", certificate.with_search(found));
    }

    /// One linear layer: the bound is attained, so nothing is given away where nothing must be.
    #[test]
    fn bound_of_one_dense_layer_is_tight(seed in any::<u64>()) {
        let c3 = group::parse("C3").unwrap();
        let field = rep::regular(&c3).unwrap();
        let space = KernelSpace::dense(&field, &field).unwrap();
        let network = Network::new(Feature::vector(&field), vec![Stage::linear("only", &space, weight(&space, 1.0, &mut Random::new(seed)), None)]).unwrap();
        let certificate = network.certify(2.0).unwrap();
        let found = network.search(2.0, 4000, seed).unwrap();
        let looseness = certificate.with_search(found).looseness().unwrap();
        prop_assert!((1.0..1.05).contains(&looseness), "{looseness}");
    }
}

#[test]
fn equivariant_networks_are_certified_to_rounding() {
    for network in [dense_network("C4", Activation::Relu, 0.0, 5), convolution_network(0.0, 5)] {
        let certificate = network.certify(1.0).unwrap();
        assert!(certificate.bound < 1e-10, "{certificate}");
        assert!(network.search(1.0, 500, 5).unwrap().value < 1e-12);
    }
}

#[test]
fn continuous_groups_are_certified_through_twice_the_distance() {
    let so2 = group::parse("SO2").unwrap();
    let plane = rep::point(&so2).unwrap();
    let space = KernelSpace::dense(&plane, &plane).unwrap();
    // diag(1, 0) = ½ + ½ diag(1, −1): ΔW turns the second by 2θ, ‖ΔW‖_op = 2·½.
    let network =
        Network::new(Feature::vector(&plane), vec![Stage::linear("only", &space, vec![1.0, 0.0, 0.0, 0.0], None)])
            .unwrap();
    let certificate = network.certify(1.0).unwrap();
    assert!((certificate.bound - 1.0).abs() < 1e-9, "{certificate}");
    let quarter = Element::Planar(reynolds::group::Planar::new(std::f64::consts::FRAC_PI_2, false));
    assert!((network.error_at(&quarter, &[1.0, 0.0]).unwrap() - 1.0).abs() < 1e-12);
}

/// The ramp K(x, y) = x on 5×5 under the half turn: the operator Δ_180 is 3.6 times larger than twice the Frobenius distance.
#[test]
fn frobenius_norm_of_a_kernel_does_not_bound_its_convolution() {
    let c2 = group::parse("C2").unwrap();
    let scalar = rep::trivial(&c2);
    let space = KernelSpace::kernel(&scalar, &scalar, &Grid::new(&c2, 5, 2).unwrap()).unwrap();
    let ramp: Vec<f64> = (0..25).map(|at| (at % 5) as f64 - 2.0).collect();
    let projector = HaarProjector::new(&space).unwrap();
    let twice_distance = 2.0 * projector.energies(&ramp).unwrap().perp.sqrt();
    assert!((twice_distance - 14.1).abs() < 0.05);

    // Δ_180 as a matrix, from its kernel, on a 16×16 map.
    let side = 16;
    let map = Feature::map(&scalar, &Grid::new(&c2, side, 2).unwrap()).unwrap();
    let delta = defect::at(&space, &Element::Finite(1), &ramp).unwrap();
    let operator = Network::new(map.clone(), vec![Stage::linear("delta", &space, delta, None)]).unwrap();
    let n = side * side;
    let mut matrix = Vec::with_capacity(n * n);
    for at in 0..n {
        let mut unit = vec![0.0; n];
        unit[at] = 1.0;
        matrix.extend(operator.evaluate(&unit).unwrap());
    }
    let norm = Norm::Spectral.value(&matrix, n).unwrap();
    println!("operator norm {norm:.1}, twice the kernel's Frobenius distance {twice_distance:.1}");
    assert!(norm > 3.5 * twice_distance);
    let certified = Network::new(map, vec![Stage::linear("ramp", &space, ramp, None)]).unwrap().certify(1.0).unwrap();
    assert!(norm <= certified.bound && certified.bound < 1.25 * norm, "{norm} {certified}");
}

/// `lem:defect_composition` as printed multiplies E(f₂) by Lip(f₁). A constant f₁ has Lip 0, yet Δ(f₂) is evaluated where f₁ lands.
#[test]
fn printed_composition_lemma_is_no_bound() {
    let c4 = group::parse("C4").unwrap();
    let (field, scalar) = (rep::regular(&c4).unwrap(), rep::trivial(&c4));
    let zero = KernelSpace::dense(&scalar, &field).unwrap();
    let second = KernelSpace::dense(&field, &field).unwrap();
    let w = weight(&second, 1.0, &mut Random::new(8));
    let (f1, f2) =
        (Stage::linear("f1", &zero, vec![0.0; 4], Some(vec![1.0; 4])), Stage::linear("f2", &second, w.clone(), None));
    let network = Network::new(Feature::vector(&scalar), vec![f1, f2]).unwrap();
    let certificate = network.certify(1.0).unwrap();
    let found = network.search(1.0, 100, 0).unwrap();
    // E(f₁) = 0 and Lip(f₁) = 0: the printed sum L₁E(f₂) + L₂E(f₁) is 0.
    assert_eq!((certificate.terms[0].lipschitz, certificate.terms[0].defect), (0.0, 0.0));
    assert!(found.value > 0.1);
    assert!(found.value <= certificate.bound);
}

/// `cor:bound_neural_net` with the constant of its proof, Π Lip(σ) Σ_k Π_{r≠k} ‖W_r‖_F · 2‖W_k − P(W_k)‖_F, and no bias at all:
/// a sigmoid sends 0 to ½, and a small first layer makes the printed constant as small as one likes. Also, it knows no radius.
#[test]
fn printed_network_constant_is_no_bound() {
    let c4 = group::parse("C4").unwrap();
    let field = rep::regular(&c4).unwrap();
    let space = KernelSpace::dense(&field, &field).unwrap();
    let projector = HaarProjector::new(&space).unwrap();
    let frobenius = |w: &[f64]| Norm::Frobenius.value(w, 4).unwrap();
    let printed = |first: &[f64], second: &[f64], slope: f64| {
        let d = |w: &[f64]| 2.0 * projector.energies(w).unwrap().perp.sqrt();
        slope * (frobenius(second) * d(first) + frobenius(first) * d(second))
    };
    let measured = |first: &[f64], second: &[f64], activation, radius: f64| -> (Certificate, f64) {
        let layers = vec![
            Stage::linear("W1", &space, first.to_vec(), None),
            Stage::activation("sigma", activation),
            Stage::linear("W2", &space, second.to_vec(), None),
        ];
        let network = Network::new(Feature::vector(&field), layers).unwrap();
        (network.certify(radius).unwrap(), network.search(radius, 2000, 1).unwrap().value)
    };
    let mut random = Random::new(4);
    let (first, second) = (weight(&space, 0.5, &mut random), weight(&space, 0.5, &mut random));

    let small: Vec<f64> = first.iter().map(|w| 1e-3 * w).collect();
    let (certificate, found) = measured(&small, &second, Activation::Sigmoid, 1.0);
    let constant = printed(&small, &second, 0.25);
    println!("sigmoid: printed {constant:.2e}, found {found:.2e}, certified {:.2e}", certificate.bound);
    assert!(found > 100.0 * constant && found <= certificate.bound);

    let (certificate, found) = measured(&first, &second, Activation::Relu, 100.0);
    let constant = printed(&first, &second, 1.0);
    println!("radius 100: printed {constant:.2e}, found {found:.2e}, certified {:.2e}", certificate.bound);
    assert!(found > 5.0 * constant && found <= certificate.bound);
}

#[test]
fn what_has_no_bound_is_refused_by_name() {
    let c4 = group::parse("C4").unwrap();
    let (field, plane) = (rep::regular(&c4).unwrap(), rep::point(&c4).unwrap());
    let refused = |input: &Rep, layer: Stage| {
        let error =
            Network::new(Feature::vector(input), vec![layer]).and_then(|network| network.certify(1.0)).unwrap_err();
        assert!(matches!(&error, Error::NotCertifiable { layer, .. } if layer == "culprit"), "{error}");
    };
    refused(&field, Stage::new("culprit", StageKind::Unknown));
    let scale = vec![1.0, 1.0, 1.0, 2.0];
    refused(&field, Stage::new("culprit", StageKind::BatchNorm { scale, shift: vec![0.0; 4] }));
    let shift = vec![0.0, 0.0, 0.0, 1.0];
    refused(&field, Stage::new("culprit", StageKind::BatchNorm { scale: vec![1.0; 4], shift }));
    refused(&plane, Stage::activation("culprit", Activation::Relu));
    refused(&rep::point(&group::parse("C8").unwrap()).unwrap(), Stage::activation("culprit", Activation::Tanh));
}

#[test]
fn layers_that_do_not_fit_are_errors() {
    let c4 = group::parse("C4").unwrap();
    let field = rep::regular(&c4).unwrap();
    let space = KernelSpace::dense(&field, &field).unwrap();
    let input = Feature::vector(&field);
    let with = |layer| Network::new(input.clone(), vec![layer]);
    assert!(matches!(with(Stage::linear("a", &space, vec![0.0; 15], None)), Err(Error::Shape { .. })));
    assert!(matches!(with(Stage::linear("a", &space, vec![f64::NAN; 16], None)), Err(Error::NotFinite { .. })));
    assert!(with(Stage::linear("a", &space, vec![0.0; 16], Some(vec![0.0; 3]))).is_err());
    // Four scalars have the dimension of a regular field but another action: accepting them would make the bound unsound.
    let scalars = rep::sum(&c4, &[(4, rep::trivial(&c4))]).unwrap();
    let untyped = KernelSpace::dense(&scalars, &field).unwrap();
    assert!(matches!(with(Stage::linear("a", &untyped, vec![0.0; 16], None)), Err(Error::Shape { .. })));
    let even = KernelSpace::kernel(&field, &field, &Grid::new(&c4, 2, 2).unwrap()).unwrap();
    let map = Feature::map(&field, &Grid::new(&c4, 5, 2).unwrap()).unwrap();
    assert!(Network::new(map, vec![Stage::linear("a", &even, vec![0.0; 64], None)]).is_err());
    let network = with(Stage::linear("a", &space, vec![0.0; 16], None)).unwrap();
    assert!(matches!(network.certify(f64::NAN), Err(Error::OutOfRange { .. })));
    assert!(network.search(-1.0, 100, 0).is_err() && network.search(1.0, 0, 0).is_err());
    assert!(network.evaluate(&[1.0]).is_err());
}

/// S₃₂ is never enumerated: the bound goes through 2‖W − P(W)‖ and the bracket of the defect.
#[test]
fn huge_permutation_groups_are_certified() {
    let s32 = group::parse("S32").unwrap();
    let points = rep::permutation(&s32).unwrap();
    let space = KernelSpace::dense(&points, &points).unwrap();
    let mut random = Random::new(2);
    let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| random.normal()).collect() };
    let layers = vec![
        Stage::linear("first", &space, draw(1024), Some(draw(32))),
        Stage::activation("relu", Activation::Relu),
        Stage::linear("second", &space, draw(1024), None),
    ];
    let network = Network::new(Feature::vector(&points), layers).unwrap();
    let certificate = network.certify(1.0).unwrap();
    let found = network.search(1.0, 1000, 1).unwrap();
    assert!(found.value > 1.0 && found.value <= certificate.bound, "{}", certificate.with_search(found));
}

/// The looseness on dense nets like those of the property test, printed.
#[test]
fn looseness_is_reported() {
    let mut ratios: Vec<f64> = (0..15)
        .map(|seed| {
            let network = dense_network("C4", Activation::Relu, 0.3, seed);
            let certificate = network.certify(3.0).unwrap();
            certificate.with_search(network.search(3.0, 3000, seed).unwrap()).looseness().unwrap()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("looseness of the certificate on dense C4 nets: median {:.1}x, worst {:.1}x", ratios[7], ratios[14]);
    assert!(ratios[0] >= 1.0 && ratios[7] < 100.0);
    let network = dense_network("C4", Activation::Relu, 0.3, 0);
    let certificate = network.certify(1.0).unwrap();
    assert!(certificate.to_string().contains("looseness unknown"));
    let text = certificate.with_search(network.search(1.0, 3000, 0).unwrap()).to_string();
    assert!(text.contains("loose by at most") && text.contains("second"), "{text}");
}

/// Weights and biases at the ends of the number range: a bound that holds, or a refusal that names the layer.
#[test]
fn extreme_scales_are_bounded_or_refused() {
    let c4 = group::parse("C4").unwrap();
    let field = rep::regular(&c4).unwrap();
    let space = KernelSpace::dense(&field, &field).unwrap();
    let diagonal = |value: f64| -> Vec<f64> { (0..16).map(|at| if at % 5 == 0 { value } else { 0.0 }).collect() };
    let network = |layers: Vec<Stage>| Network::new(Feature::vector(&field), layers).unwrap();

    // Radii 1e200, 1e400: nothing is known about the third layer's inputs.
    let huge = ["a", "b", "c"].map(|name| Stage::linear(name, &space, diagonal(1e200), None));
    let refused = network(huge.to_vec()).certify(1.0);
    assert!(matches!(&refused, Err(Error::NotCertifiable { layer, .. }) if layer == "b"), "{refused:?}");
    let mut uneven = diagonal(1e308);
    uneven[1] = -1e308;
    let refused = network(vec![Stage::linear("a", &space, uneven, None)]).certify(1.0);
    assert!(matches!(&refused, Err(Error::NotCertifiable { layer, .. }) if layer == "a"), "{refused:?}");

    // A bias of 1e-170 that is not invariant, blown up again: the error is √2.
    let small = Stage::linear("small", &space, diagonal(0.0), Some(vec![1e-170, 0.0, 0.0, 0.0]));
    let blown = network(vec![small.clone(), Stage::linear("large", &space, diagonal(1e170), None)]);
    let (certificate, found) = (blown.certify(1.0).unwrap(), blown.search(1.0, 100, 0).unwrap());
    assert!((found.value - 2.0_f64.sqrt()).abs() < 1e-12 && found.value <= certificate.bound, "{certificate}");
    assert!(certificate.bound < 1.5, "{certificate}");

    // Lipschitz constants whose product underflows: the bound may be generous, not 0.
    let layers = vec![
        Stage::linear("bias", &space, diagonal(0.0), Some(vec![1e300, 0.0, 0.0, 0.0])),
        Stage::linear("down", &space, diagonal(1e-200), None),
        Stage::linear("further", &space, diagonal(1e-200), None),
    ];
    let (certificate, found) =
        (network(layers.clone()).certify(1.0).unwrap(), network(layers).search(1.0, 100, 0).unwrap());
    assert!(found.value > 1e-100 && found.value <= certificate.bound, "{certificate}");

    // The bound of one layer scales with it.
    let w = weight(&space, 1.0, &mut Random::new(3));
    let bound = |c: f64| -> f64 {
        let scaled = w.iter().map(|w| c * w).collect();
        network(vec![Stage::linear("only", &space, scaled, None)]).certify(1.0).unwrap().bound
    };
    for c in [1e-300, 1e-170, 1e160, 1e300] {
        assert!((bound(c) / (c * bound(1.0)) - 1.0).abs() < 1e-12, "{c:e}");
    }
}

/// An empty network changes nothing, and an exactly equivariant one has bound 0: the print says in which arithmetic.
#[test]
fn bounds_of_zero_are_printed_plainly() {
    let c4 = group::parse("C4").unwrap();
    let field = rep::regular(&c4).unwrap();
    let empty = Network::new(Feature::vector(&field), vec![]).unwrap().certify(1.0).unwrap();
    assert!(empty.bound == 0.0 && empty.bound.is_sign_positive());
    assert!(empty.to_string().contains("at most 0.0000e0 in exact arithmetic"), "{empty}");

    // Circulant with distinct entries: equivariant to the bit, but its sums round in the order of the columns.
    let space = KernelSpace::dense(&field, &field).unwrap();
    let circulant: Vec<f64> = (0..16).map(|at| [0.5, 1.25, -3.0, 7.5][(at / 4 + 4 - at % 4) % 4]).collect();
    let network = Network::new(Feature::vector(&field), vec![Stage::linear("only", &space, circulant, None)]).unwrap();
    let (certificate, found) = (network.certify(1.0).unwrap(), network.search(1.0, 500, 1).unwrap());
    assert_eq!(certificate.bound, 0.0);
    assert!(found.value > 0.0 && found.value < 1e-14);
    let text = certificate.with_search(found).to_string();
    assert!(text.contains("only rounding of the evaluation"), "{text}");
    assert!(matches!(network.evaluate(&[f64::NAN, 0.0, 0.0, 0.0]), Err(Error::NotFinite { index: 0, .. })));
}
