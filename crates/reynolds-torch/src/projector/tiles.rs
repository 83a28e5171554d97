//! P of band-limited kernels tile by tile, as a kernel reads it: one sparse E for all tiles of a kind.
//!
//! ```text
//! P(w) = E Eᵀ w,   E = (1 ⊗ F) X        w: some rows of a layer's numbers, as far from each other as its channels are
//! ```
//!
//! E has few numbers, as each coupling has one degree and lies on one ring. See kernel.cu for the table.

use std::collections::HashMap;

use reynolds::projection::{Tile, TileKind, TileProjector, Tiling};

/// The most numbers and columns of a tile together, which a block keeps in shared memory: 40 kB in double precision.
const KEPT: usize = 5000;
/// E with more entries than this for each number, over all tiles, is not worth it.
const ENTRIES: usize = 8;
/// Entries below this, beside the largest, are rounding.
const ROUNDING: f64 = 1e-15;

/// A column of E: numbers of the tile, ascending, and its entries there.
type Column = Vec<(i32, f64)>;

/// The tiles of all layers, layer after layer.
#[derive(Debug)]
pub(crate) struct Tiles {
    kinds: Vec<Kind>,
    tiles: Vec<Placed>,
}

#[derive(Debug, PartialEq)]
struct Kind {
    /// Numbers of a row, and of all rows.
    segment: usize,
    numbers: usize,
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Placed {
    kind: usize,
    /// The first number among those of all layers, and the distance of the rows.
    first: i32,
    stride: i32,
}

impl Kind {
    fn entries(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// Where its numbers lie from the first on.
    fn places(&self, stride: i32) -> impl Iterator<Item = usize> + '_ {
        (0..self.numbers).map(move |i| i / self.segment * stride as usize + i % self.segment)
    }

    /// As kernel.cu reads it, and its entries by column and by number, behind those that are there.
    fn push_to(&self, table: &mut Vec<i32>, values: &mut Vec<f64>) {
        let mut by_number: Vec<Column> = vec![vec![]; self.numbers];
        for (column, number) in self.columns.iter().zip(0..) {
            column.iter().for_each(|&(at, entry)| by_number[at as usize].push((number, entry)));
        }
        let (first, entries) = (values.len(), self.entries());
        let sizes = [self.segment, self.numbers, self.columns.len(), first, first + entries];
        table.extend(sizes.map(|size| size as i32));
        for lists in [&self.columns, &by_number] {
            table.extend(lists.iter().scan(0, |end, list| {
                *end += list.len() as i32;
                Some(*end)
            }));
        }
        for (at, entry) in self.columns.iter().chain(&by_number).flatten() {
            table.push(*at);
            values.push(*entry);
        }
    }
}

/// Entries of E with their places, to the last bit.
type Bits = Vec<(i32, u64)>;

impl Tiles {
    /// Those of layers whose numbers follow one another; `None` if a tile is too large, or E too dense.
    pub(super) fn of(layers: &[&Tiling]) -> Option<Self> {
        let (mut start, mut entries) = (0, 0);
        let mut all = Self { kinds: vec![], tiles: vec![] };
        let mut known: HashMap<(usize, Bits), Vec<usize>> = HashMap::new();
        for tiling in layers {
            let mut numbers = vec![];
            for kind in tiling.kinds() {
                let kind = spread(tiling, kind)?;
                let bits = kind.columns.iter().flatten().map(|&(at, entry)| (at, entry.to_bits())).collect();
                let same = known.entry((kind.segment, bits)).or_default();
                let number = same.iter().copied().find(|&number| all.kinds[number] == kind);
                numbers.push(number.unwrap_or_else(|| {
                    same.push(all.kinds.len());
                    all.kinds.push(kind);
                    all.kinds.len() - 1
                }));
            }
            for &tile in tiling.tiles() {
                let (first, stride) = place(tiling, tile);
                let kind = numbers[tile.kind];
                entries += all.kinds[kind].entries();
                all.tiles.push(Placed { kind, first: (start + first) as i32, stride: stride as i32 });
            }
            start += tiling.len();
        }
        (entries <= ENTRIES * start).then_some(all)
    }

    /// The first number of each tile among those of all layers.
    pub(super) fn firsts(&self) -> Vec<i32> {
        self.tiles.iter().map(|tile| tile.first).collect()
    }

