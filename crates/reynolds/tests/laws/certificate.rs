//! The network certificate: never below a searched worst case, honest about what it cannot bound.

use proptest::prelude::*;
use reynolds::Error;
use reynolds::certificate::{Activation, Certificate, Network, Stage, StageKind};
use reynolds::defect;
use reynolds::group::Element;
use reynolds::norm::Norm;
use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::random::Random;
use reynolds::rep::Grid;
use reynolds_testkit::projector_laws::random_weights;
use reynolds_testkit::spaces::{fields, space};

/// A random weight whose part W − P(W) is scaled by `perp`.
fn weight(space: &KernelSpace, perp: f64, random: &mut Random) -> Vec<f64> {
    let t: Vec<f64> = (0..space.len()).map(|_| random.normal() / (space.domain().dim() as f64).sqrt()).collect();
    let p = HaarProjector::new(space).unwrap().project(&t).unwrap();
    p.iter().zip(&t).map(|(p, t)| p + perp * (t - p)).collect()
}

fn linear(name: &str, space: &KernelSpace, perp: f64, random: &mut Random) -> Stage {
    let bias = KernelSpace::features(space.codomain(), None).unwrap();
    let bias = weight(&bias, perp, random);
    Stage::linear(name, space, weight(space, perp, random), Some(bias))
}

/// Three dense layers on permutation fields.
fn dense_network(group: &str, activation: Activation, perp: f64, seed: u64) -> Network {
    let field = if group.starts_with('S') { "permutation" } else { "regular" };
    let wide = format!("2 {field}");
    let mut random = Random::new(seed);
    let mut hop = |name, from, to| linear(name, &space(group, from, to, 0, 0), perp, &mut random);
    let stages = vec![
        hop("first", field, &wide),
        Stage::activation("act1", activation),
        hop("second", &wide, &wide),
        Stage::activation("act2", activation),
        hop("head", &wide, "trivial"),
    ];
    Network::new(&fields(group, field), None, stages).unwrap()
}

/// Stages on a regular field of C4.
fn on_c4(stages: Vec<Stage>) -> Network {
    Network::new(&fields("C4", "regular"), None, stages).unwrap()
}

/// The maps of that field to itself.
fn dense_c4() -> KernelSpace {
    space("C4", "regular", "regular", 0, 0)
}

/// Two convolutions on a 5×5 map, a shared normalisation, pooling and a head.
fn convolution_network(perp: f64, seed: u64) -> Network {
    let first = space("C4", "trivial", "regular", 3, 2);
    let mut random = Random::new(seed);
    let stages = vec![
        linear("conv1", &first, perp, &mut random),
        Stage::new("norm1", StageKind::BatchNorm { scale: vec![0.7; 4], shift: vec![0.2; 4] }),
        Stage::activation("relu1", Activation::Relu),
        linear("conv2", &space("C4", "regular", "regular", 3, 2), perp, &mut random),
        Stage::activation("silu2", Activation::Silu),
        Stage::new("pool", StageKind::MeanPool),
        linear("head", &space("C4", "regular", "trivial", 0, 0), perp, &mut random),
    ];
    let map = Grid::new(first.group(), 5, 2).unwrap();
    Network::new(first.domain(), Some(&map), stages).unwrap()
}

/// What a search finds, and the bound, which is not below it.
fn assert_bounded(network: &Network, radius: f64, evaluations: usize, seed: u64) -> (f64, Certificate) {
    let (certificate, found) = (network.certify(radius).unwrap(), network.search(radius, evaluations, seed).unwrap());
    let worst = found.value;
    let certificate = certificate.with_search(found);
    assert!(worst <= certificate.bound, "{certificate}");
    (worst, certificate)
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
        assert_bounded(&dense_network(group, activation, perp, seed), radius, 3000, seed);
    }

    #[test]
    fn searched_worst_case_of_convolutions_never_exceeds_the_bound(
        seed in any::<u64>(), perp in 0.0..1.0_f64, radius in 0.1..10.0_f64,
    ) {
        assert_bounded(&convolution_network(perp, seed), radius, 500, seed);
    }

    /// One linear layer: the bound is attained, so nothing is given away where nothing must be.
    #[test]
    fn bound_of_one_dense_layer_is_tight(seed in any::<u64>()) {
        let space = space("C3", "regular", "regular", 0, 0);
        let only = Stage::linear("only", &space, weight(&space, 1.0, &mut Random::new(seed)), None);
        let network = Network::new(space.domain(), None, vec![only]).unwrap();
        let looseness = assert_bounded(&network, 2.0, 4000, seed).1.looseness().unwrap();
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
    let space = space("SO2", "vector", "vector", 0, 0);
    // diag(1, 0) = ½ + ½ diag(1, −1): ΔW turns the second by 2θ, ‖ΔW‖_op = 2·½.
    let only = Stage::linear("only", &space, vec![1.0, 0.0, 0.0, 0.0], None);
    let network = Network::new(space.domain(), None, vec![only]).unwrap();
    let certificate = network.certify(1.0).unwrap();
    assert!((certificate.bound - 1.0).abs() < 1e-9, "{certificate}");
    let quarter = Element::Planar(reynolds::group::Planar::new(std::f64::consts::FRAC_PI_2, false));
    assert!((network.error_at(&quarter, &[1.0, 0.0]).unwrap() - 1.0).abs() < 1e-12);
}

