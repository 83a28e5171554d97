//! Fields that quarter turns act on.
//!
//! ```text
//! a turn by +90°:  (x, y) → (−y, x)      rows grow with y, so an array A becomes rot90(A, −1)
//!   vector   (v_x, v_y) → (−v_y, v_x)
//!   regular  channel n → n + 1 mod 4
//! ```
//!
//! The core counts quarter turns the other way, r = rot90(+1): +90° here is r⁻¹ there, and r moves channel n to n − 1.

use super::*;
use faer::Mat;
use reynolds::group;
#[cfg(test)]
use reynolds::projection::KernelSpace;
#[cfg(test)]
use reynolds::rep::Grid;
use reynolds::rep::{self, Rep};

/// Side of every kernel.
pub(crate) const SIDE: usize = 3;
/// Positions of a kernel.
pub(crate) const POSITIONS: usize = SIDE * SIDE;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// ρ₁: a vector of the plane, two channels.
    Vector,
    /// One channel for each quarter turn.
    Regular,
}

impl Field {
    pub(crate) fn dim(self) -> usize {
        match self {
            Self::Vector => 2,
            Self::Regular => 4,
        }
    }

    pub(crate) fn rep(self) -> Result<Rep> {
        let c4 = group::parse("C4")?;
        Ok(match self {
            Self::Vector => rep::point(&c4)?,
            Self::Regular => {
                let back = |turns: usize| Mat::from_fn(4, 4, |to, from| f64::from((to + turns) % 4 == from));
                rep::tabulated(&c4, "regular by turns of smoke", (0..4).map(back).collect())?
            }
        })
    }
}

/// Copies of a field.
pub(crate) type Fields = (usize, Field);

#[cfg(test)]
pub(crate) fn kernel_space(domain: Fields, codomain: Fields) -> Result<KernelSpace> {
    let c4 = group::parse("C4")?;
    let fields = |(count, field): Fields| -> Result<Rep> { Ok(rep::sum(&c4, &[(count, field.rep()?)])?) };
    Ok(KernelSpace::kernel(&fields(domain)?, &fields(codomain)?, &Grid::new(&c4, SIDE, 2)?)?)
}

/// The position of a kernel, in row-major order, to which a turn by +90° takes another.
pub(crate) fn turned_position(position: usize) -> usize {
    let (row, column) = (position / SIDE, position % SIDE);
    column * SIDE + (SIDE - 1 - row)
}
