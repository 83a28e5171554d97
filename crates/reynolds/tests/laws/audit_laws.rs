//! The one-pass audit against the definitions it stands for.

use reynolds::audit::{self, Total};
use reynolds::defect::{self, Displacements};
use reynolds::plan::{Network, SymmetryPlan, UniformFields};
use reynolds::projection::{Lowered, Projector, derive};
use reynolds::{Error, group};
use reynolds_testkit::projector_laws::random_weights;
use reynolds_testkit::spaces::{Layer, kernels};
use reynolds_testkit::tensors;

const LAYERS: [Layer; 11] = [
    ("C4", "3 trivial", "5 trivial", 3, 2),
    ("C4", "2 regular + 3 trivial", "3 regular", 5, 2),
    ("D4", "2 regular", "11 trivial", 3, 2),
    ("D4", "2 quotient(C2)", "1 regular", 2, 2),
    ("C4", "4 irrep(1)", "3 trivial + 2 irrep(1)", 3, 2),
    ("C2", "1 regular", "1 regular", 4, 2),
    ("Oh", "2 trivial + vector", "3 vector", 3, 3),
    ("O", "1 trivial", "1 trivial", 4, 3),
    ("S4", "2 permutation", "3 permutation", 0, 0),
    ("Z8 x Z8", "permutation", "permutation", 0, 0),
    ("C3", "2 regular", "1 regular", 0, 0),
];

#[test]
fn one_pass_gives_the_displacement_of_every_element() {
    for layer in LAYERS {
        let space = kernels(layer);
        let weights: Vec<f64> = random_weights(space.len(), 1);
        let projector = derive(&space).unwrap();
        let profile = Displacements::derive(&space).expect("a permutation action").profile(&weights);
        let energies = projector.energies(&weights).unwrap();
        let tolerance = 1e-12 * energies.total();
        assert!((profile.energies.equivariant - energies.equivariant).abs() < tolerance, "{layer:?}");
        assert!((profile.energies.perp - energies.perp).abs() < tolerance, "{layer:?}");
        let elements = group::elements(space.group().as_ref()).unwrap();
        let squares = defect::squares(&space, &projector, &weights, &elements).unwrap();
        for ((found, expected), g) in profile.squares.iter().zip(&squares).zip(&elements) {
            assert!((found - expected).abs() < 4.0 * tolerance, "{layer:?} {g:?}: {found} {expected}");
            let slow: f64 = defect::at(&space, g, &weights).unwrap().iter().map(|x| x * x).sum();
            assert!((found - slow).abs() < 4.0 * tolerance, "{layer:?} {g:?}: {found} {slow}");
        }
        let Lowered::Orbits(orbits) = &projector else { panic!("orbits") };
        assert!((profile.random_signs - orbits.random_signs(&weights).unwrap()).abs() < tolerance);
        let single: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
        let rough = Displacements::derive(&space).unwrap().profile(&single);
        for (a, b) in rough.squares.iter().zip(&profile.squares) {
            assert!((a - b).abs() < 1e-5 * energies.total(), "{layer:?}");
        }
    }
}

/// Squares summed in single precision are 6e-8 off; the bracket says so.
#[test]
fn the_bracket_of_single_precision_weights_contains_the_exact_defect() {
    for (group, shape) in
        [("C4", vec![16, 12, 5, 5]), ("D4", vec![8, 8, 3, 3]), ("Oh", vec![4, 4, 3, 3, 3]), ("C2", vec![64, 64, 3, 3])]
    {
        let plan = SymmetryPlan::uniform(&group::parse(group).unwrap(), UniformFields::Trivial).unwrap();
        let layer = &plan.resolve(&[("w".into(), shape)]).unwrap().layers[0];
        for seed in 0..5 {
            let weights: Vec<f32> = random_weights::<f64>(layer.len(), seed).iter().map(|&w| w as f32).collect();
            let bracket = audit::layer(layer, &weights[..]).unwrap().worst.unwrap().bracket;
            let exact: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
            let space = &layer.exact.as_ref().unwrap().space;
            let elements = group::elements(space.group().as_ref()).unwrap();
            let moved = |g| defect::at(space, g, &exact).unwrap().iter().map(|x| x * x).sum::<f64>().sqrt();
            let largest = elements.iter().map(moved).fold(0.0, f64::max);
            assert!(
                bracket.lower <= largest && largest <= bracket.upper && bracket.width() < 1e-3,
                "{group}: {largest} {bracket:?}"
            );
        }
    }
}

