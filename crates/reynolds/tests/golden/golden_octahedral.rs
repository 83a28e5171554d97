//! The exact octahedral projector against kernels of escnn, and the quadrature of SO(3) against integrals by SciPy.

use std::collections::HashMap;

use reynolds::group;
use reynolds::projection::{HaarProjector, Projector, derive};
use reynolds_testkit::golden::Golden;
use reynolds_testkit::projector_laws::largest_difference;
use reynolds_testkit::spaces::{band, kernels};

/// escnn numbers the 24 rotations in its own order: our number for each of its regular channels.
fn channel_order(golden: &Golden) -> Vec<usize> {
    let octahedral = group::parse("O").unwrap();
    let numbers: HashMap<Vec<i64>, usize> = group::elements(&*octahedral)
        .unwrap()
        .iter()
        .enumerate()
        .map(|(number, g)| {
            let matrix = octahedral.point_matrix(g).unwrap();
            ((0..9).map(|k| matrix[(k / 3, k % 3)].round() as i64).collect(), number)
        })
        .collect();
    let (_, elements) = golden.tensor("O.elements");
    elements.chunks(9).map(|m| numbers[&m.iter().map(|v| v.round() as i64).collect::<Vec<_>>()]).collect()
}

#[test]
fn octahedral_kernels_of_escnn_are_equivariant() {
    let golden = Golden::open("escnn_spatial");
    let order = channel_order(&golden);
    let channel = |field: &str, c: usize| if field == "regular" { order[c] } else { c };
    for (codomain, domain, side) in [
        ("vector", "trivial", 3),
        ("trivial", "vector", 5),
        ("vector", "vector", 3),
        ("vector", "vector", 5),
        ("regular", "trivial", 3),
        ("vector", "regular", 3),
    ] {
        let name = format!("O.{codomain}.{domain}.{side}");
        let (shape, theirs) = golden.tensor(&name);
        let points: usize = shape[2..].iter().product();
        let mut kernel = vec![0.0; theirs.len()];
        for (block, values) in theirs.chunks(points).enumerate() {
            let (o, i) = (channel(codomain, block / shape[1]), channel(domain, block % shape[1]));
            kernel[(o * shape[1] + i) * points..][..points].copy_from_slice(values);
        }
        let layer = ("O", domain, codomain, side, 3);
        let space = kernels(layer);
        let projectors: [Box<dyn Projector<f64>>; 3] = [
            Box::new(HaarProjector::new(&space).unwrap()),
            Box::new(derive(&space).unwrap()),
            // They are band-limited too.
            Box::new(band(layer)),
        ];
        for projector in projectors {
            let error = largest_difference(&projector.project(&kernel).unwrap(), &kernel);
            assert!(error < 1e-9, "{name}: off by {error:e}");
        }
    }
}

#[test]
fn rotation_integrals_are_those_of_scipy() {
    let golden = Golden::open("peter_weyl");
    let so3 = group::parse("SO3").unwrap();
    let (_, moments) = golden.tensor("SO3.trace_moments");
    for (n, &moment) in moments.iter().enumerate() {
        let rule = so3.quadrature(n).unwrap();
        let ours: f64 = rule.integrate(|g| {
            let r = g.spatial().rotation;
            (r[0][0] + r[1][1] + r[2][2]).powi(n as i32)
        });
        assert!((ours - moment).abs() < 1e-10, "∫(tr R)^{n} = {moment}, got {ours}");
    }
    let rule = so3.quadrature(4).unwrap();
    let (_, products) = golden.tensor("SO3.square_products");
    for (index, &product) in products.iter().enumerate() {
        let [i, j, k, l] = [index / 27, index / 9 % 3, index / 3 % 3, index % 3];
        let ours: f64 = rule.integrate(|g| {
            let r = g.spatial().rotation;
            r[i][j].powi(2) * r[k][l].powi(2)
        });
        assert!((ours - product).abs() < 1e-13, "∫R_{i}{j}²R_{k}{l}² = {product}, got {ours}");
    }
}