    /// The most numbers and columns of a tile; at least 1.
    pub(super) fn most(&self) -> [usize; 2] {
        let most = |of: fn(&Kind) -> usize| self.kinds.iter().map(of).max().unwrap_or(1).max(1);
        [most(|kind| kind.numbers), most(|kind| kind.columns.len())]
    }

    /// The table of kernel.cu and its entries, with first numbers `firsts` in vectors `[len]`.
    pub(super) fn table(&self, firsts: &[i32], len: usize) -> (Vec<i32>, Vec<f64>) {
        let (mut kinds, mut values, mut starts) = (vec![], vec![], vec![]);
        for kind in &self.kinds {
            starts.push((3 * self.tiles.len() + kinds.len()) as i32);
            kind.push_to(&mut kinds, &mut values);
        }
        let mut taken = vec![false; len];
        let mut table = vec![];
        for (tile, &first) in self.tiles.iter().zip(firsts) {
            for place in self.kinds[tile.kind].places(tile.stride) {
                // Two threads must not add to one number.
                let taken = taken.get_mut(first as usize + place).expect("numbers of tiles are in the flat tensor");
                assert!(!std::mem::replace(taken, true), "no number in two tiles");
            }
            table.extend([starts[tile.kind], first, tile.stride]);
        }
        table.extend(kinds);
        (table, values)
    }
}

/// Numbers of a run that functions compress, and how many of those.
fn run(tiling: &Tiling) -> (usize, usize) {
    tiling.functions().map_or((1, 1), |f| (f.nrows(), f.ncols()))
}

/// The first number of a tile in its layer, and the distance of its rows.
fn place(tiling: &Tiling, tile: Tile) -> (usize, usize) {
    let (points, count) = run(tiling);
    let in_numbers = |coordinate: usize| coordinate / count * points;
    let mut rows = tiling.places(tile).step_by(tiling.kinds()[tile.kind].segment).map(in_numbers);
    let first = rows.next().expect("tiles have numbers");
    (first, rows.next().map_or(0, |second| second - first))
}

/// A kind of tile on numbers in place of coordinates; `None` if it is too large.
fn spread(tiling: &Tiling, kind: &TileKind) -> Option<Kind> {
    let (points, count) = run(tiling);
    let (segment, numbers) = (kind.segment / count * points, kind.rows * kind.segment / count * points);
    let rank = match &kind.projector {
        TileProjector::Orbits(orbits) => orbits.len(),
        TileProjector::Basis(x) => x.ncols(),
    };
    if numbers + rank > KEPT {
        return None;
    }
    let spread = |coordinate: usize, entry: f64| {
        let (first, function) = (coordinate / count * points, coordinate % count);
        let value = move |point: usize| tiling.functions().map_or(1.0, |f| f[(point, function)]);
        (0..points).map(move |point| ((first + point) as i32, entry * value(point)))
    };
    let merged = |coordinates: Vec<(usize, f64)>| -> Column {
        let mut column: Column = coordinates.into_iter().flat_map(|(at, entry)| spread(at, entry)).collect();
        // Several functions of one kernel come to one place.
        column.sort_by_key(|&(at, _)| at);
        let sums = column.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.iter().map(|(_, v)| v).sum::<f64>()));
        let sums: Column = sums.collect();
        let largest = sums.iter().fold(0.0_f64, |most, (_, entry)| most.max(entry.abs()));
        sums.into_iter().filter(|(_, entry)| entry.abs() > ROUNDING * largest).collect()
    };
    let columns: Vec<Column> = match &kind.projector {
        TileProjector::Orbits(orbits) => {
            let column = |(members, negative): (&[u32], &[bool])| {
                let share = 1.0 / (members.len() as f64).sqrt();
                let signed = members.iter().zip(negative);
                merged(signed.map(|(&at, &minus)| (at as usize, if minus { -share } else { share })).collect())
            };
            orbits.iter().map(column).collect()
        }
        TileProjector::Basis(x) => {
            let nonzero =
                |column: usize| (0..x.nrows()).map(move |at| (at, x[(at, column)])).filter(|(_, e)| *e != 0.0);
            (0..x.ncols()).map(|column| merged(nonzero(column).collect())).collect()
        }
    };
    Some(Kind { segment, numbers, columns })
}
