//! Any set of named tensors, such as the variables of a [`tch::nn::VarStore`], bound to a group as they are.
//!
//! Their numbers are gathered into one flat tensor when they are needed; the penalty's gradient is added to `.grad` after
//! `loss.backward()`, and tch's own optimisers do the rest. Networks made for this crate keep their parameters in [`crate::Parameters`],
//! where nothing has to be gathered.
//!
//! ```
//! use reynolds::{group, penalty::PenaltyConfig, plan::{SymmetryPlan, UniformFields}};
//! use reynolds_torch::{Penalty, Variables, tch::{Device, Kind, Tensor, nn, nn::Module}};
//! let store = nn::VarStore::new(Device::Cpu);
//! let layer = nn::conv2d(store.root() / "layer", 4, 8, 3, Default::default());
//! let mut variables = Variables::of(&store)?;
//! let mut binding = variables.binding();
//! binding.plan(&SymmetryPlan::uniform(&group::parse("C4")?, UniformFields::Regular)?)?;
//! let penalty = Penalty::new(binding.build()?, PenaltyConfig { lambda_perp: 0.1, ..PenaltyConfig::default() })?;
//! let images = Tensor::ones([2, 4, 8, 8], (Kind::Float, Device::Cpu));
//! layer.forward(&images).square().mean(Kind::Float).backward();
//! let _value = variables.add_penalty(&penalty)?; // then the optimiser's step
//! variables.project(penalty.binding())?; // now the layer is equivariant
//! assert!(penalty.value(&variables.flat()?)?.double_value(&[]) < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use tch::nn::VarStore;
use tch::{Kind, Tensor};

use crate::binding::{Binding, BindingBuilder};
use crate::error::{Error, Result};
use crate::parameters::{Entry, lay_out, on_tape};
use crate::penalty::Penalty;

/// Named tensors of one number type on one device.
#[derive(Debug)]
pub struct Variables {
    entries: Vec<Entry>,
    tensors: Vec<Tensor>,
}

impl Variables {
    /// Tensors by name. They are not copied: what is added to their gradients, or projected, is theirs.
    pub fn new(named: impl IntoIterator<Item = (String, Tensor)>) -> Result<Self> {
        let mut held: Vec<(Entry, Tensor)> = Vec::new();
        for (name, tensor) in named {
            let kind = real_kind(&name, &tensor)?;
            if held.iter().any(|(entry, _)| entry.name == name) {
                return Err(Error::parameter(name, "a unique name", "a second parameter of that name"));
            }
            if let Some((first, other)) = held.first() {
                let (expected, device) = (real_part(other.kind()), other.device());
                if (kind, tensor.device()) != (expected, device) {
                    let expected = format!("{expected:?} on {device:?}, as \"{}\"", first.name);
                    return Err(Error::parameter(name, expected, format!("{kind:?} on {:?}", tensor.device())));
                }
            }
            let shape = tensor.size().iter().map(|&side| side as usize).collect();
            held.push((Entry { name, shape, complex: tensor.is_complex(), start: 0 }, tensor));
        }
        if held.is_empty() {
            return Err(Error::setting("variables", "at least one", 0));
        }
        held.sort_by_key(|(entry, _)| !entry.complex);
        let (mut entries, tensors): (Vec<Entry>, Vec<Tensor>) = held.into_iter().unzip();
        lay_out(&mut entries);
        Ok(Self { entries, tensors })
    }

    /// The trainable variables of a store, by name in alphabetical order.
    pub fn of(store: &VarStore) -> Result<Self> {
        let mut named: Vec<(String, Tensor)> = store.variables().into_iter().collect();
        named.retain(|(_, tensor)| tensor.requires_grad());
        named.sort_by(|a, b| a.0.cmp(&b.0));
        Self::new(named)
    }

    /// Where each tensor lies in a flat one.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Binds these tensors to groups.
    pub fn binding(&self) -> BindingBuilder {
        let first = &self.tensors[0];
        Binding::builder_over(&self.entries, real_part(first.kind()), first.device())
    }

    /// All numbers in one tensor `[len]`, copied, not on the tape.
    pub fn flat(&self) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        self.on_tape()
    }

    /// All numbers in one tensor `[len]` on the tape, for [`Penalty::differentiable`].
    pub fn on_tape(&self) -> Result<Tensor> {
        on_tape(&self.tensors)
    }

    /// Adds the penalty's gradient to the `.grad` of every bound tensor and returns the penalty. After `loss.backward()`, before the
    /// optimiser's step; tensors that are not bound keep what they have.
    pub fn add_penalty(&mut self, penalty: &Penalty) -> Result<Tensor> {
        let binding = penalty.binding();
        let (value, slope) = {
            let _guard = tch::no_grad_guard();
            penalty.value_and_slope(&binding.gather(&self.flat()?)?)?
        };
        // The gradient of ⟨W, S⟩ by W is S: one pass of the tape puts it where it belongs, `.grad` being there or not.
        let bound = |entry: &Entry| binding.bound().iter().any(|bound| bound.entry.name == entry.name);
        let held = self.entries.iter().zip(&self.tensors).filter(|(entry, _)| bound(entry));
        let tensors: Vec<Tensor> = held.map(|(_, tensor)| tensor.shallow_clone()).collect();
        tch::with_grad(|| -> Result<()> { Ok(on_tape(&tensors)?.f_dot(&slope)?.f_backward()?) })?;
        Ok(value)
    }

    /// W ← P(W) for every bound tensor.
    pub fn project(&mut self, binding: &Binding) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let projected = binding.project(&self.flat()?)?;
        for (entry, tensor) in self.entries.iter().zip(&mut self.tensors) {
            tensor.f_copy_(&entry.part(&projected)?)?;
        }
        Ok(())
    }
}

/// The kind of the real numbers a tensor is made of.
fn real_kind(name: &str, tensor: &Tensor) -> Result<Kind> {
    let kind = real_part(tensor.kind());
    match kind {
        Kind::Double | Kind::Float => Ok(kind),
        other => Err(Error::parameter(name, "a tensor of f32 or f64, real or complex", format!("{other:?}"))),
    }
}

fn real_part(kind: Kind) -> Kind {
    match kind {
        Kind::ComplexDouble => Kind::Double,
        Kind::ComplexFloat => Kind::Float,
        real => real,
    }
}
