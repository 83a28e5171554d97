//! Projections against tensors made by other programs (see golden/README.md for each).

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use reynolds::projection::{Dimensions, KernelSpace, Projector, derive};
use reynolds::rep::{self, Grid, Rep};
use reynolds::{defect, group};
use reynolds_testkit::golden::Golden;

fn dense(domain: &Rep, codomain: &Rep) -> KernelSpace {
    KernelSpace::dense(domain, codomain).unwrap()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

#[test]
fn exported_escnn_convolutions_are_equivariant_under_our_conventions() {
    let golden = Golden::open("escnn_conv");
    for (name, group) in [("c4", "C4"), ("d4", "D4")] {
        let group = group::parse(group).unwrap();
        let order = group.order().unwrap() as usize;
        for kind in ["regular", "lift"] {
            for side in [3, 5] {
                let (shape, weight) = golden.tensor(&format!("{name}.{kind}.{side}.weight"));
                let out = rep::parse_fields(&group, &format!("{} regular", shape[0] / order)).unwrap();
                let into = match kind {
                    "lift" => rep::parse_fields(&group, &format!("{} trivial", shape[1])).unwrap(),
                    _ => rep::parse_fields(&group, &format!("{} regular", shape[1] / order)).unwrap(),
                };
                let space = KernelSpace::kernel(&into, &out, &Grid::new(&group, side, 2).unwrap()).unwrap();
                assert_eq!(space.shape(), shape);
                let energies = derive(&space).unwrap().energies(&weight).unwrap();
                assert!(1.0 - energies.ratio() < 1e-6, "{name}.{kind}.{side}: energy {}", energies.ratio());
            }
        }
        // The other sense of turning does not fit, so the test above can fail: turn the kernels the other way round.
        let (shape, weight) = golden.tensor(&format!("{name}.regular.3.weight"));
        let (_, expected) = golden.tensor(&format!("{name}.regular.3.energy_other_turn"));
        let turned: Vec<f64> = (0..weight.len())
            .map(|index| {
                let (tile, x) = (index / 9 * 9, index % 9);
                weight[tile + x % 3 * 3 + x / 3]
            })
            .collect();
        let fields = |n: usize| rep::parse_fields(&group, &format!("{} regular", n / order)).unwrap();
        let grid = Grid::new(&group, 3, 2).unwrap();
        let space = KernelSpace::kernel(&fields(shape[1]), &fields(shape[0]), &grid).unwrap();
        let ratio = derive(&space).unwrap().energies(&turned).unwrap().ratio();
        assert!(ratio < 0.75 && expected[0] < 0.75, "{name}: {ratio}");
    }
}

#[test]
fn symm_learning_projects_as_we_do() {
    let golden = Golden::open("symm_learning_dense");
    let c4 = group::parse("C4").unwrap();
    let d3 = group::parse("D3").unwrap();
    let fields = |group, text| rep::parse_fields(group, text).unwrap();
    let cases = [
        ("C4.regular8", dense(&fields(&c4, "8 regular"), &fields(&c4, "8 regular"))),
        ("D3.regular2", dense(&fields(&d3, "2 regular"), &fields(&d3, "2 regular"))),
        ("D3.mixed", dense(&fields(&d3, "regular"), &fields(&d3, "trivial + irrep(0,-) + 2 irrep(1)"))),
    ];
    for (name, space) in cases {
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
        assert!((bracket.lower - expected).abs() < 1e-11 && (bracket.upper - expected).abs() < 1e-11, "{name}");
    }
}

#[test]
fn sympy_finds_the_same_orbits_of_tensor_layers() {
    let golden = Golden::open("permutation_orbits");
    for (n, out, into, orbits) in [(4, 1, 1, 2), (4, 1, 2, 5), (4, 2, 1, 5), (4, 2, 2, 15), (5, 1, 1, 2), (3, 2, 2, 14)]
    {
        let group = group::parse(&format!("S{n}")).unwrap();
        let points = rep::permutation(&group).unwrap();
        let order = |k| if k == 1 { points.clone() } else { rep::tensor(&points, &points).unwrap() };
        let space = dense(&order(into), &order(out));
        let projector = derive(&space).unwrap();
        assert_eq!(projector.form(), "orbits");
        assert_eq!(projector.rank(), orbits);
        let tensor = |what: &str| golden.tensor(&format!("S{n}.{out}.{into}.{what}")).1;
        let projected = projector.project(&tensor("weight")).unwrap();
        assert!(largest_difference(&projected, &tensor("projected")) < 1e-13, "S{n} {into} -> {out}");
    }
}
