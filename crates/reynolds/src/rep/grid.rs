//! Kernel grids: the action of a point group on the points of an array with one to three axes.
//!
//! ```text
//! (ρ(g)f)(x) = f(g⁻¹x)        x = offset from the centre, (x, y) = (column, row), z the first of three axes
//! ```

use faer::Mat;

use super::{Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};

/// An array of points about its centre, with one to three axes, on which a group acts by moving them.
#[derive(Debug, Clone)]
pub struct Grid {
    group: GroupRef,
    shape: Vec<usize>,
}

impl Grid {
    /// The grid of `side` points in each of `dims` directions: see [`Grid::of_shape`].
    pub fn new(group: &GroupRef, side: usize, dims: usize) -> Result<Self> {
        if !matches!(dims, 1..=3) {
            return Err(Error::range("dimensions of a grid", "1 to 3", dims));
        }
        Self::of_shape(group, &vec![side; dims])
    }

    /// The grid of an array with one to three axes of 1 to 1024 points. One axis is a row of an image, so that mirrors and half turns reverse
    /// it; Z_n shifts a row of n points on a circle. [`Error::NoAction`] if an element does not map the grid to itself.
    pub fn of_shape(group: &GroupRef, shape: &[usize]) -> Result<Self> {
        if !matches!(shape.len(), 1..=3) {
            return Err(Error::range("dimensions of a grid", "1 to 3", shape.len()));
        }
        if let Some(side) = shape.iter().find(|side| !(1..=1024).contains(*side)) {
            return Err(Error::range("side of a grid", "1 to 1024", side));
        }
        let grid = Self { group: group.clone(), shape: shape.to_vec() };
        let e = group.identity();
        let fail = |reason: String| Err(Error::no_action(group.name(), format!("{} grid", grid.sides()), reason));
        let shifted = group.point_permutation(&e).filter(|points| shape.len() == 1 && points.len() == shape[0]);
        if shifted.is_some() {
            return Ok(grid);
        }
        let Some(identity) = group.point_matrix(&e) else {
            return fail("its elements are no rotations or reflections of space".into());
        };
        let space = identity.nrows();
        if space > shape.len().max(2) {
            return fail(format!("it moves {space} coordinates"));
        }
        if grid.points() == 1 {
            return Ok(grid);
        }
        if group.order().is_none() {
            return fail("only a band-limited basis exists for a continuous group".into());
        }
        let sides = grid.padded();
        for g in group.generators() {
            let matrix = group.point_matrix(&g);
            let Some(moved) = matrix.and_then(|matrix| SignedPermutation::from_matrix(&matrix)) else {
                return fail("some elements do not map grid points to grid points".into());
            };
            if moved.image.iter().enumerate().any(|(from, &to)| sides[from] != sides[to as usize]) {
                return fail("its elements exchange axes of different length".into());
            }
        }
        Ok(grid)
    }

    /// Sides along x, y and z; 1 where there is no such axis.
    fn padded(&self) -> [usize; 3] {
        std::array::from_fn(|coordinate| self.shape.iter().rev().nth(coordinate).copied().unwrap_or(1))
    }

    /// "3x3".
    fn sides(&self) -> String {
        self.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
    }

    /// k of a grid with equal sides; `None` of any other.
    pub fn side(&self) -> Option<usize> {
        self.shape.iter().all(|side| *side == self.shape[0]).then_some(self.shape[0])
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.shape.len()
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.shape.iter().product()
    }

    /// `[k]`, `[k, k]` or `[k, k, k]`.
    pub fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    /// Where each point goes under g, in row-major order. A planar group turns each slice of a cubic grid about z.
    pub fn permutation(&self, g: &Element) -> Vec<u32> {
        let sides = self.padded();
        if self.points() == 1 {
            return vec![0];
        }
        let Some(matrix) = self.group.point_matrix(g) else {
            return self.group.point_permutation(g).expect("checked when it was made");
        };
        let space = matrix.nrows();
        (0..self.points())
            .map(|point| {
                // Twice the offset from the centre keeps even sides integral.
                let mut offset = [0.0; 3];
                let mut rest = point;
                for (coordinate, side) in offset.iter_mut().zip(sides) {
                    *coordinate = 2.0 * (rest % side) as f64 - (side as f64 - 1.0);
                    rest /= side;
                }
                let turned = |i: usize| -> f64 { (0..space).map(|j| matrix[(i, j)] * offset[j]).sum() };
                let mut to = 0;
                for i in (0..3).rev() {
                    let coordinate = if i < space { turned(i) } else { offset[i] };
                    to = to * sides[i] + ((coordinate + sides[i] as f64 - 1.0) / 2.0).round() as usize;
                }
                to as u32
            })
            .collect()
    }
}

impl Representation for Grid {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.points()
    }
    fn label(&self) -> String {
        format!("grid({})", self.sides())
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        SignedPermutation::unsigned(self.permutation(g)).to_matrix()
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        Some(SignedPermutation::unsigned(self.permutation(g)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::parse;

    #[test]
    fn generator_of_c4_is_numpy_rot90() {
        let grid = Grid::new(&parse("C4").unwrap(), 3, 2).unwrap();
        let image = grid.permutation(&Element::Finite(1));
        let mut turned = [0; 9];
        for (from, &to) in image.iter().enumerate() {
            turned[to as usize] = from;
        }
        // numpy.rot90(numpy.arange(9).reshape(3, 3))
        assert_eq!(turned, [2, 5, 8, 1, 4, 7, 0, 3, 6]);
    }

    #[test]
    fn flip_of_d4_reverses_the_last_axis() {
        let grid = Grid::new(&parse("D4").unwrap(), 2, 2).unwrap();
        assert_eq!(grid.permutation(&Element::Finite(4)), [1, 0, 3, 2]);
    }

    #[test]
    fn groups_that_do_not_fit_the_grid_are_refused() {
        for (name, dims) in [("C8", 2), ("SO2", 2), ("Oh", 2), ("S4", 2), ("I", 3), ("SO3", 3)] {
            let error = Grid::new(&parse(name).unwrap(), 3, dims).unwrap_err();
            assert!(matches!(error, Error::NoAction { .. }), "{name}: {error}");
        }
        for (name, shape) in
            [("C4", vec![0, 0]), ("C4", vec![3, 5]), ("D2-diag", vec![3, 5]), ("Z5", vec![4]), ("C3-0", vec![3, 3, 1])]
        {
            assert!(Grid::of_shape(&parse(name).unwrap(), &shape).is_err(), "{name} {shape:?}");
        }
    }

    #[test]
    fn rows_and_rectangles_are_reversed_and_rings_shifted() {
        for (name, shape, image) in [
            ("flip", vec![3], vec![2, 1, 0]),
            ("flip-ud", vec![3], vec![0, 1, 2]),
            ("C2", vec![3], vec![2, 1, 0]),
            ("Z3", vec![3], vec![1, 2, 0]),
            ("C2", vec![2, 3], vec![5, 4, 3, 2, 1, 0]),
            ("flip-ud", vec![2, 3], vec![3, 4, 5, 0, 1, 2]),
            ("flip-1", vec![1, 2, 2], vec![2, 3, 0, 1]),
        ] {
            let group = parse(name).unwrap();
            let g = group.generators().remove(0);
            assert_eq!(Grid::of_shape(&group, &shape).unwrap().permutation(&g), image, "{name} {shape:?}");
        }
    }
}