/// Signs are independent, so the mean of ‖P(εw)‖² is Σ wᵢ²‖P(eᵢ)‖². S12 has orbits of 132 weights, D4 weights that always project to zero.
#[test]
fn random_signs_are_the_mean_over_signs() {
    for layer in [
        ("D4", "2 trivial", "vector + trivial", 3, 2),
        ("S12", "1 permutation", "1 permutation + 1 trivial", 0, 0),
        ("S12", "1 permutation + 2 trivial", "2 permutation", 0, 0),
    ] {
        let space = kernels(layer);
        let projector = derive(&space).unwrap();
        let Lowered::Orbits(orbits) = &projector else { panic!("orbits") };
        let weights: Vec<f64> = random_weights(space.len(), 3);
        let kept = |at: usize| {
            let unit: Vec<f64> = (0..space.len()).map(|other| f64::from(other == at)).collect();
            projector.energies(&unit).unwrap().equivariant
        };
        let mean: f64 = weights.iter().enumerate().map(|(at, w)| w * w * kept(at)).sum();
        let found = orbits.random_signs(&weights).unwrap();
        assert!((found - mean).abs() < 1e-12 * mean, "{layer:?}: {found} {mean}");
        assert!(orbits.random_signs(&weights[1..]).is_err());
    }
}

/// Fields by plan for groups of every kind of projector: the shares of the irreps sum to the defect.
#[test]
fn isotypic_shares_sum_to_the_squared_distance() {
    for (group, domain, codomain, shape) in [
        ("C4", "2 regular", "3 trivial + 1 regular", vec![7, 8, 3, 3]),
        ("D4", "1 regular", "2 regular", vec![16, 8, 3, 3]),
        ("C3", "2 irrep(1)", "1 irrep(1) + 1 trivial", vec![3, 4]),
        ("S4", "2 permutation", "1 permutation", vec![4, 8]),
        ("T", "2 irrep(1) + vector", "vector", vec![3, 7]),
        ("SO2", "2x(0..2)", "1x(0..3)", vec![7, 10]),
        ("O2", "1x(1..2)", "1x(1..2)", vec![4, 4]),
        ("SO3", "2x0 + 1x1", "1x1", vec![3, 5]),
        ("O3", "2x0e + 1x1o", "1x1o + 1x0o", vec![4, 5]),
    ] {
        let text =
            format!("group = \"{group}\"\n[[layer]]\nname = \"w\"\ndomain = \"{domain}\"\ncodomain = \"{codomain}\"\n");
        let plan = SymmetryPlan::from_toml(&text).unwrap();
        let resolved = plan.resolve(&[("w".into(), shape.clone())]).unwrap();
        let weights: Vec<f64> = random_weights(shape.iter().product(), 7);
        let audit = audit::layer(&resolved.layers[0], &weights[..]).unwrap();
        let sum: f64 = audit.isotypic.iter().map(|share| share.square).sum();
        assert!((sum - audit.energies.perp).abs() < 1e-8 * audit.energies.total(), "{group}: {sum} {audit:?}");
        let bracket = audit.worst.unwrap().bracket;
        let d = audit.energies.perp.sqrt();
        assert!(bracket.lower <= bracket.upper && bracket.upper <= 2.0 * d * (1.0 + 1e-9), "{group}");
        assert!(bracket.upper >= 2.0_f64.sqrt() * d * (1.0 - 1e-9), "{group}");
    }
}

