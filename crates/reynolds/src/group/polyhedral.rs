//! The rotation groups of the Platonic solids and their extensions by reflections.
//!
//! Orders of elements. O: axis permutations in lexicographic order, and for each the sign patterns (+++, ++−, +−+, …) of determinant
//! one; the row i of an element is ±e_{σ(i)}. T: the even permutations of that list. I: breadth first from the generators. T_h, O_h
//! and I_h: the rotations, then the same times −1. T_d: T, then −1 times the rest of O.

use faer::Mat;

use super::MatrixGroup;
use crate::error::{Error, Result};

/// T, Td, Th, O, Oh, I or Ih as 3×3 matrices on (x, y, z).
pub fn polyhedral(name: &str) -> Result<MatrixGroup> {
    let (rotations, generators) = match name {
        "T" | "Td" | "Th" => (tetrahedral(), vec![cycle(), signs([-1.0, -1.0, 1.0])]),
        "O" | "Oh" => (octahedral(), vec![cycle(), quarter_turn()]),
        "I" | "Ih" => (icosahedral()?, vec![cycle(), fifth_turn()]),
        _ => {
            return Err(Error::UnknownGroup { name: name.into(), expected: "T, Td, Th, O, Oh, I or Ih".into() });
        }
    };
    Ok(match name {
        "T" | "O" | "I" => MatrixGroup::listed(name, rotations, &generators),
        "Td" => {
            let tetrahedral = |m: &Mat<f64>| rotations.iter().any(|t| t == m);
            let rest: Vec<_> = octahedral().iter().filter(|m| !tetrahedral(m)).map(|m| -m).collect();
            let all = rotations.iter().cloned().chain(rest).collect();
            MatrixGroup::listed(name, all, &[cycle(), -quarter_turn()])
        }
        _ => {
            let inverted: Vec<_> = rotations.iter().map(|m| -m).collect();
            let all = rotations.into_iter().chain(inverted).collect();
            let inversion = -Mat::<f64>::identity(3, 3);
            let generators: Vec<_> = generators.into_iter().chain([inversion]).collect();
            MatrixGroup::listed(name, all, &generators)
        }
    })
}

fn octahedral() -> Vec<Mat<f64>> {
    signed_permutations(&[[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
}

fn tetrahedral() -> Vec<Mat<f64>> {
    signed_permutations(&[[0, 1, 2], [1, 2, 0], [2, 0, 1]])
}

/// The signed permutation matrices of determinant one over the given axis permutations.
fn signed_permutations(permutations: &[[usize; 3]]) -> Vec<Mat<f64>> {
    let mut elements = Vec::new();
    for axes in permutations {
        let even = (axes[0] + 1) % 3 == axes[1];
        for pattern in 0..8_u32 {
            let negative = |i: usize| pattern >> (2 - i) & 1 == 1;
            if pattern.count_ones().is_multiple_of(2) == even {
                let sign = |i| if negative(i) { -1.0 } else { 1.0 };
                elements.push(Mat::from_fn(3, 3, |i, j| if axes[i] == j { sign(i) } else { 0.0 }));
            }
        }
    }
    elements
}

fn icosahedral() -> Result<Vec<Mat<f64>>> {
    Ok(MatrixGroup::new(&[cycle(), fifth_turn()])?.elements)
}

/// x → y → z → x.
fn cycle() -> Mat<f64> {
    Mat::from_fn(3, 3, |i, j| if (j + 1) % 3 == i { 1.0 } else { 0.0 })
}

fn signs(diagonal: [f64; 3]) -> Mat<f64> {
    Mat::from_fn(3, 3, |i, j| if i == j { diagonal[i] } else { 0.0 })
}

/// A quarter turn about z: (x, y, z) → (y, −x, z), the r of C4.
fn quarter_turn() -> Mat<f64> {
    let rows = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    Mat::from_fn(3, 3, |i, j| rows[i][j])
}

/// A fifth of a turn about the vertex (0, 1, φ) of the icosahedron.
fn fifth_turn() -> Mat<f64> {
    turn_about([0.0, 1.0, (1.0 + 5.0_f64.sqrt()) / 2.0], std::f64::consts::TAU / 5.0)
}

/// The turn about an axis of space, by Rodrigues' formula.
pub(super) fn turn_about(axis: [f64; 3], angle: f64) -> Mat<f64> {
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let axis = axis.map(|x| x / length);
    let cross = [[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]];
    let (sin, cos) = angle.sin_cos();
    Mat::from_fn(3, 3, |i, j| {
        let identity = if i == j { cos } else { 0.0 };
        identity + sin * cross[i][j] + (1.0 - cos) * axis[i] * axis[j]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;

    #[test]
    fn orders_are_those_of_the_textbook() {
        for (name, order) in [("T", 12), ("Td", 24), ("Th", 24), ("O", 24), ("Oh", 48), ("I", 60), ("Ih", 120)] {
            assert_eq!(polyhedral(name).unwrap().order(), Some(order), "{name}");
        }
    }
}
