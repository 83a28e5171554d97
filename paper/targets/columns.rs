//! A table as a list of columns: CSV, a table for people and JSON are all made of such a list.
//!
//! ```text
//! type CellColumn<'a> = Column<'a, Cell<'a>>;
//! let columns = [
//!     CellColumn::new("row", |cell| cell.row.name()),
//!     CellColumn::new("parameters", Cell::parameters).format(decimals::<0>),
//!     CellColumn::sample("psnr", |cell| cell.runs.sample("test/psnr")).format(decimals::<2>),   // psnr_mean, psnr_sd; "41.44 ± 0.03"
//!     CellColumn::pair(["gain", "gain_se"], Cell::gain),                                        // gain, gain_se;      "+0.41 / 0.03"
//!     CellColumn::new("paper_psnr", |cell| PAPER.number(&cell.row.name(), "psnr")),             // NaN: a dash, an empty field, null
//! ];
//! csv(&columns, &cells)        table(&columns, &cells)        json(&columns, cell)
//! ```
//!
//! A line that is no row, such as that of a trivial answer, gives values by the names of columns: [`Line::Given`].

use reynolds_report::csv::Field;
use reynolds_report::{Csv, Table};
use serde_json::{Map, json};

use super::Sample;
use super::sample::three_digits;

/// Stands for a missing number in a table for people.
pub(crate) const DASH: &str = "–";

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Missing,
    Text(String),
    /// Always in quotes in CSV.
    Quoted(String),
    Flag(bool),
    Count(usize),
    /// Missing where it is not finite.
    Number(f64),
    /// The values of a sample in JSON; its mean and deviation elsewhere.
    Sample(Sample),
    /// A number and its error.
    Pair(f64, f64),
    /// A list in JSON; its length elsewhere.
    Seeds(Vec<u64>),
}

macro_rules! value_from {
    ($($from:ty, $value:ident => $variant:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($value: $from) -> Self {
                $variant
            }
        })*
    };
}

value_from! {
    &str, text => Self::Text(text.into());
    String, text => Self::Text(text);
    bool, flag => Self::Flag(flag);
    usize, count => Self::Count(count);
    f64, number => Self::Number(number);
    (f64, f64), pair => Self::Pair(pair.0, pair.1);
    Sample, sample => Self::Sample(sample);
    Vec<u64>, seeds => Self::Seeds(seeds);
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

pub(crate) fn decimals<const N: usize>(value: f64) -> String {
    format!("{value:.N$}")
}

/// A number, or a dash where there is none.
pub(crate) fn shown(value: f64, format: impl Fn(f64) -> String) -> String {
    if value.is_finite() { format(value) } else { DASH.into() }
}

/// "2.41 ± 0.03": mean and deviation in one format, the mean alone of one value.
pub(crate) fn spread(sample: &Sample, format: impl Fn(f64) -> String) -> String {
    match sample.values().len() {
        1 => shown(sample.mean(), format),
        _ => shown(sample.mean(), |mean| format!("{} ± {}", format(mean), format(sample.deviation()))),
    }
}

/// A column: its names, its value in a row, and how numbers are written for people.
pub(crate) struct Column<'a, R: ?Sized> {
    head: String,
    /// In CSV.
    fields: Vec<String>,
    value: Box<dyn Fn(&R) -> Value + 'a>,
    format: Option<Box<dyn Fn(f64) -> String + 'a>>,
}

impl<'a, R: ?Sized> Column<'a, R> {
    pub(crate) fn new<V: Into<Value>>(name: impl Into<String>, value: impl Fn(&R) -> V + 'a) -> Self {
        let head: String = name.into();
        Self { fields: vec![head.clone()], head, value: Box::new(move |row| value(row).into()), format: None }
    }

    /// Two fields: name_mean and name_sd.
    pub(crate) fn sample(name: impl Into<String>, value: impl Fn(&R) -> Sample + 'a) -> Self {
        let column = Self::new(name, value);
        let fields = ["mean", "sd"].map(|what| format!("{}_{what}", column.head)).to_vec();
        Self { fields, ..column }
    }

    /// Two fields of a number and its error.
    pub(crate) fn pair<V: Into<Value>>(fields: [&str; 2], value: impl Fn(&R) -> V + 'a) -> Self {
        Self { fields: fields.map(String::from).to_vec(), ..Self::new(fields[0], value) }
    }

    /// With this head in a table for people.
    pub(crate) fn headed(mut self, head: &str) -> Self {
        self.head = head.into();
        self
    }

    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    /// Writes numbers so for people; without it with three digits.
    pub(crate) fn format(mut self, format: impl Fn(f64) -> String + 'a) -> Self {
        self.format = Some(Box::new(format));
        self
    }

    fn number(&self, value: f64) -> String {
        shown(value, |value| self.format.as_ref().map_or_else(|| three_digits(value), |format| format(value)))
    }

    fn text(&self, value: Value) -> String {
        match value {
            Value::Missing => DASH.into(),
            Value::Text(text) | Value::Quoted(text) => text,
            Value::Flag(flag) => flag.to_string(),
            Value::Count(count) => count.to_string(),
            Value::Number(value) => self.number(value),
            Value::Sample(sample) => match &self.format {
                Some(format) => spread(&sample, format),
                None if sample.values().len() == 1 => self.number(sample.mean()),
                None => shown(sample.mean(), |_| sample.to_string()),
            },
            Value::Pair(value, error) => {
                let sign = if value >= 0.0 { "+" } else { "" };
                shown(value, |value| format!("{sign}{} / {}", self.number(value), self.number(error)))
            }
            Value::Seeds(seeds) => seeds.len().to_string(),
        }
    }

