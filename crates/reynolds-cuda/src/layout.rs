//! The sizes of launches, and which orbits or tiles of which layer each block takes where energies or factors are those of a layer.

use std::ops::Range;

/// What P acts on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Orbits of so many numbers, which P averages; 0: single numbers that P sets to 0.
    Orbit(usize),
    /// Tiles, each with a sparse E.
    Tile {
        /// The most numbers of one.
        numbers: usize,
        /// The most columns of an E.
        columns: usize,
    },
}

/// Orbits of one size, or tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// What they are.
    pub unit: Unit,
    /// How many there are.
    pub count: i32,
    /// Index of the first member among all members; that of the table of tiles.
    pub start: usize,
}

/// The sizes of launches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Threads of a block that takes an orbit a thread.
    pub(crate) threads: u32,
    /// Blocks of a launch that measures the penalty, at most: enough for any GPU, few to add up.
    pub(crate) measuring: u32,
    /// About how many shares there are of all layers together.
    pub(crate) shares: u32,
}

impl Grid {
    pub(crate) const GPU: Self =
        Self { threads: crate::program::threads(Unit::Orbit(0)), measuring: 1024, shares: 4096 };

    /// How many a block takes at a time.
    fn at_once(self, run: &Run) -> u32 {
        if matches!(run.unit, Unit::Orbit(_)) { self.threads } else { 1 }
    }

    pub(crate) fn blocks(self, run: &Run) -> u32 {
        run.count.unsigned_abs().div_ceil(self.at_once(run))
    }

    pub(crate) fn measuring(self, run: &Run) -> u32 {
        self.blocks(run).min(self.measuring)
    }
}

/// Orbits or tiles of several layers, and how launches share them.
///
/// Every block of a share takes orbits of one size, or tiles, of one layer. Their energies have a slot each, those of one layer one after the other.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(crate) grid: Grid,
    pub(crate) runs: Vec<Run>,
    records: Vec<i32>,
    /// How many shares each run has.
    pub(crate) counts: Vec<u32>,
    ends: Vec<i32>,
}

impl Layout {
    /// Numbers of a record.
    pub(crate) const RECORD: usize = 4;

    /// For `runs` whose orbits have these first members, i or ~i, in flat vectors where each layer ends before one of `layer_ends`.
    ///
    /// # Panics
    /// If the orbits of a run do not come layer by layer.
    pub fn new(runs: Vec<Run>, first_members: &[Vec<i32>], layer_ends: &[usize]) -> Self {
        Self::on(Grid::GPU, runs, first_members, layer_ends)
    }

    /// For `runs` of layers that lie apart, whose members are indices into each: the units of each layer and run, which equal layers share.
    ///
    /// # Panics
    /// If there are more than [`APART`](crate::APART) layers.
    pub fn apart(runs: Vec<Run>, units: &[Vec<(usize, Range<usize>)>], layers: usize) -> Self {
        assert!(layers <= crate::APART, "layers of one launch");
        Self::shared(Grid::GPU, runs, units, layers)
    }

    pub(crate) fn on(grid: Grid, runs: Vec<Run>, first_members: &[Vec<i32>], layer_ends: &[usize]) -> Self {
        let layer_of = |&member: &i32| {
            let place = if member < 0 { !member } else { member };
            layer_ends.partition_point(|&end| end <= place as usize)
        };
        let units = first_members.iter().map(|firsts| {
            let layers: Vec<usize> = firsts.iter().map(layer_of).collect();
            assert!(layers.is_sorted(), "what is of one size comes layer by layer");
            let starts = layers.chunk_by(|a, b| a == b).scan(0, |start, of_layer| {
                *start += of_layer.len();
                Some((of_layer[0], *start - of_layer.len()..*start))
            });
            starts.collect()
        });
        Self::shared(grid, runs, &units.collect::<Vec<_>>(), layer_ends.len())
    }

