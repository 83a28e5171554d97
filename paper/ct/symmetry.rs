//! The sample-based penalty on the outputs of the kernels that are held against C4.

use std::collections::BTreeMap;

use reynolds::group;
use reynolds::random::Random;
use reynolds::rep;
use reynolds_torch::Binding;
use reynolds_torch::action::FieldAction;
use reynolds_torch::sample_penalty::{SamplePenalty, SamplePenaltyConfig, Witness};
use reynolds_torch::tch::Tensor;

use super::patches::CtBatch;
use reynolds_train::config::under;
use reynolds_train::error::Result;

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
            let regular = rep::parse_fields(&c4, &format!("{} regular", channels / 4))?;
            fields.insert(channels as i64, FieldAction::new(&regular));
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
        Ok(CtBatch { input: batch.input.map(twice)?, truth: twice(&batch.truth)? })
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
