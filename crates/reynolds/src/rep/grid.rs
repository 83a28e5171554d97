//! Kernel grids: the action of a point group on the points of a k×k or k×k×k array.
//!
//! ```text
//! (ρ(g)f)(x) = f(g⁻¹x)        x = offset from the centre, (x, y) = (column, row), z the first of three axes
//! ```

use faer::Mat;

use super::{Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};

/// A square or cubic array of points about its centre, on which a group acts by turning it.
#[derive(Debug, Clone)]
pub struct Grid {
    group: GroupRef,
    side: usize,
    dims: usize,
}

impl Grid {
    /// The grid of `side` points (1 to 1024) in each of `dims` (2 or 3) directions. [`Error::NoAction`] if an element does not map
    /// the grid to itself.
    pub fn new(group: &GroupRef, side: usize, dims: usize) -> Result<Self> {
        if !matches!(dims, 2 | 3) {
            return Err(Error::range("dimensions of a grid", "2 or 3", dims));
        }
        if side == 0 || side > 1024 {
            return Err(Error::range("side of a grid", "1 to 1024", side));
        }
        let fail = |reason: String| {
            let target = vec![side.to_string(); dims].join("x") + " grid";
            Err(Error::no_action(group.name(), target, reason))
        };
        let Some(identity) = group.point_matrix(&group.identity()) else {
            return fail("it is not given by matrices".into());
        };
        let space = identity.nrows();
        if space > dims {
            return fail(format!("it moves {space} coordinates"));
        }
        if side > 1 {
            if group.order().is_none() {
                return fail("only a band-limited basis exists for a continuous group".into());
            }
            let exact =
                |g: &Element| group.point_matrix(g).is_some_and(|m| SignedPermutation::from_matrix(&m).is_some());
            if !group.generators().iter().all(exact) {
                return fail("some elements do not map grid points to grid points".into());
            }
        }
        Ok(Self { group: group.clone(), side, dims })
    }

    /// k.
    pub fn side(&self) -> usize {
        self.side
    }

    /// 2 or 3.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// k² or k³.
    pub fn points(&self) -> usize {
        self.side.pow(self.dims as u32)
    }

    /// `[k, k]` or `[k, k, k]`.
    pub fn shape(&self) -> Vec<usize> {
        vec![self.side; self.dims]
    }

    /// Where each point goes under g, in row-major order. A planar group turns each slice of a cubic grid about z.
    pub fn permutation(&self, g: &Element) -> Vec<u32> {
        let (side, dims) = (self.side, self.dims);
        if side == 1 {
            return vec![0];
        }
        let matrix = self.group.point_matrix(g).expect("checked when it was made");
        let space = matrix.nrows();
        // Twice the offset from the centre keeps even sides integral.
        let centre = side as f64 - 1.0;
        (0..self.points())
            .map(|point| {
                let mut offset = [0.0; 3];
                let mut rest = point;
                for coordinate in offset.iter_mut().take(dims) {
                    *coordinate = 2.0 * (rest % side) as f64 - centre;
                    rest /= side;
                }
                let turned = |i: usize| -> f64 { (0..space).map(|j| matrix[(i, j)] * offset[j]).sum() };
                let mut to = 0;
                for i in (0..dims).rev() {
                    let coordinate = if i < space { turned(i) } else { offset[i] };
                    to = to * side + ((coordinate + centre) / 2.0).round() as usize;
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
        format!("grid({})", vec![self.side.to_string(); self.dims].join("x"))
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
        assert!(Grid::new(&parse("C4").unwrap(), 0, 2).is_err());
    }
}
