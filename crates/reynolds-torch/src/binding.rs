//! The parameters of a network that are regularised towards a group, and P on all of them at once.
//!
//! ```text
//! flat: [ unbound | W₁ | b₁ | W₂ | … ]      P acts on every bound parameter, in one go; the others are left alone
//! ```
//!
//! ```
//! use reynolds::plan::SymmetryPlan;
//! use reynolds_torch::{Binding, Parameters, tch::{Device, Kind}};
//! let mut builder = Parameters::builder();
//! builder.real("conv.weight", &[4, 4, 3, 3], &[0.5; 144])?;
//! builder.real("head", &[2], &[1.0, 2.0])?;
//! let parameters = builder.build(Kind::Float, Device::Cpu)?;
//! let plan = SymmetryPlan::from_toml(r#"
//!     group = "C4"
//!     [[layer]]
//!     name = "conv.weight"
//!     domain = "regular"
//!     codomain = "regular"
//! "#)?;
//! let binding = Binding::of_plan(&parameters, &plan)?;
//! let projected = binding.project(parameters.flat())?;
//! assert_eq!(projected, *parameters.flat()); // constant kernels are equivariant; the head is not bound
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

mod agreement;
mod rescale;
mod selection;

use std::sync::Arc;

use faer::c64;
use reynolds::plan::{Network, ResolvedPlan, SymmetryPlan};
use reynolds::projection::{Dimensions, Energies, KernelSpace, Lowered, Tiling, derive};
use reynolds::scalar::Scalar;
use selection::Selection;
use tch::{Device, Kind, Tensor};

use crate::error::{Error, Result};
use crate::parameters::{Entry, Parameters};
pub use crate::projector::TileProducts;
use crate::projector::{Assembly, FlatProjector, OnePass, Shared, executor};
use crate::segments::Segments;

/// A parameter bound to a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Its place in the flat storage.
    pub entry: Entry,
    /// dim Hom_G, complex dimensions counted once.
    pub rank: usize,
}

/// Parameters bound to groups, lowered to the device they lie on.
#[derive(Debug)]
pub struct Binding {
    len: usize,
    kind: Kind,
    device: Device,
    bound: Vec<Bound>,
    pub(crate) selection: Selection,
    /// P on the bound numbers, one parameter after the other.
    pub(crate) projector: FlatProjector,
    /// Executors or kernels for the squared penalty and the decoupled steps, where there are some for these parameters.
    one_pass: Option<Box<dyn OnePass>>,
    pub(crate) segments: Segments,
}

/// Collects parameters to bind.
#[derive(Debug)]
pub struct BindingBuilder {
    entries: Vec<Entry>,
    len: usize,
    kind: Kind,
    device: Device,
    /// Each with the index of its projector.
    bound: Vec<(Bound, usize)>,
    projectors: Vec<(Shared, Tiling)>,
    products: TileProducts,
}

impl BindingBuilder {
    /// Binds every parameter that a plan types; returns the resolved plan, with a reason for each parameter that is left alone.
    pub fn plan(&mut self, plan: &SymmetryPlan) -> Result<ResolvedPlan> {
        let shapes = |complex: bool| -> Vec<_> {
            let entries = self.entries.iter().filter(|entry| entry.complex == complex);
            entries.map(|entry| (entry.name.clone(), entry.shape.clone())).collect()
        };
        let (tensors, complex) = (shapes(false), shapes(true));
        let resolved = plan.resolve_network(&Network { tensors, complex, ..Network::default() })?;
        for layer in &resolved.layers {
            self.projector(&layer.name, &layer.projector)?;
        }
        for tensor in &resolved.complex {
            self.projector(&tensor.name, &tensor.projector)?;
        }
        Ok(resolved)
    }

    /// Binds a real parameter of the shape of `space`.
    pub fn real(&mut self, name: &str, space: &KernelSpace<f64>) -> Result<()> {
        self.space(name, space)
    }

    /// Binds a complex parameter of the shape of `space`.
    pub fn complex(&mut self, name: &str, space: &KernelSpace<c64>) -> Result<()> {
        self.space(name, space)
    }

