//! Collects the tiles of many layers and lays them out for the device.

use std::collections::{BTreeMap, HashMap};

use faer::Mat;
use reynolds::projection::{TileProjector, Tiling};
use tch::{Device, Kind, Tensor};

use super::band::{Band, CompressedLayers};
use super::couplings::Couplings;
use super::gather::{Gather, TileBasis};
use super::lists::Lists;
use super::tiles::Tiles as SparseTiles;
use super::{FlatProjector, TileProducts, upload_matrix};
use crate::device::{upload, upload_order};
use crate::error::{Error, Result};

/// Entries of a basis below this, beside the largest, are rounding.
const ROUNDING: f64 = 1e-15;
/// A basis with more numbers a row than this is multiplied, not listed.
const MAX_DEGREE: f64 = 16.0;

/// The orbits and tiles of all layers on a flat tensor.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// Coordinates that tiles and orbits are made of.
    len: usize,
    /// Layers in a row that are compressed by the same functions, and the place of each number in that order if it is another.
    parts: Vec<(usize, Option<Mat<f64>>)>,
    order: Option<Vec<i32>>,
    /// Where numbers are compressed: P on them, for kernels of a GPU.
    tiles: Option<SparseTiles>,
    /// Members and signs of the orbits of each size.
    orbits: BTreeMap<usize, Vec<(i32, bool)>>,
    kinds: Vec<Tiles>,
    /// The number of each kind, by the rows and the bits of its basis.
    known: HashMap<(usize, Vec<u64>), usize>,
}

/// All tiles that share one basis.
#[derive(Debug)]
struct Tiles {
    basis: Mat<f64>,
    members: Vec<i32>,
}

impl Tiles {
    /// Columns without what is only rounding.
    fn columns(&self) -> Vec<Vec<(usize, f64)>> {
        let largest = self.basis.norm_max();
        let listed = |column: usize| {
            let entries = self.basis.col(column).iter().copied().enumerate();
            entries.filter(|(_, entry)| entry.abs() > ROUNDING * largest).collect()
        };
        (0..self.basis.ncols()).map(listed).collect()
    }

    fn is_sparse(&self) -> bool {
        let entries: usize = self.columns().iter().map(Vec::len).sum();
        entries as f64 <= MAX_DEGREE * self.basis.nrows() as f64
    }
}

impl Assembly {
    /// Layers whose numbers follow one another, to be built with these products.
    ///
    /// # Errors
    /// [`Error::Setting`] if there are more numbers than an int32 counts.
    pub(crate) fn of(layers: &[&Tiling], products: TileProducts) -> Result<Self> {
        let numbers: usize = layers.iter().map(|tiling| tiling.len().max(tiling.coordinates())).sum();
        if i32::try_from(2 * numbers).is_err() {
            let expected = format!("at most {} numbers", i32::MAX / 2);
            return Err(Error::setting("parameters bound to a group", expected, numbers));
        }
        // Layers that the same functions compress come together, so that they are compressed together.
        let mut end = 0;
        let mut placed: Vec<(i32, &Tiling)> = Vec::with_capacity(layers.len());
        for tiling in layers {
            placed.push((end, tiling));
            end += tiling.len() as i32;
        }
        let first_like = |tiling: &Tiling| layers.iter().position(|other| other.functions() == tiling.functions());
        placed.sort_by_key(|(_, tiling)| first_like(tiling));
        let mut assembly = Self::default();
        if !placed.is_sorted_by_key(|(start, _)| *start) {
            assembly.order =
                Some(placed.iter().flat_map(|(start, tiling)| *start..start + tiling.len() as i32).collect());
        }
        placed.into_iter().for_each(|(_, tiling)| assembly.push(tiling));
        let compressed = layers.iter().any(|tiling| tiling.functions().is_some());
        let by_kernels = compressed && products == TileProducts::Lists;
        assembly.tiles = by_kernels.then(|| SparseTiles::of(layers)).flatten();
        Ok(assembly)
    }

    /// One layer of these orbits, ~i for a member with a minus.
    #[cfg(test)]
    pub(super) fn of_orbits(len: usize, orbits: &[Vec<i32>]) -> Self {
        let mut assembly = Self { len, parts: vec![(len, None)], ..Self::default() };
        for orbit in orbits {
            let members = orbit.iter().map(|&member| (member.max(!member), member < 0));
            assembly.orbits.entry(orbit.len()).or_default().extend(members);
        }
        assembly
    }

