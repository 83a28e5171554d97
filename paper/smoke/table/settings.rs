//! The settings of `table-smoke`, by budget and as its models are made of them.

use std::sync::Arc;

use crate::smoke::data::Kind;
use crate::smoke::networks::{Architecture, Held, SmokeNetConfig};
use toml::{Table, Value};

use super::column::{ARCHITECTURES, Column, banks, has, hidden, scaled};
use super::plume_model::{PlumeModel, SharedData};
use crate::smoke::{SmokeDataConfig, SmokeExperiment, SmokeSettings};
use crate::targets::setting::{at, chosen, integer, strength, whole, word, words};
use crate::targets::{Budget, count};
use reynolds_train::config::{RunConfig, Selection};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;

/// Settings in their types.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) kinds: Vec<Kind>,
    pub(super) columns: Vec<Column>,
    pub(super) seeds: u64,
    /// The sweep of +Reg, strongest first.
    pub(super) lambda_perp: Vec<f64>,
    epochs: usize,
    pub(super) data: SmokeDataConfig,
    weights: Selection,
    held: Held,
    width: f64,
    table: Table,
    shared: Arc<SharedData>,
}

/// Settings as a budget has them.
pub(super) fn of_budget(budget: Budget) -> Table {
    // Seeds, epochs, windows trained on and evaluated on (0 = all), steps of the loss, width.
    let (seeds, epochs, train, evaluation, out_length, width) = match budget {
        Budget::Quick => (2, 6, 128, 50, 4, 0.125),
        Budget::Standard => (3, 25, 800, 250, 6, 0.25),
        Budget::Full => (5, 1000, 0, 0, 6, 1.0),
    };
    let of_kind = |value: &dyn Fn(Kind) -> Value| {
        Value::Table(Kind::ALL.into_iter().map(|kind| (kind.to_string(), value(kind))).collect())
    };
    // Published for 1000 epochs; in short runs the smallest would hardly begin.
    let rate = |kind| match (budget, kind) {
        (Budget::Full, Kind::Scaling) => 1e-4,
        _ => 1e-3,
    };
    let batch = |kind| if kind == Kind::Rotation { 16 } else { 8 };
    let alpha = |kind| match kind {
        Kind::Translation => 0.0,
        Kind::Rotation => 1e-5,
        Kind::Scaling => 1e-6,
    };
    // The published RPP has its 1e-6 inside the constraint and no α; that of translation has no constraint.
    let alpha_rpp = |kind| if kind == Kind::Translation { 0.0 } else { 1.0 };
    let sizes = |kind| {
        let there = ARCHITECTURES.into_iter().filter(|(architecture, _)| has(kind, *architecture));
        Value::Table(there.map(|(of, name)| (name.to_string(), integer(hidden(kind, of)))).collect())
    };
    let pairs: [(&str, Value); 20] = [
        ("kinds", Value::String("translation,rotation,scaling".into())),
        ("columns", Value::String("all".into())),
        ("seeds", integer(seeds)),
        ("epochs", integer(epochs)),
        ("train_windows", integer(train)),
        ("evaluation_windows", integer(evaluation)),
        ("out_length", integer(out_length)),
        ("rollout", integer(20)),
        ("decay", Value::Float(0.95)),
        ("weights", Value::String("best".into())),
        ("lambda_perp", Value::String("1e-2,1e-4,1e-6".into())),
        ("held", Value::String("operator".into())),
        ("data", Value::String(String::new())),
        ("width", Value::Float(width)),
        ("batch", of_kind(&|kind| integer(batch(kind)))),
        ("learning_rate", of_kind(&|kind| Value::Float(rate(kind)))),
        ("alpha", of_kind(&|kind| Value::Float(alpha(kind)))),
        ("alpha_rpp", of_kind(&|kind| Value::Float(alpha_rpp(kind)))),
        ("banks", of_kind(&|kind| integer(banks(kind)))),
        ("hidden", of_kind(&sizes)),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// Names a setting of a run as this target does: "batch.rotation" where a run has "data.batch".
pub(super) fn own_key(kind: Kind) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Config { key, expected, found, .. } => {
            let last = key.rsplit('.').next().unwrap_or_default();
            let own = match last {
                "batch" | "learning_rate" | "banks" => format!("{last}.{kind}"),
                "gamma" => "decay".into(),
                "folder" => "data".into(),
                _ => last.into(),
            };
            Error::config(own, expected, found)
        }
        other => other,
    }
}

