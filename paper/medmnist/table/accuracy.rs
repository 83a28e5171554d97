//! `table-medmnist`: accuracies beside the paper's, and a table for each set.

use super::cells::{cells, majority};
use super::settings::Table as Keys;
use super::*;
use crate::targets::columns::Line;
use serde_json::{Map, Value};

pub(super) static PAPER: LazyLock<Published> =
    LazyLock::new(|| Published::read(&[include_str!("../../published/medmnist.toml")]));

const METRICS: [(&str, &str); 8] = [
    ("accuracy", "test/accuracy"),
    ("auc", "test/auc"),
    ("invariance_error", "test/invariance_error"),
    ("distance", "test/weights/distance"),
    ("relative_distance", "test/weights/relative_distance"),
    ("rotation_pairs", "test/pairs/rotation"),
    ("reflection_pairs", "test/pairs/reflection"),
    ("loss", "test/loss"),
];

pub(super) fn findings(settings: &TargetSettings<Keys>, frame: &Frame) -> Findings {
    let cells = cells(settings, frame);
    let mut tables = vec![table(settings, &cells)];
    tables.extend(settings.own.sets.iter().map(|set| of_set(settings, &cells, set)));
    tables.extend(tried(&settings.tried(frame)));
    Findings {
        tables,
        csv: columns::csv(&for_programs(&cells), &cells),
        more: results(&cells, frame),
        figures: figures::convergence(&settings.own, &cells),
        checks: claims::checks(&cells),
        notes: notes::of_table(settings),
        ..Findings::default()
    }
}

