//! The speed in a rollout of some networks beside the simulation, on one scale.

use super::*;
use crate::smoke::data::{FRAME, SIDE};
use crate::smoke::figures::{Pictures, difference, fastest, pictures, root_mean_square};

/// Networks that are shown where they were run.
const SHOWN: [Architecture; 4] = [Architecture::Conv, Architecture::Equiv, Architecture::Rgroup, Architecture::Rsteer];

/// The rollouts of a row, first seed; `None` if none was kept.
pub(super) fn figure(kind: Symmetry, cells: &[Cell<'_>], length: usize) -> Option<Figure> {
    let steps: Vec<usize> = drawn_steps(length).collect();
    let whole = |frames: &[f32]| !frames.is_empty() && frames.len() == steps.len() * FRAME;
    let kept: Vec<(&Cell<'_>, &[f32])> = cells
        .iter()
        .filter(|cell| cell.kind == kind && SHOWN.contains(&cell.column.network))
        .filter_map(|cell| Some((cell, cell.runs.first()?.array(PREDICTION))))
        .filter(|(_, frames)| whole(frames))
        .collect();
    let truth = kept.first()?.0.runs.first()?.array(TRUTH);
    let truth: Vec<&[f32]> = truth.chunks(FRAME).collect();
    let high = fastest(SIDE, &truth);
    let shading = Shading::Linear { high };
    let mut rows = vec![Pictures { head: "simulation".into(), frames: truth.clone(), captions: vec![], shading }];
    for (cell, frames) in kept {
        let frames: Vec<&[f32]> = frames.chunks(FRAME).collect();
        let error =
            |(frame, truth): (&&[f32], &&[f32])| format!("RMSE {:.3}", root_mean_square(&difference(frame, truth)));
        let captions = frames.iter().zip(&truth).map(error).collect();
        rows.push(Pictures { head: cell.column.head.into(), frames, captions, shading });
    }
    let mut sheet = pictures(SIDE, &steps, &rows);
    sheet.scales = vec![Scale { shading, high, text: "speed |v|".into() }];
    let name = ["rollout-translation", "rollout-rotation", "rollout-scaling"][kind as usize];
    let caption = format!(
        "Speed in a free-running rollout of {kind}, one window of the Future test, first seed: the simulation above, forecasts below with \
         their error over both components and all cells. The scale ends at the fastest of the simulation."
    );
    Some(Figure { name, svg: sheet.svg(), caption })
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::tests::{models, run, settings};
    use super::*;
    use crate::targets::synthetic::with_arrays;

    #[test]
    fn a_rollout_has_a_row_for_the_simulation_and_for_each_network_that_is_shown() {
        let settings = settings("rotation", "conv,lift,rsteer", 1);
        let frames = |value: f32| vec![value; 4 * FRAME];
        let models =
            models(&settings, |_| with_arrays(run(0.75, 0.5), [(PREDICTION, frames(0.75)), (TRUTH, frames(0.5))]));
        let cells = cells(&settings, &models);
        let svg = figure(Symmetry::Rotation, &cells, 20).unwrap().svg;
        for text in ["simulation", "Conv", "RSteer", "step 1", "step 20"] {
            assert!(svg.contains(&format!(">{text}</text>")), "{text}");
        }
        assert_eq!(svg.matches("RMSE 0.250").count(), 2 * 4);
        assert!(!svg.contains("Lift") && figure(Symmetry::Scaling, &cells, 20).is_none());
    }
}
