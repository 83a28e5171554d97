//! The ranking names what was planted, and nothing where nothing was. The rates over thousands of tensors: `cargo run --release --example
//! ranking_errors`, docs/results/audit.md.

use reynolds::audit::ranking::{Contest, Found};
use reynolds::group::PLANAR;
use reynolds::plan::UniformFields;
use reynolds_testkit::ranking::{SHAPES, is_exactly, named, noise, planted};

#[test]
fn noise_has_no_symmetry() {
    for shape in SHAPES {
        let false_positives = (0..30).filter(|&seed| named(shape, &noise(shape, seed)).group.is_some()).count();
        assert!(false_positives <= 1, "{shape:?}: {false_positives} of 30");
    }
}

#[test]
fn every_subgroup_of_the_square_is_named_under_noise() {
    for (shape, most) in [([8, 8, 3, 3], 1), ([16, 16, 5, 5], 0)] {
        for group in PLANAR {
            let wrong: Vec<Found> = (0..8)
                .map(|seed| named(&shape, &planted(group, &shape, 0.3, seed, |_| 1.0)))
                .filter(|found| !is_exactly(found, group))
                .collect();
            assert!(wrong.len() <= most, "{group} {shape:?}: {wrong:?}");
        }
    }
}

#[test]
fn solids_and_axes_are_named_in_space() {
    let shape = [6, 6, 3, 3, 3];
    for group in ["flip-0", "C2-2", "C4-1", "D4-0", "C3-2", "inversion", "T", "Oh"] {
        let found = named(&shape, &planted(group, &shape, 0.3, 4, |_| 1.0));
        assert!(is_exactly(&found, group), "{group}: {found:?}");
    }
}

/// Where the centre is larger than the rim, or smaller, a few points must not decide.
#[test]
fn points_of_different_variance_do_not_change_the_name() {
    let shape = [16, 16, 5, 5];
    for (inner, outer) in [(10.0, 1.0), (1.0, 10.0)] {
        let spread = |point: usize| {
            let ring = (point / 5).abs_diff(2).max((point % 5).abs_diff(2));
            [inner, (inner + outer) / 2.0, outer][ring]
        };
        for group in PLANAR {
            let wrong =
                (0..6).filter(|&seed| !is_exactly(&named(&shape, &planted(group, &shape, 0.3, seed, spread)), group));
            assert_eq!(wrong.count(), 0, "{group} {inner} {outer}");
        }
    }
}

#[test]
fn regular_fields_have_candidates_of_their_own() {
    use reynolds::plan::SymmetryPlan;
    use reynolds::projection::Projector;
    let shape = vec![16, 16, 3, 3];
    let tensors = [("w".to_string(), shape.clone())];
    for group in ["C4", "D4", "flip"] {
        let plan = SymmetryPlan::uniform(&reynolds::group::parse(group).unwrap(), UniformFields::Regular).unwrap();
        let weights = plan.resolve(&tensors).unwrap().layers[0].projector.project(&noise(&shape, 3)).unwrap();
        let contest = &Contest::all(&tensors, UniformFields::Regular).unwrap()[0];
        let ranking = contest.judge(&[contest.weigh(0, &(&weights[..]).into()).unwrap()]);
        assert!(is_exactly(&ranking.found, group), "{group}: {:?}", ranking.found);
    }
}

/// As in MTCNN's ONet: kernels with little that is odd under both mirrors, which is the part that the half turn leaves as it is.
#[test]
fn two_mirrors_are_not_their_group_where_the_half_turn_is_below_chance() {
    let shape = [32, 32, 3, 3];
    let mut weights = noise(&shape, 3);
    for kernel in weights.chunks_exact_mut(9) {
        let before = kernel.to_vec();
        for (at, w) in kernel.iter_mut().enumerate() {
            let (row, column) = (at / 3, at % 3);
            let odd = before[at] - before[3 * row + 2 - column] - before[6 - 3 * row + column] + before[8 - at];
            *w -= 0.2 * odd;
        }
    }
    let found = named(&shape, &weights);
    let mut mirrors = [found.group.as_deref(), found.also.first().map(String::as_str)];
    mirrors.sort_unstable();
    assert_eq!(mirrors, [Some("flip"), Some("flip-ud")], "{found:?}");
}

#[test]
fn few_weights_are_named_only_if_they_are_exactly_symmetric() {
    let shape = [1, 1, 3, 3];
    assert_eq!(named(&shape, &planted("D4", &shape, 0.3, 1, |_| 1.0)).group, None);
    assert!(is_exactly(&named(&shape, &planted("D4", &shape, 0.0, 1, |_| 1.0)), "D4"));
    assert_eq!(named(&shape, &[0.0; 9]), Found { group: None, z: None, p: 1.0, same_as: vec![], also: vec![] });
    assert_eq!(named(&shape, &[f64::NAN; 9]).z, None);
}
