//! Notes on choices where the paper says nothing, a paragraph each.

use super::settings::{Shapes, Table, Tuning};
use super::*;

pub(super) fn of_table(settings: &TargetSettings<Table>) -> Vec<String> {
    let rounds = match settings.own.tuning {
        Tuning::Staged => "learning rates at the first λ_G and the middle λ_⊥, then pairs of λ at the best of them",
        Tuning::Grid => "every learning rate with every pair of λ",
    };
    let tuning = format!(
        "Strengths: on the paper's sets ours has the learning rate, λ_G and λ_⊥ of its table; for the baselines, whose settings are \
         published elsewhere, 5e-5 on Nodule and 1e-4 on Synapse and Organ. On other sets all rows are tuned on validation at seed {}: \
         {rounds}; the other seeds follow with the best. So ours tries {} settings and each baseline {}, its learning rates alone: \
         neither the priors of RPP nor the weights of the P-SCNN's terms are tuned.",
        settings.run.seed,
        settings.own.tried(Row::ours(Symmetry::So3)),
        settings.own.tried(Row::CNN)
    );
    with_note(settings, Some(tuning))
}

pub(super) fn of_shapes(settings: &TargetSettings<Shapes>) -> Vec<String> {
    let pairs = "Pairs: with breaking b a volume stands as its class does with probability b and is turned or mirrored at random else, so that \
         within a pair nobody can have more than ½ + b/2. Chance is within 3 standard errors of one half, ½/√n of the n test volumes \
         of the pairs, however many seeds there are. The best λ_⊥ has the highest validation accuracy in the mean over seeds, of \
         equal ones the smaller loss; another has the lowest validation loss, of the same weights, since where nothing is broken the \
         accuracy is random for every volume. Strengths within the standard error of the difference are tied with the best; between tied ends no \
         fall is claimed. \"solids\" are volumes that are taken for either class of their pair, which all can tell.";
    with_note(settings, Some(pairs.into()))
}

pub(super) fn of_efficiency() -> Vec<String> {
    vec![
        "Costs: measured by processes of their own for each row, one at a time, on random volumes; the device is waited for only at the \
         ends of groups of steps. Ours trains with its penalty. The paper's numbers are of its own machine, on Nodule, in half \
         precision with gradient scaling; its table has no O(3)."
            .into(),
    ]
}

pub(super) fn of_training<O: Trains>(settings: &TargetSettings<O>) -> Vec<String> {
    with_note(settings, None)
}

fn with_note<O: Trains>(settings: &TargetSettings<O>, between: Option<String>) -> Vec<String> {
    let mut notes = vec![data(settings), training(&settings.run), networks(&settings.run)];
    notes.extend(between);
    let settled = settings.run.settings.data.settled;
    if settled > 0 {
        notes.push(format!(
            "Evaluation: normalisations have the statistics of {settled} minibatches of training volumes, measured with the weights that are \
             evaluated. The running ones, which the paper has (data.settled = 0), lag some ten steps behind: short of a thousand steps that \
             decides whether a network is evaluated as what it was trained as."
        ));
    }
    notes.push(
        "Labels: a row is \"not trained\" unless its mean gain of accuracy over the most frequent class exceeds 3 standard errors, paired, over \
         volumes and seeds. No claim is held by rows that are not trained, nor one about differences by fewer than two seeds."
            .into(),
    );
    notes
}

fn training(run: &RunConfig<MedSettings>) -> String {
    format!(
        "Training: Adam with a constant learning rate, {} epochs, minibatches of {}, cross entropy without class weights, {}; the weights \
         with the best validation accuracy are tested, of equal ones those with the smaller validation loss. The code that the paper \
         follows does so for Nodule and Synapse and keeps the last weights for Organ. Accuracy is over samples, not over batches as there. \
         The paper's runs are of 3 seeds and half precision; how many epochs it does not say: we infer 100.",
        run.train.epochs,
        run.settings.data.batch,
        run.train.precision.name()
    )
}

fn networks(run: &RunConfig<MedSettings>) -> String {
    let widths = match run.settings.model.width {
        0 => "c = 6 for all but ours, which has c = 2 (2.04 million parameters with SO(3) fields, 3.26 million with O(3) fields)".into(),
        width => format!("c = {width} for all (`model.width`)"),
    };
    format!(
        "Networks: the residual network that the paper's parameter counts settle, {widths}; ours has dense kernels and pointwise \
         nonlinearities (`model.nonlinearity`), typed as fields; the penalty is λ_G‖P(W)‖² + λ_⊥‖W − P(W)‖² on kernels and biases."
    )
}

fn data<O: Trains>(settings: &TargetSettings<O>) -> String {
    let sets = settings.sets();
    let heads: Vec<&str> = sets.iter().map(|set| set.head()).collect();
    let mut text = format!("Data: {}", heads.join(", "));
    if sets.iter().any(|set| !set.is_of_paper()) {
        text += "; the paper's are Nodule, Synapse and Organ, which the same command runs once their files are there (`sets`)";
    }
    if sets.contains(&Set::Shapes) {
        let shapes = &settings.run.settings.data.shapes;
        text += &format!(
            ". The generated shapes are no medical data: {} solids to learn from, {} to choose by, {} to test on, among them pairs that \
             differ by a turn alone and pairs that differ by a reflection alone; `breaking` is the share of volumes whose orientation or \
             hand tells their class",
            shapes.train, shapes.validation, shapes.test
        );
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_count_the_tried_settings_and_name_the_width() {
        let said = |budget: Budget| of_table(&budget::table(budget)).join("\n");
        // Staged: two learning rates, then eight pairs of λ of which one is known; a grid: five learning rates by eight pairs.
        assert!(said(Budget::Standard).contains("ours tries 9 settings and each baseline 2,"));
        assert!(said(Budget::Full).contains("ours tries 40 settings and each baseline 5,"));
        assert!(said(Budget::Full).contains("3.26 million with O(3)"));
        let narrow = said(Budget::Quick);
        assert!(narrow.contains("c = 1 for all") && !narrow.contains("million"), "{narrow}");
    }
}
