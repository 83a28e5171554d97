//! The settings of `table-smoke`: those of a run, and those of its rows and columns.

use super::columns::{hidden, scaled};
use super::*;
use crate::smoke::experiment::check_smallest_batch;
use crate::smoke::{SmokeDataConfig, SmokeExperiment, SmokeSettings};
use crate::targets::refuse_set;
use reynolds_train::config::{self, above_zero, at_least_one, at_least_zero, within};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// Every key of `reynolds run smoke`, and keys of rows and columns in place of some of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableSettings {
    pub(super) kinds: Chosen<Symmetry>,
    pub(super) columns: Chosen<Column>,
    /// Models of each kind, with consecutive seeds from `seed` on.
    pub(super) seeds: u64,
    /// λ_⊥ of +Reg, one of which is selected.
    pub(super) lambda_perp: Numbers,
    /// Factor on all of `hidden`.
    width: f64,
    batch: Rows<usize>,
    learning_rate: Rows<f64>,
    /// Strength of the networks' own constraints, except RPP's.
    alpha: Rows<f64>,
    alpha_rpp: Rows<f64>,
    banks: Rows<usize>,
    /// Hidden sizes at width 1, by network.
    hidden: Rows<BTreeMap<String, usize>>,
    #[serde(flatten)]
    pub(super) run: RunConfig<SmokeSettings>,
}

/// Keys of a run that the table sets, with the keys of the table that they follow from.
const OF_POINTS: [(&str, &str); 8] = [
    ("data.kind", "kinds"),
    ("data.batch", "batch"),
    ("model.architecture", "columns"),
    ("model.hidden", "hidden"),
    ("model.banks", "banks"),
    ("model.alpha", "alpha"),
    ("penalty.lambda_perp", "lambda_perp"),
    ("train.learning_rate", "learning_rate"),
];

/// Keys of a run that are shown even if unchanged.
const SHOWN: [&str; 5] =
    ["data.evaluation_windows", "data.out_length", "data.rollout", "data.train_windows", "train.epochs"];

impl Default for TableSettings {
    /// As published, five seeds.
    fn default() -> Self {
        let mut run = SmokeExperiment.defaults();
        run.train.weights = Selection::Best;
        Self {
            kinds: Chosen::all(),
            columns: Chosen::all(),
            seeds: 5,
            lambda_perp: Numbers::new(&[1e-2, 1e-4, 1e-6]),
            width: 1.0,
            batch: Rows::new([8, 16, 8]),
            learning_rate: Rows::new([1e-3, 1e-3, 1e-4]),
            alpha: Rows::new([0.0, 1e-5, 1e-6]),
            // The published RPP has a factor 1e-6 inside the constraint and no α; that of translation has no constraint.
            alpha_rpp: Rows::new([0.0, 1.0, 1.0]),
            banks: Rows::new([2, 3, 2]),
            hidden: Rows::new(Symmetry::ALL.map(hidden)),
            run,
        }
    }
}

impl Settings for TableSettings {
    fn validate(&self) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        refuse_set(&self.run, &SmokeExperiment.defaults(), &OF_POINTS)?;
        self.run.validate()?;
        self.lambda_perp.all("lambda_perp", "finite numbers, at least 0", |lambda| lambda >= 0.0)?;
        if !(self.width > 0.0 && self.width <= 16.0) {
            return Err(Error::config("width", "a number above 0, at most 16", self.width));
        }
        self.batch.check("batch", |key, &batch| within(key, batch, 1..=4096))?;
        self.banks.check("banks", |key, &banks| within(key, banks, 1..=64))?;
        self.alpha.check("alpha", |key, &alpha| at_least_zero(key, alpha))?;
        self.alpha_rpp.check("alpha_rpp", |key, &alpha| at_least_zero(key, alpha))?;
        self.learning_rate.check("learning_rate", |key, &rate| above_zero(key, rate))?;
        self.check_columns()?;
        self.kinds.iter().try_for_each(|kind| self.check_row(kind))
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        &[
            ("data", "data.folder"),
            ("train_windows", "data.train_windows"),
            ("evaluation_windows", "data.evaluation_windows"),
            ("out_length", "data.out_length"),
            ("rollout", "data.rollout"),
            ("held", "model.regularised"),
            ("epochs", "train.epochs"),
            ("weights", "train.weights"),
            ("decay", "train.schedule.gamma"),
        ]
    }
}

