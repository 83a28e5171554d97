//! `fig-rings` and `fig-rings-grid`: data that are less and less symmetric, at a fixed penalty and at several.

use reynolds::penalty::Form;
use toml::Table;

use super::picture::{FORMS, baseline, caption, falls, listed, notes, numbers, penalised, plane};
use super::spec::{Problem, Spec, form_name};
use crate::so2::{COLOUR_BAR, legend};
use crate::targets::findings::{Figure, Findings};
use crate::targets::model::{Model, Models};
use crate::targets::{Budget, Target, boxed, count, training_settings};
use reynolds_report::Check;
use reynolds_report::figure::Sheet;
use reynolds_train::error::Result;

/// σ_⊥ of the columns.
const SIGMAS: [f64; 4] = [0.0, 0.5, 0.75, 1.0];

/// Wavey rings at some λ_⊥, λ_G = 0, beside the baseline.
pub(crate) struct Rings {
    name: &'static str,
    about: &'static str,
    /// λ_⊥ of the rows.
    strengths: &'static [f64],
}

/// Paper: `fig:wavey_rings_lambda_one_row`.
pub(crate) const ROW: Rings = Rings {
    name: "fig-rings",
    about: "wavey rings of growing amplitude at λ_⊥ = 1, beside an MLP (fig:wavey_rings_lambda_one_row)",
    strengths: &[1.0],
};

/// Paper: `fig:wavey_rings_lambda_grid`. The paper does not list its λ_⊥.
pub(crate) const GRID: Rings = Rings {
    name: "fig-rings-grid",
    about: "wavey rings over a grid of amplitude and λ_⊥, beside an MLP (fig:wavey_rings_lambda_grid)",
    strengths: &[0.0, 0.01, 0.1, 1.0],
};

fn row(form: Form, perp: f64, seed: u64, epochs: u64) -> [Spec; 4] {
    SIGMAS.map(|sigma| penalised(Problem::Rings { sigma }, form, 0.0, perp, seed, epochs))
}

fn baselines(seed: u64, epochs: u64) -> [Spec; 4] {
    SIGMAS.map(|sigma| baseline(Problem::Rings { sigma }, seed, epochs))
}

impl Target for Rings {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn settings(&self, budget: Budget) -> Table {
        training_settings(budget)
    }

    fn models(&self, settings: &Table) -> Result<Vec<Box<dyn Model>>> {
        let (seeds, epochs) = (count(settings, "seeds", 1)?, count(settings, "epochs", 1)?);
        let mut specs = Vec::new();
        for seed in 0..seeds {
            specs.extend(baselines(seed, epochs));
            for form in FORMS {
                specs.extend(self.strengths.iter().flat_map(|&perp| row(form, perp, seed, epochs)));
            }
        }
        Ok(boxed(specs))
    }

    fn findings(&self, settings: &Table, models: &Models) -> Result<Findings> {
        let (seeds, epochs) = (count(settings, "seeds", 1)?, count(settings, "epochs", 1)?);
        let mut findings = Findings { notes: notes(epochs), ..Findings::default() };
        findings.notes.push(
            "The baseline is an MLP of 2-64-64-1 with ReLU on the coordinates, trained in the same way without a penalty; λ_G = 0 \
             throughout."
                .into(),
        );
        let mut rows: Vec<Spec> = Vec::new();
        for form in FORMS {
            rows.extend(self.strengths.iter().flat_map(|&perp| row(form, perp, 0, epochs)));
        }
        rows.extend(baselines(0, epochs));
        let (table, csv) = numbers(models, &rows, seeds);
        (findings.tables, findings.csv) = (vec![table], csv);
        for form in FORMS {
            findings.figures.push(self.figure(models, form, seeds, epochs)?);
            let means = |perp: f64, metric: &str| {
                row(form, perp, 0, epochs).map(|spec| spec.over_seeds(models, seeds, metric).mean())
            };
            findings.checks.extend(self.checks(form, means));
        }
        Ok(findings)
    }
}