/// The ramp K(x, y) = x on 5×5 under the half turn: the operator Δ_180 is 3.6 times larger than twice the Frobenius distance.
#[test]
fn frobenius_norm_of_a_kernel_does_not_bound_its_convolution() {
    let space = space("C2", "trivial", "trivial", 5, 2);
    let ramp: Vec<f64> = (0..25).map(|at| (at % 5) as f64 - 2.0).collect();
    let projector = HaarProjector::new(&space).unwrap();
    let twice_distance = 2.0 * projector.energies(&ramp).unwrap().perp.sqrt();
    assert!((twice_distance - 14.1).abs() < 0.05);

    // Δ_180 as a matrix, from its kernel, on a 16×16 map.
    let side = 16;
    let map = Grid::new(space.group(), side, 2).unwrap();
    let on_map = |layer| Network::new(space.domain(), Some(&map), vec![layer]).unwrap();
    let delta = defect::at(&space, &Element::Finite(1), &ramp).unwrap();
    let operator = on_map(Stage::linear("delta", &space, delta, None));
    let n = side * side;
    let mut matrix = Vec::with_capacity(n * n);
    for at in 0..n {
        let mut unit = vec![0.0; n];
        unit[at] = 1.0;
        matrix.extend(operator.evaluate(&unit).unwrap());
    }
    let norm = Norm::Spectral.value(&matrix, n).unwrap();
    assert!(norm > 3.5 * twice_distance);
    let certified = on_map(Stage::linear("ramp", &space, ramp, None)).certify(1.0).unwrap();
    assert!(norm <= certified.bound && certified.bound < 1.25 * norm, "{norm} {certified}");
}

/// `lem:defect_composition` as printed multiplies E(f₂) by Lip(f₁). A constant f₁ has Lip 0, yet Δ(f₂) is evaluated where f₁ lands.
#[test]
fn printed_composition_lemma_is_no_bound() {
    let (zero, second) = (space("C4", "trivial", "regular", 0, 0), dense_c4());
    let f1 = Stage::linear("f1", &zero, vec![0.0; 4], Some(vec![1.0; 4]));
    let f2 = Stage::linear("f2", &second, weight(&second, 1.0, &mut Random::new(8)), None);
    let network = Network::new(zero.domain(), None, vec![f1, f2]).unwrap();
    let (found, certificate) = assert_bounded(&network, 1.0, 100, 0);
    // E(f₁) = 0 and Lip(f₁) = 0: the printed sum L₁E(f₂) + L₂E(f₁) is 0.
    assert_eq!((certificate.terms[0].lipschitz, certificate.terms[0].defect), (0.0, 0.0));
    assert!(found > 0.1);
}