impl Setup {
    /// Reads the settings of a target.
    pub(super) fn new(settings: &Table) -> Result<Self> {
        let whole = |key: &str, least| whole(settings, key, least);
        let number = |word: &str| {
            let found = word.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            found.ok_or_else(|| Error::config("lambda_perp", "finite numbers, at least 0", format!("\"{word}\"")))
        };
        let mut lambda_perp = words(settings, "lambda_perp").into_iter().map(number).collect::<Result<Vec<_>>>()?;
        lambda_perp.sort_by(|a, b| b.total_cmp(a));
        lambda_perp.dedup();
        let columns = chosen(settings, "columns", &Column::ALL, Column::name)?;
        if lambda_perp.is_empty() && columns.iter().any(|column| column.without_penalty().is_some()) {
            return Err(Error::config("lambda_perp", "at least one number, for there are columns with +Reg", "none"));
        }
        let kinds = chosen(settings, "kinds", &Kind::ALL, |kind| kind.to_string())?;
        if !kinds.iter().any(|&kind| columns.iter().any(|column| column.exists(kind))) {
            let rows = kinds.iter().map(Kind::to_string).collect::<Vec<_>>().join(" or ");
            let names = columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(", ");
            return Err(Error::config("columns", format!("a column that {rows} has"), names));
        }
        let width = settings.get("width").and_then(Value::as_float).unwrap_or(f64::NAN);
        if !(width > 0.0 && width <= 16.0) {
            return Err(Error::config("width", "a number above 0, at most 16", width));
        }
        let folder = settings.get("data").and_then(Value::as_str).unwrap_or_default().to_string();
        Ok(Self {
            kinds,
            columns,
            seeds: count(settings, "seeds", 1)?,
            lambda_perp,
            epochs: whole("epochs", 1)?,
            data: SmokeDataConfig {
                folder,
                out_length: whole("out_length", 1)?,
                rollout: whole("rollout", 1)?,
                train_windows: whole("train_windows", 0)?,
                evaluation_windows: whole("evaluation_windows", 0)?,
                ..SmokeDataConfig::default()
            },
            weights: word(settings, "weights", [("best", Selection::Best), ("last", Selection::Last)])?,
            held: word(settings, "held", [("operator", Held::Operator), ("mixing", Held::Mixing)])?,
            width,
            table: settings.clone(),
            shared: Arc::default(),
        })
    }

    /// The columns of a row that are asked for.
    pub(super) fn columns_of(&self, kind: Kind) -> impl Iterator<Item = Column> {
        self.columns.iter().copied().filter(move |column| column.exists(kind))
    }

    /// The settings without those of rows and networks that are not asked for.
    pub(super) fn applying(&self) -> Table {
        let asked = |kind: &str| self.kinds.iter().copied().find(|asked| asked.to_string() == kind);
        let of_row = |kind: Kind, value: &Value| match value {
            Value::Table(sizes) => {
                let runs = |name: &str| self.columns_of(kind).any(|column| column.network() == name);
                let sizes = sizes.iter().filter(|(name, _)| runs(name));
                Value::Table(sizes.map(|(name, value)| (name.clone(), value.clone())).collect())
            }
            value => value.clone(),
        };
        let kept = self.table.iter().map(|(key, value)| match value {
            Value::Table(rows) => {
                let rows = rows.iter().filter_map(|(kind, value)| Some((kind.clone(), of_row(asked(kind)?, value))));
                (key.clone(), Value::Table(rows.collect()))
            }
            value => (key.clone(), value.clone()),
        });
        kept.collect()
    }

    /// A model of a cell; λ_⊥ is that of +Reg and else 0.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range.
    pub(super) fn model(&self, kind: Kind, column: Column, lambda_perp: f64, seed: u64) -> Result<PlumeModel> {
        let mut config: RunConfig<SmokeSettings> = SmokeExperiment.defaults();
        let count = |key: &str| whole(&self.table, &format!("{key}.{kind}"), 1);
        let constraint = |key: &str| strength(&self.table, &format!("{key}.{kind}"));
        let architecture = column.architecture();
        config.seed = seed;
        config.settings.data = SmokeDataConfig { kind, ..self.data.clone() };
        config.settings.data.batch = count("batch")?;
        config.settings.model = SmokeNetConfig {
            architecture,
            hidden: self.hidden(kind, architecture)?,
            banks: count("banks")?,
            // +Reg stands in place of the constraint that a network comes with.
            alpha: match architecture {
                _ if column.without_penalty().is_some() => 0.0,
                Architecture::Rpp => constraint("alpha_rpp")?,
                _ => constraint("alpha")?,
            },
            held: self.held,
            ..SmokeNetConfig::default()
        };
        config.penalty.lambda_perp = lambda_perp;
        config.train.epochs = self.epochs;
        let rate = at(&self.table, &format!("learning_rate.{kind}"));
        config.train.learning_rate = rate.and_then(Value::as_float).unwrap_or(f64::NAN);
        config.train.schedule.gamma = self.table.get("decay").and_then(Value::as_float).unwrap_or(f64::NAN);
        config.train.weights = self.weights;
        config.validate().map_err(own_key(kind))?;
        Ok(PlumeModel { column, config, drawn: seed == 0, shared: Arc::clone(&self.shared) })
    }

