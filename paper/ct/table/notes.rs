//! The choices that were made where the paper is silent, and the data that stand in for the challenge's.

use super::cells::{Cell, EPOCH};
use super::row::Mode;
use super::settings::TargetSettings;
use super::tables::DATA;
use crate::ct::CtSource;

/// A paragraph each.
pub(super) fn notes(settings: &TargetSettings) -> Vec<String> {
    let data = &settings.run.settings.data;
    let source = match data.source {
        CtSource::Phantom => "random bodies of ellipses",
        CtSource::Slices => "scanned slices, split by series,",
    };
    let mut notes = vec![
        format!(
            "Data: {DATA}, not the challenge's: {} pairs for training, {} for validation and {} for testing, of side {}, from {source} with \
             random metal, by our own fan-beam scan (polychromatic, noisy, water corrected) in the challenge's geometry. LI, also ours, \
             bridges the trace of the metal linearly in every view before filtered back-projection. PSNR and SSIM are on eight bits of μ from \
             0 to 0.5/cm outside the metal, as in the code that the paper follows. The paper's numbers are of other data: compare the order \
             of rows, not the values.",
            data.train, data.validation, data.test, data.side
        ),
        format!(
            "Training: {} minibatches an epoch of patches of {} with random mirrorings (as many images for sample-based rows, in minibatches of \
             `sample_batch`), Adam (0.5, 0.999), the learning rate halved at the shares `decay_at` of the epochs, the last weights. The paper \
             has 80 epochs of about {EPOCH} images of 256², minibatches of 12 (4 sample-based), halved at epoch 50. All stages contribute to \
             the gradient; in the code that the paper follows, by a slip, only the last stage does.",
            data.steps, data.patch
        ),
        "Networks: 36 channels and 5 × 5 kernels, as the paper's parameter counts say, in the plain rows too. Regularised towards C4 are the \
         kernels of the X-nets (`model.regularised` = \"x\"), not their biases; normalisation and thresholds are not shared over orientations, and \
         the image lies in one slot of a regular field. So a network with W = P(W) is not equivariant as a whole: its defect is not 0."
            .into(),
        "Modes: the projection penalty is λ_⊥ Σ N(W − P(W)), squared if `penalty.form` = \"squared\", with the paper's λ_⊥ = 1. The sample-based \
         penalty is ‖rot y₀ − y₁‖ of every regularised layer, from one forward pass on the batch and a turned copy, with the weights 1e-6 \
         (ACDNet) and 1e-8 of its authors' code; the paper prints 10^6, surely 10^-6. RPP is P(W₁) + W₂, both dense in the X-nets, as the \
         paper's parameter counts say; its priors `train.parametrisation` are ours. Test-time projection tests the plain model with P(W)."
            .into(),
        "Labels: \"not trained\" is a row whose mean gain of PSNR over LI, case by case, does not exceed 3 standard errors over cases and \
         seeds. \"Better\" is a difference of more than 2 standard errors over seeds; no claim about images holds with fewer than two seeds \
         or for a row that is not trained."
            .into(),
    ];
    if let Some(costs) = settings.measured() {
        let sampled = match costs.sample_at_largest {
            true => "at all batches that fit; the paper has batch 4 alone, because of memory",
            false => "at the smallest batch alone, as in the paper",
        };
        notes.push(format!(
            "Costs: measured in a process for each row, one at a time, after all training: {} steps of side {} in {}; the sample-based penalty \
             {sampled}. The paper's text and table disagree: by the text the sample-based penalty is 42–47 % slower than ours at batch 4 and \
             54–61 % at the largest batches, by its table 28–40 % and 48–49 %; by the text the penalty does not change the cost of a sample, by \
             its table it loses 13–34 % at batch 4.",
            costs.measured_steps,
            costs.measured_side,
            costs.measured_precision.name()
        ));
    }
    notes
}

/// The batches that could not be measured, and why; `None` if all could.
pub(super) fn left_out(cells: &[Cell<'_>]) -> Option<String> {
    // The projected row has the cost of the plain one.
    let trained = cells.iter().filter(|cell| cell.row.mode != Mode::Projected);
    let failures = trained.flat_map(|cell| {
        // Without those of a single number.
        let of_batches = cell.cost.iter().flat_map(|cost| &cost.failures).filter(|(name, _)| !name.contains('/'));
        of_batches.map(move |failure| (cell, failure))
    });
    let all: Vec<_> = failures.map(|(cell, (batch, reason))| format!("{} at {batch}: {reason}", cell.label)).collect();
    (!all.is_empty()).then(|| format!("Not measured: {}.", all.join("; ")))
}

pub(super) fn norm_notes() -> String {
    "Norms: of the matrix [out, in · s · s] of each kernel; (p,q) is the q-norm of the p-norms of its rows. Frobenius and (2,2) are one number: \
     the paper's two rows differ by 0.24 dB and 0.0027, which is the spread of its rows by chance. Its infinity norm is the largest entry, here \
     \"max\". By default the norms are not squared (`penalty.form` = \"plain\"), as in the paper's ablation; the committed \
     results/ct/table-norms-phantoms was made with \"squared\"."
        .into()
}
