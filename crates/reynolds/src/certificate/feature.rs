//! The spaces between layers: fields, at one point or at every position of a feature map.

use crate::defect::apply;
use crate::error::Result;
use crate::group::{self, Element};
use crate::rep::{Grid, Rep, Representation};

/// V or V ⊗ L²(positions), with its action of G. A value is row-major `[channels, positions]`.
#[derive(Debug, Clone)]
pub struct Feature {
    fields: Rep,
    map: Option<Grid>,
}

impl Feature {
    /// Fields at one point.
    pub fn vector(fields: &Rep) -> Self {
        Self { fields: fields.clone(), map: None }
    }

    /// Fields at every position of a square or cubic map, which G turns about its centre.
    ///
    /// # Errors
    /// [`crate::Error::GroupMismatch`] if the two belong to different groups.
    pub fn map(fields: &Rep, positions: &Grid) -> Result<Self> {
        group::expect_same(fields.group(), Representation::<f64>::group(positions))?;
        Ok(Self { fields: fields.clone(), map: Some(positions.clone()) })
    }

    /// The fields of the channels.
    pub fn fields(&self) -> &Rep {
        &self.fields
    }

    /// The positions, if it is a map.
    pub fn positions(&self) -> Option<&Grid> {
        self.map.as_ref()
    }

    /// Number of positions; 1 for a vector.
    pub fn points(&self) -> usize {
        self.map.as_ref().map_or(1, Grid::points)
    }

    /// Number of coordinates, channels times positions.
    pub fn dim(&self) -> usize {
        self.fields.dim() * self.points()
    }

    /// The same positions with other fields.
    pub(super) fn with_fields(&self, fields: &Rep) -> Self {
        Self { fields: fields.clone(), map: self.map.clone() }
    }

    /// π(g) x, for x of [`Feature::dim`] coordinates.
    pub fn act(&self, g: &Element, x: &[f64]) -> Vec<f64> {
        let (matrix, points) = (self.fields.matrix(g), self.points());
        let Some(grid) = &self.map else { return apply(&matrix, x) };
        let image = grid.permutation(g);
        let mut out = vec![0.0; x.len()];
        for (from, &to) in image.iter().enumerate() {
            for o in 0..matrix.nrows() {
                for i in 0..matrix.ncols() {
                    out[o * points + to as usize] += matrix[(o, i)] * x[i * points + from];
                }
            }
        }
        out
    }
}
