//! `fig-rings` and `fig-rings-grid`: data that are less and less symmetric, at a fixed penalty and at several.

use reynolds::penalty::Form;

use super::picture::{FORMS, caption, falls, listed, notes, numbers, plane};
use super::spec::form_name;
use crate::so2::{COLOUR_BAR, FigureSettings, WaveyRings, legend};
use crate::targets::findings::{Figure, Findings};
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, boxed};
use reynolds_report::Check;
use reynolds_report::figure::Sheet;
use reynolds_train::error::Result;

/// σ_⊥ of the columns.
const SIGMAS: [f64; 4] = [0.0, 0.5, 0.75, 1.0];

type Waves = FigureSettings<WaveyRings>;
type Spec = super::Spec<WaveyRings>;

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

/// The settings at each amplitude.
fn waves(settings: &Waves) -> [Waves; 4] {
    SIGMAS.map(|sigma| {
        let mut settings = settings.clone();
        settings.run.settings.data.sigma = sigma;
        settings
    })
}

fn row(settings: &Waves, form: Form, perp: f64, seed: u64) -> [Spec; 4] {
    waves(settings).map(|settings| Spec::penalised(&settings, form, 0.0, perp, seed))
}

fn baselines(settings: &Waves, seed: u64) -> [Spec; 4] {
    waves(settings).map(|settings| Spec::baseline(&settings, seed))
}

impl Target for Rings {
    type Settings = Waves;

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn settings(&self, budget: Budget) -> Waves {
        FigureSettings::of_budget(budget)
    }

    fn shown(&self, settings: &Waves) -> Vec<(String, String)> {
        settings.shown()
    }

    fn points(&self, settings: &Waves) -> Result<Vec<Box<dyn Point>>> {
        let mut specs = Vec::new();
        for seed in settings.all_seeds() {
            specs.extend(baselines(settings, seed));
            for form in FORMS {
                specs.extend(self.strengths.iter().flat_map(|&perp| row(settings, form, perp, seed)));
            }
        }
        Ok(boxed(specs))
    }

    fn findings(&self, settings: &Waves, frame: &Frame) -> Result<Findings> {
        let seeds = settings.seeds;
        let mut findings = Findings { notes: notes(settings.run.train.epochs), ..Findings::default() };
        findings.notes.push(
            "The baseline is an MLP of 2-64-64-1 with ReLU on the coordinates, trained in the same way without a penalty; λ_G = 0 \
             throughout."
                .into(),
        );
        let mut rows: Vec<Spec> = Vec::new();
        for form in FORMS {
            rows.extend(self.strengths.iter().flat_map(|&perp| row(settings, form, perp, settings.run.seed)));
        }
        rows.extend(baselines(settings, settings.run.seed));
        let (table, csv) = numbers(frame, &rows, seeds);
        (findings.tables, findings.csv) = (vec![table], csv);
        for form in FORMS {
            findings.figures.push(self.figure(frame, form, settings)?);
            let means = |perp: f64, metric: &str| {
                row(settings, form, perp, settings.run.seed).map(|spec| spec.over_seeds(frame, seeds, metric).mean())
            };
            findings.checks.extend(self.checks(form, means));
        }
        Ok(findings)
    }
}

impl Rings {
    fn figure(&self, frame: &Frame, form: Form, settings: &Waves) -> Result<Figure> {
        let seeds = settings.seeds;
        let mut sheet = Sheet::new(SIGMAS.len(), 150.0);
        for (number, &perp) in self.strengths.iter().enumerate() {
            for (spec, second) in
                row(settings, form, perp, settings.run.seed).iter().zip(baselines(settings, settings.run.seed))
            {
                let sigma = spec.run.settings.data.sigma;
                let title = if number == 0 { format!("σ_⊥ = {sigma}") } else { String::new() };
                sheet.add(title, plane(frame, spec, Some(&second))?, caption(frame, spec, seeds));
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
        let settings = Waves::of_budget(Budget::Quick);
        assert_eq!(ROW.points(&settings).unwrap().len(), 5 * (4 + 2 * 4));
        assert_eq!(GRID.points(&settings).unwrap().len(), 5 * (4 + 2 * 16));
    }
}
