//! `fig-so2-grid`: every pair of λ_G and λ_⊥.

use reynolds::penalty::Form;

use super::fig_so2::ESSENTIALLY;
use super::picture::{FORMS, caption, listed, notes, numbers, plane};
use super::spec::form_name;
use crate::so2::{COLOUR_BAR, DiskAndArc, FigureSettings, legend};
use crate::targets::findings::{Figure, Findings};
use crate::targets::point::{Frame, Point};
use crate::targets::sample::three_digits;
use crate::targets::{Budget, Target, boxed};
use reynolds_report::Check;
use reynolds_report::figure::{HeatMap, Shading, Sheet};
use reynolds_train::error::Result;

/// λ_G of the columns and λ_⊥ of the rows.
const STRENGTHS: [f64; 4] = [0.0, 0.001, 0.01, 0.1];

/// A cosine to the weights from which on a gradient is weight decay: single precision rounds more than 1 − this away.
const PARALLEL: f64 = 1.0 - 1e-6;

type Grid = FigureSettings<DiskAndArc>;
type Spec = super::Spec<DiskAndArc>;

/// Paper: `fig:2d_grid_vary_equiv`, `app:sensitivity_lambdas_so2`.
pub(crate) struct LambdaGrid;

/// Row by row, λ_⊥ from the smallest.
fn grid(settings: &Grid, form: Form, seed: u64) -> Vec<Spec> {
    let spec = |perp: f64, g: f64| Spec::penalised(settings, form, g, perp, seed);
    STRENGTHS.iter().flat_map(|&perp| STRENGTHS.map(|g| spec(perp, g))).collect()
}

/// The models with λ_G = λ_⊥ > 0, compared with weight decay.
fn decayed(settings: &Grid, form: Form) -> Vec<Spec> {
    let spec = |lambda: f64| Spec::penalised(settings, form, lambda, lambda, settings.run.seed);
    STRENGTHS[1..].iter().map(|&lambda| Spec { decay: true, drawn: false, ..spec(lambda) }).collect()
}

impl Target for LambdaGrid {
    type Settings = Grid;

    fn name(&self) -> &'static str {
        "fig-so2-grid"
    }

    fn about(&self) -> &'static str {
        "learned SO(2) invariance over a grid of λ_G and λ_⊥ (fig:2d_grid_vary_equiv)"
    }

    fn settings(&self, budget: Budget) -> Grid {
        FigureSettings::of_budget(budget)
    }

    fn shown(&self, settings: &Grid) -> Vec<(String, String)> {
        settings.shown()
    }

    fn points(&self, settings: &Grid) -> Result<Vec<Box<dyn Point>>> {
        let seeded = |form| settings.all_seeds().flat_map(move |seed| grid(settings, form, seed));
        let all = |form| seeded(form).chain(decayed(settings, form));
        Ok(boxed(FORMS.iter().flat_map(|&form| all(form))))
    }

    fn findings(&self, settings: &Grid, frame: &Frame) -> Result<Findings> {
        let seeds = settings.seeds;
        let mut findings = Findings { notes: notes(settings.run.train.epochs), ..Findings::default() };
        let rows: Vec<Spec> = FORMS.iter().flat_map(|&form| grid(settings, form, settings.run.seed)).collect();
        let (table, csv) = numbers(frame, &rows, seeds);
        (findings.tables, findings.csv) = (vec![table], csv);
        for form in FORMS {
            let grid = grid(settings, form, settings.run.seed);
            findings.figures.push(panels(frame, form, &grid, seeds)?);
            findings.checks.push(invariant(frame, form, &grid, seeds));
            findings.checks.push(angular(frame, form, &grid, seeds));
            findings.checks.push(weight_decay(frame, settings, form));
        }
        findings.figures.push(defects(frame, settings));
        Ok(findings)
    }
}