    /// Adds a layer whose numbers follow those added before.
    fn push(&mut self, tiling: &Tiling) {
        let start = self.len;
        self.len += tiling.coordinates();
        match self.parts.last_mut() {
            Some((numbers, functions)) if functions.as_ref() == tiling.functions() => *numbers += tiling.len(),
            _ => self.parts.push((tiling.len(), tiling.functions().cloned())),
        }
        let mut numbers: Vec<Option<usize>> = vec![None; tiling.kinds().len()];
        for &tile in tiling.tiles() {
            let places: Vec<i32> = tiling.places(tile).map(|place| (start + place) as i32).collect();
            match &tiling.kinds()[tile.kind].projector {
                TileProjector::Orbits(orbits) => {
                    for (members, negative) in orbits.iter() {
                        let list = self.orbits.entry(members.len()).or_default();
                        list.extend(members.iter().zip(negative).map(|(&at, &minus)| (places[at as usize], minus)));
                    }
                }
                TileProjector::Basis(basis) => {
                    let number = *numbers[tile.kind].get_or_insert_with(|| self.number_of(basis));
                    self.kinds[number].members.extend(places);
                }
            }
        }
    }

    /// The number of a basis among the kinds; one that is equal to the bit is the same.
    fn number_of(&mut self, basis: &Mat<f64>) -> usize {
        let bits = basis.col_iter().flat_map(|column| column.iter().map(|entry| entry.to_bits())).collect();
        *self.known.entry((basis.nrows(), bits)).or_insert_with(|| {
            self.kinds.push(Tiles { basis: basis.clone(), members: vec![] });
            self.kinds.len() - 1
        })
    }

    /// Puts everything on a device, for numbers of `kind`.
    pub(crate) fn build(mut self, kind: Kind, device: Device, products: TileProducts) -> Result<FlatProjector> {
        let parts = std::mem::take(&mut self.parts);
        if parts.iter().all(|(_, functions)| functions.is_none()) {
            return self.coordinates(kind, device, products);
        }
        let couplings = self.disjoint();
        let tiles = match self.tiles.take() {
            Some(tiles) => Some((upload(&tiles.firsts(), Kind::Int, device)?, tiles)),
            None => None,
        };
        let compressed =
            parts.iter().map(|(numbers, functions)| CompressedLayers::new(*numbers, functions.as_ref(), kind, device));
        let compressed = compressed.collect::<Result<_>>()?;
        let order = self.order.take().map(|order| upload_order(&order, device)).transpose()?;
        let inner = match couplings {
            Some(couplings) => FlatProjector::Lists(Lists::new(&couplings, self.len, (kind, device))?.0),
            None => self.coordinates(kind, device, products)?,
        };
        Ok(FlatProjector::Band(Box::new(Band { order, compressed, inner, tiles })))
    }

    /// Orbits and tiles as couplings of all coordinates, if none is in two of them.
    fn disjoint(&self) -> Option<Couplings> {
        let mut couplings = Couplings::default();
        let mut alive = vec![false; self.len];
        for (&size, list) in &self.orbits {
            let share = 1.0 / (size as f64).sqrt();
            for orbit in list.chunks_exact(size) {
                couplings.push(orbit.iter().map(|&(member, minus)| (member, if minus { -share } else { share })));
                orbit.iter().for_each(|&(member, _)| alive[member as usize] = true);
            }
        }
        for tiles in &self.kinds {
            let (len, listed) = (tiles.basis.nrows(), tiles.columns());
            let mut owners = vec![0; len];
            listed.iter().flatten().for_each(|&(at, _)| owners[at] += 1);
            if owners.iter().any(|&owners| owners > 1) {
                return None;
            }
            for members in tiles.members.chunks_exact(len) {
                members.iter().for_each(|&member| alive[member as usize] = true);
                for column in &listed {
                    couplings.push(column.iter().map(|&(at, entry)| (members[at], entry)));
                }
                let dead = (0..len).filter(|&at| owners[at] == 0).map(|at| members[at]);
                match listed.is_empty() {
                    true => couplings.push(dead.map(|member| (member, 0.0))),
                    false => couplings.dead(dead),
                }
            }
        }
        couplings.dead((0..self.len).filter(|&at| !alive[at]).map(|at| at as i32));
        (couplings.len() > 0).then_some(couplings)
    }

