//! What a run on smoke shows at its end: a rollout beside the truth, and the error over its steps.

use std::path::Path;

use crate::smoke::data::speed;

use super::frames::Part;
use super::task::{Rollout, SmokeTask};
use reynolds_checkpoint::whole_file;
use reynolds_report::figure::{Colour, Key, LineChart, Raster, Scale, Shading, Sheet};
use reynolds_train::error::{Error, Result};

/// Steps of a rollout that are shown, where it is as long.
const SHOWN: [usize; 5] = [1, 5, 10, 15, 20];

/// Side of a panel.
const PANEL: f64 = 104.0;

/// Draws "rollout.svg" (the window of "domain" in the middle, and of "future") and "errors.svg" into `folder`.
///
/// # Errors
/// If a file cannot be written; whatever libtorch may fail with.
pub(super) fn draw(task: &SmokeTask, length: usize, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
    let mut sheet = Sheet::new(2, 220.0);
    for (name, part) in [("future", Part::Future), ("domain", Part::Domain)] {
        let middle = task.data().windows(part).len() / 2;
        let rollout = task.rollout(part, middle, length)?;
        let file = folder.join(format!("rollout-{name}.svg"));
        whole_file::write(&file, rollout_sheet(&rollout, "forecast").svg().as_bytes())?;
        let [network, persistence] = [task.errors(part, length)?, task.persistence(part, length)?];
        let lines = [
            StepErrors { name: "network".into(), colour: Colour::BLUE, dashed: false, rmse: network.by_step() },
            StepErrors {
                name: "persistence".into(),
                colour: Colour::ORANGE,
                dashed: true,
                rmse: persistence.by_step(),
            },
        ];
        sheet.add(name, step_chart(&lines), vec![]);
        sheet.legend = lines.iter().map(StepErrors::key).collect();
    }
    sheet.chart_room();
    Ok(whole_file::write(&folder.join("errors.svg"), sheet.svg().as_bytes())?)
}

/// The RMSE at each step of a rollout, under a name.
#[derive(Debug, Clone)]
pub struct StepErrors {
    /// In the legend.
    pub name: String,
    /// Of its line.
    pub colour: Colour,
    /// Whether the line is.
    pub dashed: bool,
    /// From the first step on.
    pub rmse: Vec<f64>,
}

impl StepErrors {
    /// Its line of a legend.
    pub fn key(&self) -> Key {
        Key::Line(self.colour, self.dashed, self.name.clone())
    }
}

/// Errors over the steps of a rollout, one line each.
pub fn step_chart(errors: &[StepErrors]) -> LineChart {
    let mut chart = LineChart::new("step", "RMSE");
    for one in errors {
        let points: Vec<[f64; 2]> = one.rmse.iter().enumerate().map(|(n, rmse)| [(n + 1) as f64, *rmse]).collect();
        chart.line(&points, one.colour, one.dashed);
    }
    chart
}

/// The speed in some frames of a rollout, one row for the truth, one for the forecast, both on one scale, and one for the length of what
/// lies between them, on its own.
pub fn rollout_sheet(rollout: &Rollout, forecast: &str) -> Sheet {
    let length = rollout.truth.len();
    let shown: Vec<usize> = SHOWN.into_iter().filter(|&step| step <= length).collect();
    let fields = |frames: &[Vec<f32>]| -> Vec<Vec<f64>> {
        shown.iter().map(|&step| speed(&frames[step - 1], rollout.side)).collect()
    };
    let between: Vec<Vec<f32>> = rollout.prediction.iter().zip(&rollout.truth).map(|(a, b)| difference(a, b)).collect();
    let (truth, prediction, rest) = (fields(&rollout.truth), fields(&rollout.prediction), fields(&between));
    let fastest = largest(&truth);
    let scales = [fastest, fastest, largest(&rest)].map(|high| Shading::Linear { high });
    let mut sheet = Sheet::new(shown.len().max(1), PANEL);
    for (row, (fields, shading)) in [&truth, &prediction, &rest].into_iter().zip(scales).enumerate() {
        for (field, step) in fields.iter().zip(&shown) {
            let title = if row == 0 { format!("step {step}") } else { String::new() };
            let caption =
                if row == 2 { vec![format!("RMSE {:.4}", root_mean_square(&between[step - 1]))] } else { vec![] };
            sheet.add(title, Raster::new(rollout.side, field.clone(), shading), caption);
        }
    }
    sheet.row_heads = vec!["simulation".into(), forecast.into(), "difference".into()];
    (sheet.label_room, sheet.tick_room) = (4.0, 4.0);
    sheet.scales = vec![
        Scale { shading: scales[0], high: fastest, text: "speed |v|".into() },
        Scale { shading: scales[2], high: largest(&rest), text: "|v̂ − v|".into() },
    ];
    sheet
}

