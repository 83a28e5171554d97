//! The Reynolds operator on one flat tensor: P of all layers together, in a number of operations that does not grow with the network.
//!
//! ```text
//! gathered = W[members]                     all orbits, those of one size together; then all tiles, those of one kind together
//! values   = (mean of each orbit | 0 | tile · E · Eᵀ of each kind)
//! P(W)     = ε · values[source]             one source for each number of W
//! ```
//!
//! Two gathers, one reduction for each size of orbit, and for the tiles two products a kind or, on a GPU, weighted lists ([`TileProducts`]).
//! Nothing is scattered, so the result does not depend on the order of threads. Everything is real: a complex weight is the pair (re, im).

mod assembly;
mod lists;

pub(crate) use assembly::Assembly;
use lists::Lists;
use tch::{Device, Kind, Tensor};

use crate::error::Result;

/// How tiles that are no orbits are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileProducts {
    /// Two products for each kind of tile: the fewest numbers are moved, which is what counts on a CPU.
    PerKind,
    /// All kinds at once, as lists of the numbers of E that are not zero: the fewest operations, which is what counts on a GPU. Kinds
    /// with a dense E are multiplied all the same.
    Lists,
}

impl TileProducts {
    /// What suits a device.
    pub fn on(device: Device) -> Self {
        if device.is_cuda() { Self::Lists } else { Self::PerKind }
    }
}

/// P on a flat tensor `[len]` of real numbers.
#[derive(Debug)]
pub(crate) enum FlatProjector {
    /// Every number is kept or dropped, `[len]` of ones and zeros.
    Mask(Tensor),
    /// Anything else.
    Gather(Gather),
}

#[derive(Debug)]
pub(crate) struct Gather {
    /// Which numbers take part, orbits before tiles, `[members]` (int32), and their signs where there is a minus.
    members: Tensor,
    member_signs: Option<Tensor>,
    /// Size and number of orbits.
    orbits: Vec<(i64, i64)>,
    zero: Tensor,
    tiles: Vec<TileBasis>,
    lists: Option<Lists>,
    /// Which value each number takes, `[len]` (int32), and its sign.
    source: Tensor,
    signs: Option<Tensor>,
}

/// P on all tiles of one kind.
#[derive(Debug)]
struct TileBasis {
    /// Number of tiles, and numbers in each.
    count: i64,
    len: i64,
    product: Product,
}

/// How a kind of tile `[count, len]` is projected.
#[derive(Debug)]
enum Product {
    /// X·P.
    Square(Tensor),
    /// (X·E)·Eᵀ, where that takes fewer multiplications.
    Thin(Tensor),
}

impl FlatProjector {
    /// P(w), `[len]`.
    pub(crate) fn apply(&self, weights: &Tensor) -> Result<Tensor> {
        match self {
            Self::Mask(mask) => Ok(weights.f_mul(mask)?),
            Self::Gather(gather) => gather.apply(weights),
        }
    }

    /// Operations on the device that one application takes.
    pub(crate) fn operations(&self) -> usize {
        match self {
            Self::Mask(_) => 1,
            Self::Gather(gather) => gather.operations(),
        }
    }
}

impl Gather {
    fn apply(&self, weights: &Tensor) -> Result<Tensor> {
        let mut gathered = weights.f_index_select(0, &self.members)?;
        if let Some(signs) = &self.member_signs {
            gathered = gathered.f_mul(signs)?;
        }
        let mut values = Vec::with_capacity(self.orbits.len() + self.tiles.len() + 1);
        let mut start = 0;
        for &(size, count) in &self.orbits {
            let members = gathered.f_narrow(0, start, size * count)?;
            start += size * count;
            values.push(match size {
                1 => members,
                _ => members.f_view([size, count])?.f_mean_dim(0, false, None)?,
            });
        }
        values.push(self.zero.shallow_clone());
        for tile in &self.tiles {
            let numbers = gathered.f_narrow(0, start, tile.count * tile.len)?.f_view([tile.count, tile.len])?;
            start += tile.count * tile.len;
            let kept = match &tile.product {
                Product::Square(p) => numbers.f_matmul(p)?,
                Product::Thin(e) => numbers.f_matmul(e)?.f_matmul(&e.f_transpose(0, 1)?)?,
            };
            values.push(kept.f_view([-1])?);
        }
        if let Some(lists) = &self.lists {
            values.push(lists.apply(weights, &self.zero)?);
        }
        let values = Tensor::f_cat(&values, 0)?.f_index_select(0, &self.source)?;
        Ok(match &self.signs {
            Some(signs) => values.f_mul(signs)?,
            None => values,
        })
    }

    fn operations(&self) -> usize {
        let means = self.orbits.iter().filter(|(size, _)| *size > 1).count();
        let product = |tile: &TileBasis| if matches!(tile.product, Product::Square(_)) { 1 } else { 2 };
        let signs = usize::from(self.member_signs.is_some()) + usize::from(self.signs.is_some());
        let lists = self.lists.as_ref().map_or(0, Lists::operations);
        3 + signs + means + self.tiles.iter().map(product).sum::<usize>() + lists
    }
}

/// Values of the host on a device.
fn upload<T: tch::kind::Element>(values: &[T], kind: Kind, device: Device) -> Result<Tensor> {
    Ok(Tensor::f_from_slice(values)?.f_to_device(device)?.f_to_kind(kind)?)
}
