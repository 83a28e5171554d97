//! Gather, average or multiply, gather back.

use tch::Tensor;

use super::lists::Lists;
use crate::error::Result;

/// Orbits by their size and tiles by their kind, of all layers.
#[derive(Debug)]
pub(crate) struct Gather {
    /// Indices of the gathered numbers, orbits before tiles, `[members]` (int32), and their signs if any is negative.
    pub(super) members: Tensor,
    pub(super) member_signs: Option<Tensor>,
    /// Size and count of the orbits, by size.
    pub(super) orbits: Vec<(i64, i64)>,
    /// The zero for numbers in no orbit and no tile; `None` if there are no such numbers.
    pub(super) zero: Option<Tensor>,
    pub(super) tiles: Vec<TileBasis>,
    pub(super) lists: Option<Lists>,
    /// Index of each number's value, `[len]` (int32), and its sign.
    pub(super) source: Tensor,
    pub(super) signs: Option<Tensor>,
}

/// P on all tiles of one kind.
#[derive(Debug)]
pub(super) struct TileBasis {
    /// Number of tiles, and length of each.
    pub(super) count: i64,
    pub(super) len: i64,
    /// P, or E and Eᵀ where that takes fewer multiplications: a tile `[count, len]` is multiplied by each from the right.
    pub(super) factors: Vec<Tensor>,
}

impl Gather {
    pub(super) fn apply(&self, weights: &Tensor) -> Result<Tensor> {
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
        values.extend(self.zero.as_ref().map(Tensor::shallow_clone));
        for tile in &self.tiles {
            let numbers = gathered.f_narrow(0, start, tile.count * tile.len)?.f_view([tile.count, tile.len])?;
            start += tile.count * tile.len;
            let kept = tile.factors.iter().try_fold(numbers, |numbers, factor| numbers.f_matmul(factor))?;
            values.push(kept.f_view([-1])?);
        }
        if let Some(lists) = &self.lists {
            values.push(lists.apply(weights)?);
        }
        let found = match &values[..] {
            [found] => found.shallow_clone(),
            _ => Tensor::f_cat(&values, 0)?,
        };
        // The memory of what was gathered is as much as the result needs.
        drop((values, gathered));
        let projected = found.f_index_select(0, &self.source)?;
        Ok(match &self.signs {
            Some(signs) => projected.f_mul(signs)?,
            None => projected,
        })
    }

    pub(super) fn operations(&self) -> usize {
        let means = self.orbits.iter().filter(|(size, _)| *size > 1).count();
        let signs = usize::from(self.member_signs.is_some()) + usize::from(self.signs.is_some());
        let lists = self.lists.as_ref().map_or(0, Lists::operations);
        let products: usize = self.tiles.iter().map(|tile| tile.factors.len()).sum();
        let values =
            self.orbits.len() + self.tiles.len() + usize::from(self.zero.is_some()) + usize::from(self.lists.is_some());
        let gathers = if values > 1 { 3 } else { 2 };
        gathers + signs + means + products + lists
    }
}
