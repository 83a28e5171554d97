//! What is typed, against the Haar average and by hand.

use super::*;

fn bench(group: &str, domain: &str, codomain: &str) -> ProjectionBench {
    ProjectionBench {
        group: group.into(),
        domain: domain.into(),
        codomain: codomain.into(),
        kernel: None,
        band: None,
        precision: Float::F64,
        repeats: 1,
        threads: 1,
        check: true,
    }
}

fn with_kernel(side: usize, dimensions: usize, bench: ProjectionBench) -> ProjectionBench {
    ProjectionBench { kernel: Some(GridSize { side, dimensions }), ..bench }
}

#[test]
fn projections_agree_with_the_haar_average() {
    for (bench, form) in [
        (bench("D4", "2 regular + 1 trivial", "1 regular + irrep(1)"), "orbits"),
        (bench("C3", "2 irrep(1) + regular", "regular"), "blocks"),
        (bench("S4", "permutation^2", "permutation"), "orbits"),
        (bench("SO3", "1x0 + 1x1", "1x1"), "blocks"),
        (with_kernel(3, 2, bench("C4", "1 regular", "2 trivial")), "orbits"),
        (with_kernel(3, 3, bench("O", "1 trivial", "1 vector + irrep(2)")), "chain"),
    ] {
        let (row, projected) = bench.measure(None).unwrap();
        assert_eq!(row.form, form, "{row:?}");
        assert!(row.haar_difference.unwrap() < 1e-12 && row.idempotent < 1e-12, "{row:?}");
        assert_eq!(projected.values.len(), row.weights);
        assert!(row.equivariant > 0.0 && row.equivariant < 1.0, "{row:?}");
    }
}

#[test]
fn known_weights_of_two_turns_are_averaged_in_pairs() {
    // C2 on a regular field swaps both channels: entries (0, 0) and (1, 1) are averaged, and so are (0, 1) and (1, 0).
    let values = Values::F64(vec![1.0, 2.0, 4.0, 7.0].into());
    let weights = Array { shape: vec![2, 2], values };
    let (row, projected) = bench("C2", "regular", "regular").measure(Some(&weights)).unwrap();
    assert_eq!(projected.values.to_f64().as_ref(), [4.0, 3.0, 3.0, 4.0]);
    assert_eq!((row.rank, row.idempotent, row.haar_difference), (2, 0.0, Some(0.0)));
    assert_eq!(row.equivariant, 50.0 / 70.0);
}

#[test]
fn a_band_is_limited_as_its_rings_say() {
    let band = |max_degrees| ProjectionBench {
        band: Some(RingsConfig { max_degrees, ..RingsConfig::default() }),
        check: false,
        ..with_kernel(5, 2, bench("SO2", "1x(0..2)", "1x(0..2)"))
    };
    let rank = |max_degrees| band(max_degrees).measure(None).unwrap().0.rank;
    assert_eq!(rank(None), rank(Some(vec![0, 2, 2])));
    assert!(rank(Some(vec![0, 1, 1])) < rank(None));
    let (row, _) = band(None).measure(None).unwrap();
    assert!(row.form == "basis" && row.idempotent < 1e-12 && row.shape == [5, 5, 5, 5], "{row:?}");
}
