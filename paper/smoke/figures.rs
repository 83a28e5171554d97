//! Figures of a finished run: a rollout beside the truth, and the error over its steps.

use std::path::Path;

use crate::smoke::data::{Subset, speed};

use super::task::{Rollout, SmokeTask};
use reynolds_checkpoint::whole_file;
use reynolds_report::figure::{Colour, Key, LineChart, Raster, Scale, Shading, Sheet};
use reynolds_train::error::{Error, Result};

/// Steps of a rollout that are shown.
const SHOWN: [usize; 5] = [1, 5, 10, 15, 20];

const PANEL: f64 = 104.0;

/// Draws "rollout.svg" (the window of "domain" in the middle, and of "future") and "errors.svg" into `folder`.
pub(super) fn draw(task: &SmokeTask, length: usize, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
    let mut sheet = Sheet::new(2, 220.0);
    for part in Subset::TESTS {
        let name = part.name();
        let middle = task.data().windows(part).len() / 2;
        let rollout = task.rollout(part, middle, length)?;
        let file = folder.join(format!("rollout-{name}.svg"));
        whole_file::write(&file, rollout_sheet(&rollout, "forecast").svg().as_bytes())?;
        let mut chart = LineChart::new("step", "RMSE");
        sheet.legend.clear();
        for (line, colour, dashed, errors) in [
            ("network", Colour::BLUE, false, task.errors(part, length)?),
            ("persistence", Colour::ORANGE, true, task.persistence(part, length)?),
        ] {
            let steps = errors.by_step().into_iter().enumerate();
            let points: Vec<[f64; 2]> = steps.map(|(step, rmse)| [(step + 1) as f64, rmse]).collect();
            chart.line(&points, colour, dashed);
            sheet.legend.push(Key::Line(colour, dashed, line.into()));
        }
        sheet.add(name, chart, vec![]);
    }
    sheet.with_axes();
    Ok(whole_file::write(&folder.join("errors.svg"), sheet.svg().as_bytes())?)
}

/// A row of pictures of frames `[2, side, side]`.
pub(crate) struct Pictures<'a> {
    pub(crate) head: String,
    pub(crate) frames: Vec<&'a [f32]>,
    pub(crate) captions: Vec<String>,
    pub(crate) shading: Shading,
}

/// The speed in these frames.
pub(crate) fn pictures(side: usize, steps: &[usize], rows: &[Pictures<'_>]) -> Sheet {
    let mut sheet = Sheet::new(steps.len().max(1), PANEL);
    for (number, row) in rows.iter().enumerate() {
        for (place, (frame, step)) in row.frames.iter().zip(steps).enumerate() {
            let title = if number == 0 { format!("step {step}") } else { String::new() };
            let caption = row.captions.get(place).cloned().into_iter().collect();
            sheet.add(title, Raster::new(side, speed(frame, side), row.shading), caption);
        }
    }
    sheet.row_heads = rows.iter().map(|row| row.head.clone()).collect();
    (sheet.label_room, sheet.tick_room) = (4.0, 4.0);
    sheet
}

/// The greatest speed in these frames; above 0.
pub(crate) fn fastest(side: usize, frames: &[&[f32]]) -> f64 {
    let speeds = frames.iter().flat_map(|frame| speed(frame, side)).filter(|value| value.is_finite());
    speeds.fold(f64::MIN_POSITIVE, f64::max)
}

/// Truth and forecast on one scale, and their difference on its own.
fn rollout_sheet(rollout: &Rollout, forecast: &str) -> Sheet {
    let Rollout { side, prediction, truth } = rollout;
    let steps: Vec<usize> = SHOWN.into_iter().filter(|&step| step <= truth.len()).collect();
    let between: Vec<Vec<f32>> = prediction.iter().zip(truth).map(|(a, b)| difference(a, b)).collect();
    let [truth, prediction, between] = [truth, prediction, &between]
        .map(|frames| steps.iter().map(|&step| frames[step - 1].as_slice()).collect::<Vec<_>>());
    let highs = [fastest(*side, &truth), fastest(*side, &between)];
    let [speeds, rest] = highs.map(|high| Shading::Linear { high });
    let errors = between.iter().map(|frame| format!("RMSE {:.4}", root_mean_square(frame))).collect();
    let row = |head: &str, frames, captions, shading| Pictures { head: head.into(), frames, captions, shading };
    let rows = [
        row("simulation", truth, vec![], speeds),
        row(forecast, prediction, vec![], speeds),
        row("difference", between, errors, rest),
    ];
    let mut sheet = pictures(*side, &steps, &rows);
    sheet.scales = vec![
        Scale { shading: speeds, high: highs[0], text: "speed |v|".into() },
        Scale { shading: rest, high: highs[1], text: "|v̂ − v|".into() },
    ];
    sheet
}

pub(crate) fn difference(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

pub(crate) fn root_mean_square(frame: &[f32]) -> f64 {
    (frame.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / frame.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use crate::smoke::networks::SmokeNetConfig;
    use reynolds_torch::tch::Tensor;

    use super::super::experiment::SmokeDataConfig;
    use super::super::frames::{Rows, SmokeData};
    use super::*;

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
        let data = SmokeData::new(frames, 10, windows);
        let model = SmokeNetConfig { hidden: 2, layers: 2, ..SmokeNetConfig::default() };
        let lengths = SmokeDataConfig { out_length: 2, rollout: 6, batch: 2, ..SmokeDataConfig::default() };
        let task = SmokeTask::new(data, &model, &lengths, 1).unwrap();
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
