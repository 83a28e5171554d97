//! The table beside the paper's, the same in mean squares, the networks of its cells, and all of it for programs.

use super::*;
use crate::targets::columns::{self, DASH, decimals};
use serde_json::{Map, Value, json};

type CellColumn<'a> = columns::Column<'a, Cell<'a>>;

/// What a cell is, and how its training went.
fn of_training<'a>() -> Vec<CellColumn<'a>> {
    vec![
        CellColumn::new("kind", |cell| cell.kind.to_string()),
        CellColumn::new("column", |cell| cell.column.name()),
        CellColumn::new("hidden", |cell| cell.model.hidden),
        CellColumn::new("parameters", |cell| cell.runs.metric("parameters")),
        CellColumn::new("alpha", |cell| cell.model.alpha),
        CellColumn::new("lambda_perp", |cell| cell.lambda_perp),
        CellColumn::new("seeds", |cell| cell.runs.len()),
        CellColumn::new("diverged", |cell| cell.runs.diverged()),
        CellColumn::new("epochs_mean", |cell| cell.runs.sample("epochs").mean()),
        CellColumn::sample("validation_rmse", |cell| cell.runs.sample("validation/rmse")),
        CellColumn::new("relative_distance_mean", |cell| {
            cell.runs.sample("validation/weights/relative_distance").mean()
        }),
    ]
}

/// The results of a cell on a test.
fn of_test<'a>(test: Subset) -> Vec<CellColumn<'a>> {
    let name = |what: &str| format!("{}_{what}", test.name());
    let of_weights = |which: &'static str| {
        CellColumn::new(name(&format!("{which}_rmse_mean")), move |cell: &Cell<'_>| {
            cell.runs.sample(&format!("{which}/{}", metric(test, "rmse"))).mean()
        })
    };
    vec![
        CellColumn::sample(name("rmse"), move |cell| cell.test(test, "rmse")),
        CellColumn::sample(name("mse"), move |cell| cell.test(test, "mse")),
        of_weights("last"),
        of_weights("best"),
        CellColumn::new(name("persistence_rmse"), move |cell| cell.persistence(test)),
        CellColumn::pair([&name("gain"), &name("gain_se")], move |cell| cell.gain(test)),
        CellColumn::new(name("trained"), move |cell| cell.is_trained(test)),
        CellColumn::pair([&name("paper_mean"), &name("paper_sd")], move |cell| cell.column.published(cell.kind, test)),
    ]
}

