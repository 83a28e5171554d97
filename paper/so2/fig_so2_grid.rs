//! `fig-so2-grid`: every pair of λ_G and λ_⊥.

use reynolds::penalty::Form;
use toml::Table;

use super::fig_so2::ESSENTIALLY;
use super::picture::{FORMS, caption, listed, notes, numbers, penalised, plane};
use super::spec::{Problem, Spec, form_name};
use crate::so2::{COLOUR_BAR, legend};
use crate::targets::findings::{Figure, Findings};
use crate::targets::model::{Model, Models};
use crate::targets::sample::three_digits;
use crate::targets::{Budget, Target, boxed, count, training_settings};
use reynolds_report::Check;
use reynolds_report::figure::{HeatMap, Shading, Sheet};
use reynolds_train::error::Result;

/// λ_G of the columns and λ_⊥ of the rows.
const STRENGTHS: [f64; 4] = [0.0, 0.001, 0.01, 0.1];

/// A cosine to the weights from which on a gradient is weight decay: single precision rounds more than 1 − this away.
const PARALLEL: f64 = 1.0 - 1e-6;

/// Paper: `fig:2d_grid_vary_equiv`, `app:sensitivity_lambdas_so2`.
pub(crate) struct LambdaGrid;

/// Row by row, λ_⊥ from the smallest.
fn grid(form: Form, seed: u64, epochs: u64) -> Vec<Spec> {
    let spec = |perp: f64, g: f64| penalised(Problem::DiskAndArc, form, g, perp, seed, epochs);
    STRENGTHS.iter().flat_map(|&perp| STRENGTHS.map(|g| spec(perp, g))).collect()
}

/// The models with λ_G = λ_⊥ > 0, compared with weight decay.
fn decayed(form: Form, epochs: u64) -> Vec<Spec> {
    let spec = |lambda: f64| penalised(Problem::DiskAndArc, form, lambda, lambda, 0, epochs);
    STRENGTHS[1..].iter().map(|&lambda| Spec { decay: true, drawn: false, ..spec(lambda) }).collect()
}

impl Target for LambdaGrid {
    fn name(&self) -> &'static str {
        "fig-so2-grid"
    }

    fn about(&self) -> &'static str {
        "learned SO(2) invariance over a grid of λ_G and λ_⊥ (fig:2d_grid_vary_equiv)"
    }

    fn settings(&self, budget: Budget) -> Table {
        training_settings(budget)
    }

    fn models(&self, settings: &Table) -> Result<Vec<Box<dyn Model>>> {
        let (seeds, epochs) = (count(settings, "seeds", 1)?, count(settings, "epochs", 1)?);
        let all = |form| (0..seeds).flat_map(move |seed| grid(form, seed, epochs)).chain(decayed(form, epochs));
        Ok(boxed(FORMS.iter().flat_map(|&form| all(form))))
    }

    fn findings(&self, settings: &Table, models: &Models) -> Result<Findings> {
        let (seeds, epochs) = (count(settings, "seeds", 1)?, count(settings, "epochs", 1)?);
        let mut findings = Findings { notes: notes(epochs), ..Findings::default() };
        let rows: Vec<Spec> = FORMS.iter().flat_map(|&form| grid(form, 0, epochs)).collect();
        let (table, csv) = numbers(models, &rows, seeds);
        (findings.tables, findings.csv) = (vec![table], csv);
        for form in FORMS {
            let grid = grid(form, 0, epochs);
            findings.figures.push(panels(models, form, &grid, seeds)?);
            findings.checks.push(invariant(models, form, &grid, seeds));
            findings.checks.push(angular(models, form, &grid, seeds));
            findings.checks.push(weight_decay(models, form, epochs));
        }
        findings.figures.push(defects(models, seeds, epochs));
        Ok(findings)
    }
}

fn panels(models: &Models, form: Form, grid: &[Spec], seeds: u64) -> Result<Figure> {
    let mut sheet = Sheet::new(STRENGTHS.len(), 150.0);
    for (index, spec) in grid.iter().enumerate() {
        let title = if index < STRENGTHS.len() { format!("λ_G = {}", spec.lambda_g) } else { String::new() };
        sheet.add(title, plane(models, spec, None)?, caption(models, spec, seeds));
    }
    sheet.row_heads = STRENGTHS.map(|perp| format!("λ_⊥ = {perp}")).to_vec();
    sheet.legend = legend(false);
    sheet.colour_bar = COLOUR_BAR.into();
    let name = match form {
        Form::Plain => "fig-so2-grid",
        Form::Squared => "fig-so2-grid-squared",
    };
    let caption = format!(
        "The {} penalty over a grid: λ_G grows to the right, λ_⊥ downwards. Seed 0; below each panel mean ± standard deviation over \
         {seeds} seeds.",
        form_name(form)
    );
    Ok(Figure { name, svg: sheet.svg(), caption })
}

