//! The kernels of a GPU for layers whose P averages short orbits.

#![allow(unsafe_code, reason = "kernels take the addresses of tensors")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use reynolds::projection::{TileProjector, Tiling};
use reynolds_cuda::{APART, Layout, Memory, Number, Orbits, Place, Run, Unit};

use crate::error::{ReynoldsError, of_core};
use crate::layers::Layers;

/// The longest orbit, which one thread averages, and the most sizes, each of which is a program.
const LONGEST: usize = 128;
const SIZES: usize = 16;

/// Kernels for some layers of one type on one device: gradient and decoupled step of the squared penalty.
///
/// `python/reynolds/cuda.py` hands over addresses of contiguous tensors of that device and type with as many numbers as their layers, and
/// keeps them, and the tables, until the work on the stream is done.
#[pyclass(frozen, module = "reynolds._reynolds")]
pub(crate) struct Kernels {
    layout: Layout,
    members: Vec<i32>,
    ready: OnceLock<Option<(usize, usize, Orbits)>>,
}

#[pymethods]
impl Kernels {
    /// `None` where P of one of the layers does more than average short orbits, or they are more than one launch takes.
    #[staticmethod]
    fn of(py: Python<'_>, layers: &Layers, numbers: Vec<usize>) -> PyResult<Option<Self>> {
        let chosen = numbers.iter().map(|&number| layers.layer(number)).collect::<PyResult<Vec<_>>>()?;
        if chosen.is_empty() || chosen.len() > APART {
            return Ok(None);
        }
        let made = py.detach(|| {
            let mut known: Vec<(&Arc<_>, BTreeMap<usize, Range<usize>>)> = vec![];
            let (mut orbits, mut units) = (BTreeMap::<usize, Vec<Vec<i32>>>::new(), BTreeMap::<usize, Vec<_>>::new());
            for (nth, layer) in chosen.iter().enumerate() {
                let same = known.iter().position(|(projector, _)| Arc::ptr_eq(projector, &layer.projector));
                let same = match same {
                    Some(same) => same,
                    None => {
                        let Some(found) = short_orbits(&layer.projector.tiling()?) else { return Ok(None) };
                        let ranges = found.into_iter().map(|(size, more)| {
                            let all = orbits.entry(size).or_default();
                            let start = all.len();
                            all.extend(more);
                            (size, start..all.len())
                        });
                        known.push((&layer.projector, ranges.collect()));
                        known.len() - 1
                    }
                };
                for (&size, range) in &known[same].1 {
                    units.entry(size).or_default().push((nth, range.clone()));
                }
            }
            let (mut members, mut runs) = (vec![], vec![]);
            for (&size, orbits) in &orbits {
                let Ok(count) = i32::try_from(orbits.len()) else { return Ok(None) };
                runs.push(Run { unit: Unit::Orbit(size), count, start: members.len() });
                (0..size.max(1)).for_each(|nth| members.extend(orbits.iter().map(|orbit| orbit[nth])));
            }
            if runs.len() > SIZES {
                return Ok(None);
            }
            let layout = Layout::apart(runs, &units.into_values().collect::<Vec<_>>(), chosen.len());
            Ok(Some(Self { layout, members, ready: OnceLock::new() }))
        });
        made.map_err(of_core)
    }