    fn space<F: Scalar>(&mut self, name: &str, space: &KernelSpace<F>) -> Result<()> {
        let entry = self.entry(name)?;
        if entry.shape != space.shape() {
            return Err(Error::parameter(name, format!("shape {:?}", space.shape()), format!("{:?}", entry.shape)));
        }
        self.projector(name, &Arc::new(derive(space)?))
    }

    /// Binds a parameter with a projector of as many weights, in any form. Equal layers should share one.
    pub fn projector<F: Scalar>(&mut self, name: &str, projector: &Arc<Lowered<F>>) -> Result<()> {
        let entry = self.entry(name)?.clone();
        let complex = F::from_real_parts([0.0, 1.0]) != F::ZERO;
        if entry.complex != complex {
            let word = |complex: bool| if complex { "complex numbers" } else { "real numbers" };
            return Err(Error::parameter(name, word(complex), word(entry.complex)));
        }
        if self.bound.iter().any(|(bound, _)| bound.entry.name == name) {
            return Err(Error::parameter(name, "a parameter bound once", "one that is bound already"));
        }
        let (len, rank) = (projector.len(), projector.rank());
        if len != entry.numel() {
            return Err(Error::parameter(name, format!("{len} weights"), entry.numel()));
        }
        let shared = Shared::new(projector);
        let known = self.projectors.iter().position(|(known, _)| known.is(&shared));
        if known.is_none() {
            self.projectors.push((shared, projector.tiling()?));
        }
        self.bound.push((Bound { entry, rank }, known.unwrap_or(self.projectors.len() - 1)));
        Ok(())
    }

    /// Overrides the way tiles are multiplied on the device.
    pub fn tile_products(&mut self, products: TileProducts) -> &mut Self {
        self.products = products;
        self
    }

    fn entry(&self, name: &str) -> Result<&Entry> {
        let found = self.entries.iter().find(|entry| entry.name == name);
        found.ok_or_else(|| Error::parameter(name, "a parameter of the network", "none of that name"))
    }

    /// Lowers everything to the device.
    ///
    /// # Errors
    /// [`Error::Setting`] if nothing is bound, or more numbers than an int32 counts.
    pub fn build(mut self) -> Result<Binding> {
        if !matches!(self.kind, Kind::Float | Kind::Double) {
            // Halves are for arithmetic, not for storage: the slope of a plain norm at 0 is no number of theirs.
            return Err(Error::setting("number type of the parameters", "Float or Double", format!("{:?}", self.kind)));
        }
        self.bound.sort_by_key(|(bound, _)| bound.entry.start);
        if self.bound.is_empty() {
            return Err(Error::setting("parameters bound to a group", "at least one", 0));
        }
        let tilings: Vec<&Tiling> = self.bound.iter().map(|&(_, number)| &self.projectors[number].1).collect();
        let assembly = Assembly::of(&tilings, self.products)?;
        let mut one_pass = None;
        if self.device == Device::Cpu && self.products == TileProducts::PerKind {
            let start = |bound: &Bound| bound.entry.start;
            let layers = self.bound.iter().map(|(bound, number)| (start(bound), self.projectors[*number].0.clone()));
            one_pass = executor(&layers.collect::<Vec<_>>(), self.kind);
        }
        let bound: Vec<Bound> = self.bound.into_iter().map(|(bound, _)| bound).collect();
        let lengths: Vec<i64> = bound.iter().map(|bound| bound.entry.len() as i64).collect();
        let selection = Selection::of(&bound, self.device)?;
        let projector = assembly.build(self.kind, self.device, self.products)?;
        let mut binding = Binding {
            len: self.len,
            kind: self.kind,
            device: self.device,
            selection,
            segments: Segments::new(&lengths, self.device)?,
            projector,
            one_pass,
            bound,
        };
        if binding.device.is_cuda() {
            binding.one_pass = agreement::on_gpu(&binding)?;
        }
        Ok(binding)
    }
}

/// The distance of all bound parameters together from equivariant ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// ‖W − P(W)‖.
    pub absolute: f64,
    /// ‖W − P(W)‖ / ‖W‖; 0 where W is 0, NaN where a weight is not finite.
    pub relative: f64,
}

impl Binding {
    /// Binds every parameter that a plan types.
    pub fn of_plan(parameters: &Parameters, plan: &SymmetryPlan) -> Result<Self> {
        let mut builder = Self::builder(parameters);
        builder.plan(plan)?;
        builder.build()
    }