/// `cor:bound_neural_net` with the constant of its proof, Π Lip(σ) Σ_k Π_{r≠k} ‖W_r‖_F · 2‖W_k − P(W_k)‖_F, and no bias at all:
/// a sigmoid sends 0 to ½, and a small first layer makes the printed constant as small as one likes. Also, it knows no radius.
#[test]
fn printed_network_constant_is_no_bound() {
    let space = dense_c4();
    let projector = HaarProjector::new(&space).unwrap();
    let frobenius = |w: &[f64]| Norm::Frobenius.value(w, 4).unwrap();
    let printed = |first: &[f64], second: &[f64], slope: f64| {
        let d = |w: &[f64]| 2.0 * projector.energies(w).unwrap().perp.sqrt();
        slope * (frobenius(second) * d(first) + frobenius(first) * d(second))
    };
    let measured = |first: &[f64], second: &[f64], activation, radius: f64| {
        let network = on_c4(vec![
            Stage::linear("W1", &space, first.to_vec(), None),
            Stage::activation("sigma", activation),
            Stage::linear("W2", &space, second.to_vec(), None),
        ]);
        assert_bounded(&network, radius, 2000, 1).0
    };
    let mut random = Random::new(4);
    let (first, second) = (weight(&space, 0.5, &mut random), weight(&space, 0.5, &mut random));

    let small: Vec<f64> = first.iter().map(|w| 1e-3 * w).collect();
    assert!(measured(&small, &second, Activation::Sigmoid, 1.0) > 100.0 * printed(&small, &second, 0.25));
    assert!(measured(&first, &second, Activation::Relu, 100.0) > 5.0 * printed(&first, &second, 1.0));
}

#[test]
fn what_has_no_bound_is_refused_by_name() {
    let norm = |scale: [f64; 4], shift: [f64; 4]| StageKind::BatchNorm { scale: scale.into(), shift: shift.into() };
    for (group, field, kind) in [
        ("C4", "regular", StageKind::Unknown),
        ("C4", "regular", norm([1.0, 1.0, 1.0, 2.0], [0.0; 4])),
        ("C4", "regular", norm([1.0; 4], [0.0, 0.0, 0.0, 1.0])),
        ("C4", "vector", StageKind::Activation(Activation::Relu)),
        ("C8", "vector", StageKind::Activation(Activation::Tanh)),
    ] {
        let network = Network::new(&fields(group, field), None, vec![Stage::new("culprit", kind)]);
        let error = network.and_then(|network| network.certify(1.0)).unwrap_err();
        assert!(matches!(&error, Error::NotCertifiable { layer, .. } if layer == "culprit"), "{error}");
    }
}

#[test]
fn layers_that_do_not_fit_are_errors() {
    let dense = dense_c4();
    let with = |layer| Network::new(dense.domain(), None, vec![layer]);
    assert!(matches!(with(Stage::linear("a", &dense, vec![0.0; 15], None)), Err(Error::Shape { .. })));
    assert!(matches!(with(Stage::linear("a", &dense, vec![f64::NAN; 16], None)), Err(Error::NotFinite { .. })));
    assert!(with(Stage::linear("a", &dense, vec![0.0; 16], Some(vec![0.0; 3]))).is_err());
    // Four scalars have the dimension of a regular field but another action: accepting them would make the bound unsound.
    let untyped = space("C4", "4 trivial", "regular", 0, 0);
    assert!(matches!(with(Stage::linear("a", &untyped, vec![0.0; 16], None)), Err(Error::Shape { .. })));
    let even = space("C4", "regular", "regular", 2, 2);
    let map = Grid::new(even.group(), 5, 2).unwrap();
    assert!(Network::new(even.domain(), Some(&map), vec![Stage::linear("a", &even, vec![0.0; 64], None)]).is_err());
    let network = with(Stage::linear("a", &dense, vec![0.0; 16], None)).unwrap();
    assert!(matches!(network.certify(f64::NAN), Err(Error::OutOfRange { .. })));
    assert!(network.search(-1.0, 100, 0).is_err() && network.search(1.0, 0, 0).is_err());
    assert!(network.evaluate(&[1.0]).is_err());
}

/// S₃₂ is never enumerated: the bound goes through 2‖W − P(W)‖ and the bracket of the defect.
#[test]
fn huge_permutation_groups_are_certified() {
    let space = space("S32", "permutation", "permutation", 0, 0);
    let layers = vec![
        Stage::linear("first", &space, random_weights(1024, 2), Some(random_weights(32, 3))),
        Stage::activation("relu", Activation::Relu),
        Stage::linear("second", &space, random_weights(1024, 4), None),
    ];
    let network = Network::new(space.domain(), None, layers).unwrap();
    assert!(assert_bounded(&network, 1.0, 1000, 1).0 > 1.0);
}