    /// What has to lie on the device: members of the orbits, and shares of the launches (int32, the lowest byte first).
    fn tables<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        let bytes = |numbers: &[i32]| {
            PyBytes::new(py, &numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>())
        };
        (bytes(&self.members), bytes(self.layout.shares()))
    }

    /// Compiles the kernels, once, with the addresses of the tables; whether there is a driver and a compiler.
    fn prepare(&self, py: Python<'_>, device: usize, double: bool, members: u64, shares: u64) -> PyResult<bool> {
        check([members, shares], 4)?;
        let number = if double { Number::F64 } else { Number::F32 };
        let memory = Memory { members, values: 0, shares, slot_ends: 0, partial: 0, done: 0, factors: 0 };
        let made = || Orbits::new(device, number, self.layout.clone(), memory);
        let size = if double { 8 } else { 4 };
        let ready = py.detach(|| self.ready.get_or_init(|| Some((device, size, made()?))));
        Ok(ready.is_some())
    }

    /// gradient ← gradient + a P(W) + b (W − P(W)) for each layer, of which `places` has weights and gradient; a and b at `slopes`, [2, layers].
    fn add_gradient(&self, stream: u64, places: Vec<(u64, u64)>, slopes: u64) -> PyResult<()> {
        let (place, size, orbits) = self.ready(stream, places.len())?;
        check(places.iter().flat_map(|&(weights, gradient)| [weights, gradient]), size)?;
        check([slopes], 8)?;
        // SAFETY: see `Kernels`.
        unsafe { orbits.add_to_apart(place, &places, slopes) }.map_err(of_cuda)
    }

    /// W ← a P(W) + b (W − P(W)) for each layer; a and b at `factors`, [2, layers].
    fn rescale(&self, stream: u64, weights: Vec<u64>, factors: u64) -> PyResult<()> {
        let (place, size, orbits) = self.ready(stream, weights.len())?;
        check(weights.iter().copied(), size)?;
        check([factors], 8)?;
        // SAFETY: see `Kernels`.
        unsafe { orbits.rescale_apart(place, &weights, factors) }.map_err(of_cuda)
    }
}

impl Kernels {
    fn ready(&self, stream: u64, layers: usize) -> PyResult<(Place, usize, &Orbits)> {
        let refused = |expected: &str, found: &dyn std::fmt::Display| {
            ReynoldsError::new_err(format!("kernels: expected {expected}, found {found}"))
        };
        let Some(Some((device, size, orbits))) = self.ready.get() else {
            return Err(refused("kernels that were prepared", &"none"));
        };
        if layers != self.layout.layers() {
            return Err(refused(&format!("{} layers", self.layout.layers()), &layers));
        }
        Ok((Place { device: *device, stream }, *size, orbits))
    }
}

/// The orbits of P by size, ~i for a minus, and numbers that P sets to 0 as those of size 0; `None` if P does anything else.
fn short_orbits(tiling: &Tiling) -> Option<BTreeMap<usize, Vec<Vec<i32>>>> {
    if tiling.functions().is_some() || i32::try_from(tiling.len()).is_err() {
        return None;
    }
    let (mut found, mut dead) = (BTreeMap::<usize, Vec<Vec<i32>>>::new(), vec![true; tiling.len()]);
    for &tile in tiling.tiles() {
        let TileProjector::Orbits(orbits) = &tiling.kinds()[tile.kind].projector else { return None };
        let places: Vec<usize> = tiling.places(tile).collect();
        for (members, negative) in orbits.iter() {
            let member = |(&at, &minus): (&u32, &bool)| {
                let place = places[at as usize];
                dead[place] = false;
                if minus { !(place as i32) } else { place as i32 }
            };
            let orbit: Vec<i32> = members.iter().zip(negative).map(member).collect();
            if orbit.len() > LONGEST {
                return None;
            }
            found.entry(orbit.len()).or_default().push(orbit);
        }
    }
    let dead = (0..).zip(dead).filter(|(_, dead)| *dead).map(|(place, _)| vec![place]);
    let dead: Vec<Vec<i32>> = dead.collect();
    if !dead.is_empty() {
        found.insert(0, dead);
    }
    Some(found)
}

/// Addresses that can be those of numbers of so many bytes.
fn check(addresses: impl IntoIterator<Item = u64>, size: usize) -> PyResult<()> {
    let wrong = addresses.into_iter().find(|&address| address == 0 || !address.is_multiple_of(size as u64));
    wrong.map_or(Ok(()), |address| {
        let expected = format!("an address that is a multiple of {size}");
        Err(ReynoldsError::new_err(format!("tensor memory: expected {expected}, found {address:#x}")))
    })
}

fn of_cuda(error: reynolds_cuda::Error) -> PyErr {
    ReynoldsError::new_err(error.to_string())
}