    /// P on the coordinates.
    fn coordinates(self, kind: Kind, device: Device, products: TileProducts) -> Result<FlatProjector> {
        if self.kinds.is_empty() && self.orbits.keys().all(|&size| size == 1) {
            let mut mask = vec![0.0_f32; self.len];
            self.orbits.values().flatten().for_each(|&(member, _)| mask[member as usize] = 1.0);
            return Ok(FlatProjector::Mask(upload(&mask, kind, device)?));
        }
        let listed = |tiles: &Tiles| products == TileProducts::Lists && tiles.is_sparse();
        let (sparse, dense): (Vec<Tiles>, Vec<Tiles>) = self.kinds.into_iter().partition(listed);
        let mut layout = Layout::new(self.len);
        let orbits = self.orbits.iter().map(|(&size, list)| layout.orbits(size, list)).collect();
        let zero = layout.zero();
        let tiles = dense.iter().map(|tiles| layout.tiles(tiles, kind, device)).collect::<Result<_>>()?;
        let mut couplings = Couplings::default();
        for tiles in &sparse {
            let listed = tiles.columns();
            for members in tiles.members.chunks_exact(tiles.basis.nrows()) {
                listed.iter().for_each(|column| couplings.push(column.iter().map(|&(at, entry)| (members[at], entry))));
            }
        }
        let lists = (couplings.len() > 0).then(|| Lists::new(&couplings, self.len, (kind, device))).transpose()?;
        let lists = lists.inspect(|(_, rows)| layout.values_of(rows)).map(|(lists, _)| lists);
        let member_signs: Vec<f32> = layout.members.iter().map(|&member| layout.signs[member as usize]).collect();
        let signed = |signs: &[f32]| signs.contains(&-1.0).then(|| upload(signs, kind, device)).transpose();
        Ok(FlatProjector::Gather(Gather {
            members: upload(&layout.members, Kind::Int, device)?,
            member_signs: signed(&member_signs)?,
            orbits,
            zero: zero.then(|| upload(&[0.0_f32], kind, device)).transpose()?,
            tiles,
            lists,
            source: upload(&layout.source, Kind::Int, device)?,
            signs: signed(&layout.signs)?,
        }))
    }
}

/// Indices of the gathered numbers and of each number's value.
struct Layout {
    members: Vec<i32>,
    source: Vec<i32>,
    signs: Vec<f32>,
    /// Values so far.
    values: i32,
}

impl Layout {
    fn new(len: usize) -> Self {
        Self { members: vec![], source: vec![-1; len], signs: vec![1.0; len], values: 0 }
    }

    /// Orbits of one size, a value each; their size and number. Their first members come first, then the second ones, …: sums then run
    /// over neighbours.
    fn orbits(&mut self, size: usize, list: &[(i32, bool)]) -> (i64, i64) {
        let count = list.len() / size;
        for (nth, orbit) in (0..size).flat_map(|nth| (0..count).map(move |orbit| (nth, orbit))) {
            let (member, minus) = list[orbit * size + nth];
            self.members.push(member);
            self.source[member as usize] = self.values + orbit as i32;
            self.signs[member as usize] = if minus { -1.0 } else { 1.0 };
        }
        self.values += count as i32;
        (size as i64, count as i64)
    }

    /// Gives numbers that are in no orbit the value zero, until tiles overwrite it; whether there are any.
    fn zero(&mut self) -> bool {
        let found = self.source.contains(&-1);
        self.source.iter_mut().filter(|source| **source < 0).for_each(|source| *source = self.values);
        self.values += i32::from(found);
        found
    }

    /// Appends tiles of one kind, with a value for each of their weights.
    fn tiles(&mut self, tiles: &Tiles, kind: Kind, device: Device) -> Result<TileBasis> {
        self.members.extend(&tiles.members);
        self.values_of(&tiles.members);
        let (len, e) = (tiles.basis.nrows(), &tiles.basis);
        // P itself if it has no more numbers than E and Eᵀ.
        let factors = match len <= 2 * e.ncols() {
            true => vec![upload_matrix(&(e * e.transpose()), (kind, device))?.0],
            false => <[Tensor; 2]>::from(upload_matrix(e, (kind, device))?).into(),
        };
        Ok(TileBasis { count: (tiles.members.len() / len) as i64, len: len as i64, factors })
    }

    /// A value for each of these numbers.
    fn values_of(&mut self, numbers: &[i32]) {
        numbers.iter().zip(self.values..).for_each(|(&number, value)| self.source[number as usize] = value);
        self.values += numbers.len() as i32;
    }
}