pub(super) fn csv(cells: &[Cell<'_>]) -> String {
    let all: Vec<CellColumn<'_>> =
        of_training().into_iter().chain(Subset::TESTS.into_iter().flat_map(of_test)).collect();
    columns::csv(&all, cells)
}

/// Cells for results.json.
pub(super) fn json(cells: &[Cell<'_>]) -> Value {
    let of_cell = |cell: &Cell<'_>| {
        let mut object = Map::from_iter([
            ("kind".to_string(), json!(cell.kind.to_string())),
            ("column".to_string(), json!(cell.column.name())),
            ("lambda_perp".to_string(), json!(cell.lambda_perp)),
            ("seeds".to_string(), json!(cell.runs.seeds())),
            ("diverged".to_string(), json!(cell.runs.diverged())),
        ]);
        for test in Subset::TESTS {
            let (gain, error) = cell.gain(test);
            let of_test = json!({
                "rmse": cell.test(test, "rmse").values(),
                "mse": cell.test(test, "mse").values(),
                "gain": gain,
                "gain_se": error,
                "trained": cell.is_trained(test),
                "paper": cell.column.published(cell.kind, test).map(|(mean, deviation)| [mean, deviation]),
            });
            object.insert(test.name().into(), of_test);
        }
        Value::from(object)
    };
    cells.iter().map(of_cell).collect::<Vec<_>>().into()
}

/// A row of the data and a test on each line, with the paper's numbers below if `with_theirs`.
fn errors_of(settings: &TableSettings, cells: &[Cell<'_>], metric: &str, power: i32, with_theirs: bool) -> Table {
    let run: Vec<Column> =
        COLUMNS.into_iter().filter(|column| cells.iter().any(|cell| cell.column == *column)).collect();
    let heads = ["data", "test"].into_iter().chain(with_theirs.then_some(""));
    let mut table = Table::new(heads.chain(run.iter().map(|column| column.head)).chain(["persistence"]));
    for kind in settings.kinds.iter() {
        let Some(any) = cells.iter().find(|cell| cell.kind == kind) else { continue };
        for test in Subset::TESTS {
            let ours = |column: &Column| {
                let Some(cell) = cell(cells, kind, *column) else { return DASH.into() };
                let sample = cell.test(test, metric);
                // One seed has no deviation.
                let one_seed = sample.values().len() == 1;
                let number = if one_seed { three_digits(sample.mean()) } else { sample.to_string() };
                cell.runs.labelled(number, cell.is_trained(test))
            };
            let line = [kind.to_string(), format!("{test:?}")].into_iter().chain(with_theirs.then(|| "ours".into()));
            let trivial = three_digits(any.persistence(test).powi(power));
            table.row(line.chain(run.iter().map(ours)).chain([trivial]));
            if with_theirs {
                let theirs = |column: &Column| match column.published(kind, test) {
                    Some((mean, deviation)) => format!("{mean:.2} ± {deviation:.2}"),
                    None => DASH.into(),
                };
                let line = ["", "", "paper"].map(String::from).into_iter();
                table.row(line.chain(run.iter().map(theirs)).chain([DASH.into()]));
            }
        }
    }
    table
}

pub(super) fn errors(settings: &TableSettings, cells: &[Cell<'_>]) -> Table {
    let mut table = errors_of(settings, cells, "rmse", 1, true);
    table.caption(format!(
        "RMSE of a rollout, mean ± standard deviation over {}, beside the paper's over 5; λ_⊥ of +Reg is selected on the validation part \
         with the first seed; \"not trained\": does not beat persistence by 3 standard errors",
        seeds(settings.seeds)
    ));
    table
}

pub(super) fn mean_squares(settings: &TableSettings, cells: &[Cell<'_>]) -> Table {
    let mut table = errors_of(settings, cells, "mse", 2, false);
    table.caption(format!("MSE of the same rollouts, mean ± standard deviation over {}", seeds(settings.seeds)));
    table
}

/// What each cell is: size, selected λ_⊥, how long it trained.
pub(super) fn networks(cells: &[Cell<'_>]) -> Table {
    let mean =
        |name: &'static str, metric: &'static str| CellColumn::new(name, move |cell| cell.runs.sample(metric).mean());
    let gains = |cell: &Cell<'_>| {
        let [future, domain] = Subset::TESTS.map(|test| cell.gain(test));
        format!("{:.3} / {:.3}, {:.3} / {:.3}", future.0, future.1, domain.0, domain.1)
    };
    let all = [
        CellColumn::new("data", |cell| cell.kind.to_string()),
        CellColumn::new("column", |cell| cell.column.head),
        CellColumn::new("hidden", |cell| cell.model.hidden),
        CellColumn::new("parameters", |cell| cell.runs.metric("parameters")).format(decimals::<0>),
        CellColumn::new("λ_⊥", |cell| cell.column.reg.then(|| strength(cell.lambda_perp))),
        mean("epochs", "epochs").format(decimals::<0>),
        mean("best epoch", "best/epoch").format(decimals::<0>),
        mean("validation RMSE", "validation/rmse"),
        mean("‖W − P(W)‖/‖W‖", "validation/weights/relative_distance"),
        CellColumn::new("gain over persistence / se (Future, Domain)", gains),
    ];
    let mut table = columns::table(&all, cells);
    table.caption("networks of the cells, means over seeds");
    table
}