/// The looseness on dense nets like those of the property test, and what is printed of it.
#[test]
fn looseness_is_reported() {
    let searched = |seed: u64| {
        let network = dense_network("C4", Activation::Relu, 0.3, seed);
        assert_bounded(&network, 3.0, 3000, seed).1
    };
    let mut ratios: Vec<f64> = (0..15).map(|seed| searched(seed).looseness().unwrap()).collect();
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[0] >= 1.0 && ratios[7] < 100.0, "{ratios:?}");
    let text = searched(0).to_string();
    assert!(text.contains("loose by at most") && text.contains("second"), "{text}");
    let unknown = dense_network("C4", Activation::Relu, 0.3, 0).certify(1.0).unwrap().to_string();
    assert!(unknown.contains("looseness unknown"), "{unknown}");
}

/// Weights and biases at the ends of the number range: a bound that holds, or a refusal that names the layer.
#[test]
fn extreme_scales_are_bounded_or_refused() {
    let space = dense_c4();
    let diagonal = |value: f64| -> Vec<f64> { (0..16).map(|at| if at % 5 == 0 { value } else { 0.0 }).collect() };

    // Radii 1e200, 1e400: nothing is known about the third layer's inputs.
    let huge = ["a", "b", "c"].map(|name| Stage::linear(name, &space, diagonal(1e200), None));
    let refused = on_c4(huge.to_vec()).certify(1.0);
    assert!(matches!(&refused, Err(Error::NotCertifiable { layer, .. }) if layer == "b"), "{refused:?}");
    let mut uneven = diagonal(1e308);
    uneven[1] = -1e308;
    let refused = on_c4(vec![Stage::linear("a", &space, uneven, None)]).certify(1.0);
    assert!(matches!(&refused, Err(Error::NotCertifiable { layer, .. }) if layer == "a"), "{refused:?}");

    // A bias of 1e-170 that is not invariant, blown up again: the error is √2.
    let small = Stage::linear("small", &space, diagonal(0.0), Some(vec![1e-170, 0.0, 0.0, 0.0]));
    let blown = on_c4(vec![small.clone(), Stage::linear("large", &space, diagonal(1e170), None)]);
    let (found, certificate) = assert_bounded(&blown, 1.0, 100, 0);
    assert!((found - 2.0_f64.sqrt()).abs() < 1e-12 && certificate.bound < 1.5, "{certificate}");

    // Lipschitz constants whose product underflows: the bound may be generous, not 0.
    let layers = vec![
        Stage::linear("bias", &space, diagonal(0.0), Some(vec![1e300, 0.0, 0.0, 0.0])),
        Stage::linear("down", &space, diagonal(1e-200), None),
        Stage::linear("further", &space, diagonal(1e-200), None),
    ];
    assert!(assert_bounded(&on_c4(layers), 1.0, 100, 0).0 > 1e-100);

    // The bound of one layer scales with it.
    let w = weight(&space, 1.0, &mut Random::new(3));
    let bound = |c: f64| -> f64 {
        let scaled = w.iter().map(|w| c * w).collect();
        on_c4(vec![Stage::linear("only", &space, scaled, None)]).certify(1.0).unwrap().bound
    };
    for c in [1e-300, 1e-170, 1e160, 1e300] {
        assert!((bound(c) / (c * bound(1.0)) - 1.0).abs() < 1e-12, "{c:e}");
    }
}

/// An empty network changes nothing, and an exactly equivariant one has bound 0: the print says in which arithmetic.
#[test]
fn bounds_of_zero_are_printed_plainly() {
    let empty = on_c4(vec![]).certify(1.0).unwrap();
    assert!(empty.bound == 0.0 && empty.bound.is_sign_positive());
    assert!(empty.to_string().contains("at most 0.0000e0 in exact arithmetic"), "{empty}");

    // Circulant with distinct entries: equivariant to the bit, but its sums round in the order of the columns.
    let circulant: Vec<f64> = (0..16).map(|at| [0.5, 1.25, -3.0, 7.5][(at / 4 + 4 - at % 4) % 4]).collect();
    let network = on_c4(vec![Stage::linear("only", &dense_c4(), circulant, None)]);
    let (certificate, found) = (network.certify(1.0).unwrap(), network.search(1.0, 500, 1).unwrap());
    assert_eq!(certificate.bound, 0.0);
    assert!(found.value > 0.0 && found.value < 1e-14);
    let text = certificate.with_search(found).to_string();
    assert!(text.contains("only rounding of the evaluation"), "{text}");
    assert!(matches!(network.evaluate(&[f64::NAN, 0.0, 0.0, 0.0]), Err(Error::NotFinite { index: 0, .. })));
}
