//! Which orbits of which layer each block takes where energies or factors are those of a layer.

use tch::{Kind, Tensor};

use super::table::Table;
use crate::device::upload;
use crate::error::Result;

/// Every block takes orbits of one size and one layer. Their energies have a slot each, those of one layer one after the other.
#[derive(Debug)]
pub(super) struct Shares {
    /// First orbit, end, layer and slot of each share, those of a run of the table together (int32).
    pub(super) records: Tensor,
    /// How many shares each run has.
    pub(super) counts: Vec<u32>,
    /// Where the slots of each layer end, `[layers]` (int32).
    pub(super) ends: Tensor,
}

impl Shares {
    /// Numbers of a record.
    pub(super) const RECORD: usize = 4;

    /// Of layers that end at these places of the flat tensors, about `most` shares and a few for each layer. Shares but the last of a layer
    /// are multiples of `threads` orbits.
    pub(super) fn new(table: &Table, layer_ends: &[usize], threads: u32, most: u32) -> Result<Self> {
        let device = table.members.device();
        let boundaries: Vec<i64> = layer_ends.iter().map(|&end| end as i64).collect();
        let boundaries = upload(&boundaries, Kind::Int, device)?;
        let orbits: usize = table.runs.iter().map(|run| run.count as usize).sum();
        let length = (orbits / most as usize + 1).next_multiple_of(threads as usize) as i64;
        let mut shares: Vec<Vec<[i64; 3]>> = Vec::with_capacity(table.runs.len());
        let mut ends = vec![0_i32; layer_ends.len()];
        for run in &table.runs {
            let first_members = table.members.f_narrow(0, run.start as i64, run.count.into())?;
            let places = first_members.f_maximum(&first_members.f_bitwise_not()?)?;
            let layers = places.f_bucketize(&boundaries, true, true)?;
            let [before, after] = [0, 1].map(|start| layers.f_narrow(0, start, i64::from(run.count) - 1));
            assert!(bool::try_from(before?.f_le_tensor(&after?)?.f_all()?)?, "orbits of one size come layer by layer");
            let counts = Vec::<i64>::try_from(layers.f_bincount(None::<&Tensor>, layer_ends.len() as i64)?)?;
            let (mut start, mut of_run) = (0, vec![]);
            for (layer, count) in counts.into_iter().enumerate() {
                let end = start + count;
                of_run.extend((start..end).step_by(length as usize).map(|at| [at, end.min(at + length), layer as i64]));
                ends[layer] += count.div_euclid(length) as i32 + i32::from(count % length > 0);
                start = end;
            }
            shares.push(of_run);
        }
        let mut all = 0;
        let first_slot = |end: &mut i32| {
            let first = all;
            all += *end;
            *end = all;
            first
        };
        let mut slots: Vec<i32> = ends.iter_mut().map(first_slot).collect();
        let record = |&[first, end, layer]: &[i64; 3]| {
            let slot = &mut slots[layer as usize];
            *slot += 1;
            [first as i32, end as i32, layer as i32, *slot - 1]
        };
        let records: Vec<i32> = shares.iter().flatten().flat_map(record).collect();
        Ok(Self {
            records: upload(&records, Kind::Int, device)?,
            counts: shares.iter().map(|of_run| of_run.len() as u32).collect(),
            ends: upload(&ends, Kind::Int, device)?,
        })
    }

    /// All of them.
    pub(super) fn len(&self) -> u32 {
        self.counts.iter().sum()
    }
}
