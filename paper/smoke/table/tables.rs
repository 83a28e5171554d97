//! The table beside the paper's, the same in mean squares, the networks of its cells, and all of it for programs.

use std::fmt::Write as _;

use crate::smoke::data::Kind;

use super::cells::{Cell, Test, cell};
use super::paper::published;
use super::rows::strength;
use super::settings::TableSettings;
use crate::smoke::columns::{COLUMNS, Column};
use crate::targets::Named;
use crate::targets::curves::field;
use crate::targets::point::Frame;
use crate::targets::runs::seeds;
use crate::targets::sample::{Sample, three_digits};
use reynolds_report::Table;

/// The columns that were run in any row.
fn shown(cells: &[Cell<'_>]) -> Vec<Column> {
    COLUMNS.into_iter().filter(|column| cells.iter().any(|cell| cell.column == *column)).collect()
}

/// The rows of which a cell was run.
fn rows(settings: &TableSettings, cells: &[Cell<'_>]) -> Vec<Kind> {
    settings.kinds.iter().filter(|kind| cells.iter().any(|cell| cell.kind == *kind)).collect()
}

/// "0.812 ± 0.010", with its label where it is not trained.
fn text(cell: &Cell<'_>, test: Test, metric: &str) -> String {
    let (sample, diverged, runs) = (cell.test(test, metric), cell.diverged(), cell.runs.len());
    // One seed has no deviation.
    let sample = if sample.values().len() == 1 { three_digits(sample.mean()) } else { sample.to_string() };
    match diverged {
        0 if cell.is_trained(test) => sample,
        0 => format!("{sample} not trained"),
        _ if diverged == runs => "diverged, not trained".into(),
        _ => format!("{sample} ({diverged} of {runs} diverged) not trained"),
    }
}

/// The error of the last frame repeated: the same for every run of a row.
fn persistence(cells: &[Cell<'_>], kind: Kind, test: Test) -> f64 {
    let runs = cells.iter().filter(|cell| cell.kind == kind).flat_map(|cell| &cell.runs);
    let mut errors = runs.map(|(_, run)| run.metric(&test.metric("persistence_rmse")));
    errors.find(|error| error.is_finite()).unwrap_or(f64::NAN)
}

/// Errors beside the paper's.
pub(super) fn errors(settings: &TableSettings, cells: &[Cell<'_>]) -> Table {
    let columns = shown(cells);
    let heads = columns.iter().map(|column| column.head);
    let mut table = Table::new(["data", "test", ""].into_iter().chain(heads).chain(["persistence"]));
    let seeds = seeds(settings.seeds);
    table.caption(format!(
        "RMSE of a rollout, mean ± standard deviation over {seeds}, beside the paper's over 5; λ_⊥ of +Reg is selected on the \
         validation part with the first seed alone, the other seeds train only that one; \"not trained\": does not beat persistence by 3 standard \
         errors"
    ));
    for kind in rows(settings, cells) {
        for test in Test::ALL {
            let ours = columns.iter().map(|&column| {
                cell(cells, kind, column).map_or_else(|| "–".to_string(), |cell| text(cell, test, "rmse"))
            });
            let trivial = three_digits(persistence(cells, kind, test));
            let lead = [kind.to_string(), test.head().to_string(), "ours".to_string()];
            table.row(lead.into_iter().chain(ours).chain([trivial]));
            let theirs = columns.iter().map(|&column| match published(kind, column, test) {
                Some((mean, deviation)) => format!("{mean:.2} ± {deviation:.2}"),
                None => "–".into(),
            });
            let lead = [String::new(), String::new(), "paper".to_string()];
            table.row(lead.into_iter().chain(theirs).chain(["–".to_string()]));
        }
    }
    table
}

/// The same in mean squares.
pub(super) fn mean_squares(settings: &TableSettings, cells: &[Cell<'_>]) -> Table {
    let columns = shown(cells);
    let heads = columns.iter().map(|column| column.head);
    let mut table = Table::new(["data", "test"].into_iter().chain(heads).chain(["persistence"]));
    table.caption(format!("MSE of the same rollouts, mean ± standard deviation over {}", seeds(settings.seeds)));
    for kind in rows(settings, cells) {
        for test in Test::ALL {
            let ours = columns.iter().map(|&column| {
                cell(cells, kind, column).map_or_else(|| "–".to_string(), |cell| text(cell, test, "mse"))
            });
            let trivial = three_digits(persistence(cells, kind, test).powi(2));
            table.row([kind.to_string(), test.head().to_string()].into_iter().chain(ours).chain([trivial]));
        }
    }
    table
}

/// What each cell is: size, selected λ_⊥, how long it trained.
pub(super) fn networks(settings: &TableSettings, cells: &[Cell<'_>]) -> Table {
    let head = [
        "data",
        "column",
        "hidden",
        "parameters",
        "λ_⊥",
        "epochs",
        "best epoch",
        "validation RMSE",
        "‖W − P(W)‖/‖W‖",
        "gain over persistence / se (Future, Domain)",
    ];
    let mut table = Table::new(head);
    table.caption("networks of the cells, means over seeds");
    for cell in cells {
        let model = settings.point(cell.kind, cell.column, cell.lambda_perp, settings.run.seed);
        let number = |sample: Sample, text: &dyn Fn(f64) -> String| match sample.mean() {
            mean if mean.is_finite() => text(mean),
            _ => "–".into(),
        };
        let whole = |mean: f64| format!("{mean:.0}");
        let [future, domain] = Test::ALL.map(|test| {
            let (gain, error) = cell.gain(test);
            format!("{gain:.3} / {error:.3}")
        });
        let lambda = if cell.column.reg { strength(cell.lambda_perp) } else { "–".into() };
        let parameters = cell.runs.first().map_or(f64::NAN, |(_, run)| run.metric("parameters"));
        table.row([
            cell.kind.to_string(),
            cell.column.head.into(),
            model.run.settings.model.hidden.to_string(),
            whole(parameters),
            lambda,
            number(cell.sample("epochs"), &whole),
            number(cell.sample("best/epoch"), &whole),
            number(cell.sample("validation/rmse"), &three_digits),
            number(cell.sample("validation/equivariance/relative"), &three_digits),
            format!("{future}, {domain}"),
        ]);
    }
    table
}

/// A line for each cell.
pub(super) fn csv(settings: &TableSettings, cells: &[Cell<'_>]) -> String {
    let mut csv = "kind,column,hidden,parameters,alpha,lambda_perp,seeds,diverged,epochs_mean,validation_rmse_mean,\
                   validation_rmse_sd,equivariance_relative_mean"
        .to_string();
    for test in Test::ALL.map(Test::name) {
        for name in ["rmse_mean", "rmse_sd", "mse_mean", "mse_sd", "last_rmse_mean", "best_rmse_mean"] {
            let _ = write!(csv, ",{test}_{name}");
        }
        for name in ["persistence_rmse", "gain", "gain_se", "trained", "paper_mean", "paper_sd"] {
            let _ = write!(csv, ",{test}_{name}");
        }
    }
    csv.push('\n');
    for cell in cells {
        let model = settings.point(cell.kind, cell.column, cell.lambda_perp, settings.run.seed).run.settings.model;
        let (validation, parameters) = (cell.sample("validation/rmse"), cell.runs.first());
        let parameters = parameters.map_or(f64::NAN, |(_, run)| run.metric("parameters"));
        let _ = write!(csv, "{},{},{},{parameters},{}", cell.kind, cell.column.name(), model.hidden, model.alpha);
        let _ = write!(csv, ",{},{},{}", cell.lambda_perp, cell.runs.len(), cell.diverged());
        let (epochs, defect) = (cell.sample("epochs"), cell.sample("validation/equivariance/relative"));
        let numbers = [epochs.mean(), validation.mean(), validation.deviation(), defect.mean()];
        csv += &numbers.map(field).concat();
        for test in Test::ALL {
            let ((rmse, mse), (gain, error)) = ((cell.test(test, "rmse"), cell.test(test, "mse")), cell.gain(test));
            let [last, best] = ["last", "best"].map(|of| cell.sample(&format!("{of}/{}", test.metric("rmse"))).mean());
            let numbers = [rmse.mean(), rmse.deviation(), mse.mean(), mse.deviation(), last, best];
            csv += &numbers.map(field).concat();
            csv += &[persistence(cells, cell.kind, test), gain, error].map(field).concat();
            let _ = write!(csv, ",{}", cell.is_trained(test));
            let paper = published(cell.kind, cell.column, test);
            csv +=
                &[paper.map_or(f64::NAN, |paper| paper.0), paper.map_or(f64::NAN, |paper| paper.1)].map(field).concat();
        }
        csv.push('\n');
    }
    csv
}

/// A line for each model and step of the tests' rollouts.
pub(super) fn errors_by_step(models: &Frame) -> String {
    let mut csv = "model,step,future_rmse,future_persistence,domain_rmse,domain_persistence\n".to_string();
    for entry in models.iter() {
        let names = ["future/rmse", "future/persistence", "domain/rmse", "domain/persistence"];
        let curves = names.map(|name| entry.trained.array(&format!("by_step/{name}")));
        for step in 0..curves[0].len() {
            let number = |curve: &[f32]| field(curve.get(step).map_or(f64::NAN, |&value| f64::from(value)));
            let _ = writeln!(csv, "{},{}{}", entry.id, step + 1, curves.map(number).concat());
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::synthetic::{diverged, models, run, settings};
    use super::*;
    use crate::smoke::networks::Architecture::{Conv, Rsteer};

    #[test]
    fn ours_stands_above_the_papers_and_what_was_not_run_nowhere() {
        let settings = settings("translation,rotation", "equiv,rsteer", 2);
        let models = models(&settings, |model| match model.column.network {
            Rsteer => run(0.75, 0.5),
            _ => run(0.99, 0.5),
        });
        let cells = cells(&settings, &models);
        let text = errors(&settings, &cells).to_string();
        let head: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(head, ["data", "test", "Equiv", "RSteer", "persistence"]);
        let line = |number: usize| text.lines().nth(number).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line(2), "translation Future ours 0.990 ± 0.000 not trained – 1.00");
        assert_eq!(line(3), "paper 0.94 ± 0.02 – –");
        assert_eq!(line(6), "rotation Future ours 0.990 ± 0.000 not trained 0.750 ± 0.000 1.00");
        assert_eq!(line(7), "paper 1.05 ± 0.06 0.80 ± 0.00 –");
        assert!(!text.contains("Conv") && !text.contains("scaling"));
        assert!(mean_squares(&settings, &cells).to_string().contains("0.562 ± 0.000"));
        assert!(networks(&settings, &cells).to_string().contains("1234"));
        let csv = csv(&settings, &cells);
        let fields = |line: &str| line.split(',').count();
        assert_eq!(csv.lines().count(), 4);
        assert!(csv.lines().all(|line| fields(line) == fields(csv.lines().next().unwrap())), "{csv}");
    }

    #[test]
    fn what_diverged_has_no_deviation_and_persistence_is_known_from_the_others() {
        let settings = settings("rotation", "conv,rsteer", 2);
        let models =
            models(
                &settings,
                |model| if model.column == Column::of(Conv, false) { diverged() } else { run(0.75, 0.5) },
            );
        let cells = cells(&settings, &models);
        let csv = csv(&settings, &cells);
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (head, lost) = (lines.next().unwrap(), lines.next().unwrap());
        let of = |name: &str| lost[head.iter().position(|other| *other == name).unwrap()];
        assert_eq!(["future_rmse_mean", "future_rmse_sd", "validation_rmse_sd"].map(of), ["", "", ""]);
        assert_eq!((of("diverged"), of("domain_persistence_rmse")), ("2", "1"));
    }

    #[test]
    fn curves_have_a_line_for_each_model_and_epoch() {
        let settings = settings("rotation", "rsteer+reg", 2);
        let models = models(&settings, |_| run(0.75, 0.5));
        // Three strengths at the first seed, the selected one at the second; two epochs each.
        let metrics = ["train/loss", "validation/rmse"];
        assert_eq!(crate::targets::curves::csv(&models, &metrics).lines().count(), 1 + 4 * 2);
        assert_eq!(errors_by_step(&models).lines().count(), 1 + 4 * 20);
    }
}