    fn hidden(&self, kind: Kind, architecture: Architecture) -> Result<usize> {
        let name = ARCHITECTURES.iter().find(|(of, _)| *of == architecture).map_or("", |(_, name)| name);
        Ok(scaled(architecture, whole(&self.table, &format!("hidden.{kind}.{name}"), 1)?, self.width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::point::Point;

    fn with(key: &str, value: &str) -> Result<Setup> {
        let mut settings = of_budget(Budget::Quick);
        reynolds_train::config::Assignment::new(key, value).apply(&mut settings)?;
        Setup::new(&settings)
    }

    #[test]
    fn lists_are_words_or_toml_and_keep_the_order_of_the_table() {
        assert_eq!(with("kinds", "rotation").unwrap().kinds, [Kind::Rotation]);
        assert_eq!(with("kinds", "[\"scaling\", \"translation\"]").unwrap().kinds, [Kind::Translation, Kind::Scaling]);
        assert_eq!(with("columns", "rsteer+reg,conv").unwrap().columns, [Column::Conv, Column::RsteerReg]);
        assert_eq!(with("lambda_perp", "[1e-6, 0.1]").unwrap().lambda_perp, [0.1, 1e-6]);
        assert_eq!(with("lambda_perp", "0.5").unwrap().lambda_perp, [0.5]);
    }

    #[test]
    fn what_is_out_of_range_is_named_by_its_key() {
        let message = |key, value| match with(key, value) {
            Err(error) => error.to_string(),
            Ok(setup) => {
                let model = setup.model(Kind::Rotation, Column::Rsteer, 0.0, 0);
                model.and_then(|model| model.check()).unwrap_err().to_string()
            }
        };
        let of_rpp = with("alpha_rpp.rotation", "-1").unwrap().model(Kind::Rotation, Column::Rpp, 0.0, 0).unwrap_err();
        let expected = "config: alpha_rpp.rotation: expected a finite number, at least 0, found -1.0";
        assert_eq!(of_rpp.to_string(), expected);
        for (key, value, expected) in [
            (
                "kinds",
                "rotations",
                "kinds: expected some of translation, rotation, scaling, or all, found \"rotations\"",
            ),
            ("columns", "", "columns: expected some of conv, equiv"),
            ("lambda_perp", "-1", "lambda_perp: expected finite numbers, at least 0, found \"-1\""),
            ("lambda_perp", "[]", "lambda_perp: expected at least one number"),
            ("width", "0", "width: expected a number above 0"),
            ("weights", "first", "weights: expected \"best\" or \"last\", found \"first\""),
            ("seeds", "0", "seeds: expected a whole number, at least 1"),
            ("batch.rotation", "0", "batch.rotation: expected a whole number, at least 1"),
            ("hidden.rotation.rsteer", "-3", "hidden.rotation.rsteer: expected a whole number, at least 1"),
            ("learning_rate.rotation", "-1", "config: learning_rate.rotation: expected a finite number above 0"),
            ("rollout", "49", "config: rollout: expected "),
            ("batch.rotation", "5000", "config: batch.rotation: expected "),
            ("alpha.rotation", "-1", "config: alpha.rotation: expected a finite number, at least 0"),
            ("decay", "-1", "config: decay: expected "),
        ] {
            let message = message(key, value);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn the_residual_network_has_a_strength_of_its_own() {
        let setup = Setup::new(&of_budget(Budget::Full)).unwrap();
        let alpha = |kind, column| setup.model(kind, column, 0.0, 1).unwrap().config.settings.model.alpha;
        assert_eq!(Kind::ALL.map(|kind| alpha(kind, Column::Rpp)), [0.0, 1.0, 1.0]);
        assert_eq!(Kind::ALL.map(|kind| alpha(kind, Column::Clcnn)), [0.0, 1e-5, 1e-6]);
    }

    #[test]
    fn a_penalty_takes_the_place_of_the_constraint_and_nothing_else() {
        let setup = Setup::new(&of_budget(Budget::Full)).unwrap();
        let of = |column, lambda| setup.model(Kind::Rotation, column, lambda, 1).unwrap().config();
        let (mut plain, reg) = (of(Column::Rsteer, 0.0), of(Column::RsteerReg, 1e-4));
        assert_eq!(plain["model"]["alpha"].as_float(), Some(1e-5));
        assert_eq!((reg["model"]["alpha"].as_float(), reg["penalty"]["lambda_g"].as_float()), (Some(0.0), Some(0.0)));
        assert_eq!(plain["model"]["hidden"].as_integer(), Some(92));
        plain["model"]["alpha"] = Value::Float(0.0);
        plain["penalty"]["lambda_perp"] = Value::Float(1e-4);
        assert_eq!(plain, reg);
    }
}
