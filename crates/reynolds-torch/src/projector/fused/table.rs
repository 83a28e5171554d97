//! The orbits of all layers as the kernel reads them.

use tch::{Kind, Tensor};

use super::program::MEASURING;
use crate::error::Result;
use crate::projector::gather::Gather;
use crate::projector::{FlatProjector, upload};

/// Members of an orbit at most: a thread takes one after the other.
const LONGEST: i64 = 128;

/// Orbits, and the room that the kernel adds up energies in.
#[derive(Debug)]
pub(super) struct Table {
    /// Numbers of the flat tensors that the members are of.
    pub(super) len: usize,
    /// Orbits and numbers that P makes 0 of.
    pub(super) orbits: i32,
    /// Where numbers lie, orbits of one size together, the first of each before the second of any (int32); ~i for one with a minus.
    pub(super) members: Tensor,
    /// Size, number of orbits, first member and end among the orbits, `[runs, 4]` (int32); size 0 for numbers that P makes 0 of.
    pub(super) runs: Tensor,
    /// Energies of each block, and how many blocks are done.
    pub(super) partial: Tensor,
    pub(super) done: Tensor,
}

impl Table {
    /// Of P on numbers that lie in flat tensors `[len]` where `in_flat` says; `None` if P does more than average short orbits.
    pub(super) fn new(
        projector: &FlatProjector,
        len: usize,
        in_flat: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Option<Self>> {
        let places = |mask: &Tensor| -> Result<Tensor> { Ok(mask.f_nonzero()?.f_view([-1])?.f_to_kind(Kind::Int)?) };
        let (members, mut sizes, dead) = match projector {
            FlatProjector::Mask(mask) => {
                let kept = places(mask)?;
                let count = kept.size()[0];
                (in_flat(&kept)?, vec![(1, count)], places(&mask.f_eq(0.0)?)?)
            }
            FlatProjector::Gather(gather) if is_short(gather) => {
                let members = with_signs(&in_flat(&gather.members)?, gather.member_signs.as_ref())?;
                let zero: i64 = gather.orbits.iter().map(|(_, count)| count).sum();
                (members, gather.orbits.clone(), places(&gather.source.f_eq(zero)?)?)
            }
            FlatProjector::Gather(_) | FlatProjector::Columns(_) | FlatProjector::Band(_) => return Ok(None),
        };
        let (Ok(most), device) = (i32::try_from(len), members.device()) else { return Ok(None) };
        sizes.push((0, dead.size()[0]));
        let members = if dead.size()[0] == 0 { members } else { Tensor::f_cat(&[members, in_flat(&dead)?], 0)? };
        let places = members.f_maximum(&members.f_bitwise_not()?)?;
        assert!(bool::try_from(places.f_lt(i64::from(most))?.f_all()?)?, "members are numbers of the flat tensor");
        let runs = runs(&sizes);
        Ok(Some(Self {
            len,
            orbits: runs.last().map_or(0, |run| run[3]),
            members,
            runs: upload(runs.as_flattened(), Kind::Int, device)?,
            partial: Tensor::f_zeros([2 * i64::from(MEASURING)], (Kind::Double, device))?,
            done: Tensor::f_zeros([1], (Kind::Int, device))?,
        }))
    }
}

/// Whether there are orbits alone, and none is long.
fn is_short(gather: &Gather) -> bool {
    gather.tiles.is_empty() && gather.lists.is_none() && gather.orbits.iter().all(|&(size, _)| size <= LONGEST)
}

/// ~i for members whose sign is a minus.
fn with_signs(members: &Tensor, signs: Option<&Tensor>) -> Result<Tensor> {
    match signs {
        Some(signs) => Ok(members.f_bitwise_not()?.f_where_self(&signs.f_lt(0.0)?, members)?),
        None => Ok(members.shallow_clone()),
    }
}

/// Orbits by their size and number, without those that are none.
fn runs(sizes: &[(i64, i64)]) -> Vec<[i32; 4]> {
    let (mut start, mut end) = (0, 0);
    let run = |&(size, count): &(i64, i64)| {
        let first = start;
        start += size.max(1) * count;
        end += count;
        [size as i32, count as i32, first as i32, end as i32]
    };
    sizes.iter().filter(|(_, count)| *count > 0).map(run).collect()
}
