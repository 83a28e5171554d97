//! The tensors of one network that a plan types, with their projectors.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rayon::prelude::*;
use reynolds::defect;
use reynolds::norm::{Component, Norm};
use reynolds::plan::{ResolvedPlan, TypedTensor};
use reynolds::projection::{Energies, Projector, TileProjector};
use reynolds::scalar::Weight;

use crate::error::{ReynoldsError, of_core};
use crate::memory::{Memory, Numbers};

/// A resolved plan. Tensors are given by their number in `names` and the address of their memory on the CPU.
#[pyclass(frozen, module = "reynolds._reynolds")]
pub(crate) struct Layers {
    pub(crate) resolved: ResolvedPlan,
}

/// Where a tensor's numbers lie: number of the layer, address, whether they are f64.
type TensorAddress = (usize, usize, bool);

/// P on the numbers of one layer: for each kind of tiles the places of every tile's numbers (i64, the lowest byte first), and E
/// `[numbers, rank]`, or the orbits with signs: (places, numbers in a tile, members, signs, ends, basis).
type TileLists<'py> = (Bound<'py, PyBytes>, usize, Vec<i64>, Vec<f64>, Vec<i64>, Vec<f64>);

/// Band-limited kernels: F, row-major, and its rows.
type Functions = Option<(Vec<f64>, usize)>;

/// Weights below which several layers are worked on by one thread: waking others takes longer.
const ALONE: usize = 1 << 17;

/// Runs on every job, several at a time where that pays, without the interpreter. The jobs' layers have so many `weights` in all.
pub(crate) fn over<J: Sync, T: Send>(
    py: Python<'_>,
    jobs: &[J],
    weights: usize,
    run: impl Fn(&J) -> reynolds::Result<T> + Sync,
) -> PyResult<Vec<T>> {
    let all = || -> reynolds::Result<Vec<T>> {
        if weights < ALONE { jobs.iter().map(&run).collect() } else { jobs.par_iter().map(&run).collect() }
    };
    py.detach(all).map_err(of_core)
}

impl Layers {
    pub(crate) fn layer(&self, number: usize) -> PyResult<&TypedTensor> {
        let count = self.resolved.layers.len();
        let message = || format!("layer: expected a number below {count}, found {number}");
        self.resolved.layers.get(number).ok_or_else(|| ReynoldsError::new_err(message()))
    }
}

/// Runs `$body` with the numbers of one or two memories of the same type, as slices of that type.
macro_rules! with_numbers {
    ($len:expr, $first:expr, |$a:ident| $body:expr) => {{
        // SAFETY: see `Memory`: Python has checked the tensor and keeps it alive.
        #[allow(unsafe_code, reason = "the slices of Memory")]
        match unsafe { $first.numbers($len) } {
            Numbers::Single($a) => $body,
            Numbers::Double($a) => $body,
        }
    }};
}
pub(crate) use with_numbers;

#[pymethods]
impl Layers {
    /// The group that is projected onto.
    #[getter]
    fn group(&self) -> String {
        self.resolved.group.name()
    }

