//! `fig-so2` and `fig-so2-grid`: the penalty tunes how invariant a network becomes, along a path and over a grid of λ_G and λ_⊥.
//!
//! On the path of the paper's figure first λ_G falls, then λ_⊥ rises. With λ_⊥ = 0 the defect does not fall with λ_G, so our path keeps
//! λ_⊥ = 0.01 while λ_G falls.

use reynolds::penalty::Form;
use reynolds_report::Check;
use reynolds_report::figure::{HeatMap, Shading, Sheet};

use super::figure::{FORMS, Measured, PlaneFigure, falls, listed};
use crate::so2::{DiskAndArc, FigureSettings};
use crate::targets::findings::Figure;
use crate::targets::point::Frame;
use crate::targets::sample::three_digits;
use reynolds_train::config::PenaltyStep;

type Settings = FigureSettings<DiskAndArc>;
type Spec = super::Spec<DiskAndArc>;

/// (λ_G, λ_⊥) from left to right.
const PATH: [(f64, f64); 5] = [(0.1, 0.01), (0.01, 0.01), (0.001, 0.01), (0.0, 0.01), (0.0, 0.1)];

/// λ_G of the columns and λ_⊥ of the rows.
const STRENGTHS: [f64; 4] = [0.0, 0.001, 0.01, 0.1];

/// The relative invariance error of a network that is essentially invariant.
const ESSENTIALLY: f64 = 0.01;

/// Smallest cosine between a gradient and the weights that counts as weight decay, in single precision.
const PARALLEL: f64 = 1.0 - 1e-6;

/// Paper: `fig:so2_vary_inv_levels`.
pub(crate) const LAMBDA_PATH: PlaneFigure<DiskAndArc> = PlaneFigure {
    name: "fig-so2",
    squared: "fig-so2-squared",
    about: "learned SO(2) invariance along a path of λ_G and λ_⊥ (fig:so2_vary_inv_levels)",
    rows: &[],
    titles: || PATH.map(|(g, perp)| format!("λ_G = {g}, λ_⊥ = {perp}")).to_vec(),
    models: |_, settings, form, seed| PATH.map(|(g, perp)| Spec::penalised(settings, form, g, perp, seed)).to_vec(),
    besides: |_, _| Vec::new(),
    caption: "The {form} penalty tunes how invariant the network becomes: first λ_G falls, then λ_⊥ rises.",
    note: "",
    checks: |measured| {
        let name = measured.name();
        let (relative, sum) =
            (measured.means("test/invariance_error_relative"), measured.means("test/invariance_error_sum"));
        let last = relative.last().copied().unwrap_or(f64::NAN);
        let path = |what: &str, values: Vec<f64>| {
            measured.check(format!("{name}: {what} falls along the path"), falls(&values), listed(values))
        };
        vec![
            path("the relative invariance error", relative),
            path("ℰ_emp", sum),
            measured.check(
                format!("{name}: λ_G = 0, λ_⊥ = 0.1 is essentially invariant (relative invariance error at most {ESSENTIALLY})"),
                last <= ESSENTIALLY,
                listed([last]),
            ),
        ]
    },
    more: |_, _, _| None,
};

/// Paper: `fig:2d_grid_vary_equiv`, `app:sensitivity_lambdas_so2`.
pub(crate) const LAMBDA_GRID: PlaneFigure<DiskAndArc> = PlaneFigure {
    name: "fig-so2-grid",
    squared: "fig-so2-grid-squared",
    about: "learned SO(2) invariance over a grid of λ_G and λ_⊥ (fig:2d_grid_vary_equiv)",
    rows: &STRENGTHS,
    titles: || STRENGTHS.map(|g| format!("λ_G = {g}")).to_vec(),
    models: |_, settings, form, seed| {
        let row = |&perp: &f64| STRENGTHS.map(|g| Spec::penalised(settings, form, g, perp, seed));
        STRENGTHS.iter().flat_map(row).collect()
    },
    besides: |settings, seed| {
        let compared = seed == settings.run.seed && by_gradient(settings);
        FORMS.iter().filter(|_| compared).flat_map(|&form| decayed(settings, form)).collect()
    },
    caption: "The {form} penalty over a grid: λ_G grows to the right, λ_⊥ downwards.",
    note: "",
    checks: |measured| {
        let decay = by_gradient(measured.settings).then(|| weight_decay(measured));
        [invariant(measured), angular(measured)].into_iter().chain(decay).collect()
    },
    more: |figure, settings, frame| Some(defects(figure, settings, frame)),
};

/// Whether the penalty has a gradient to compare with that of weight decay.
fn by_gradient(settings: &Settings) -> bool {
    settings.run.penalty.step == PenaltyStep::Gradient
}

/// The models with λ_G = λ_⊥ > 0, compared with weight decay.
fn decayed(settings: &Settings, form: Form) -> Vec<Spec> {
    let spec = |lambda: f64| Spec::penalised(settings, form, lambda, lambda, settings.run.seed);
    STRENGTHS[1..].iter().map(|&lambda| Spec { decay: true, drawn: false, ..spec(lambda) }).collect()
}