impl TableSettings {
    pub(super) fn of_budget(budget: Budget) -> Self {
        let mut table = Self::default();
        // Seeds, epochs, windows trained on and evaluated on, steps of the loss, width.
        let (seeds, epochs, train, evaluation, out_length, width) = match budget {
            Budget::Quick => (2, 6, 128, 50, 4, 0.125),
            Budget::Standard => (3, 25, 800, 250, 6, 0.25),
            Budget::Full => return table,
        };
        (table.seeds, table.width, table.run.train.epochs) = (seeds, width, epochs);
        let data = &mut table.run.settings.data;
        (data.train_windows, data.evaluation_windows, data.out_length) = (train, evaluation, out_length);
        // Published for 1000 epochs; in short runs the smallest would hardly begin.
        table.learning_rate.scaling = 1e-3;
        table
    }

    fn check_columns(&self) -> Result<()> {
        if !self.kinds.iter().any(|kind| self.columns_of(kind).next().is_some()) {
            let rows = self.kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ");
            let names = self.columns.iter().map(|column| column.name()).collect::<Vec<_>>().join(", ");
            return Err(Error::config("columns", format!("a column that {rows} has"), names));
        }
        Ok(())
    }

    fn check_row(&self, kind: Symmetry) -> Result<()> {
        for column in self.columns_of(kind) {
            let name = column.network_name();
            let size = self.hidden.of(kind).get(&name).copied().unwrap_or_default();
            at_least_one(&format!("hidden.{kind}.{name}"), size)?;
        }
        let lift = self.columns_of(kind).find(|column| column.network == Architecture::Lift);
        lift.map_or(Ok(()), |lift| {
            check_smallest_batch(&format!("batch.{kind}"), &self.point(kind, lift, 0.0, 0).run.settings.data)
        })
    }

    /// Without rows and networks that are not asked for, and without keys of a run that are neither the budget's nor changed.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let changed = config::changed(&self.run, &SmokeExperiment.defaults());
        let row = |name: &str| self.kinds.iter().find(|kind| kind.name() == name);
        let network = |kind, name: &str| self.columns_of(kind).any(|column| column.network_name() == name);
        let own = |key: &str| match key.split('.').collect::<Vec<_>>()[..] {
            ["hidden", kind, name] => row(kind).is_some_and(|kind| network(kind, name)),
            ["batch" | "learning_rate" | "alpha" | "alpha_rpp" | "banks", kind] => row(kind).is_some(),
            ["experiment"] => false,
            [_] => true,
            _ => SHOWN.contains(&key) || changed.iter().any(|(changed, _)| changed == key),
        };
        config::lines(self).into_iter().filter(|(key, _)| own(key)).collect()
    }

    /// Of each row.
    pub(super) fn data(&self) -> impl Iterator<Item = SmokeDataConfig> {
        self.kinds.iter().map(|kind| SmokeDataConfig { kind, ..self.run.settings.data.clone() })
    }

    pub(super) fn all_seeds(&self) -> Range<u64> {
        self.run.seed..self.run.seed.saturating_add(self.seeds)
    }

    /// The columns of a row that are asked for.
    pub(super) fn columns_of(&self, kind: Symmetry) -> impl Iterator<Item = Column> {
        self.columns.iter().filter(move |column| column.exists(kind))
    }

    /// A model of a cell; λ_⊥ is 0 without +Reg.
    pub(super) fn point(&self, kind: Symmetry, column: Column, lambda_perp: f64, seed: u64) -> SmokePoint {
        let mut run = self.run.clone();
        run.seed = seed;
        (run.settings.data.kind, run.settings.data.batch) = (kind, *self.batch.of(kind));
        let model = &mut run.settings.model;
        model.architecture = column.network;
        model.hidden = scaled(column.network, self.hidden.of(kind)[&column.network_name()], self.width);
        model.banks = *self.banks.of(kind);
        model.alpha = match column.network {
            // +Reg stands in place of the constraint that a network comes with.
            _ if column.reg => 0.0,
            Architecture::Rpp => *self.alpha_rpp.of(kind),
            _ => *self.alpha.of(kind),
        };
        run.penalty.lambda_perp = lambda_perp;
        if !column.reg {
            run.penalty.lambda_g = 0.0;
        }
        run.train.learning_rate = *self.learning_rate.of(kind);
        SmokePoint { column, drawn: seed == self.run.seed, run, shared: Default::default() }
    }
}