fn difference(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn root_mean_square(frame: &[f32]) -> f64 {
    (frame.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / frame.len() as f64).sqrt()
}

/// The largest finite number; above 0.
fn largest(fields: &[Vec<f64>]) -> f64 {
    fields.iter().flatten().copied().filter(|value| value.is_finite()).fold(f64::MIN_POSITIVE, f64::max)
}

#[cfg(test)]
mod tests {
    use crate::smoke::networks::{SmokeNetConfig, Symmetry};
    use reynolds_torch::tch::Tensor;

    use super::super::frames::{Rows, SmokeData};
    use super::super::task::RolloutConfig;
    use super::*;

    #[test]
    fn the_speed_is_that_at_the_centre_of_a_cell() {
        // u = 3 on both faces of the cell (0, 0), v = 4 on both.
        let mut frame = vec![0.0; 8];
        (frame[0], frame[1], frame[4], frame[6]) = (3.0, 3.0, 4.0, 4.0);
        assert_eq!(speed(&frame, 2)[0], 5.0);
        assert_eq!(speed(&frame, 2)[3], 0.0);
    }

    #[test]
    fn a_rollout_is_three_rows_of_the_steps_it_has() {
        let frame = |value: f32| vec![value; 32];
        let truth: Vec<_> = (0..6).map(|step| frame(step as f32)).collect();
        let prediction: Vec<_> = (0..6).map(|step| frame(step as f32 + 0.5)).collect();
        let sheet = rollout_sheet(&Rollout { side: 4, prediction, truth }, "RSteer");
        let text = sheet.svg();
        assert_eq!((sheet.columns, sheet.panels.len()), (2, 6));
        assert_eq!(text.matches("RMSE 0.5000").count(), 2, "{text}");
        assert!(text.contains(">step 5</text>") && text.contains(">RSteer</text>") && text.contains("speed |v|"));
    }

    #[test]
    fn a_run_leaves_its_rollouts_and_errors() {
        let wave = |n: i64| ((n % 97) as f32 * 0.3).sin();
        let frames = Tensor::from_slice(&(0..24 * 128).map(wave).collect::<Vec<f32>>()).view([24, 2, 8, 8]);
        let rows =
            |firsts: &[usize]| -> Vec<Rows> { firsts.iter().map(|&first| Rows { first, simulation: first }).collect() };
        let windows = [rows(&[0, 1, 2]), rows(&[3]), rows(&[4, 5]), rows(&[6, 7])];
        let data = SmokeData::new(frames, 10, windows).unwrap();
        let model = SmokeNetConfig { hidden: 2, layers: 2, ..SmokeNetConfig::default() };
        let lengths = RolloutConfig { out_length: 2, rollout: 6, batch: 2 };
        let task = SmokeTask::new(data, &model, Symmetry::Rotation, lengths, 1).unwrap();
        let folder = tempfile::tempdir().unwrap();
        draw(&task, 6, &folder.path().join("figures")).unwrap();
        for (name, text) in [("errors", ">persistence<"), ("rollout-future", ">step 5<"), ("rollout-domain", "RMSE ")] {
            let svg = std::fs::read_to_string(folder.path().join(format!("figures/{name}.svg"))).unwrap();
            assert!(svg.starts_with("<svg") && svg.contains(text), "{svg}");
        }
    }

    #[test]
    fn a_rollout_that_ran_away_is_still_drawn() {
        let rollout = Rollout { side: 2, prediction: vec![vec![f32::NAN; 8]], truth: vec![vec![1.0; 8]] };
        assert!(rollout_sheet(&rollout, "forecast").svg().contains("#808080"));
    }
}
