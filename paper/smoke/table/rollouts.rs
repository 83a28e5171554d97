//! A rollout of some networks beside what the simulation shows: the speed, on one scale.

use crate::smoke::data::{FRAME, Kind, SIDE, speed};
use crate::smoke::networks::Architecture;

use super::cells::Cell;
use super::point::{PREDICTION, TRUTH, drawn_steps};
use crate::targets::findings::Figure;
use reynolds_report::figure::{Raster, Scale, Shading, Sheet};

/// Networks that are shown where they were run.
const SHOWN: [Architecture; 4] = [Architecture::Conv, Architecture::Equiv, Architecture::Rgroup, Architecture::Rsteer];

/// Points along a side of a frame.
const PANEL: f64 = 104.0;

/// The rollouts of a row, first seed; `None` if none was kept.
pub(super) fn figure(kind: Kind, cells: &[Cell<'_>], length: usize) -> Option<Figure> {
    let steps: Vec<usize> = drawn_steps(length).collect();
    let whole = |frames: &[f32]| !frames.is_empty() && frames.len() == steps.len() * FRAME;
    let kept: Vec<(&Cell<'_>, &[f32])> = cells
        .iter()
        .filter(|cell| cell.kind == kind && SHOWN.contains(&cell.column.network))
        .map(|cell| (cell, cell.runs[0].1.array(PREDICTION)))
        .filter(|(_, frames)| whole(frames))
        .collect();
    let truth = kept.first()?.0.runs[0].1.array(TRUTH);
    let speeds = |frames: &[f32]| -> Vec<Vec<f64>> { frames.chunks(FRAME).map(|frame| speed(frame, SIDE)).collect() };
    let high = speeds(truth).iter().flatten().fold(f64::MIN_POSITIVE, |most, value| value.max(most));
    let shading = Shading::Linear { high };
    let mut sheet = Sheet::new(steps.len(), PANEL);
    for (row, frames) in std::iter::once(truth).chain(kept.iter().map(|(_, frames)| *frames)).enumerate() {
        for ((field, frame), (step, shown)) in
            speeds(frames).into_iter().zip(frames.chunks(FRAME)).zip(steps.iter().zip(truth.chunks(FRAME)))
        {
            let title = if row == 0 { format!("step {step}") } else { String::new() };
            let caption = if row == 0 { Vec::new() } else { vec![format!("RMSE {:.3}", rmse(frame, shown))] };
            sheet.add(title, Raster::new(SIDE, field, shading), caption);
        }
    }
    let names = kept.iter().map(|(cell, _)| cell.column.head.to_string());
    sheet.row_heads = std::iter::once("simulation".to_string()).chain(names).collect();
    (sheet.label_room, sheet.tick_room) = (4.0, 4.0);
    sheet.scales = vec![Scale { shading, high, text: "speed |v|".into() }];
    let name = match kind {
        Kind::Translation => "rollout-translation",
        Kind::Rotation => "rollout-rotation",
        Kind::Scaling => "rollout-scaling",
    };
    let caption = format!(
        "Speed in a free-running rollout of {kind}, one window of the Future test, first seed: the simulation above, forecasts below with \
         their error over both components and all cells. The scale ends at the fastest of the simulation."
    );
    Some(Figure { name, svg: sheet.svg(), caption })
}

fn rmse(frame: &[f32], truth: &[f32]) -> f64 {
    let squares: f64 = frame.iter().zip(truth).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    (squares / frame.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::synthetic::{models, run, settings};
    use super::*;

    #[test]
    fn a_rollout_has_a_row_for_the_simulation_and_for_each_network_that_is_shown() {
        let settings = settings("rotation", "conv,lift,rsteer", 1);
        let frames = |value: f32| vec![value; 4 * FRAME];
        let models = models(&settings, |_| {
            let mut run = run(0.75, 0.5);
            run.arrays.extend([(PREDICTION.to_string(), frames(0.75)), (TRUTH.to_string(), frames(0.5))]);
            run
        });
        let cells = cells(&settings, &models);
        let svg = figure(Kind::Rotation, &cells, 20).unwrap().svg;
        for text in ["simulation", "Conv", "RSteer", "step 1", "step 20"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{text}");
        }
        assert_eq!(svg.matches("RMSE 0.250").count(), 2 * 4);
        assert!(!svg.contains("Lift") && figure(Kind::Scaling, &cells, 20).is_none());
    }
}
