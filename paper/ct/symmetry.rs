//! The kernels of a network that are held against C4: what P is on them, and the sample-based penalty on what they make.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use reynolds::group::{self, GroupRef};
use reynolds::projection::{KernelSpace, derive};
use reynolds::random::Random;
use reynolds::rep::{self, Grid, Rep};
use reynolds_torch::action::FieldAction;
use reynolds_torch::sample_penalty::{SamplePenalty, SamplePenaltyConfig, Witness};
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Binding, Parameters};

use super::patches::CtBatch;
use reynolds_train::config::under;
use reynolds_train::error::{Error, Result};

/// Elements of the group: so many channels are one regular field.
const ORDER: usize = 4;

/// `channels` as regular fields of C4: channel 4p + α has the orientation α of field p.
fn regular(c4: &GroupRef, channels: usize) -> Result<Rep> {
    if channels == 0 || !channels.is_multiple_of(ORDER) {
        return Err(Error::config("model.held", "kernels whose channels are regular fields of C4", channels));
    }
    Ok(rep::parse_fields(c4, &format!("{} regular", channels / ORDER))?)
}

/// Holds these kernels `[out, in, s, s]` against C4; `None` if there are none. Equal shapes are derived once.
///
/// # Errors
/// If one has another shape, or the device has no room.
pub(super) fn bind(parameters: &Parameters, held: &[String]) -> Result<Option<Rc<Binding>>> {
    if held.is_empty() {
        return Ok(None);
    }
    let c4 = group::parse("C4")?;
    let mut binding = Binding::builder(parameters);
    let mut known = BTreeMap::new();
    for (name, shape) in parameters.shapes().into_iter().filter(|(name, _)| held.contains(name)) {
        if !known.contains_key(&shape) {
            let [codomain, domain, side, _] = shape[..] else {
                return Err(Error::config("model.held", "kernels [out, in, s, s]", format!("{name} {shape:?}")));
            };
            let (domain, codomain) = (regular(&c4, domain)?, regular(&c4, codomain)?);
            let space = KernelSpace::kernel(&domain, &codomain, &Grid::new(&c4, side, 2)?)?;
            known.insert(shape.clone(), Arc::new(derive(&space)?));
        }
        binding.projector(&name, &known[&shape])?;
    }
    Ok(Some(Rc::new(binding.build()?)))
}

/// ‖W − P(W)‖ over all held kernels together, and that by ‖W‖. Not a number if the weights are none.
///
/// # Errors
/// Whatever libtorch may fail with.
pub(crate) fn residual(binding: &Binding, parameters: &Parameters) -> Result<(f64, f64)> {
    let energies = binding.energies(parameters.flat())?;
    let held: f64 = energies.iter().map(|(_, energies)| energies.equivariant).sum();
    let rest: f64 = energies.iter().map(|(_, energies)| energies.perp).sum();
    let relative = if rest == 0.0 && held.is_finite() { 0.0 } else { (rest / (held + rest)).sqrt() };
    Ok((rest.sqrt(), relative))
}

/// The sample-based penalty of Bai et al. on the outputs of held kernels.
pub(super) struct SampleBased {
    penalty: SamplePenalty,
    images: FieldAction,
    /// By the number of channels.
    fields: BTreeMap<i64, FieldAction>,
}

impl SampleBased {
    /// Of outputs with as many channels as the kernels of `binding` make.
    ///
    /// # Errors
    /// [`Error::Config`] if the weight is out of range.
    pub(super) fn new(config: SamplePenaltyConfig, binding: &Binding) -> Result<Self> {
        let c4 = group::parse("C4")?;
        let images = FieldAction::new(&rep::trivial(&c4));
        let mut fields = BTreeMap::new();
        for bound in binding.bound() {
            let channels = bound.entry.shape[0];
            fields.insert(channels as i64, FieldAction::new(&regular(&c4, channels)?));
        }
        let penalty = SamplePenalty::new(&images, config).map_err(|error| under("sample", error))?;
        Ok(Self { penalty, images, fields })
    }

    /// The witness of one step.
    pub(super) fn draw(&self, random: &mut Random) -> Result<Witness<'_>> {
        Ok(self.penalty.draw(random)?)
    }

    /// A minibatch beside its turned copy: inputs and truth.
    pub(super) fn double(&self, witness: &Witness<'_>, batch: &CtBatch) -> Result<CtBatch> {
        let twice = |images: &Tensor| witness.double_by(images, &self.images);
        let input = crate::ct::networks::Corrupted {
            image: twice(&batch.input.image)?,
            interpolated: twice(&batch.input.interpolated)?,
            keep: twice(&batch.input.keep)?,
        };
        Ok(CtBatch { input, truth: twice(&batch.truth)? })
    }

    /// Compares the halves of an output.
    pub(super) fn see(&self, witness: &mut Witness<'_>, output: &Tensor) -> reynolds_torch::Result<()> {
        let channels = output.size().get(1).copied().unwrap_or(0);
        let fields = self.fields.get(&channels).ok_or_else(|| {
            let known: Vec<_> = self.fields.keys().map(ToString::to_string).collect();
            reynolds_torch::Error::parameter("output", format!("{} channels", known.join(" or ")), channels)
        })?;
        witness.see(output, fields)
    }
}
