//! Accuracies beside the paper's, and all that is known of each set.

use super::cells::{Cell, find, majority, share};
use super::paper;
use super::settings::TableSettings;
use super::tuning::Tried;
use crate::medmnist::rows::Strengths;
use crate::medmnist::sets::Set;
use crate::targets::runs::seeds;
use crate::targets::sample::three_digits;
use reynolds_report::Table;

/// A number that may be none.
pub(super) fn shown(value: f64, text: impl Fn(f64) -> String) -> String {
    if value.is_finite() { text(value) } else { "–".into() }
}

/// "mean ± standard deviation over 3 seeds".
pub(super) fn over(count: u64) -> String {
    match count {
        1 => "1 seed".into(),
        count => format!("mean ± standard deviation over {}", seeds(count)),
    }
}

/// "1e-4", "1", "0".
pub(super) fn strength(value: f64) -> String {
    let text = format!("{value:e}");
    text.strip_suffix("e0").unwrap_or(&text).into()
}

/// Rows by sets, the paper's number beside ours where it has one.
pub(super) fn accuracy(settings: &TableSettings, cells: &[Cell<'_>]) -> Table {
    let columns = |set: Set| match set.is_of_paper() {
        true => vec![set.head(), "paper".into()],
        false => vec![set.head()],
    };
    let heads: Vec<String> = std::iter::once("row".into()).chain(settings.sets.iter().flat_map(columns)).collect();
    let mut table = Table::new(heads);
    table.caption(format!(
        "test accuracy, {}, of the weights with the best validation accuracy; \"not trained\": does not beat the most frequent class by 3 paired \
         standard errors",
        over(settings.seeds)
    ));
    let mut line = vec!["most frequent class".to_string()];
    for set in settings.sets.iter() {
        line.push(shown(majority(cells, set), |value| format!("{value:.3}")));
        line.extend(set.is_of_paper().then(|| "–".to_string()));
    }
    table.row(line);
    for row in settings.rows.iter().filter(|row| cells.iter().any(|cell| cell.row == *row)) {
        let mut line = vec![row.label()];
        for set in settings.sets.iter() {
            line.push(find(cells, set, row).map_or("–".into(), Cell::text));
            line.extend(paper::accuracy(row, set).map(|(mean, deviation)| format!("{mean:.3} ± {deviation:.3}")));
        }
        table.row(line);
    }
    table
}

/// Everything about one set.
pub(super) fn of_set(settings: &TableSettings, cells: &[Cell<'_>], set: Set) -> Table {
    let mut table = Table::new([
        "row",
        "accuracy",
        "AUC",
        "gain / se",
        "defect",
        "‖W − P(W)‖",
        "parameters",
        "learning rate",
        "λ_G",
        "λ_⊥",
    ]);
    let chosen = if set.is_of_paper() { "as published" } else { "tuned on validation at seed 0" };
    table.caption(format!(
        "{}: {}; the defect is the mean change of the class probabilities over turns of the grid, which the paper does not measure; \
         strengths {chosen}",
        set.head(),
        over(settings.seeds)
    ));
    for cell in cells.iter().filter(|cell| cell.set == set) {
        let Strengths { learning_rate, lambda_g, lambda_perp } = cell.strengths;
        let (gain, error) = cell.gain();
        let of_ours = |value: f64| if cell.row.is_ours() { strength(value) } else { "–".into() };
        table.row([
            cell.row.label(),
            cell.text(),
            share(&cell.test("auc")),
            shown(gain, |_| format!("{gain:+.3} / {error:.3}")),
            share(&cell.test("defect")),
            shown(cell.test("held/residual").mean(), three_digits),
            shown(cell.parameters(), |value| format!("{value:.0}")),
            strength(learning_rate),
            of_ours(lambda_g),
            of_ours(lambda_perp),
        ]);
    }
    table
}

/// What was tried at seed 0 for sets that the paper has no strengths of; `None` if nothing was.
pub(super) fn tried(tried: &[Tried<'_>]) -> Option<Table> {
    let mut table = Table::new(["set", "row", "learning rate", "λ_G", "λ_⊥", "validation accuracy", "validation loss"]);
    table.caption("what was tried at seed 0; the best validation accuracy is selected, of equal ones the smaller loss");
    for Tried { set, row, strengths, run } in tried {
        let Strengths { learning_rate, lambda_g, lambda_perp } = *strengths;
        table.row([
            set.head(),
            row.label(),
            strength(learning_rate),
            strength(lambda_g),
            strength(lambda_perp),
            shown(run.metric("validation/accuracy"), |value| format!("{value:.3}")),
            shown(run.metric("validation/loss"), three_digits),
        ]);
    }
    (!tried.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::synthetic::{diverged, models, run, table};
    use super::*;
    use crate::medmnist::data::MedSet;
    use crate::medmnist::networks::Architecture;

    fn line(text: &str, start: &str) -> String {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ours_stands_beside_the_papers_and_the_most_frequent_class_above() {
        let settings = table(&[("sets", "organ,vessel"), ("seeds", "3")]);
        let all = models(&settings, |one| match one.row().architecture {
            Architecture::Scnn => run(0.55, 0.0),
            Architecture::Rpp => diverged(),
            _ => run(0.9 + 0.01 * (one.config.seed as f64 - 1.0), 0.2),
        });
        let cells = cells(&settings, &all);
        let text = accuracy(&settings, &cells).to_string();
        assert_eq!(line(&text, "most frequent"), "most frequent class 0.500 – 0.500");
        assert_eq!(line(&text, "O(3) ours"), "O(3) ours 0.900 ± 0.010 0.943 ± 0.005 0.900 ± 0.010");
        // 0.05 above the most frequent class, with a standard error of 0.02.
        assert_eq!(
            line(&text, "SO(3) SCNN"),
            "SO(3) SCNN 0.550 ± 0.000 not trained 0.607 ± 0.006 0.550 ± 0.000 not trained"
        );
        assert!(line(&text, "O(3) RPP").contains("diverged, not trained"), "{text}");
        let text = of_set(&settings, &cells, Set::ORGAN).to_string();
        let ours = "O(3) ours 0.900 ± 0.010 0.900 ± 0.010 +0.400 / 0.021 0.200 ± 0.000 2.00 2035066 1e-4 1e-3 1e-3";
        assert_eq!(line(&text, "O(3) ours"), ours);
        assert!(line(&text, "CNN").ends_with("2035066 1e-4 – –") && text.contains("as published"), "{text}");
        assert!(of_set(&settings, &cells, Set::File(MedSet::Vessel)).to_string().contains("tuned on validation"));
    }
}
