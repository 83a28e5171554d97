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
            "Data: {DATA}, not the challenge's: {} pairs to train on, {} to validate and {} to test, of side {}, made of {source} with random \
             metal by our own fan-beam scan (polychromatic, with noise, water corrected) in the challenge's geometry. LI is our own: the \
             trace of the metal bridged linearly in every view, then our filtered back-projection. PSNR and SSIM are on eight bits of μ \
             from 0 to 0.5/cm outside the metal, as the code that the paper follows has them. The paper's numbers are of other data, and \
             stand beside ours for the order of rows, not for their height.",
            data.train, data.validation, data.test, data.side
        ),
        format!(
            "Training: {} minibatches an epoch of patches of {} with random mirrorings (sample-based as many images of them, in minibatches of \
             `sample_batch`), Adam (0.5, 0.999), the learning rate halved at the shares `decay_at` of the epochs, the last weights. The paper has 80 epochs of about {} images of 256², minibatches of 12 (4 \
             sample-based), halved at epoch 50. Of the loss all stages send gradient; in the code the paper follows only the last of the \
             stages does, by a slip.",
            data.steps, data.patch, EPOCH
        ),
        "Networks: the geometry of 36 channels and 5 × 5 kernels that the paper's parameter counts settle, the plain rows too. Held against \
         C4 are the kernels of the X-nets (`model.held` = \"x\"), not their biases, and neither normalisation nor thresholds are shared over \
         orientations; the image itself lies in one slot of a regular field. A network with W = P(W) is therefore not equivariant as a \
         whole, and its defect is not 0."
            .into(),
        "Modes: the projection penalty is λ_⊥ Σ N(W − P(W)), squared if `penalty.form` = \"squared\"; λ_⊥ = 1 as the paper chose. The sample-based penalty is one \
         forward pass on the batch beside a turned copy, ‖rot y₀ − y₁‖ of every held layer with the weights 1e-6 (ACDNet) and 1e-8 of its \
         authors' code; the paper prints 10^6, surely 10^-6. RPP is P(W₁) + W₂ with both dense in the X-nets, as the paper's parameter \
         counts have it; its priors `train.parametrisation` are ours. Test-time projection is the plain model with P(W) for W: the same training run."
            .into(),
        "Labels: a row is \"not trained\" unless its mean gain of PSNR over LI, case by case, exceeds 3 standard errors over cases and seeds. \
         Claims about images are \"better\" by more than 2 standard errors over seeds, and none is held by fewer than two seeds or by a \
         row that is not trained."
            .into(),
    ];
    if let Some(costs) = settings.measured() {
        notes.push(format!(
            "Costs: measured by a process of its own for each row, one at a time, after all training: {} steps of side {} in {}. The \
             paper's text and table disagree: by the text the sample-based penalty is 42–47 % slower than ours at batch 4 and 54–61 % at the \
             largest batches, by its table 28–40 % and 48–49 %; by the text the penalty leaves the cost of a sample as it is, by its table \
             it loses 13–34 % at batch 4. {}",
            costs.measured_steps,
            costs.measured_side,
            costs.measured_precision.name(),
            if costs.sample_at_largest {
                "The paper has the sample-based penalty at batch 4 alone, for want of memory; here it is measured at all batches that fit."
            } else {
                "The sample-based penalty is measured at the smallest batch alone, as in the paper."
            }
        ));
    }
    notes
}

/// The batches that could not be measured, and why; `None` if all could.
pub(super) fn left_out(cells: &[Cell<'_>]) -> Option<String> {
    // The projected row has the cost of the plain one.
    let trained = cells.iter().filter(|cell| cell.row.mode != Mode::Projected);
    let of = |cell: &Cell<'_>| -> Vec<String> {
        let left_out = cell.cost.iter().flat_map(|cost| &cost.failures);
        left_out.map(|(batch, reason)| format!("{} at {batch}: {reason}", cell.label)).collect()
    };
    let all: Vec<String> = trained.flat_map(of).collect();
    (!all.is_empty()).then(|| format!("Not measured: {}.", all.join("; ")))
}

/// What is to be said of the table of norms beside that.
pub(super) fn norm_notes() -> String {
    "Norms: of the matrix [out, in · s · s] of each kernel; (p,q) is the q-norm of the p-norms of its rows. Frobenius and (2,2) are one number: the paper's two rows differ by 0.24 dB and \
     0.0027, which is how far its rows differ by chance. Its infinity norm is the largest entry, here \"max\". By default the \
     norms are not squared (`penalty.form` = \"plain\"), as in the paper's ablation; the committed results/ct/table-norms-phantoms was made with \"squared\"."
        .into()
}
