//! `fig-so2`: the penalty tunes how invariant a network becomes.
//!
//! The paper's figure follows a path on which λ_G falls first and λ_⊥ rises then. With λ_⊥ = 0 the defect does not fall as λ_G does, so
//! the path here keeps λ_⊥ = 0.01 while λ_G falls.

use reynolds::penalty::Form;

use super::picture::{FORMS, caption, falls, listed, notes, numbers, plane};
use super::spec::form_name;
use crate::so2::{COLOUR_BAR, DiskAndArc, FigureSettings, legend};
use crate::targets::findings::{Figure, Findings};
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, boxed};
use reynolds_report::Check;
use reynolds_report::figure::Sheet;
use reynolds_train::error::Result;

/// (λ_G, λ_⊥) from left to right.
const PATH: [(f64, f64); 5] = [(0.1, 0.01), (0.01, 0.01), (0.001, 0.01), (0.0, 0.01), (0.0, 0.1)];

/// The relative defect of a network that is essentially invariant.
pub(crate) const ESSENTIALLY: f64 = 0.01;

type Path = FigureSettings<DiskAndArc>;
type Spec = super::Spec<DiskAndArc>;

/// Paper: `fig:so2_vary_inv_levels`.
pub(crate) struct LambdaPath;

fn along(settings: &Path, form: Form, seed: u64) -> Vec<Spec> {
    PATH.map(|(g, perp)| Spec::penalised(settings, form, g, perp, seed)).to_vec()
}

impl Target for LambdaPath {
    type Settings = Path;

    fn name(&self) -> &'static str {
        "fig-so2"
    }

    fn about(&self) -> &'static str {
        "learned SO(2) invariance along a path of λ_G and λ_⊥ (fig:so2_vary_inv_levels)"
    }

    fn settings(&self, budget: Budget) -> Path {
        FigureSettings::of_budget(budget)
    }

    fn shown(&self, settings: &Path) -> Vec<(String, String)> {
        settings.shown()
    }

    fn points(&self, settings: &Path) -> Result<Vec<Box<dyn Point>>> {
        let of = |&form: &Form| settings.all_seeds().flat_map(move |seed| along(settings, form, seed));
        Ok(boxed(FORMS.iter().flat_map(of)))
    }

    fn findings(&self, settings: &Path, frame: &Frame) -> Result<Findings> {
        let seeds = settings.seeds;
        let mut findings = Findings { notes: notes(settings.run.train.epochs), ..Findings::default() };
        let rows: Vec<Spec> = FORMS.iter().flat_map(|&form| along(settings, form, settings.run.seed)).collect();
        let (table, csv) = numbers(frame, &rows, seeds);
        (findings.tables, findings.csv) = (vec![table], csv);
        for form in FORMS {
            let path = along(settings, form, settings.run.seed);
            findings.figures.push(figure(frame, form, &path, seeds)?);
            findings.checks.extend(checks(frame, form, &path, seeds));
        }
        Ok(findings)
    }
}

fn figure(frame: &Frame, form: Form, path: &[Spec], seeds: u64) -> Result<Figure> {
    let mut sheet = Sheet::new(path.len(), 150.0);
    for spec in path {
        let title = format!("λ_G = {}, λ_⊥ = {}", spec.strengths().0, spec.strengths().1);
        sheet.add(title, plane(frame, spec, None)?, caption(frame, spec, seeds));
    }
    sheet.legend = legend(false);
    sheet.colour_bar = COLOUR_BAR.into();
    let name = match form {
        Form::Plain => "fig-so2",
        Form::Squared => "fig-so2-squared",
    };
    let caption = format!(
        "The {} penalty tunes how invariant the network becomes: first λ_G falls, then λ_⊥ rises. Seed 0; below each panel mean ± \
         standard deviation over {seeds} seeds.",
        form_name(form)
    );
    Ok(Figure { name, svg: sheet.svg(), caption })
}

fn checks(frame: &Frame, form: Form, path: &[Spec], seeds: u64) -> Vec<Check> {
    let means =
        |metric: &str| -> Vec<f64> { path.iter().map(|spec| spec.over_seeds(frame, seeds, metric).mean()).collect() };
    let (relative, sum) = (means("test/defect_relative"), means("test/defect_sum"));
    let name = form_name(form);
    let last = relative.last().copied().unwrap_or(f64::NAN);
    vec![
        Check::new(
            format!("{name}: the relative defect falls along the path"),
            falls(&relative),
            listed(relative.clone()),
        ),
        Check::new(format!("{name}: ℰ_emp falls along the path"), falls(&sum), listed(sum.clone())),
        Check::new(
            format!("{name}: λ_G = 0, λ_⊥ = 0.1 is essentially invariant (relative defect at most {ESSENTIALLY})"),
            last <= ESSENTIALLY,
            listed([last]),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::point::Trained;
    use reynolds_train::task::Metrics;

    /// Models that have nothing but the relative defect and ℰ_emp, as a function of the spec.
    fn models(specs: Vec<Spec>, defect: impl Fn(&Spec) -> f64) -> Frame {
        Frame::new(specs.into_iter().map(|spec| {
            let defect = defect(&spec);
            let metrics =
                Metrics::from([("test/defect_relative".into(), defect), ("test/defect_sum".into(), 100.0 * defect)]);
            (spec, Trained { metrics, ..Trained::default() })
        }))
    }

    fn verdicts(defect: impl Fn(&Spec) -> f64) -> Vec<bool> {
        let path = along(&Path::of_budget(Budget::Quick), Form::Plain, 0);
        checks(&models(path.clone(), defect), Form::Plain, &path, 1).iter().map(|check| check.held).collect()
    }

    #[test]
    fn claims_hold_or_not_by_the_numbers() {
        assert_eq!(verdicts(|spec| spec.strengths().0 + 0.001 / (1.0 + spec.strengths().1)), [true, true, true]);
        assert_eq!(verdicts(|spec| 1.0 - spec.strengths().0), [false, false, false]);
        assert_eq!(
            verdicts(|spec| 0.02 + spec.strengths().0 + 0.001 / (1.0 + spec.strengths().1)),
            [true, true, false]
        );
    }
}
