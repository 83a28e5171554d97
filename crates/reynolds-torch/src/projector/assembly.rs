//! Collects the tiles of many layers and lays them out for the device.

use std::collections::{BTreeMap, HashMap};

use faer::Mat;
use reynolds::projection::{TileProjector, Tiling};
use tch::{Device, Kind};

use super::{FlatProjector, Gather, Product, TileBasis, upload};
use crate::error::{Error, Result};

/// The numbers of a flat tensor and what each layer's projector does to them.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    len: usize,
    /// Members and signs of the orbits of each size.
    orbits: BTreeMap<usize, Vec<(i32, bool)>>,
    kinds: Vec<Tiles>,
    /// Kinds by a hash of their basis.
    known: HashMap<u64, Vec<usize>>,
}

/// All tiles that share one basis.
#[derive(Debug)]
struct Tiles {
    basis: Mat<f64>,
    members: Vec<i32>,
}

impl Assembly {
    /// Adds a layer whose numbers follow those added before.
    ///
    /// # Errors
    /// [`Error::Setting`] if there are more numbers than an int32 counts.
    pub(crate) fn push(&mut self, tiling: &Tiling) -> Result<()> {
        let start = self.len;
        self.len += tiling.len();
        if i32::try_from(2 * self.len).is_err() {
            return Err(Error::setting(
                "parameters bound to a group",
                format!("at most {} numbers", i32::MAX / 2),
                self.len,
            ));
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
        Ok(())
    }

    /// The number of a basis among the kinds; one that is equal to the bit is the same.
    fn number_of(&mut self, basis: &Mat<f64>) -> usize {
        let entries = basis.col_iter().flat_map(|column| column.iter().copied());
        let size = (basis.nrows() as u64) << 32 | basis.ncols() as u64;
        let hash =
            entries.fold(size, |hash, entry| (hash ^ entry.to_bits()).wrapping_mul(0x0100_0000_01b3).rotate_left(29));
        let same = self.known.entry(hash).or_default();
        if let Some(&number) = same.iter().find(|&&number| self.kinds[number].basis == *basis) {
            return number;
        }
        same.push(self.kinds.len());
        self.kinds.push(Tiles { basis: basis.clone(), members: vec![] });
        self.kinds.len() - 1
    }

    /// Puts everything on a device, for numbers of `kind`.
    pub(crate) fn build(self, kind: Kind, device: Device) -> Result<FlatProjector> {
        if self.kinds.is_empty() && self.orbits.keys().all(|&size| size == 1) {
            let mut mask = vec![0.0_f32; self.len];
            self.orbits.values().flatten().for_each(|&(member, _)| mask[member as usize] = 1.0);
            return Ok(FlatProjector::Mask(upload(&mask, kind, device)?));
        }
        let (mut members, mut member_signs) = (Vec::with_capacity(self.len), Vec::with_capacity(self.len));
        let (mut source, mut signs) = (vec![0_i32; self.len], vec![1.0_f32; self.len]);
        let mut orbits = Vec::with_capacity(self.orbits.len());
        let mut value = 0_i32;
        for (size, list) in &self.orbits {
            for (index, &(member, minus)) in list.iter().enumerate() {
                let sign = if minus { -1.0 } else { 1.0 };
                members.push(member);
                member_signs.push(sign);
                source[member as usize] = 1 + value + (index / size) as i32;
                signs[member as usize] = sign;
            }
            value += (list.len() / size) as i32;
            orbits.push((*size as i64, (list.len() / size) as i64));
        }
        // Numbers in no orbit and no tile take the zero after the means: until here they have source 0, the others one too much.
        source.iter_mut().for_each(|source| *source = if *source == 0 { value } else { *source - 1 });
        value += 1;
        let mut tiles = Vec::with_capacity(self.kinds.len());
        for Tiles { basis, members: list } in &self.kinds {
            for (index, &member) in list.iter().enumerate() {
                members.push(member);
                member_signs.push(1.0);
                source[member as usize] = value + index as i32;
            }
            value += list.len() as i32;
            let len = basis.nrows();
            let product = product(basis, |values| Ok(upload(values, kind, device)?.f_view([len as i64, -1])?))?;
            tiles.push(TileBasis { count: (list.len() / len) as i64, len: len as i64, product });
        }
        let signed = |signs: &[f32]| signs.contains(&-1.0).then(|| upload(signs, kind, device)).transpose();
        Ok(FlatProjector::Gather(Gather {
            member_signs: signed(&member_signs)?,
            members: upload(&members, Kind::Int, device)?,
            orbits,
            zero: upload(&[0.0_f32], kind, device)?,
            tiles,
            source: upload(&source, Kind::Int, device)?,
            signs: signed(&signs)?,
        }))
    }
}

/// P itself if it has no more numbers than E and Eᵀ, else E; row-major.
fn product(basis: &Mat<f64>, tensor: impl Fn(&[f64]) -> Result<tch::Tensor>) -> Result<Product> {
    let rows = |matrix: &Mat<f64>| -> Vec<f64> {
        (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| matrix[(i, j)])).collect()
    };
    if basis.nrows() <= 2 * basis.ncols() {
        return Ok(Product::Square(tensor(&rows(&(basis * basis.transpose())))?));
    }
    Ok(Product::Thin(tensor(&rows(basis))?))
}
