//! The band-limited C4-steerable kernels on 3×3 between two fields.
//!
//! ```text
//! span of φ_r(|x|) e^{imθ} that commute with C4:  rings r = 0 (m = 0) and r = 1 (|m| ≤ 2)
//! ```
//!
//! 24 kernels between regular fields (of the 36 of C4 on 3×3), 12 between a vector and a regular field. The basis is orthogonal; an element
//! that maps into an irrep of dimension d has squared norm d, as e2cnn's, so that the uniform initial values of Wang's code mean the same
//! here. e2cnn's elements span the same space but are a few per cent from orthogonal.

use super::fields::{Field, POSITIONS, SIDE};
use super::*;
use reynolds::projection::{Basis, Projector};
use reynolds::steerable::RingsConfig;

/// Least norm of the rest of a kernel outside the span of others; rounding is far below this.
const INDEPENDENT: f64 = 1e-6;

/// The elements K_b, each row-major `[codomain, domain, 9]`.
///
/// The columns of the projector onto the span are orthogonalised in order, not decomposed by singular values, some of which are equal: a
/// trained weight means the same on every machine.
pub(crate) fn steerable_basis(domain: Field, codomain: Field) -> Result<Vec<Vec<f64>>> {
    let span = Basis::derive(&domain.rep()?, &codomain.rep()?, SIDE, 2, &RingsConfig::default())?;
    let len = codomain.dim() * domain.dim() * POSITIONS;
    let mut columns = Vec::with_capacity(len);
    for entry in 0..len {
        let mut unit = vec![0.0; len];
        unit[entry] = 1.0;
        columns.push(span.project(&unit)?);
    }
    // A regular field is a sum of two irreps of dimension 1, even under the half turn, and the vector, odd under it.
    let parts: &[(f64, f64)] = match codomain {
        Field::Vector => &[(-1.0, 2.0)],
        Field::Regular => &[(1.0, 1.0), (-1.0, 2.0)],
    };
    let mut elements = Vec::new();
    for &(parity, squared_norm) in parts {
        let part = columns.iter().map(|column| with_parity(column, codomain, parity));
        elements.extend(orthonormal(part).into_iter().map(|element| scaled(element, f64::sqrt(squared_norm))));
    }
    Ok(elements)
}

/// The part of a kernel whose values are even (1) or odd (−1) under the half turn of the codomain.
fn with_parity(kernel: &[f64], codomain: Field, parity: f64) -> Vec<f64> {
    let row = kernel.len() / codomain.dim();
    match codomain {
        Field::Vector => kernel.to_vec(),
        Field::Regular => {
            let turned = |index: usize| kernel[(index + 2 * row) % kernel.len()];
            kernel.iter().enumerate().map(|(index, value)| 0.5 * (value + parity * turned(index))).collect()
        }
    }
}

/// Gram–Schmidt, each vector twice; those in the span of earlier ones are left out.
fn orthonormal(vectors: impl Iterator<Item = Vec<f64>>) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut kept: Vec<Vec<f64>> = Vec::new();
    for mut vector in vectors {
        for _ in 0..2 {
            for other in &kept {
                let along = dot(&vector, other);
                vector.iter_mut().zip(other).for_each(|(value, other)| *value -= along * other);
            }
        }
        let norm = dot(&vector, &vector).sqrt();
        if norm > INDEPENDENT {
            kept.push(scaled(vector, 1.0 / norm));
        }
    }
    kept
}

fn scaled(mut vector: Vec<f64>, factor: f64) -> Vec<f64> {
    vector.iter_mut().for_each(|value| *value *= factor);
    vector
}

#[cfg(test)]
mod tests {
    use reynolds::projection::HaarProjector;
    use reynolds_testkit::golden::Golden;

    use super::*;
    use crate::smoke::networks::rotation::fields::kernel_space;

    const PAIRS: [(Field, Field, &str, usize); 3] = [
        (Field::Regular, Field::Regular, "regular.regular", 24),
        (Field::Vector, Field::Regular, "regular.vector", 12),
        (Field::Regular, Field::Vector, "vector.regular", 12),
    ];

    #[test]
    fn elements_are_independent_and_equivariant_under_quarter_turns() {
        for (domain, codomain, name, count) in PAIRS {
            let elements = steerable_basis(domain, codomain).unwrap();
            assert_eq!(elements.len(), count, "{name}");
            let average = HaarProjector::new(&kernel_space((1, domain), (1, codomain)).unwrap()).unwrap();
            for element in &elements {
                let projected = average.project(element).unwrap();
                assert!(projected.iter().zip(element).all(|(a, b)| (a - b).abs() < 1e-12), "{name}");
            }
        }
    }

    /// A golden kernel, whose regular channels are numbered by the core's turns, in our numbers.
    fn renumbered(kernel: &[f64], domain: Field, codomain: Field) -> Vec<f64> {
        let back = |channel: usize, field: Field| match field {
            Field::Vector => channel,
            Field::Regular => (4 - channel) % 4,
        };
        let mut out = Vec::with_capacity(kernel.len());
        for (o, i) in (0..codomain.dim()).flat_map(|o| (0..domain.dim()).map(move |i| (o, i))) {
            let from = (back(o, codomain) * domain.dim() + back(i, domain)) * POSITIONS;
            out.extend_from_slice(&kernel[from..from + POSITIONS]);
        }
        out
    }

    #[test]
    fn the_span_and_the_squared_norms_are_those_of_escnn() {
        let golden = Golden::open("smoke_networks");
        for (domain, codomain, name, count) in PAIRS {
            let elements = steerable_basis(domain, codomain).unwrap();
            let (shape, theirs) = golden.tensor(&format!("{name}.elements"));
            assert_eq!(shape[0], count);
            let len = theirs.len() / count;
            let square = |kernel: &[f64]| kernel.iter().map(|value| value * value).sum::<f64>();
            let mut norms: Vec<_> = elements.iter().map(|element| square(element).round() as i64).collect();
            let mut expected: Vec<_> = theirs.chunks(len).map(|kernel| square(kernel).round() as i64).collect();
            norms.sort_unstable();
            expected.sort_unstable();
            assert_eq!(norms, expected, "{name}");
            for kernel in theirs.chunks(len).map(|kernel| renumbered(kernel, domain, codomain)) {
                let mut rest = kernel.clone();
                for element in &elements {
                    let along: f64 = element.iter().zip(&kernel).map(|(a, b)| a * b).sum::<f64>() / square(element);
                    rest.iter_mut().zip(element).for_each(|(value, other)| *value -= along * other);
                }
                assert!(square(&rest).sqrt() < 1e-9, "{name}: {:e}", square(&rest).sqrt());
            }
        }
    }
}