/// The relative defect of every pair, in both forms.
fn defects(models: &Models, seeds: u64, epochs: u64) -> Figure {
    let mut sheet = Sheet::new(FORMS.len(), 190.0);
    (sheet.shared_axes, sheet.label_room) = (false, 34.0);
    for form in FORMS {
        let mean = |spec: &Spec| spec.over_seeds(models, seeds, "test/defect_relative").mean();
        let values: Vec<f64> = grid(form, 0, epochs).iter().map(mean).collect();
        let texts = values.iter().map(|&value| three_digits(value)).collect();
        let labels = STRENGTHS.map(|strength| strength.to_string()).to_vec();
        let shading = Shading::Logarithmic { low: 0.001, high: 1.0 };
        let map = HeatMap::new(STRENGTHS.len(), values, shading).numbers(texts).labels(labels.clone(), labels);
        sheet.add(format!("{} penalty", form_name(form)), map, vec!["λ_G to the right, λ_⊥ downwards".into()]);
    }
    let caption =
        format!("Relative defect, mean over {seeds} seeds; the darker, the less invariant, on a logarithmic scale.");
    Figure { name: "fig-so2-grid-defect", svg: sheet.svg(), caption }
}

/// The mean relative defect of the models that `choose` picks.
fn relative(models: &Models, grid: &[Spec], seeds: u64, choose: impl Fn(&Spec) -> bool) -> Vec<f64> {
    let mean = |spec: &Spec| spec.over_seeds(models, seeds, "test/defect_relative").mean();
    grid.iter().filter(|spec| choose(spec)).map(mean).collect()
}

fn invariant(models: &Models, form: Form, grid: &[Spec], seeds: u64) -> Check {
    let found = relative(models, grid, seeds, |spec| spec.lambda_perp == 0.1 && spec.lambda_g <= 0.01);
    let claim = format!(
        "{}: λ_⊥ = 0.1 with λ_G ≤ 0.01 is essentially invariant (relative defect at most {ESSENTIALLY})",
        form_name(form)
    );
    Check::new(claim, found.iter().all(|&value| value <= ESSENTIALLY), listed(found))
}

fn angular(models: &Models, form: Form, grid: &[Spec], seeds: u64) -> Check {
    let less = relative(models, grid, seeds, |spec| spec.lambda_perp < spec.lambda_g);
    let more = relative(models, grid, seeds, |spec| spec.lambda_perp > spec.lambda_g);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let claim = format!("{}: λ_⊥ < λ_G depends on the angle more than λ_⊥ > λ_G does", form_name(form));
    Check::new(claim, mean(&less) > mean(&more), format!("mean relative defect {}", listed([mean(&less), mean(&more)])))
}

fn weight_decay(models: &Models, form: Form, epochs: u64) -> Check {
    let metric = |name: &str| -> Vec<f64> {
        decayed(form, epochs)
            .iter()
            .map(|spec| models.get(spec).metrics.get(name).copied().unwrap_or(f64::NAN))
            .collect()
    };
    let (difference, cosine) = (metric("decay/difference"), metric("decay/cosine"));
    let claim = format!("{}: λ_G = λ_⊥ is weight decay", form_name(form));
    let parallel = cosine.iter().all(|&cosine| cosine >= PARALLEL);
    let angles = cosine.iter().map(|cosine| format!("{cosine:.6}")).collect::<Vec<_>>().join(" ");
    match form {
        Form::Squared => {
            let found = format!(
                "largest difference from an L2 trajectory {}, cosine to W {angles}",
                listed(difference.clone())
            );
            Check::new(claim, parallel && difference.iter().all(|&difference| difference <= 1e-6), found)
        }
        Form::Plain => Check::new(claim, parallel, format!("cosine between its gradient and W {angles}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::model::Trained;
    use reynolds_train::task::Metrics;

    fn verdicts(form: Form, relative: impl Fn(&Spec) -> f64, cosine: f64, difference: f64) -> [bool; 3] {
        let specs = grid(form, 0, 1).into_iter().chain(decayed(form, 1));
        let models = Models::new(specs.map(|spec| {
            let metrics = Metrics::from([
                ("test/defect_relative".into(), relative(&spec)),
                ("decay/cosine".into(), cosine),
                ("decay/difference".into(), difference),
            ]);
            (spec, Trained { metrics, ..Trained::default() })
        }));
        let grid = grid(form, 0, 1);
        [invariant(&models, form, &grid, 1), angular(&models, form, &grid, 1), weight_decay(&models, form, 1)]
            .map(|check| check.held)
    }

    #[test]
    fn claims_hold_or_not_by_the_numbers() {
        let as_claimed = |spec: &Spec| if spec.lambda_perp == 0.1 { 0.001 } else { spec.lambda_g + 0.1 };
        assert_eq!(verdicts(Form::Plain, as_claimed, 0.95, 0.3), [true, true, false]);
        assert_eq!(verdicts(Form::Plain, as_claimed, 1.0, 0.3), [true, true, true]);
        assert_eq!(verdicts(Form::Squared, |spec| spec.lambda_perp, 1.0, 1e-3), [false, false, false]);
        assert_eq!(verdicts(Form::Squared, as_claimed, 1.0, 0.0), [true, true, true]);
    }

    #[test]
    fn the_grid_has_sixteen_models_a_seed_and_form() {
        assert_eq!(LambdaGrid.models(&training_settings(Budget::Quick)).unwrap().len(), 2 * (5 * 16 + 3));
    }
}
