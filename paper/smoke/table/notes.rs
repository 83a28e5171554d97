//! Notes of the report: choices that were made where the paper is silent.

use super::*;
use crate::smoke::data::INPUT_FRAMES;

/// A paragraph each.
pub(super) fn notes(settings: &TableSettings) -> Vec<String> {
    let length = settings.run.settings.data.rollout;
    let data = format!(
        "Data: 35, 36 and 38 simulations of 310 steps on 64² cells, as in the public code (the text says 35, 40 and 40). A network sees \
         {INPUT_FRAMES} frames and forecasts the next; trained and validated on free-running rollouts of data.out_length steps, tested on \
         rollouts of {length}. Future: later frames of the simulations trained on. Domain: other simulations. Windows are spread evenly \
         where not all are used (0 = all)."
    );
    let others = [
        "Errors: RMSE = √(mean over windows, steps, components and cells of the squared error), every window alike. The paper's caption says \
         MSE, but its numbers are of the size of the RMSE that the code it follows computes, and are compared with that; MSE is in a table of \
         its own. Standard errors of a run are over simulations, because windows of one simulation overlap.",
        "Training: Adam with coupled weight decay 4e-4, the learning rate times `train.schedule.gamma` each epoch, stopped on a plateau of the \
         validation RMSE after 100 epochs. `train.weights` says which weights are tested: those of the best validation RMSE, or the last as in \
         the public code; table.csv has both (last_rmse_mean, best_rmse_mean).",
        "Sizes: `hidden` times `width`. Published are RGroup of translation (128 channels, 2 banks) and RSteer of rotation (92 fields); RSteer \
         of scaling is published with 64 channels (16.8 million parameters) and has 48 here, below the paper's own cap of ten million; RGroup \
         of rotation (130, 3 banks) is that of a later study. The others are ours: Equiv and RPP have the fields of RSteer, Conv as many \
         channels as RSteer has in all, RGroup of scaling 128, the rest what stays below the cap. Locally connected layers, the encoder of \
         Lift and the dense residual of RPP under translation have parameters for every cell of the grid, so that counts cannot be equal at a \
         sensible width. All counts are in the table of networks.",
        "Constraints: baselines with a constraint have it at `alpha`, published for RGroup of translation and RSteer (0, 1e-5, 1e-6) and used \
         for all networks of a row except RPP, which has `alpha_rpp`: its published constraint contains a factor 1e-6 and no α, so α = 1; that \
         of translation has no constraint. With α = 0 the locally connected network of translation is unconstrained, as in the published \
         command. The loss gets (α c)² as in the public code. +Reg is λ_⊥ Σ‖W − P(W)‖² on what `model.regularised` says, in place of that \
         constraint: λ_G = 0, α = 0. Scalings have no invariant mean: there P is the projection onto shared weights. RSteer of scaling reads \
         one scale, at which shared weights already make every kernel, as Wang's does: Equiv and RSteer compute the same functions there, and \
         the claim about RSteer+Reg of scaling cannot test equivariance.",
        "Selection: every λ_⊥ of `lambda_perp` is trained with the first seed; the one with the least validation RMSE is trained with the other \
         seeds. λ_⊥ = 0, which is in the paper's range, is run only where it is listed: the column without +Reg equals it only where its α is \
         0. No other setting is tuned; the paper tunes learning rate, minibatch, width, depth, banks and steps of the loss for each column.",
        "Labels: a cell is \"not trained\" unless its mean gain over persistence (the last frame seen, repeated) exceeds 3 standard errors, from \
         the spread over simulations and over seeds. Claims: \"leaves as it is\": difference ± 2 standard errors over seeds within ± 2 % of the \
         error; \"improves\": lower by more than 2 standard errors. Both need at least two seeds and cells that are trained.",
    ];
    std::iter::once(data).chain(others.map(String::from)).collect()
}
