//! Projections against tensors made by other programs (see golden/README.md for each).

use reynolds::projection::{Basis, Dimensions, KernelSpace, Lowered, Projector, derive};
use reynolds::rep::Grid;
use reynolds::steerable::RingsConfig;
use reynolds::{defect, group};
use reynolds_testkit::golden::Golden;
use reynolds_testkit::projector_laws::largest_difference;
use reynolds_testkit::spaces::{fields, kernels};

#[test]
fn exported_escnn_convolutions_are_equivariant_under_our_conventions() {
    let golden = Golden::open("escnn_conv");
    for (name, group) in [("c4", "C4"), ("d4", "D4")] {
        let order = group::parse(group).unwrap().order().unwrap() as usize;
        let fields_of = |kind: &str, shape: &[usize]| {
            let into = if kind == "lift" { format!("{} trivial", shape[1]) } else { regular(shape[1] / order) };
            (fields(group, &into), fields(group, &regular(shape[0] / order)))
        };
        for kind in ["regular", "lift"] {
            for side in [3, 5] {
                let (shape, weight) = golden.tensor(&format!("{name}.{kind}.{side}.weight"));
                let (into, out) = fields_of(kind, &shape);
                let space = KernelSpace::kernel(&into, &out, &Grid::new(into.group(), side, 2).unwrap()).unwrap();
                assert_eq!(space.shape(), shape);
                let band = Basis::derive(&into, &out, side, 2, &RingsConfig::default()).unwrap();
                for projector in [derive(&space).unwrap(), Lowered::Basis(Box::new(band))] {
                    // escnn works in f32, hence the tolerance.
                    let ratio = projector.energies(&weight).unwrap().ratio();
                    assert!((1.0 - ratio).abs() < 1e-6, "{name}.{kind}.{side}: {} keeps {ratio}", projector.form());
                }
            }
        }
        // The test above can fail: kernels turned in the other sense do not fit.
        let (shape, weight) = golden.tensor(&format!("{name}.regular.3.weight"));
        let (_, expected) = golden.tensor(&format!("{name}.regular.3.energy_other_turn"));
        let transposed = |index: usize| weight[index / 9 * 9 + index % 3 * 3 + index % 9 / 3];
        let turned: Vec<f64> = (0..weight.len()).map(transposed).collect();
        let (into, out) = fields_of("regular", &shape);
        let space = KernelSpace::kernel(&into, &out, &Grid::new(into.group(), 3, 2).unwrap()).unwrap();
        let ratio = derive(&space).unwrap().energies(&turned).unwrap().ratio();
        assert!(ratio < 0.75 && expected[0] < 0.75, "{name}: {ratio}");
    }
}

fn regular(copies: usize) -> String {
    format!("{copies} regular")
}

#[test]
fn symm_learning_projects_as_we_do() {
    let golden = Golden::open("symm_learning_dense");
    for (name, layer) in [
        ("C4.regular8", ("C4", "8 regular", "8 regular", 0, 0)),
        ("D3.regular2", ("D3", "2 regular", "2 regular", 0, 0)),
        ("D3.mixed", ("D3", "regular", "trivial + irrep(0,-) + 2 irrep(1)", 0, 0)),
    ] {
        let space = kernels(layer);
        let tensor = |what: &str| golden.tensor(&format!("{name}.{what}"));
        let (shape, weight) = tensor("weight");
        assert_eq!(space.shape(), shape);
        let projector = derive(&space).unwrap();
        let projected = projector.project(&weight).unwrap();
        assert!(largest_difference(&projected, &tensor("projected").1) < 1e-12, "{name}");
        assert_eq!(projector.rank(), tensor("dim").1[0] as usize, "{name}");
        let energies = projector.energies(&weight).unwrap();
        assert!((2.0 * energies.perp - tensor("mean_square_defect").1[0]).abs() < 1e-10, "{name}");
        let gradient: Vec<f64> = weight.iter().zip(&projected).map(|(w, p)| 4.0 * (w - p)).collect();
        assert!(largest_difference(&gradient, &tensor("mean_square_defect_gradient").1) < 1e-11, "{name}");
        let bracket = defect::worst(&space, &projector, &weight).unwrap();
        let expected = tensor("worst_defect").1[0];
        let rounding = 1e-11;
        assert!(bracket.lower <= expected + rounding && expected - rounding <= bracket.upper, "{name}");
        assert!(bracket.width() < 1e-10, "{name}");
    }
}

#[test]
fn sympy_finds_the_same_orbits_of_tensor_layers() {
    let golden = Golden::open("permutation_orbits");
    for (n, out, into, orbits) in [(4, 1, 1, 2), (4, 1, 2, 5), (4, 2, 1, 5), (4, 2, 2, 15), (5, 1, 1, 2), (3, 2, 2, 14)]
    {
        let order = |k| fields(&format!("S{n}"), &format!("permutation^{k}"));
        let space = KernelSpace::dense(&order(into), &order(out)).unwrap();
        let projector = derive(&space).unwrap();
        assert_eq!(projector.form(), "orbits");
        assert_eq!(projector.rank(), orbits);
        let tensor = |what: &str| golden.tensor(&format!("S{n}.{out}.{into}.{what}")).1;
        let projected = projector.project(&tensor("weight")).unwrap();
        assert!(largest_difference(&projected, &tensor("projected")) < 1e-13, "S{n} {into} -> {out}");
    }
}