    /// One dictionary a layer; equal layers have the number of the first as their `projector`.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let one = |layer: &TypedTensor| {
            let row = PyDict::new(py);
            row.set_item("name", &layer.name)?;
            row.set_item("shape", &layer.shape)?;
            row.set_item("role", layer.role.name())?;
            row.set_item("domain", &layer.domain)?;
            row.set_item("codomain", &layer.codomain)?;
            row.set_item("form", layer.projector.form())?;
            row.set_item("weights", layer.len())?;
            row.set_item("rank", layer.rank())?;
            let equal = self.resolved.layers.iter().position(|one| Arc::ptr_eq(&one.projector, &layer.projector));
            row.set_item("projector", equal)?;
            row.set_item("warnings", &layer.warnings)?;
            Ok(row)
        };
        self.resolved.layers.iter().map(one).collect()
    }

    /// Names of the other tensors, each with the reason.
    fn untyped(&self) -> Vec<(String, String)> {
        self.resolved.untyped.iter().map(|tensor| (tensor.name.clone(), tensor.reason.clone())).collect()
    }

    /// weights ← P(weights), or (1 − t)·weights + t·P(weights), in place; the energies before.
    #[pyo3(signature = (tensors, blend = 1.0))]
    fn project_(&self, py: Python<'_>, tensors: Vec<TensorAddress>, blend: f64) -> PyResult<Vec<(f64, f64)>> {
        self.each(py, &tensors, |layer, memory| {
            with_numbers!(layer.len(), memory, |weights| blended(layer, weights, blend))
        })
    }

    /// ‖P(W)‖² and ‖W − P(W)‖² of each.
    fn energies(&self, py: Python<'_>, tensors: Vec<TensorAddress>) -> PyResult<Vec<(f64, f64)>> {
        self.each(py, &tensors, |layer, memory| {
            with_numbers!(layer.len(), memory, |weights| layer.projector.energies(&*weights))
        })
    }

    /// Bounds of the worst defect of one layer; an error where no exact action stands behind it.
    fn worst_defect(&self, py: Python<'_>, tensor: TensorAddress) -> PyResult<(f64, f64)> {
        let (layer, memory) = (self.layer(tensor.0)?, Memory::new(tensor.1, tensor.2)?);
        let Some(exact) = &layer.exact else {
            let message =
                format!("{}: expected a weight with an exact action, found a {}", layer.name, layer.role.name());
            return Err(ReynoldsError::new_err(message));
        };
        let bracket = py.detach(|| {
            with_numbers!(layer.len(), memory, |weights| {
                let weights: Vec<f64> = weights.iter().map(|w| w.lift()).collect();
                defect::worst(&exact.space, exact.projector.as_ref(), &weights)
            })
        });
        bracket.map(|bracket| (bracket.lower, bracket.upper)).map_err(of_core)
    }

    /// A norm of P(W) ("equivariant"), of W − P(W) ("perp") or of W ("whole"), for W read as `[out, rest]`.
    fn norm(&self, py: Python<'_>, tensor: TensorAddress, norm: &str, component: &str) -> PyResult<f64> {
        let (layer, memory) = (self.layer(tensor.0)?, Memory::new(tensor.1, tensor.2)?);
        let norm: Norm = norm.parse().map_err(of_core)?;
        let component = match component {
            "equivariant" => Component::Equivariant,
            "perp" => Component::Perp,
            "whole" => Component::Whole,
            _ => {
                let message = format!("component: expected equivariant, perp or whole, got \"{component}\"");
                return Err(ReynoldsError::new_err(message));
            }
        };
        let value = py.detach(|| {
            with_numbers!(layer.len(), memory, |weights| {
                component.norm(norm, layer.projector.as_ref(), &*weights, layer.shape[0])
            })
        });
        value.map_err(|error| of_core(error.of_tensor(&layer.name)))
    }

    /// P as index lists, for tensors on other devices.
    fn tiles<'py>(&self, py: Python<'py>, number: usize) -> PyResult<(Vec<TileLists<'py>>, Functions)> {
        let layer = self.layer(number)?;
        let tiling = py.detach(|| layer.projector.tiling()).map_err(of_core)?;
        let mut lists = Vec::new();
        for (kind_number, kind) in tiling.kinds().iter().enumerate() {
            let of_kind = tiling.tiles().iter().filter(|tile| tile.kind == kind_number);
            let places: Vec<u8> =
                of_kind.flat_map(|&tile| tiling.places(tile)).flat_map(|place| (place as i64).to_le_bytes()).collect();
            let (mut members, mut signs, mut ends, mut basis) = (vec![], vec![], vec![], vec![]);
            match &kind.projector {
                TileProjector::Orbits(orbits) => {
                    for (orbit, negative) in orbits.iter() {
                        members.extend(orbit.iter().map(|&member| i64::from(member)));
                        signs.extend(negative.iter().map(|&negative| if negative { -1.0 } else { 1.0 }));
                        ends.push(members.len() as i64);
                    }
                }
                TileProjector::Basis(e) => {
                    basis.extend((0..e.nrows()).flat_map(|row| (0..e.ncols()).map(move |column| e[(row, column)])));
                }
            }
            lists.push((PyBytes::new(py, &places), kind.rows * kind.segment, members, signs, ends, basis));
        }
        let functions = tiling.functions().map(|f| {
            let row_major = (0..f.nrows()).flat_map(|row| (0..f.ncols()).map(move |column| f[(row, column)]));
            (row_major.collect(), f.nrows())
        });
        Ok((lists, functions))
    }
}

impl Layers {
    /// Energies from every tensor, several at a time, without the interpreter.
    fn each(
        &self,
        py: Python<'_>,
        tensors: &[TensorAddress],
        run: impl Fn(&TypedTensor, Memory) -> reynolds::Result<Energies> + Sync,
    ) -> PyResult<Vec<(f64, f64)>> {
        let jobs = tensors
            .iter()
            .map(|&(number, address, double)| Ok((self.layer(number)?, Memory::new(address, double)?)))
            .collect::<PyResult<Vec<_>>>()?;
        let one = |&(layer, memory): &(&TypedTensor, Memory)| {
            let energies = run(layer, memory).map_err(|error| error.of_tensor(&layer.name))?;
            Ok((energies.equivariant, energies.perp))
        };
        over(py, &jobs, jobs.iter().map(|(layer, _)| layer.len()).sum(), one)
    }
}

fn blended<T: Weight<Field = f64>>(layer: &TypedTensor, weights: &mut [T], blend: f64) -> reynolds::Result<Energies> {
    let mut projected = vec![T::default(); weights.len()];
    let energies = layer.projector.project_into(weights, &mut projected)?;
    if blend == 1.0 {
        weights.copy_from_slice(&projected);
    } else {
        let [keep, take] = [1.0 - blend, blend].map(<T::Real as reynolds::scalar::Real>::from_f64);
        weights.iter_mut().zip(projected).for_each(|(w, p)| *w = w.scale(keep) + p.scale(take));
    }
    Ok(energies)
}
