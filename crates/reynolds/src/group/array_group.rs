//! Subgroups of D4 and O_h, named by what they do to the axes of an array.
//!
//! ```text
//! plane   flip  A[i, −j]     flip-ud  A[−i, j]     flip-diag  A[j, i]     flip-anti  A[−j, −i]     D2-diag = ⟨flip-diag, flip-anti⟩
//! space   flip-a reverses axis a;   C2-a, C4-a, D2-a, D4-a, D2-diag-a, flip-diag-a, flip-anti-a act on the other two axes
//!         C2-diag-a, C2-anti-a: flip-diag-a, flip-anti-a and flip-a at once;   C3-0 … C3-3 turn about a diagonal of the cube;   inversion −1
//! ```

use faer::Mat;

use super::{Group, MatrixGroup, Polygon};
use crate::error::Result;

/// The subgroups of D4, those of prime order first.
pub const PLANAR: [&str; 9] = ["flip", "flip-ud", "flip-diag", "flip-anti", "C2", "C4", "D2", "D2-diag", "D4"];

/// Subgroups of O_h: all of prime order, then those that act in planes, then those of the solids.
#[rustfmt::skip]
pub const SPATIAL: [&str; 40] = [
    "flip-0", "flip-1", "flip-2", "flip-diag-0", "flip-diag-1", "flip-diag-2", "flip-anti-0", "flip-anti-1", "flip-anti-2",
    "C2-0", "C2-1", "C2-2", "C2-diag-0", "C2-diag-1", "C2-diag-2", "C2-anti-0", "C2-anti-1", "C2-anti-2", "inversion",
    "C3-0", "C3-1", "C3-2", "C3-3", "C4-0", "C4-1", "C4-2", "D2-0", "D2-1", "D2-2", "D2-diag-0", "D2-diag-1", "D2-diag-2",
    "D4-0", "D4-1", "D4-2", "T", "Td", "Th", "O", "Oh",
];

/// The group of a name of these lists in lower case; `None` for C_N, D_N and the solids, which [`super::parse`] knows.
pub(super) fn array_group(lower: &str) -> Option<Result<MatrixGroup>> {
    let name = PLANAR.iter().chain(&SPATIAL).find(|name| name.to_lowercase() == lower)?;
    let generators = match name.rsplit_once('-') {
        None if *name == "inversion" => vec![-Mat::<f64>::identity(3, 3)],
        None => return None,
        Some(("flip", axis)) if axis.parse::<usize>().is_ok() => vec![mirror(axis.parse().ok()?)],
        Some(("C3", diagonal)) => vec![turn_about_diagonal(diagonal.parse().ok()?)],
        Some((planar, axis)) => match (axis.parse(), planar) {
            (Err(_), _) => planar_generators(name)?,
            (Ok(axis), "C2-diag" | "C2-anti") => {
                let flip = planar_generators(&planar.replace("C2", "flip"))?;
                vec![in_plane(&flip[0], axis) * mirror(axis)]
            }
            (Ok(axis), _) => planar_generators(planar)?.iter().map(|m| in_plane(m, axis)).collect(),
        },
    };
    Some(MatrixGroup::new(&generators).map(|mut group| {
        group.name = (*name).into();
        group
    }))
}

/// Generators on (x, y) = (column, row).
fn planar_generators(name: &str) -> Option<Vec<Mat<f64>>> {
    let matrix = |m: [[f64; 2]; 2]| Mat::from_fn(2, 2, |i, j| m[i][j]);
    let of_polygon = |group: Result<Polygon>| {
        let group = group.ok()?;
        group.generators().iter().map(|g| group.point_matrix(g)).collect()
    };
    Some(match name {
        "flip-ud" => vec![matrix([[1.0, 0.0], [0.0, -1.0]])],
        "flip-diag" => vec![matrix([[0.0, 1.0], [1.0, 0.0]])],
        "flip-anti" => vec![matrix([[0.0, -1.0], [-1.0, 0.0]])],
        "D2-diag" => [planar_generators("flip-diag")?, planar_generators("flip-anti")?].concat(),
        "C2" | "C4" => return of_polygon(Polygon::cyclic(name[1..].parse().ok()?)),
        "D2" | "D4" => return of_polygon(Polygon::dihedral(name[1..].parse().ok()?)),
        _ => return None,
    })
}

/// −1 on the coordinate of an array axis: axis 0 is z.
fn mirror(axis: usize) -> Mat<f64> {
    Mat::from_fn(3, 3, |i, j| if i != j { 0.0 } else { [1.0, -1.0][usize::from(i == 2 - axis)] })
}