fn for_programs<'a>(all: &'a [Cell<'a>]) -> Vec<CellColumn<'a>> {
    let mut columns = vec![cells::set(), cells::row()];
    columns.extend(cells::strengths());
    columns.extend([
        CellColumn::new("parameters", |cell| cell.runs.metric("parameters")),
        cells::seeds(),
        CellColumn::new("diverged", |cell| cell.runs.diverged()),
        cells::trained(),
        CellColumn::new("majority", |cell| majority(all, cell.run.set())),
        CellColumn::pair(["gain", "gain_se"], Cell::gain),
    ]);
    columns.extend(METRICS.map(|(name, metric)| cells::metric(name, metric)));
    let paper = |cell: &Cell<'_>| PAPER.mean_and_deviation(&cell.row().name(), &cell.run.set().name());
    columns.push(CellColumn::pair(["paper_accuracy", "paper_accuracy_sd"], paper));
    columns
}

pub(super) fn results(cells: &[Cell<'_>], frame: &Frame) -> Map<String, Value> {
    let columns = for_programs(cells);
    Map::from_iter([
        ("cells".to_string(), cells.iter().map(|cell| columns::json(&columns, cell)).collect()),
        ("curves".to_string(), curves::json(frame.iter(), |_| true)),
    ])
}

/// Rows by sets, with the paper's numbers; first the most frequent class.
pub(super) fn table(settings: &TargetSettings<Keys>, cells: &[Cell<'_>]) -> Table {
    let mut columns = vec![Column::new("row", |row: &Row| row.label())];
    let mut trivial = vec![("row", "most frequent class".into())];
    for set in settings.own.sets.iter() {
        trivial.push((set.head(), majority(cells, set).into()));
        let text = move |row: &Row| find(cells, set, *row).map(Cell::text);
        columns.push(Column::new(set.head(), text).format(decimals::<3>));
        if set.is_of_paper() {
            columns.push(Column::new("paper", move |row: &Row| {
                let paper = PAPER.mean_and_deviation(&row.name(), &set.name());
                paper.map(|(mean, deviation)| format!("{mean:.3} ± {deviation:.3}"))
            }));
        }
    }
    let rows = settings.own.rows.as_slice().iter().filter(|row| cells.iter().any(|cell| cell.row() == **row));
    let lines = std::iter::once(Line::Given(trivial)).chain(rows.map(Line::Row));
    let mut table = columns::table(&columns, lines);
    table.caption(format!(
        "test accuracy, {}, of the weights with the best validation accuracy; \"not trained\": does not beat the most frequent class by 3 paired \
         standard errors",
        over(settings.own.seeds)
    ));
    table
}

fn of_set(settings: &TargetSettings<Keys>, cells: &[Cell<'_>], set: Set) -> Table {
    let columns = [
        CellColumn::new("row", Cell::label),
        CellColumn::new("accuracy", Cell::text),
        cells::metric("AUC", "test/auc").format(decimals::<3>),
        CellColumn::pair(["gain / se", ""], Cell::gain).format(decimals::<3>),
        cells::metric("invariance error", "test/invariance_error").format(decimals::<3>),
        cells::mean("‖W − P(W)‖", "test/weights/distance"),
        CellColumn::new("parameters", |cell| cell.runs.metric("parameters")).format(decimals::<0>),
        CellColumn::new("learning rate", |cell| strength(cell.run.strengths().learning_rate)),
        cells::lambda("λ_G", |strengths| strengths.lambda_g),
        cells::lambda("λ_⊥", |strengths| strengths.lambda_perp),
    ];
    let chosen = if set.is_of_paper() { "as published" } else { "tuned on validation at seed 0" };
    let mut table = columns::table(&columns, cells.iter().filter(|cell| cell.run.set() == set));
    table.caption(format!(
        "{}: {}; the defect is the mean change of the class probabilities over turns of the grid, which the paper does not measure; \
         strengths {chosen}",
        set.head(),
        over(settings.own.seeds)
    ));
    table
}

/// What was tried at seed 0 on sets without published strengths; `None` if nothing was.
fn tried(tried: &[(VolumeRun, &Trained)]) -> Option<Table> {
    type Tried<'a> = Column<'a, (VolumeRun, &'a Trained)>;
    let columns = [
        Tried::new("set", |(run, _)| run.set().head()),
        Tried::new("row", |(run, _)| run.row().label()),
        Tried::new("learning rate", |(run, _)| strength(run.strengths().learning_rate)),
        Tried::new("λ_G", |(run, _)| strength(run.strengths().lambda_g)),
        Tried::new("λ_⊥", |(run, _)| strength(run.strengths().lambda_perp)),
        Tried::new("validation accuracy", |(_, trained)| trained.metric("validation/accuracy")).format(decimals::<3>),
        Tried::new("validation loss", |(_, trained)| trained.metric("validation/loss")).format(three_digits),
    ];
    let mut table = columns::table(&columns, tried);
    table.caption("what was tried at seed 0; the best validation accuracy is selected, of equal ones the smaller loss");
    (!tried.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{of, run};
    use super::*;
    use crate::targets::synthetic::diverged;

    fn line(text: &str, start: &str) -> String {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ours_stands_beside_the_papers_and_the_most_frequent_class_above() {
        let settings = super::super::synthetic::table(&[("sets", "organ,vessel"), ("seeds", "3")]);
        let all = of(&settings, |one| match one.row().architecture {
            Architecture::Scnn => run(0.55, 0.0),
            Architecture::Rpp => diverged(),
            _ => run(0.9 + 0.01 * (one.config.seed as f64 - 1.0), 0.2),
        });
        let cells = cells(&settings, &all);
        let text = table(&settings, &cells).to_string();
        assert_eq!(line(&text, "most frequent"), "most frequent class 0.500 – 0.500");
        assert_eq!(line(&text, "O(3) ours"), "O(3) ours 0.900 ± 0.010 0.943 ± 0.005 0.900 ± 0.010");
        // 0.05 above the most frequent class, with a standard error of 0.02.
        assert_eq!(
            line(&text, "SO(3) SCNN"),
            "SO(3) SCNN 0.550 ± 0.000 not trained 0.607 ± 0.006 0.550 ± 0.000 not trained"
        );
        assert!(line(&text, "O(3) RPP").contains("diverged, not trained"), "{text}");
        let text = of_set(&settings, &cells, Set::Organ).to_string();
        let ours = "O(3) ours 0.900 ± 0.010 0.900 ± 0.010 +0.400 / 0.021 0.200 ± 0.000 2.00 2035066 1e-4 1e-3 1e-3";
        assert_eq!(line(&text, "O(3) ours"), ours);
        assert!(line(&text, "CNN").ends_with("2035066 1e-4 – –") && text.contains("as published"), "{text}");
        assert!(of_set(&settings, &cells, Set::Vessel).to_string().contains("tuned on validation"));
    }

    #[test]
    fn the_papers_numbers_are_found_by_row_and_set() {
        let number = |row: Row, set: Set| PAPER.mean_and_deviation(&row.name(), &set.name());
        assert_eq!(number(Row::ours(Symmetry::O3), Set::Organ), Some((0.943, 0.005)));
        for &row in Row::ALL {
            assert!(Set::ALL.iter().all(|&set| number(row, set).is_some() == set.is_of_paper()));
        }
    }
}
