//! What the figures and tables of the SO(2) experiments share.

use reynolds::penalty::Form;

use super::spec::{Spec, form_name};
use crate::so2::{Network, PlaneData, PlaneTask, REACH, SIDE};
use crate::targets::point::Frame;
use crate::targets::sample::Sample;
use reynolds_report::Table;
use reynolds_report::figure::{Colour, Field, Plane};
use reynolds_train::error::Result;

/// Both forms, the paper's first.
pub(super) const FORMS: [Form; 2] = [Form::Plain, Form::Squared];

/// The metrics of a table: name, head, whether it is a percentage.
const COLUMNS: [(&str, &str, bool); 5] = [
    ("train/accuracy", "train accuracy %", true),
    ("test/accuracy", "test accuracy %", true),
    ("test/defect_sum", "ℰ_emp", false),
    ("test/defect_mean", "mean defect", false),
    ("test/defect_relative", "relative defect", false),
];

/// How the numbers were taken, and what was chosen where the paper is silent.
pub(super) fn notes(epochs: usize) -> Vec<String> {
    vec![
        format!(
            "Each model: 350 points of each class, 80 % of them trained on in one minibatch, binary cross-entropy, Adam at 0.003 for \
             {epochs} epochs; harmonics up to degree 4, 4 radial and 16 hidden channels, complex weights from N(0, 1/(2·inputs)) in each \
             part. Seeds 0, 1, … decide points, initial weights and turns; models that differ in λ alone start from the same weights on \
             the same points."
        ),
        "Defects are taken over the 140 test points and 64 random turns: ℰ_emp = Σ |T(gx) − T(x)|, its mean over points and turns, and \
         the mean divided by the standard deviation of T over the test points. Only the last can be compared between models whose \
         logits differ in size. The defects of training points in results.json are over the first 8 turns."
            .into(),
        "plain: λ_G Σ‖W‖ + λ_⊥ Σ‖W − P(W)‖ as in section 4.1 of the paper. squared: λ_G Σ‖P(W)‖² + λ_⊥ Σ‖W − P(W)‖² as in section 3. \
         Panels show seed 0; captions give mean ± standard deviation over all seeds."
            .into(),
    ]
}

/// Level sets, boundary and training points of a drawn model; the boundary of a second one in orange.
pub(super) fn plane<D: PlaneData>(frame: &Frame, spec: &Spec<D>, second: Option<&Spec<D>>) -> Result<Plane> {
    let field = |spec: &Spec<D>| Field::square(REACH, SIDE, spec.logits(frame));
    let ours = field(spec);
    let (train, _) = PlaneTask::points(&spec.run.settings.data.data(), spec.run.seed)?;
    let mut plane = Plane::new(REACH);
    plane.level_sets(&ours, ours.magnitude_quantile(0.95)).points(train.points(), train.labels());
    if let Some(second) = second {
        plane.boundary(&field(second), Colour::ORANGE, true);
    }
    plane.boundary(&ours, Colour::NAVY, false);
    Ok(plane)
}

/// The lines below a panel.
pub(super) fn caption<D: PlaneData>(frame: &Frame, spec: &Spec<D>, seeds: u64) -> Vec<String> {
    let over = |metric: &str| spec.over_seeds(frame, seeds, metric);
    vec![
        format!("ℰ_{{emp}} = {}", over("test/defect_sum")),
        format!("relative {}", over("test/defect_relative")),
        format!("accuracy {} %", percent(&over("test/accuracy"))),
    ]
}

fn percent(sample: &Sample) -> String {
    format!("{:.1} ± {:.1}", 100.0 * sample.mean(), 100.0 * sample.deviation())
}

/// A row for each spec, which stands for all its seeds, as a table and as CSV.
pub(super) fn numbers<D: PlaneData>(frame: &Frame, specs: &[Spec<D>], seeds: u64) -> (Table, String) {
    let rings = specs.iter().any(|spec| spec.run.settings.data.sigma().is_some());
    let mut head = vec!["network", "penalty", "λ_G", "λ_⊥"];
    if rings {
        head.insert(0, "σ_⊥");
    }
    let mut table = Table::new(head.into_iter().chain(COLUMNS.map(|column| column.1)));
    table.caption(format!("mean ± standard deviation over {seeds} seeds"));
    let mut csv = "sigma,network,form,lambda_g,lambda_perp,seeds".to_string();
    for (name, ..) in COLUMNS {
        let name = name.replace('/', "_");
        csv += &format!(",{name}_mean,{name}_sd");
    }
    csv.push('\n');
    for spec in specs {
        let sigma = spec.run.settings.data.sigma().map_or(String::new(), |sigma| sigma.to_string());
        let (g, perp) = spec.strengths();
        let (g, perp) = (g.to_string(), perp.to_string());
        let keys = match spec.run.settings.model.network {
            Network::So2 => ["so2", form_name(spec.run.penalty.form), &g, &perp],
            Network::Mlp => ["mlp", "", "", ""],
        };
        let samples = COLUMNS.map(|(name, ..)| spec.over_seeds(frame, seeds, name));
        let shown = COLUMNS.iter().zip(&samples).map(|((_, _, share), sample)| match share {
            true => percent(sample),
            false => sample.to_string(),
        });
        let lead = if rings { vec![sigma.clone()] } else { Vec::new() };
        table.row(lead.into_iter().chain(keys.map(String::from)).chain(shown));
        csv += &format!("{sigma},{},{seeds}", keys.join(","));
        for sample in &samples {
            csv += &format!(",{},{}", sample.mean(), sample.deviation());
        }
        csv.push('\n');
    }
    (table, csv)
}

/// Numbers in a row, as a check shows them.
pub(super) fn listed(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().map(crate::targets::sample::three_digits).collect::<Vec<_>>().join(" ")
}

/// Whether each number is less than the one before it.
pub(super) fn falls(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[1] < pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_is_strict_and_needs_numbers() {
        assert!(falls(&[3.0, 2.0, 1.0]) && falls(&[1.0]));
        assert!(!falls(&[3.0, 3.0]) && !falls(&[1.0, 2.0]) && !falls(&[1.0, f64::NAN]));
    }
}