/// A matrix on (column, row) of the plane of the two other axes.
fn in_plane(matrix: &Mat<f64>, axis: usize) -> Mat<f64> {
    // Coordinates of the later and of the earlier axis.
    let plane: Vec<usize> = (0..3).filter(|&coordinate| coordinate != 2 - axis).collect();
    Mat::from_fn(3, 3, |i, j| match (plane.iter().position(|&c| c == i), plane.iter().position(|&c| c == j)) {
        (Some(i), Some(j)) => matrix[(i, j)],
        _ => f64::from(u8::from(i == j)),
    })
}

/// x → y → z → x with the signs of diagonal 0: (1, 1, 1), 1: (−1, 1, 1), 2: (1, −1, 1), 3: (1, 1, −1).
fn turn_about_diagonal(diagonal: usize) -> Mat<f64> {
    let sign = |i: usize| if diagonal == i + 1 { -1.0 } else { 1.0 };
    Mat::from_fn(3, 3, |i, j| if (j + 1) % 3 == i { sign(i) * sign(j) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::super::{Element, elements, parse, subgroup};
    use super::*;
    use crate::rep::Grid;

    /// Where the points of a 3 × 3 or 3 × 3 × 3 array come from under the last generator.
    fn moved(name: &str) -> Vec<u32> {
        let group = parse(name).unwrap();
        let g = group.generators().pop().unwrap();
        let dims = group.point_matrix(&g).unwrap().nrows();
        Grid::new(&group, 3, dims).unwrap().permutation(&g)
    }

    #[test]
    fn planar_mirrors_do_to_an_array_what_their_names_say() {
        assert_eq!(moved("flip"), [2, 1, 0, 5, 4, 3, 8, 7, 6]);
        assert_eq!(moved("flip-ud"), [6, 7, 8, 3, 4, 5, 0, 1, 2]);
        assert_eq!(moved("flip-diag"), [0, 3, 6, 1, 4, 7, 2, 5, 8]);
        assert_eq!(moved("flip-anti"), [8, 5, 2, 7, 4, 1, 6, 3, 0]);
    }

    #[test]
    fn spatial_groups_act_on_the_axes_that_they_name() {
        let at = |z: u32, y: u32, x: u32| (z * 9 + y * 3 + x) as usize;
        assert_eq!(moved("flip-0")[at(0, 1, 2)] as usize, at(2, 1, 2));
        assert_eq!(moved("flip-2")[at(0, 1, 2)] as usize, at(0, 1, 0));
        assert_eq!(moved("C2-1")[at(0, 1, 2)] as usize, at(2, 1, 0));
        assert_eq!(moved("flip-diag-0")[at(0, 1, 2)] as usize, at(0, 2, 1));
        assert_eq!(moved("C2-diag-0")[at(0, 1, 2)] as usize, at(2, 2, 1));
        assert_eq!(moved("inversion")[at(0, 1, 2)] as usize, at(2, 1, 0));
    }

    #[test]
    fn every_name_is_a_subgroup_of_the_largest_and_all_of_prime_order_are_there() {
        for (largest, names, primes) in [("D4", &PLANAR[..], 5), ("Oh", &SPATIAL[..], 23)] {
            let whole = parse(largest).unwrap();
            let mut cyclic: Vec<Vec<u128>> = Vec::new();
            for name in names {
                let inclusion = subgroup(&whole, name).unwrap();
                let source = inclusion.source();
                assert_eq!((parse(&source.name()).unwrap().name(), source.name().as_str()), (source.name(), *name));
                let mut image: Vec<u128> =
                    elements(source.as_ref()).unwrap().iter().map(|h| inclusion.apply(h).index()).collect();
                image.sort_unstable();
                assert!(!cyclic.contains(&image), "{name}");
                cyclic.push(image);
            }
            let prime = |order: usize| order == 2 || order == 3;
            assert_eq!(cyclic.iter().filter(|image| prime(image.len())).count(), primes);
            let power = |g: u128, n: usize| {
                let g = Element::Finite(g);
                (1..n).fold(g.clone(), |product, _| whole.multiply(&product, &g)).index()
            };
            let of_order = |n: usize| (1..whole.order().unwrap()).filter(|&g| power(g, n) == 0).count();
            assert_eq!(of_order(2) + of_order(3) / 2, primes);
        }
    }
}