/// A value for each row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows<T> {
    pub(super) translation: T,
    pub(super) rotation: T,
    pub(super) scaling: T,
}

impl<T> Rows<T> {
    pub(super) fn new(rows: [T; 3]) -> Self {
        let [translation, rotation, scaling] = rows;
        Self { translation, rotation, scaling }
    }

    pub(super) fn of(&self, kind: Symmetry) -> &T {
        match kind {
            Symmetry::Translation => &self.translation,
            Symmetry::Rotation => &self.rotation,
            Symmetry::Scaling => &self.scaling,
        }
    }

    pub(super) fn check(&self, key: &str, check: impl Fn(&str, &T) -> Result<()>) -> Result<()> {
        Symmetry::ALL.into_iter().try_for_each(|kind| check(&format!("{key}.{kind}"), self.of(kind)))
    }
}

/// "1e-4", "0".
pub(super) fn strength(lambda: f64) -> String {
    if lambda == 0.0 { "0".into() } else { format!("{lambda:e}") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with;
    use super::*;
    use crate::smoke::networks::Architecture::{Clcnn, Conv, Rpp, Rsteer};
    use crate::targets::point::Point;

    fn one(key: &str, value: &str) -> Result<TableSettings> {
        with(&[(key, value)])
    }

    #[test]
    fn lists_keep_the_order_of_the_table() {
        let kinds = one("kinds", "[\"scaling\", \"translation\"]").unwrap().kinds;
        assert_eq!(kinds.as_slice(), [Symmetry::Translation, Symmetry::Scaling]);
        let columns = one("columns", "rsteer+reg,conv").unwrap().columns;
        assert_eq!(columns.as_slice(), [Column::of(Conv, false), Column::of(Rsteer, true)]);
        assert_eq!(one("lambda_perp", "0.1 1e-4,0").unwrap().lambda_perp.increasing(), [0.0, 1e-4, 0.1]);
    }

    #[test]
    fn what_is_out_of_range_is_named_by_its_key() {
        for (key, value, expected) in [
            (
                "kinds",
                "rotations",
                "kinds: expected some of translation, rotation, scaling, or all, found \"rotations\"",
            ),
            ("columns", "", "columns: expected some of conv, equiv"),
            ("lambda_perp", "-1", "lambda_perp: expected finite numbers, at least 0, found -1"),
            ("lambda_perp", "[]", "lambda_perp: expected finite numbers"),
            ("width", "0", "width: expected a number above 0"),
            ("train.weights", "first", "train.weights: expected `last` or `best`, found \"first\""),
            ("seeds", "0", "seeds: expected at least 1"),
            ("batch.rotation", "0", "batch.rotation: expected from 1 to 4096"),
            ("hidden.rotation.rsteer", "-3", "hidden.rotation.rsteer: expected a whole number from 0, found -3"),
            ("hidden.rotation.rsteer", "0", "hidden.rotation.rsteer: expected at least 1"),
            ("hidden.translation.rsteer", "3", "unknown key \"hidden.translation.rsteer\""),
            ("learning_rate.rotation", "-1", "learning_rate.rotation: expected a finite number above 0"),
            ("data.rollout", "49", "data.rollout: expected "),
            ("batch.rotation", "5000", "batch.rotation: expected "),
            ("batch.scaling", "127", "batch.scaling: expected minibatches of two windows or more, which lift needs"),
            ("banks.scaling", "65", "banks.scaling: expected from 1 to 64"),
            ("alpha.rotation", "-1", "alpha.rotation: expected a finite number, at least 0"),
            ("alpha_rpp.rotation", "-1", "alpha_rpp.rotation: expected a finite number, at least 0, found -1"),
            ("train.schedule.gamma", "-1", "train.schedule.gamma: expected "),
        ] {
            let message = one(key, value).unwrap_err().to_string();
            assert!(message.starts_with("--set: ") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn old_keys_and_those_that_points_set_name_the_key_of_today() {
        for (old, new) in TableSettings::renamed() {
            let message = one(old, "1").unwrap_err().to_string();
            assert_eq!(message, format!("--set: unknown key \"{old}\": now called \"{new}\""));
            let known = config::lines(&TableSettings::default());
            assert!(known.iter().any(|(key, _)| key == new), "{new}");
        }
        let message = one("data.batch", "8").unwrap_err().to_string();
        assert_eq!(message, "--set: data.batch: expected its default (set by the target's key batch), found 8");
    }

    #[test]
    fn settings_are_read_back_from_their_text_and_shown_without_what_is_not_asked_for() {
        let settings = with(&[("kinds", "rotation"), ("columns", "rsteer+reg"), ("model.layers", "3")]).unwrap();
        let back = config::parse(&TableSettings::default(), &config::text(&settings), "f.toml").unwrap();
        assert_eq!(back, settings);
        assert_eq!(toml::from_str::<TableSettings>(&config::text(&settings)).unwrap(), settings);
        let shown: Vec<String> = settings.shown().into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
        for line in ["hidden.rotation.rsteer = 92", "kinds = \"rotation\"", "model.layers = 3", "train.epochs = 6"] {
            assert!(shown.iter().any(|shown| shown == line), "{shown:?}");
        }
        assert!(!shown.iter().any(|line| line.contains("scaling") || line.contains("rgroup")), "{shown:?}");
    }

    #[test]
    fn the_residual_network_has_a_strength_of_its_own() {
        let settings = TableSettings::of_budget(Budget::Full);
        let alpha = |kind, network| settings.point(kind, Column::of(network, false), 0.0, 1).run.settings.model.alpha;
        assert_eq!(Symmetry::ALL.map(|kind| alpha(kind, Rpp)), [0.0, 1.0, 1.0]);
        assert_eq!(Symmetry::ALL.map(|kind| alpha(kind, Clcnn)), [0.0, 1e-5, 1e-6]);
    }

    #[test]
    fn a_penalty_takes_the_place_of_the_constraint_and_nothing_else() {
        let settings = TableSettings::of_budget(Budget::Full);
        let of = |reg, lambda| settings.point(Symmetry::Rotation, Column::of(Rsteer, reg), lambda, 1).settings();
        let (mut plain, reg) = (of(false, 0.0), of(true, 1e-4));
        assert_eq!((&plain["model"]["alpha"], &plain["model"]["hidden"]), (&1e-5.into(), &92.into()));
        assert_eq!((&reg["model"]["alpha"], &reg["penalty"]["lambda_g"]), (&0.0.into(), &0.0.into()));
        (plain["model"]["alpha"], plain["penalty"]["lambda_perp"]) = (0.0.into(), 1e-4.into());
        assert_eq!(plain, reg);
    }
}