    /// About `grid.shares` shares and a few for each layer. Shares but the last of a layer are multiples of what a block takes at a time.
    pub(crate) fn shared(grid: Grid, runs: Vec<Run>, units: &[Vec<(usize, Range<usize>)>], layers: usize) -> Self {
        let all: usize = units.iter().flatten().map(|(_, units)| units.len()).sum();
        let mut ends = vec![0_i32; layers];
        let mut shares: Vec<[usize; 3]> = vec![];
        let mut counts = vec![];
        for (run, units) in runs.iter().zip(units) {
            let length = (all / grid.shares as usize + 1).next_multiple_of(grid.at_once(run) as usize);
            let before = shares.len();
            for (layer, units) in units {
                shares.extend(units.clone().step_by(length).map(|at| [at, units.end.min(at + length), *layer]));
                ends[*layer] += units.len().div_ceil(length) as i32;
            }
            counts.push((shares.len() - before) as u32);
        }
        let mut slots: Vec<i32> = vec![];
        let mut all = 0;
        for end in &mut ends {
            slots.push(all);
            all += *end;
            *end = all;
        }
        let record = |[first, end, layer]: [usize; 3]| {
            let slot = &mut slots[layer];
            *slot += 1;
            [first as i32, end as i32, layer as i32, *slot - 1]
        };
        let records = shares.into_iter().flat_map(record).collect();
        Self { grid, runs, records, counts, ends }
    }

    /// First orbit, end, layer and slot of each share, those of a run together: what lies at [`crate::Memory::shares`].
    pub fn shares(&self) -> &[i32] {
        &self.records
    }

    /// Where the slots of each layer end: what lies at [`crate::Memory::slot_ends`].
    pub fn slot_ends(&self) -> &[i32] {
        &self.ends
    }

    /// Pairs of energies that [`crate::Memory::partial`] has room for.
    pub fn partial(&self) -> usize {
        let measuring: u32 = self.runs.iter().map(|run| self.grid.measuring(run)).sum();
        measuring.max(self.counts.iter().sum()) as usize
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.ends.len()
    }

    /// Number of orbits of each size, or of tiles.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_orbit_is_in_one_share_of_its_layer_and_slots_of_a_layer_are_neighbours() {
        let grid = Grid { threads: 2, measuring: 3, shares: 4 };
        // Sizes 3 and 1; the second layer has no orbit of three.
        let orbits = |size, count, start| Run { unit: Unit::Orbit(size), count, start };
        let runs = vec![orbits(3, 7, 0), orbits(1, 3, 21)];
        let firsts = [vec![0, !1, 2, 3, 4, 20, 21], vec![!9, 12, 19]];
        let layout = Layout::on(grid, runs, &firsts, &[10, 20, 40]);
        assert_eq!(layout.counts, [3, 2]);
        // Ten orbits in about four shares: four at a time.
        let expected = [[0, 4, 0, 0], [4, 5, 0, 1], [5, 7, 2, 4], [0, 1, 0, 2], [1, 3, 1, 3]];
        assert_eq!(layout.shares(), expected.concat());
        assert_eq!(layout.slot_ends(), [3, 4, 5]);
        assert_eq!((layout.partial(), layout.layers()), (5, 3));
        // A block takes one tile at a time.
        let tiles = Run { unit: Unit::Tile { numbers: 9, columns: 2 }, count: 5, start: 0 };
        let layout = Layout::on(grid, vec![tiles], &[vec![0, 3, 6, 10, 15]], &[10, 20]);
        assert_eq!(layout.shares(), [[0, 2, 0, 0], [2, 3, 0, 1], [3, 5, 1, 2]].concat());
        assert_eq!((grid.blocks(&tiles), layout.partial()), (5, 3));
    }

    #[test]
    #[should_panic(expected = "layer by layer")]
    fn orbits_in_another_order_are_a_bug_that_is_seen() {
        let _ = Layout::new(vec![Run { unit: Unit::Orbit(1), count: 2, start: 0 }], &[vec![5, 0]], &[3, 6]);
    }
}