fn panels(frame: &Frame, form: Form, grid: &[Spec], seeds: u64) -> Result<Figure> {
    let mut sheet = Sheet::new(STRENGTHS.len(), 150.0);
    for (index, spec) in grid.iter().enumerate() {
        let title = if index < STRENGTHS.len() { format!("λ_G = {}", spec.strengths().0) } else { String::new() };
        sheet.add(title, plane(frame, spec, None)?, caption(frame, spec, seeds));
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
fn defects(frame: &Frame, settings: &Grid) -> Figure {
    let seeds = settings.seeds;
    let mut sheet = Sheet::new(FORMS.len(), 190.0);
    (sheet.shared_axes, sheet.label_room) = (false, 34.0);
    for form in FORMS {
        let mean = |spec: &Spec| spec.over_seeds(frame, seeds, "test/defect_relative").mean();
        let values: Vec<f64> = grid(settings, form, settings.run.seed).iter().map(mean).collect();
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
fn relative(frame: &Frame, grid: &[Spec], seeds: u64, choose: impl Fn(&Spec) -> bool) -> Vec<f64> {
    let mean = |spec: &Spec| spec.over_seeds(frame, seeds, "test/defect_relative").mean();
    grid.iter().filter(|spec| choose(spec)).map(mean).collect()
}

fn invariant(frame: &Frame, form: Form, grid: &[Spec], seeds: u64) -> Check {
    let found = relative(frame, grid, seeds, |spec| spec.strengths().1 == 0.1 && spec.strengths().0 <= 0.01);
    let claim = format!(
        "{}: λ_⊥ = 0.1 with λ_G ≤ 0.01 is essentially invariant (relative defect at most {ESSENTIALLY})",
        form_name(form)
    );
    Check::new(claim, found.iter().all(|&value| value <= ESSENTIALLY), listed(found))
}

fn angular(frame: &Frame, form: Form, grid: &[Spec], seeds: u64) -> Check {
    let less = relative(frame, grid, seeds, |spec| spec.strengths().1 < spec.strengths().0);
    let more = relative(frame, grid, seeds, |spec| spec.strengths().1 > spec.strengths().0);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let claim = format!("{}: λ_⊥ < λ_G depends on the angle more than λ_⊥ > λ_G does", form_name(form));
    Check::new(claim, mean(&less) > mean(&more), format!("mean relative defect {}", listed([mean(&less), mean(&more)])))
}

fn weight_decay(frame: &Frame, settings: &Grid, form: Form) -> Check {
    let metric = |name: &str| -> Vec<f64> {
        decayed(settings, form)
            .iter()
            .map(|spec| frame.get(spec).metrics.get(name).copied().unwrap_or(f64::NAN))
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
    use crate::targets::point::Trained;
    use reynolds_train::task::Metrics;

    fn verdicts(form: Form, relative: impl Fn(&Spec) -> f64, cosine: f64, difference: f64) -> [bool; 3] {
        let settings = Grid::of_budget(Budget::Quick);
        let specs = grid(&settings, form, 0).into_iter().chain(decayed(&settings, form));
        let frame = Frame::new(specs.map(|spec| {
            let metrics = Metrics::from([
                ("test/defect_relative".into(), relative(&spec)),
                ("decay/cosine".into(), cosine),
                ("decay/difference".into(), difference),
            ]);
            (spec, Trained { metrics, ..Trained::default() })
        }));
        let grid = grid(&settings, form, 0);
        [invariant(&frame, form, &grid, 1), angular(&frame, form, &grid, 1), weight_decay(&frame, &settings, form)]
            .map(|check| check.held)
    }

    #[test]
    fn claims_hold_or_not_by_the_numbers() {
        let as_claimed = |spec: &Spec| if spec.strengths().1 == 0.1 { 0.001 } else { spec.strengths().0 + 0.1 };
        assert_eq!(verdicts(Form::Plain, as_claimed, 0.95, 0.3), [true, true, false]);
        assert_eq!(verdicts(Form::Plain, as_claimed, 1.0, 0.3), [true, true, true]);
        assert_eq!(verdicts(Form::Squared, |spec| spec.strengths().1, 1.0, 1e-3), [false, false, false]);
        assert_eq!(verdicts(Form::Squared, as_claimed, 1.0, 0.0), [true, true, true]);
    }

    #[test]
    fn the_grid_has_sixteen_models_a_seed_and_form() {
        assert_eq!(LambdaGrid.points(&Grid::of_budget(Budget::Quick)).unwrap().len(), 2 * (5 * 16 + 3));
    }
}
