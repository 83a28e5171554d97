//! `fig-rings` and `fig-rings-grid`: less and less symmetric data, with one λ_⊥ and with several.

use reynolds_report::Check;

use super::figure::{Measured, PlaneFigure, falls, listed};
use crate::so2::{FigureSettings, WaveyRings};

/// σ_⊥ of the columns.
const SIGMAS: [f64; 4] = [0.0, 0.5, 0.75, 1.0];

type Waves = FigureSettings<WaveyRings>;
type Spec = super::Spec<WaveyRings>;

/// Paper: `fig:wavey_rings_lambda_one_row`.
pub(crate) const ROW: PlaneFigure<WaveyRings> = rings(
    ["fig-rings", "fig-rings-squared"],
    "wavey rings of growing amplitude at λ_⊥ = 1, beside an MLP (fig:wavey_rings_lambda_one_row)",
    &[1.0],
);

/// Paper: `fig:wavey_rings_lambda_grid`. The paper does not list its λ_⊥.
pub(crate) const GRID: PlaneFigure<WaveyRings> = rings(
    ["fig-rings-grid", "fig-rings-grid-squared"],
    "wavey rings over a grid of amplitude and λ_⊥, beside an MLP (fig:wavey_rings_lambda_grid)",
    &[0.0, 0.01, 0.1, 1.0],
);

/// Wavey rings at some λ_⊥, λ_G = 0, beside the baseline.
const fn rings(
    [name, squared]: [&'static str; 2],
    about: &'static str,
    rows: &'static [f64],
) -> PlaneFigure<WaveyRings> {
    PlaneFigure {
        name,
        squared,
        about,
        rows,
        titles: || SIGMAS.map(|sigma| format!("σ_⊥ = {sigma}")).to_vec(),
        models: |figure, settings, form, seed| {
            let row = |&perp: &f64| waves(settings).map(|waves| Spec::penalised(&waves, form, 0.0, perp, seed));
            figure.rows.iter().flat_map(row).collect()
        },
        besides: |settings, seed| waves(settings).map(|waves| Spec::baseline(&waves, seed)).to_vec(),
        caption: "Rings whose radius waves with growing amplitude σ_⊥, with the {form} penalty at λ_G = 0; the boundary of an MLP in orange.",
        note: "The baseline is an MLP of 2-64-64-1 with ReLU on the coordinates, trained in the same way without a penalty; λ_G = 0 throughout.",
        checks,
        more: |_, _, _| None,
    }
}

/// The settings at each amplitude.
fn waves(settings: &Waves) -> [Waves; 4] {
    SIGMAS.map(|sigma| {
        let mut settings = settings.clone();
        settings.run.settings.data.sigma = sigma;
        settings
    })
}

fn checks(measured: &Measured<'_, WaveyRings>) -> Vec<Check> {
    let name = measured.name();
    let (relative, sum) =
        (measured.means("test/invariance_error_relative"), measured.means("test/invariance_error_sum"));
    let grows = |values: &[f64]| falls(&values.iter().map(|value| -value).collect::<Vec<_>>());
    let strengths = measured.models.iter().step_by(SIGMAS.len()).map(|spec| spec.strengths().1);
    let mut checks = Vec::new();
    for (row, perp) in strengths.enumerate().filter(|(_, perp)| *perp > 0.0) {
        for (what, values) in [("the relative invariance error", &relative), ("ℰ_emp", &sum)] {
            let values = &values[row * SIGMAS.len()..][..SIGMAS.len()];
            let claim = format!("{name}: at λ_⊥ = {perp} {what} grows with σ_⊥");
            checks.push(measured.check(claim, grows(values), listed(values.iter().copied())));
        }
    }
    if relative.len() > SIGMAS.len() {
        let (weak, strong) = (&relative[..SIGMAS.len()], &relative[relative.len() - SIGMAS.len()..]);
        let held = weak.iter().zip(strong).all(|(weak, strong)| strong < weak);
        let found = format!("{} against {}", listed(strong.iter().copied()), listed(weak.iter().copied()));
        checks.push(measured.check(
            format!("{name}: at every σ_⊥ λ_⊥ = 1 is closer to invariant than λ_⊥ = 0"),
            held,
            found,
        ));
    }
    checks
}

#[cfg(test)]
mod tests {
    use reynolds::penalty::Form;

    use super::super::figure::tests::verdicts;
    use super::*;
    use crate::targets::{Budget, Target};

    #[test]
    fn claims_hold_or_not_by_the_numbers() {
        let of = |figure: &PlaneFigure<_>, form: Form, mean: fn(usize, f64) -> f64| {
            verdicts(figure, form, |spec: &Spec| {
                let column = SIGMAS.iter().position(|sigma| *sigma == spec.run.settings.data.sigma).unwrap();
                ["test/invariance_error_relative", "test/invariance_error_sum"]
                    .map(|name| (name, mean(column, spec.strengths().1)))
            })
        };
        let grows = |column: usize, perp: f64| [0.1, 0.2, 0.3, 0.4][column] / (1.0 + perp);
        let stops = |column: usize, perp: f64| [0.1, 0.3, 0.3, 0.4][column] + perp;
        assert_eq!(of(&GRID, Form::Squared, grows), [true; 7]);
        assert_eq!(of(&GRID, Form::Squared, stops), [false; 7]);
        assert_eq!(of(&ROW, Form::Plain, |column, _| column as f64), [true; 2]);
    }

    #[test]
    fn the_grid_has_every_pair_and_the_baseline_once_a_seed() {
        let points = |figure: &PlaneFigure<_>| figure.points(&Waves::of_budget(Budget::Quick)).unwrap().len();
        assert_eq!([points(&ROW), points(&GRID)], [5 * (4 + 2 * 4), 5 * (4 + 2 * 16)]);
    }
}
