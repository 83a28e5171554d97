//! The cells of the tables: a model with all its seeds. It is trained if it beats the most frequent class.

use super::settings::Table;
use super::*;

#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) run: VolumeRun,
    pub(super) runs: Runs<'a>,
}

const GAIN: &str = "test/gain/accuracy";

impl<'a> Cell<'a> {
    /// With the seeds that were run; `None` if there is none.
    pub(super) fn find(run: VolumeRun, seeds: Range<u64>, frame: &'a Frame) -> Option<Self> {
        let runs = Runs::find(frame, seeds, |seed| run.seeded(seed));
        (!runs.is_empty()).then_some(Self { run, runs })
    }

    pub(super) fn row(&self) -> Row {
        self.run.row()
    }

    pub(super) fn label(&self) -> String {
        self.row().label()
    }

    pub(super) fn accuracy(&self) -> Sample {
        self.runs.sample("test/accuracy")
    }

    pub(super) fn badness(&self, (metric, sign): By) -> f64 {
        sign * self.runs.sample(&format!("validation/{metric}")).mean()
    }

    /// Mean gain of accuracy over the most frequent class, and its standard error.
    pub(super) fn gain(&self) -> (f64, f64) {
        self.runs.gain(GAIN)
    }

    /// Whether it beats the most frequent class, with every seed.
    pub(super) fn is_trained(&self) -> bool {
        self.runs.is_trained(GAIN)
    }

    pub(super) fn text(&self) -> String {
        self.runs.labelled(spread(&self.accuracy(), decimals::<3>), self.is_trained())
    }

    pub(super) fn found(&self) -> String {
        format!("{} {}", self.label(), spread(&self.accuracy(), decimals::<3>))
    }
}

pub(super) type CellColumn<'a> = Column<'a, Cell<'a>>;

pub(super) fn strengths<'a>() -> [CellColumn<'a>; 3] {
    [
        CellColumn::new("learning_rate", |cell| cell.run.strengths().learning_rate),
        CellColumn::new("lambda_g", |cell| cell.run.strengths().lambda_g),
        CellColumn::new("lambda_perp", |cell| cell.run.strengths().lambda_perp),
    ]
}

pub(super) fn set<'a>() -> CellColumn<'a> {
    CellColumn::new("set", |cell| cell.run.set().name())
}

pub(super) fn row<'a>() -> CellColumn<'a> {
    CellColumn::new("row", |cell| cell.row().name())
}

pub(super) fn group<'a>() -> CellColumn<'a> {
    CellColumn::new("group", |cell| Named::name(cell.row().group))
}

pub(super) fn seeds<'a>() -> CellColumn<'a> {
    CellColumn::new("seeds", |cell| cell.runs.seeds())
}

pub(super) fn trained<'a>() -> CellColumn<'a> {
    CellColumn::new("trained", Cell::is_trained)
}

/// A metric: name_mean and name_sd.
pub(super) fn metric<'a>(name: &str, metric: &'static str) -> CellColumn<'a> {
    CellColumn::sample(name, move |cell| cell.runs.sample(metric))
}

pub(super) fn mean<'a>(name: &str, metric: &'static str) -> CellColumn<'a> {
    CellColumn::new(name, move |cell| cell.runs.sample(metric).mean())
}

/// λ of ours, for people; other rows have none.
pub(super) fn lambda<'a>(head: &str, value: fn(Strengths) -> f64) -> CellColumn<'a> {
    CellColumn::new(head, move |cell| cell.row().is_ours().then(|| strength(value(cell.run.strengths()))))
}

/// "1e-4", "1", "0".
pub(super) fn strength(value: f64) -> String {
    let text = format!("{value:e}");
    text.strip_suffix("e0").unwrap_or(&text).into()
}

/// "mean ± standard deviation over 3 seeds".
pub(super) fn over(count: u64) -> String {
    if count == 1 { "1 seed".into() } else { format!("mean ± standard deviation over {}", runs::seeds(count)) }
}

/// A validation metric with its sign, so that smaller is better.
pub(super) type By = (&'static str, f64);

pub(super) const ACCURACY: By = ("accuracy", -1.0);
pub(super) const LOSS: By = ("loss", 1.0);

/// The best by the mean of a validation metric, of equal ones that of the smaller loss.
pub(super) fn best<'a, 'b>(cells: impl IntoIterator<Item = &'a Cell<'b>>, by: By) -> Option<&'a Cell<'b>> {
    let order = |cell: &Cell<'_>| (cell.badness(by), cell.badness(LOSS));
    let finite = cells.into_iter().filter(|cell| cell.badness(by).is_finite());
    finite.reduce(|best, cell| if order(cell) < order(best) { cell } else { best })
}

/// The cells of a table that were run, set by set.
pub(super) fn cells<'a>(settings: &TargetSettings<Table>, frame: &'a Frame) -> Vec<Cell<'a>> {
    let own = &settings.own;
    let all = own.sets.iter().flat_map(|set| own.rows.iter().map(move |row| (set, row)));
    let selected = all.filter_map(|(set, row)| settings.selected(frame, set, row));
    selected.filter_map(|run| Cell::find(run, settings.seeds(), frame)).collect()
}

pub(super) fn find<'a, 'b>(cells: &'a [Cell<'b>], set: Set, row: Row) -> Option<&'a Cell<'b>> {
    cells.iter().find(|cell| cell.run.set() == set && cell.row() == row)
}

/// Share of the most frequent class in the test part of a set; NaN if there is no run.
pub(super) fn majority(cells: &[Cell<'_>], set: Set) -> f64 {
    let of_set = cells.iter().filter(|cell| cell.run.set() == set);
    runs::in_common(of_set.map(|cell| &cell.runs), "test/majority")
}