    fn fields(&self, value: Value) -> Vec<Field> {
        let missing = || vec![Field::default(); self.fields.len()];
        match value {
            Value::Missing => missing(),
            Value::Text(text) => vec![text.into()],
            Value::Quoted(text) => vec![Field::quoted(text)],
            Value::Flag(flag) => vec![flag.into()],
            Value::Count(count) => vec![count.into()],
            Value::Number(value) => vec![value.into()],
            Value::Sample(sample) => vec![sample.mean().into(), sample.deviation().into()],
            Value::Pair(value, error) => vec![value.into(), error.into()],
            Value::Seeds(seeds) => vec![seeds.len().into()],
        }
    }
}

/// A line of a table.
pub(crate) enum Line<'a, R: ?Sized> {
    Row(&'a R),
    /// Values by the names of columns or, in CSV, of fields; all others are missing.
    Given(Vec<(&'static str, Value)>),
}

impl<'a, R: ?Sized> From<&'a R> for Line<'a, R> {
    fn from(row: &'a R) -> Self {
        Self::Row(row)
    }
}

fn given(values: &[(&'static str, Value)], name: &str) -> Value {
    values.iter().find(|(other, _)| *other == name).map_or(Value::Missing, |(_, value)| value.clone())
}

pub(crate) fn csv<'r, R, L>(columns: &[Column<'_, R>], lines: impl IntoIterator<Item = L>) -> String
where
    R: ?Sized + 'r,
    L: Into<Line<'r, R>>,
{
    let heads = || columns.iter().flat_map(|column| &column.fields);
    let mut csv = Csv::new(heads().map(String::as_str));
    for line in lines {
        match line.into() {
            Line::Row(row) => csv.row(columns.iter().flat_map(|column| column.fields((column.value)(row)))),
            Line::Given(values) => csv.row(heads().map(|name| match given(&values, name) {
                Value::Number(number) => Field::from(number),
                Value::Text(text) => text.into(),
                _ => Field::default(),
            })),
        };
    }
    csv.to_string()
}

pub(crate) fn table<'r, R, L>(columns: &[Column<'_, R>], lines: impl IntoIterator<Item = L>) -> Table
where
    R: ?Sized + 'r,
    L: Into<Line<'r, R>>,
{
    let mut table = Table::new(columns.iter().map(|column| column.head.as_str()));
    for line in lines {
        match line.into() {
            Line::Row(row) => table.row(columns.iter().map(|column| column.text((column.value)(row)))),
            Line::Given(values) => table.row(columns.iter().map(|column| column.text(given(&values, &column.head)))),
        };
    }
    table
}

/// A row as an object: a key for each column, two of a pair.
pub(crate) fn json<R: ?Sized>(columns: &[Column<'_, R>], row: &R) -> serde_json::Value {
    let mut object = Map::new();
    for column in columns {
        let value = match (column.value)(row) {
            Value::Missing => json!(null),
            Value::Text(text) | Value::Quoted(text) => json!(text),
            Value::Flag(flag) => json!(flag),
            Value::Count(count) => json!(count),
            Value::Number(value) => json!(value),
            Value::Sample(sample) => json!(sample.values()),
            Value::Seeds(seeds) => json!(seeds),
            Value::Pair(value, error) => {
                object.insert(column.fields[1].clone(), json!(error));
                json!(value)
            }
        };
        object.insert(column.head.clone(), value);
    }
    object.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cell(&'static str, Vec<f64>);

    type CellColumn = Column<'static, Cell>;

    fn columns() -> [CellColumn; 6] {
        [
            CellColumn::new("row", |cell| cell.0),
            CellColumn::new("norm", |_| Value::Quoted("(1,2)".into())),
            CellColumn::sample("psnr", |cell| Sample::new(cell.1.clone())).format(decimals::<1>),
            CellColumn::pair(["gain", "gain_se"], |cell| (cell.1[0] - 40.0, 0.5)).format(decimals::<2>),
            CellColumn::new("paper", |cell| (cell.1.len() > 1).then_some(1234.5)),
            CellColumn::new("seeds", |cell| (0..cell.1.len() as u64).collect::<Vec<_>>()),
        ]
    }

    #[test]
    fn a_table_is_written_in_three_ways() {
        let cells = [Cell("a", vec![41.0, 43.0]), Cell("b", vec![39.0])];
        let given = Line::Given(vec![("row", "LI".into()), ("psnr_mean", 35.0.into()), ("psnr", 35.0.into())]);
        let lines = || std::iter::once(Line::Given(vec![("row", "LI".into())])).chain(cells.iter().map(Line::Row));
        let text = "row,norm,psnr_mean,psnr_sd,gain,gain_se,paper,seeds\nLI,,,,,,,\n\
                    a,\"(1,2)\",42,1.4142135623730951,1,0.5,1234.5,2\nb,\"(1,2)\",39,0,-1,0.5,,1\n";
        assert_eq!(csv(&columns(), lines()), text);
        assert_eq!(csv(&columns(), [given]).lines().last(), Some("LI,,35,,,,,"));
        let text = table(&columns(), lines()).to_string();
        let words = |line: usize| text.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!([words(1), words(2)], ["LI – – – – –", "a (1,2) 42.0 ± 1.4 +1.00 / 0.50 1234 2"]);
        assert_eq!(words(3), "b (1,2) 39.0 -1.00 / 0.50 – 1");
        let expected = json!({ "row": "a", "norm": "(1,2)", "psnr": [41.0, 43.0], "gain": 1.0, "gain_se": 0.5, "paper": 1234.5, "seeds": [0, 1] });
        assert_eq!(json(&columns(), &cells[0]), expected);
        assert!(json(&columns(), &cells[1])["paper"].is_null());
    }
}