#[test]
fn an_equivariant_layer_has_energy_one_and_a_random_one_that_of_chance() {
    let c4 = group::parse("C4").unwrap();
    let plan = SymmetryPlan::uniform(&c4, UniformFields::Regular).unwrap();
    let resolved = plan.resolve(&[("w".into(), vec![64, 64, 3, 3])]).unwrap();
    let layer = &resolved.layers[0];
    let weights: Vec<f32> = random_weights::<f64>(layer.len(), 1).iter().map(|&w| w as f32).collect();
    let audit = audit::layer(layer, &weights[..]).unwrap();
    assert!((audit.energy() - 0.25).abs() < 0.02 && audit.excess().abs() < 0.02);
    let projected = layer.projector.project(&weights).unwrap();
    let after = audit::layer(layer, &projected[..]).unwrap();
    assert!((after.energy() - 1.0).abs() < 1e-12 && (after.excess() - 1.0).abs() < 1e-6);
    let total = Total::of([&audit, &after]);
    assert_eq!((total.layers, total.weights), (2, 2 * layer.len()));
    assert!((total.energies.total() - audit.energies.total() - after.energies.total()).abs() < 1e-6);
}

#[test]
fn tensors_that_do_not_fit_are_named_with_the_reason() {
    let tensors = tensors([
        ("stem.weight", &[8, 3, 3, 3]),
        ("body.conv.weight", &[8, 8, 3, 3]),
        ("body.conv.bias", &[8]),
        ("body.bn.running_var", &[8]),
        ("wide.weight", &[8, 8, 3, 5]),
        ("one.weight", &[8, 8, 1, 1]),
        ("head.weight", &[1000, 8]),
        ("head.bias", &[1000]),
    ]);
    let plan = |fields| SymmetryPlan::uniform(&group::parse("C4").unwrap(), fields).unwrap().resolve(&tensors).unwrap();
    let names = |layers: &[reynolds::plan::TypedTensor]| layers.iter().map(|l| l.name.clone()).collect::<Vec<_>>();
    let regular = plan(UniformFields::Regular);
    assert_eq!(names(&regular.layers), ["body.conv.weight", "body.conv.bias", "body.bn.running_var", "one.weight"]);
    let reason = |name: &str| regular.untyped.iter().find(|u| u.name == name).unwrap().reason.clone();
    assert!(reason("stem.weight").contains("3 input channels"));
    assert!(reason("wide.weight").contains("axes of different length"));
    assert!(reason("head.weight").contains("plan"));
    let trivial = plan(UniformFields::Trivial);
    assert_eq!(names(&trivial.layers), ["stem.weight", "body.conv.weight", "one.weight"]);
    assert!(trivial.layers[2].acts_trivially() && !trivial.layers[1].acts_trivially());
    let error = SymmetryPlan::uniform(&group::parse("SO2").unwrap(), UniformFields::Trivial).unwrap_err();
    assert!(matches!(error, Error::Plan { .. }), "{error}");
}

#[test]
fn the_state_of_an_optimizer_is_typed_only_by_a_plan() {
    let names = [
        "body.conv.weight",
        "body.conv.weight.exp_avg",
        "body.conv.weight.exp_avg_sq",
        "optimizer.state.0.buffer",
        "state.3.momentum_buffer",
    ];
    let mut tensors: Vec<(String, Vec<usize>)> = names.map(|name| (name.to_string(), vec![8, 8, 3, 3])).to_vec();
    tensors.push(("optimizer.state.1.bias".into(), vec![8]));
    for fields in [UniformFields::Trivial, UniformFields::Regular] {
        let plan = SymmetryPlan::uniform(&group::parse("C4").unwrap(), fields).unwrap();
        let resolved = plan.resolve(&tensors).unwrap();
        assert_eq!(resolved.layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>(), names[..1]);
        assert_eq!(resolved.untyped.len(), 5);
        assert!(resolved.untyped.iter().all(|u| u.reason.contains("state of an optimiser")), "{:?}", resolved.untyped);
    }
    let text = "group = \"C4\"\n[[layer]]\nname = \"*.exp_avg\"\ndomain = \"2 regular\"\ncodomain = \"2 regular\"";
    assert_eq!(SymmetryPlan::from_toml(text).unwrap().resolve(&tensors).unwrap().layers.len(), 1);
    let suggested = reynolds::plan::suggest(&group::parse("C4").unwrap(), &Network::of(&tensors));
    let resolved = SymmetryPlan::from_toml(&suggested).unwrap().resolve(&tensors).unwrap();
    assert_eq!(resolved.layers.len(), 1, "{suggested}");
}