impl Rings {
    fn figure(&self, models: &Models, form: Form, seeds: u64, epochs: u64) -> Result<Figure> {
        let mut sheet = Sheet::new(SIGMAS.len(), 150.0);
        for (number, &perp) in self.strengths.iter().enumerate() {
            for (spec, second) in row(form, perp, 0, epochs).iter().zip(baselines(0, epochs)) {
                let title = match spec.problem {
                    Problem::Rings { sigma } if number == 0 => format!("σ_⊥ = {sigma}"),
                    _ => String::new(),
                };
                sheet.add(title, plane(models, spec, Some(&second))?, caption(models, spec, seeds));
            }
        }
        sheet.row_heads = self.strengths.iter().map(|perp| format!("λ_⊥ = {perp}")).collect();
        sheet.legend = legend(true);
        sheet.colour_bar = COLOUR_BAR.into();
        let name = match (form, self.strengths.len()) {
            (Form::Plain, 1) => "fig-rings",
            (Form::Squared, 1) => "fig-rings-squared",
            (Form::Plain, _) => "fig-rings-grid",
            (Form::Squared, _) => "fig-rings-grid-squared",
        };
        let caption = format!(
            "Rings whose radius waves with growing amplitude σ_⊥, with the {} penalty at λ_G = 0; the boundary of an MLP in orange. Seed \
             0; below each panel the network's numbers, mean ± standard deviation over {seeds} seeds.",
            form_name(form)
        );
        Ok(Figure { name, svg: sheet.svg(), caption })
    }

    fn checks(&self, form: Form, means: impl Fn(f64, &str) -> [f64; 4]) -> Vec<Check> {
        let name = form_name(form);
        let grows = |values: [f64; 4]| falls(&values.map(|value| -value));
        let mut checks = Vec::new();
        for &perp in self.strengths.iter().filter(|&&perp| perp > 0.0) {
            let (relative, sum) = (means(perp, "test/defect_relative"), means(perp, "test/defect_sum"));
            let claim = |what: &str| format!("{name}: at λ_⊥ = {perp} {what} grows with σ_⊥");
            checks.push(Check::new(claim("the relative defect"), grows(relative), listed(relative)));
            checks.push(Check::new(claim("ℰ_emp"), grows(sum), listed(sum)));
        }
        if self.strengths.len() > 1 {
            let (weak, strong) = (means(self.strengths[0], "test/defect_relative"), means(1.0, "test/defect_relative"));
            let held = weak.iter().zip(&strong).all(|(weak, strong)| strong < weak);
            let found = format!("{} against {}", listed(strong), listed(weak));
            checks.push(Check::new(
                format!("{name}: at every σ_⊥ λ_⊥ = 1 is closer to invariant than λ_⊥ = 0"),
                held,
                found,
            ));
        }
        checks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_hold_or_not_by_the_numbers() {
        let verdicts = |means: fn(f64, &str) -> [f64; 4]| -> Vec<bool> {
            GRID.checks(Form::Squared, means).iter().map(|check| check.held).collect()
        };
        assert_eq!(verdicts(|perp, _| [0.1, 0.2, 0.3, 0.4].map(|value| value / (1.0 + perp))), [true; 7]);
        assert_eq!(verdicts(|perp, _| [0.1, 0.3, 0.3, 0.4].map(|value| value + perp)), [false; 7]);
        assert_eq!(ROW.checks(Form::Plain, |_, _| [0.0, 1.0, 2.0, 3.0]).len(), 2);
    }

    #[test]
    fn the_grid_has_every_pair_and_the_baseline_once_a_seed() {
        let settings = training_settings(Budget::Quick);
        assert_eq!(ROW.models(&settings).unwrap().len(), 5 * (4 + 2 * 4));
        assert_eq!(GRID.models(&settings).unwrap().len(), 5 * (4 + 2 * 16));
    }
}