/// The relative invariance error of every pair, in both forms.
fn defects(figure: &PlaneFigure<DiskAndArc>, settings: &Settings, frame: &Frame) -> Figure {
    let mut sheet = Sheet::new(FORMS.len(), 190.0);
    (sheet.shared_axes, sheet.label_room) = (false, 34.0);
    for form in FORMS {
        let models = (figure.models)(figure, settings, form, settings.run.seed);
        let measured = Measured { frame, settings, form, models };
        let (name, values) = (measured.name(), measured.means("test/invariance_error_relative"));
        let texts = values.iter().map(|&value| three_digits(value)).collect();
        let labels = STRENGTHS.map(|strength| strength.to_string()).to_vec();
        let shading = Shading::Logarithmic { low: 0.001, high: 1.0 };
        let map = HeatMap::new(STRENGTHS.len(), values, shading).numbers(texts).labels(labels.clone(), labels);
        sheet.add(format!("{name} penalty"), map, vec!["λ_G to the right, λ_⊥ downwards".into()]);
    }
    let seeds = settings.seeds;
    let caption = format!(
        "Relative invariance error, mean over {seeds} seeds; the darker, the less invariant, on a logarithmic scale."
    );
    Figure { name: "fig-so2-grid-error", svg: sheet.svg(), caption }
}

/// The mean relative invariance errors of the models chosen by λ_G and λ_⊥.
fn relative(measured: &Measured<'_, DiskAndArc>, choose: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let models = measured.models.iter().zip(measured.means("test/invariance_error_relative"));
    let chosen = |spec: &Spec| {
        let (g, perp) = spec.strengths();
        choose(g, perp)
    };
    models.filter(|(spec, _)| chosen(spec)).map(|(_, mean)| mean).collect()
}

fn invariant(measured: &Measured<'_, DiskAndArc>) -> Check {
    let found = relative(measured, |g, perp| perp == 0.1 && g <= 0.01);
    let name = measured.name();
    let claim = format!(
        "{name}: λ_⊥ = 0.1 with λ_G ≤ 0.01 is essentially invariant (relative invariance error at most {ESSENTIALLY})"
    );
    measured.check(claim, found.iter().all(|&value| value <= ESSENTIALLY), listed(found))
}

fn angular(measured: &Measured<'_, DiskAndArc>) -> Check {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let (less, more) = (mean(relative(measured, |g, perp| perp < g)), mean(relative(measured, |g, perp| perp > g)));
    let claim = format!("{}: λ_⊥ < λ_G depends on the angle more than λ_⊥ > λ_G does", measured.name());
    measured.check(claim, less > more, format!("mean relative invariance error {}", listed([less, more])))
}

fn weight_decay(measured: &Measured<'_, DiskAndArc>) -> Check {
    let models = decayed(measured.settings, measured.form);
    let metric = |name: &str| -> Vec<f64> { models.iter().map(|spec| measured.frame.get(spec).metric(name)).collect() };
    let (difference, cosine) = (metric("decay/difference"), metric("decay/cosine"));
    let claim = format!("{}: λ_G = λ_⊥ is weight decay", measured.name());
    let parallel = cosine.iter().all(|&cosine| cosine >= PARALLEL);
    let angles = cosine.iter().map(|cosine| format!("{cosine:.6}")).collect::<Vec<_>>().join(" ");
    match measured.form {
        Form::Squared => {
            let same = difference.iter().all(|&difference| difference <= 1e-6);
            let found =
                format!("largest difference from an L2 trajectory {}, cosine to W {angles}", listed(difference));
            Check::new(claim, parallel && same, found)
        }
        Form::Plain => Check::new(claim, parallel, format!("cosine between its gradient and W {angles}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::tests::verdicts;
    use super::*;
    use crate::targets::{Budget, Target};

    #[test]
    fn claims_of_the_path_hold_or_not_by_the_numbers() {
        let of = |defect: fn(f64, f64) -> f64| {
            verdicts(&LAMBDA_PATH, Form::Plain, |spec| {
                let (g, perp) = spec.strengths();
                [
                    ("test/invariance_error_relative", defect(g, perp)),
                    ("test/invariance_error_sum", 100.0 * defect(g, perp)),
                ]
            })
        };
        assert_eq!(of(|g, perp| g + 0.001 / (1.0 + perp)), [true, true, true]);
        assert_eq!(of(|g, _| 1.0 - g), [false, false, false]);
        assert_eq!(of(|g, perp| 0.02 + g + 0.001 / (1.0 + perp)), [true, true, false]);
    }

    #[test]
    fn claims_of_the_grid_hold_or_not_by_the_numbers() {
        let of = |form: Form, defect: fn(f64, f64) -> f64, cosine: f64, difference: f64| {
            verdicts(&LAMBDA_GRID, form, |spec| {
                let (g, perp) = spec.strengths();
                [
                    ("test/invariance_error_relative", defect(g, perp)),
                    ("decay/cosine", cosine),
                    ("decay/difference", difference),
                ]
            })
        };
        let as_claimed = |g: f64, perp: f64| if perp == 0.1 { 0.001 } else { g + 0.1 };
        assert_eq!(of(Form::Plain, as_claimed, 0.95, 0.3), [true, true, false]);
        assert_eq!(of(Form::Plain, as_claimed, 1.0, 0.3), [true, true, true]);
        assert_eq!(of(Form::Squared, |_, perp| perp, 1.0, 1e-3), [false, false, false]);
        assert_eq!(of(Form::Squared, as_claimed, 1.0, 0.0), [true, true, true]);
    }

    #[test]
    fn the_grid_has_sixteen_models_a_seed_and_form() {
        let points = |figure: &PlaneFigure<_>| figure.points(&Settings::of_budget(Budget::Quick)).unwrap().len();
        assert_eq!([points(&LAMBDA_PATH), points(&LAMBDA_GRID)], [5 * 2 * 5, 2 * (5 * 16 + 3)]);
        let mut decoupled = Settings::of_budget(Budget::Quick);
        decoupled.run.penalty.step = PenaltyStep::Decoupled;
        let points = LAMBDA_GRID.points(&decoupled).unwrap();
        assert_eq!(points.len(), 2 * 5 * 16, "no gradient to compare with weight decay");
        assert!(points[0].id().starts_with("disk-decoupled-plain-g0-p0-"), "{}", points[0].id());
    }
}
