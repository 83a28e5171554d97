//! P of band-limited kernels tile by tile, as a kernel reads it: one sparse E for all tiles of a kind.
//!
//! ```text
//! P(w) = E Eᵀ w,   E = (1 ⊗ F) X        w: some rows of a layer's numbers, as far from each other as its channels are
//! ```
//!
//! E has few numbers, as each coupling has one degree and lies on one ring. Rings do not meet: where a tile has many numbers those of some
//! rings are one of their own, so that all take about as long. See kernel.cu for the table.

use std::collections::{BTreeMap, HashMap};

use reynolds::projection::{Tile, TileKind, TileProjector, Tiling};

/// Tiles with more numbers than this are cut, where they can be.
const MANY: usize = 512;
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

#[derive(Debug)]
struct Kind {
    /// Row and place there of each number.
    places: Vec<(usize, usize)>,
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

    /// As kernel.cu reads it, and its entries by column and by number, behind those that are there.
    fn push_to(&self, table: &mut Vec<i32>, values: &mut Vec<f64>) {
        let mut by_number: Vec<Column> = vec![vec![]; self.places.len()];
        for (column, number) in self.columns.iter().zip(0..) {
            column.iter().for_each(|&(at, entry)| by_number[at as usize].push((number, entry)));
        }
        let (first, entries) = (values.len(), self.entries());
        let sizes = [self.places.len(), self.columns.len(), first, first + entries];
        table.extend(sizes.map(|size| size as i32));
        table.extend(self.places.iter().map(|&(row, at)| (row * (1 << 16) + at) as i32));
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

/// Entries of the columns of an E with their places, to the last bit.
type Bits = Vec<Vec<(i32, u64)>>;

impl Tiles {
    /// Those of layers whose numbers follow one another; `None` if a tile is too large, or E too dense.
    pub(super) fn of(layers: &[&Tiling]) -> Option<Self> {
        let (mut start, mut entries) = (0, 0);
        let mut all = Self { kinds: vec![], tiles: vec![] };
        let mut known: HashMap<(usize, usize, Bits), Vec<usize>> = HashMap::new();
        for tiling in layers {
            let mut numbers = vec![];
            for kind in tiling.kinds() {
                let (segment, count, columns) = spread(tiling, kind)?;
                let bits = |column: &Column| column.iter().map(|&(at, entry)| (at, entry.to_bits())).collect();
                let same = known.entry((segment, count, columns.iter().map(bits).collect()));
                let parts = same.or_insert_with(|| {
                    let first = all.kinds.len();
                    all.kinds.extend(cut(segment, count, &columns));
                    (first..all.kinds.len()).collect()
                });
                numbers.push(parts.clone());
            }
            for &tile in tiling.tiles() {
                let (first, stride) = place(tiling, tile);
                for &kind in &numbers[tile.kind] {
                    entries += all.kinds[kind].entries();
                    all.tiles.push(Placed { kind, first: (start + first) as i32, stride: stride as i32 });
                }
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
        [most(|kind| kind.places.len()), most(|kind| kind.columns.len())]
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
            for &(row, at) in &self.kinds[tile.kind].places {
                // Two threads must not add to one number.
                let place = first as usize + row * tile.stride as usize + at;
                let taken = taken.get_mut(place).expect("numbers of tiles are in the flat tensor");
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

/// Numbers of a row and of all rows of a kind of tile, and its E on numbers in place of coordinates; `None` if it is too large.
fn spread(tiling: &Tiling, kind: &TileKind) -> Option<(usize, usize, Vec<Column>)> {
    let (points, count) = run(tiling);
    let (segment, numbers) = (kind.segment / count * points, kind.rows * kind.segment / count * points);
    let rank = match &kind.projector {
        TileProjector::Orbits(orbits) => orbits.len(),
        TileProjector::Basis(x) => x.ncols(),
    };
    if numbers + rank > KEPT || segment > 1 << 16 {
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
    Some((segment, numbers, columns))
}

/// A kind of tile as some with at most [`MANY`] numbers, or those of one ring; numbers in no column are among them.
fn cut(segment: usize, numbers: usize, columns: &[Column]) -> Vec<Kind> {
    // Numbers that share a column have one root.
    let mut parents: Vec<usize> = (0..numbers).collect();
    fn root(parents: &mut [usize], mut at: usize) -> usize {
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    for column in columns {
        for pair in column.windows(2) {
            let [a, b] = [0, 1].map(|nth| root(&mut parents, pair[nth].0 as usize));
            parents[a.max(b)] = a.min(b);
        }
    }
    let mut rings: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..numbers {
        let ring = if numbers > MANY { root(&mut parents, at) } else { 0 };
        rings.entry(ring).or_default().push(at);
    }
    let mut parts: Vec<Vec<usize>> = vec![];
    for ring in rings.into_values() {
        match parts.last_mut() {
            Some(part) if part.len() + ring.len() <= MANY => part.extend(ring),
            _ => parts.push(ring),
        }
    }
    let of_part = |mut part: Vec<usize>| {
        part.sort_unstable();
        let within = |&(at, entry): &(i32, f64)| Some((part.binary_search(&(at as usize)).ok()? as i32, entry));
        let columns = columns.iter().map(|column| column.iter().filter_map(within).collect::<Column>());
        let columns = columns.filter(|column| !column.is_empty()).collect();
        Kind { places: part.iter().map(|at| (at / segment, at % segment)).collect(), columns }
    };
    parts.into_iter().map(of_part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_many_numbers_are_cut_between_rings() {
        // Three rings of every third of 900 numbers, of which the last is in no column, in rows of 100.
        let ring = |nth: i32| -> Column { (0..300).map(|at| (3 * at + nth, 0.5)).collect() };
        let parts = cut(100, 900, &[ring(0), ring(1)]);
        let sizes: Vec<_> = parts.iter().map(|part| (part.places.len(), part.columns.len(), part.entries())).collect();
        // Numbers in no column fill the second part, and the rest is a third.
        assert_eq!(sizes, [(300, 1, 300), (512, 1, 300), (88, 0, 0)]);
        assert_eq!((parts[0].places[34], parts[1].places[0]), ((1, 2), (0, 1)));
        let mut all: Vec<_> = parts.iter().flat_map(|part| &part.places).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 900);
        assert_eq!(cut(9, 90, &[ring(0)[..10].to_vec()]).len(), 1, "few numbers stay together");
    }
}