#[test]
fn plans_that_do_not_fit_are_errors_that_name_tensor_and_rule() {
    let real = tensors([("a.weight", &[8, 8, 3, 3]), ("b.weight", &[6, 8])]);
    let complex = tensors([("mix.0", &[3, 5])]);
    let network = Network { tensors: real.clone(), complex: complex.clone(), ..Network::default() };
    let layer = |name: &str, domain: &str, codomain: &str| {
        format!("[[layer]]\nname = \"{name}\"\ndomain = \"{domain}\"\ncodomain = \"{codomain}\"\n")
    };
    let without_domain =
        |name: &str, kind: &str| format!("[[layer]]\nname = \"{name}\"\n{kind}\ncodomain = \"6 trivial\"\n");
    for (group, layers, needle) in [
        ("", String::new(), "neither"),
        ("group = \"C4\"", String::new(), "none"),
        ("group = \"C4\"\ngenerators = [[1, 0]]", layer("a", "", ""), "both"),
        ("group = \"X9\"", layer("a", "", ""), "unknown group"),
        ("group = \"C4\"", "[[layer]]\nname = \"a\"\ncodomian = \"\"".into(), "line 4"),
        ("group = \"C4\"", without_domain("a", "kind = \"x\""), "`weight`, `transposed`, `bias`, `scale`"),
        ("generators = [[1, 2, 3]]", layer("a", "", ""), "3 numbers"),
        ("generators = [[[1, 2], [3]]]", layer("a", "", ""), "uneven"),
        ("group = \"C4\"", layer("c.*", "2 regular", "2 regular"), "no match"),
        ("group = \"C4\"", layer("b.*", "2 regular", "2 regular"), "tensor b.weight"),
        ("group = \"C4\"", layer("b.*", "2 regular", "2 regula"), "cannot read fields"),
        ("group = \"C4\"", without_domain("b.*", ""), "domain"),
        ("group = \"C4\"", without_domain("[", ""), "glob"),
        (
            "group = \"C4\"",
            layer("a*", "2 regular", "2 regular") + &without_domain("*", ""),
            "exactly one matching rule",
        ),
        ("group = \"SO2\"", layer("a*", "1x(-1..1)", "1x(-1..1)"), "fields of real numbers"),
        ("group = \"SO2\"", layer("mix.*", "1x(-1..1)", "1x(-1..1)"), "tensor mix.0: wrong shape"),
        ("group = \"C4\"", layer("mix.*", "1x(-1..1)", "1x(-1..1)"), "fields"),
    ] {
        let plan = SymmetryPlan::from_toml(&format!("{group}\n{layers}"));
        let error = plan.and_then(|plan| plan.resolve_network(&network)).unwrap_err().to_string();
        assert!(error.contains(needle), "{group} {layers}: {error}");
    }
}

#[test]
fn weights_that_are_not_finite_are_reported() {
    let plan = SymmetryPlan::uniform(&group::parse("C4").unwrap(), UniformFields::Trivial).unwrap();
    let resolved = plan.resolve(&[("w".into(), vec![2, 2, 3, 3])]).unwrap();
    let mut weights = [1.0_f32; 36];
    weights[5] = f32::NAN;
    let audit = audit::layer(&resolved.layers[0], &weights[..]).unwrap();
    assert_eq!(audit.not_finite, Some((5, "NaN".into())));
    assert!(!audit.counts());
    // Squares that overflow single precision are summed in double precision.
    let large = audit::layer(&resolved.layers[0], &[1e30_f32; 36][..]).unwrap();
    assert!((large.energy() - 1.0).abs() < 1e-6 && (large.norm() / 6e30 - 1.0).abs() < 1e-6);
    let short = audit::layer(&resolved.layers[0], &[1.0_f32; 35][..]).unwrap_err();
    assert!(short.to_string().contains("tensor w"));
}

