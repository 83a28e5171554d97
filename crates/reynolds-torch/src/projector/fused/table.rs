//! The orbits or tiles of all layers as the kernels read them.

use reynolds_cuda::{Run, Unit};
use tch::{Kind, Tensor};

use crate::device::upload;
use crate::error::Result;
use crate::projector::FlatProjector;
use crate::projector::gather::Gather;
use crate::projector::tiles::Tiles;

/// The longest orbit: one thread takes all its members.
const LONGEST: i64 = 128;
/// The most orbit sizes: each is a program, and a launch.
const SIZES: usize = 16;

/// The members of all orbits, by size; or tiles.
#[derive(Debug)]
pub(super) struct Table {
    /// Length of the flat tensors that the members index.
    pub(super) len: usize,
    /// Indices of the members, orbits of one size together, the first member of each before the second of any (int32); ~i for a negative sign. No
    /// index occurs twice. Of tiles, their table.
    pub(super) members: Tensor,
    /// The entries of the E of tiles.
    pub(super) values: Vec<f64>,
    pub(super) runs: Vec<Run>,
    /// The first member of each orbit or tile, run by run.
    pub(super) firsts: Vec<Vec<i32>>,
}

impl Table {
    /// P on numbers that have the indices `in_flat` in flat tensors `[len]`; `None` if it neither averages short orbits nor has tiles.
    pub(super) fn new(
        projector: &FlatProjector,
        len: usize,
        in_flat: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Option<Self>> {
        let places = |mask: &Tensor| -> Result<Tensor> { Ok(mask.f_nonzero()?.f_view([-1])?.f_to_kind(Kind::Int)?) };
        let Ok(most) = i32::try_from(len) else { return Ok(None) };
        let (members, mut sizes, dead) = match projector {
            FlatProjector::Band(band) => match &band.tiles {
                Some((firsts, tiles)) => return Self::of_tiles(&in_flat(firsts)?, tiles, len).map(Some),
                None => return Ok(None),
            },
            FlatProjector::Mask(mask) => {
                let kept = places(mask)?;
                (in_flat(&kept)?, vec![(1, kept.size()[0])], places(&mask.f_eq(0.0)?)?)
            }
            FlatProjector::Gather(gather) if is_short(gather) => {
                let members = with_signs(&in_flat(&gather.members)?, gather.member_signs.as_ref())?;
                let zero: i64 = gather.orbits.iter().map(|(_, count)| count).sum();
                (members, gather.orbits.clone(), places(&gather.source.f_eq(zero)?)?)
            }
            _ => return Ok(None),
        };
        sizes.push((0, dead.size()[0]));
        let members = if dead.size()[0] == 0 { members } else { Tensor::f_cat(&[members, in_flat(&dead)?], 0)? };
        let places = members.f_maximum(&members.f_bitwise_not()?)?;
        assert!(bool::try_from(places.f_lt(i64::from(most))?.f_all()?)?, "members are numbers of the flat tensor");
        let runs = runs(&sizes);
        let all: i64 = sizes.iter().map(|(size, count)| size.max(&1) * count).sum();
        assert_eq!(members.size(), [all], "as many members as the orbits have");
        // Two threads must not add to one number.
        let taken = Tensor::f_zeros([len as i64], (Kind::Bool, members.device()))?;
        let taken = taken.f_index_fill(0, &places.f_to_kind(Kind::Int64)?, 1)?.f_sum(Kind::Int64)?;
        assert_eq!(i64::try_from(taken)?, all, "no number in two orbits");
        let firsts = |run: &Run| -> Result<Vec<i32>> {
            Ok(Vec::try_from(members.f_narrow(0, run.start as i64, run.count.into())?)?)
        };
        let firsts = runs.iter().map(firsts).collect::<Result<_>>()?;
        Ok((!runs.is_empty()).then_some(Self { len, members, values: vec![], runs, firsts }))
    }

    /// Tiles whose first numbers are these.
    fn of_tiles(firsts: &Tensor, tiles: &Tiles, len: usize) -> Result<Self> {
        let (device, firsts) = (firsts.device(), Vec::<i32>::try_from(firsts)?);
        let (table, values) = tiles.table(&firsts, len);
        let [numbers, columns] = tiles.most();
        let run = Run { unit: Unit::Tile { numbers, columns }, count: firsts.len() as i32, start: 0 };
        let members = upload(&table, Kind::Int, device)?;
        Ok(Self { len, members, values, runs: vec![run], firsts: vec![firsts] })
    }
}

/// Whether P averages short orbits of few sizes and does nothing else.
fn is_short(gather: &Gather) -> bool {
    let orbits = &gather.orbits;
    let short = orbits.len() < SIZES && orbits.iter().all(|&(size, _)| size <= LONGEST);
    short && gather.tiles.is_empty() && gather.lists.is_none()
}

/// ~i for members whose sign is a minus.
fn with_signs(members: &Tensor, signs: Option<&Tensor>) -> Result<Tensor> {
    match signs {
        Some(signs) => Ok(members.f_bitwise_not()?.f_where_self(&signs.f_lt(0.0)?, members)?),
        None => Ok(members.shallow_clone()),
    }
}

/// Runs of the orbits by size and count, without empty ones.
fn runs(sizes: &[(i64, i64)]) -> Vec<Run> {
    let mut start = 0;
    let run = |&(size, count): &(i64, i64)| {
        let first = start;
        start += (size.max(1) * count) as usize;
        Run { unit: Unit::Orbit(size as usize), count: count as i32, start: first }
    };
    sizes.iter().filter(|(_, count)| *count > 0).map(run).collect()
}