    /// Binds parameters of a network.
    pub fn builder(parameters: &Parameters) -> BindingBuilder {
        let flat = parameters.flat();
        Self::builder_over(parameters.entries(), flat.kind(), flat.device())
    }

    /// Binds named parameters that lie one after the other in flat tensors of `kind` on `device`.
    pub fn builder_over(entries: &[Entry], kind: Kind, device: Device) -> BindingBuilder {
        let len = entries.iter().map(Entry::len).sum();
        BindingBuilder {
            entries: entries.to_vec(),
            len,
            kind,
            device,
            bound: vec![],
            projectors: vec![],
            products: TileProducts::on(device),
        }
    }

    /// The parameters that are bound, in the order of the flat storage.
    pub fn bound(&self) -> &[Bound] {
        &self.bound
    }

    /// The number type of the flat storage.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The device of the flat storage.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Operations on the device that one projection takes: the same for a network of two equal layers as for one of a hundred.
    pub fn operations(&self) -> usize {
        self.projector.operations()
    }

    /// Whether the squared Frobenius penalty, its gradient and its decoupled step take one pass over the parameters, and other decoupled
    /// steps two, by executors of the core or by kernels.
    pub fn takes_one_pass(&self) -> bool {
        self.one_pass.is_some()
    }

    /// Whether [`Binding::takes_one_pass`] by kernels of a GPU, which read strengths from its memory: steps that are captured can be replayed
    /// with others.
    pub fn has_kernels(&self) -> bool {
        self.device.is_cuda() && self.takes_one_pass()
    }

    /// P on all parameters, flat `[len]`; parameters that are not bound are returned as they are.
    pub fn project(&self, flat: &Tensor) -> Result<Tensor> {
        self.selection.replaced(flat, self.projector.apply(&self.gather(flat)?)?)
    }

    /// W ← P(W) for every bound parameter: the network becomes equivariant.
    pub fn project_in_place(&self, parameters: &mut Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        parameters.assign(&self.project(parameters.flat())?)
    }

    /// ‖P(W)‖² and ‖W − P(W)‖² of every bound parameter, read back to the host.
    pub fn energies(&self, flat: &Tensor) -> Result<Vec<(String, Energies)>> {
        let _guard = tch::no_grad_guard();
        let weights = self.gather(flat)?;
        let projected = self.projector.apply(&weights)?;
        let energies = self.segments.energies([&projected, &weights.f_sub(&projected)?])?;
        let energies = Vec::<f64>::try_from(energies.f_view([-1])?)?;
        let (equivariant, perp) = energies.split_at(self.bound.len());
        let each = self.bound.iter().zip(equivariant.iter().zip(perp));
        Ok(each.map(|(b, (&equivariant, &perp))| (b.entry.name.clone(), Energies { equivariant, perp })).collect())
    }

    /// ‖W − P(W)‖ over all bound parameters, and that divided by ‖W‖, read back to the host.
    pub fn residual(&self, flat: &Tensor) -> Result<Residual> {
        let energies = self.energies(flat)?;
        let equivariant: f64 = energies.iter().map(|(_, energies)| energies.equivariant).sum();
        let perp: f64 = energies.iter().map(|(_, energies)| energies.perp).sum();
        let relative = if perp == 0.0 && equivariant.is_finite() { 0.0 } else { (perp / (equivariant + perp)).sqrt() };
        Ok(Residual { absolute: perp.sqrt(), relative })
    }

    /// Executors or kernels for a flat tensor `[len]`, where there are some.
    pub(crate) fn one_pass(&self, flat: &Tensor) -> Result<Option<&dyn OnePass>> {
        self.check(flat)?;
        Ok(self.one_pass.as_deref())
    }

    /// The bound numbers of a flat tensor, one parameter after the other.
    pub(crate) fn gather(&self, flat: &Tensor) -> Result<Tensor> {
        self.check(flat)?;
        self.selection.gather(flat)
    }

    fn check(&self, flat: &Tensor) -> Result<()> {
        if flat.size() == [self.len as i64] && flat.kind() == self.kind {
            return Ok(());
        }
        let expected = format!("[{}] of {:?}", self.len, self.kind);
        Err(Error::setting("flat tensor", expected, format!("{:?} of {:?}", flat.size(), flat.kind())))
    }
}