#[test]
fn small_weights_have_the_energy_of_large_ones() {
    let plan = SymmetryPlan::uniform(&group::parse("C4").unwrap(), UniformFields::Trivial).unwrap();
    let resolved = plan.resolve(&[("w".into(), vec![4, 4, 3, 3])]).unwrap();
    let (layer, weights) = (&resolved.layers[0], random_weights::<f64>(144, 1));
    let expected = audit::layer(layer, &weights[..]).unwrap();
    for scale in [1e-12, 1e-16, 1e-20, 1e-24, 1e-30, 1e-36] {
        let single: Vec<f32> = weights.iter().map(|&w| (scale * w) as f32).collect();
        let audit = audit::layer(layer, &single[..]).unwrap();
        assert!((audit.energy() - expected.energy()).abs() < 1e-5, "{scale}: {}", audit.energy());
        assert!((audit.norm() / scale / expected.norm() - 1.0).abs() < 1e-5, "{scale}: {}", audit.norm());
        let signs = audit.chance.unwrap() - expected.chance.unwrap();
        assert!(signs.abs() < 1e-5 && audit.isotypic.len() == expected.isotypic.len(), "{scale}");
    }
    // Double precision answers while it can, and then refuses instead of guessing.
    for scale in [1e-100, 1e-145, 1e-160, 1e-200] {
        let double: Vec<f64> = weights.iter().map(|&w| scale * w).collect();
        match audit::layer(layer, &double[..]) {
            Ok(audit) => assert!(scale > 1e-150 && (audit.energy() - expected.energy()).abs() < 1e-12, "{scale}"),
            Err(error) => assert!(scale < 1e-145 && error.to_string().contains("magnitude"), "{scale}: {error}"),
        }
    }
    assert_eq!(audit::layer(layer, &[0.0_f32; 144][..]).unwrap().norm(), 0.0);
}

#[test]
fn a_suggested_plan_reads_back_and_comments_out_what_cannot_be_built() {
    let network = tensors([
        ("conv1.weight", &[16, 3, 3, 3]),
        ("bn1.weight", &[16]),
        ("bn1.running_mean", &[16]),
        ("block.conv.weight", &[16, 16, 3, 3]),
        ("block.conv.bias", &[16]),
        ("fc.weight", &[10, 16]),
        ("fc.bias", &[10]),
    ]);
    let kernels = tensors([
        ("even.weight", &[8, 8, 4, 4]),
        ("flat.weight", &[8, 8, 3, 3]),
        ("flat.bias", &[8]),
        ("long.weight", &[8, 8, 1, 7]),
        ("long.bias", &[8]),
        ("solid.weight", &[8, 8, 3, 3, 3]),
    ]);
    let convolutions = "conv1.weight bn1.weight bn1.running_mean block.conv.weight block.conv.bias";
    for (tensors, group, planned, refused) in [
        (&network, "C4", convolutions, 0),
        (&network, "D4", convolutions, 0),
        (&network, "SO2", convolutions, 0),
        (&network, "S2", "fc.weight fc.bias", 0),
        (&kernels, "C4", "even.weight flat.weight flat.bias solid.weight", 1),
        (&kernels, "C8", "flat.weight flat.bias solid.weight", 2),
        (&kernels, "SO2", "flat.weight flat.bias solid.weight", 2),
        (&kernels, "SO3", "solid.weight", 3),
    ] {
        let text = reynolds::plan::suggest(&group::parse(group).unwrap(), &Network::of(tensors));
        let resolved = SymmetryPlan::from_toml(&text).and_then(|plan| plan.resolve(tensors));
        let layers = resolved.unwrap_or_else(|error| panic!("{group}: {error}\n{text}")).layers;
        let mut names: Vec<&str> = layers.iter().map(|layer| layer.name.as_str()).collect();
        let mut expected: Vec<&str> = planned.split(' ').collect();
        names.sort_unstable();
        expected.sort_unstable();
        assert_eq!(names, expected, "{group}\n{text}");
        assert_eq!(text.matches("# does not fit: ").count(), refused, "{group}\n{text}");
    }
}
