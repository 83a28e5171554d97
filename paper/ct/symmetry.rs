//! The kernels of a network that are regularised towards C4: their plan, and the sample-based penalty on their outputs.

use std::collections::BTreeMap;

use reynolds::group;
use reynolds::plan::{Rule, SymmetryPlan};
use reynolds::random::Random;
use reynolds::rep;
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
fn regular(channels: usize) -> Result<String> {
    if channels == 0 || !channels.is_multiple_of(ORDER) {
        return Err(Error::config("model.held", "kernels whose channels are regular fields of C4", channels));
    }
    Ok(format!("{} regular", channels / ORDER))
}

/// Types these kernels `[out, in, s, s]`, without their biases, by regular fields of C4; `None` if there are none.
pub(super) fn plan(parameters: &Parameters, held: &[String]) -> Result<Option<SymmetryPlan>> {
    let rule = |(name, shape): (String, Vec<usize>)| {
        let [codomain, domain, _, _] = shape[..] else {
            return Err(Error::config("model.held", "kernels [out, in, s, s]", format!("{name} {shape:?}")));
        };
        let domain = Some(regular(domain)?);
        Ok(Rule { name, domain, codomain: regular(codomain)?, bias: Some(false), ..Rule::default() })
    };
    let kernels = parameters.shapes().into_iter().filter(|(name, _)| held.contains(name));
    let rules = kernels.map(rule).collect::<Result<Vec<_>>>()?;
    if rules.is_empty() {
        return Ok(None);
    }
    Ok(Some(SymmetryPlan::of_rules(&group::parse("C4")?, rules)?))
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
    pub(super) fn new(config: SamplePenaltyConfig, binding: &Binding) -> Result<Self> {
        let c4 = group::parse("C4")?;
        let images = FieldAction::new(&rep::trivial(&c4));
        let mut fields = BTreeMap::new();
        for bound in binding.bound() {
            let channels = bound.entry.shape[0];
            fields.insert(channels as i64, FieldAction::new(&rep::parse_fields(&c4, &regular(channels)?)?));
        }
        let penalty = SamplePenalty::new(&images, config).map_err(|error| under("sample", error))?;
        Ok(Self { penalty, images, fields })
    }

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
