//! Seconds a simulation, on one core, and what all data sets cost: `cargo bench -p reynolds-paper --bench smoke_data`
//!
//! PhiFlow 2.1.4 needs 231 s of one core for the 310 steps of a simulation of 64².

use reynolds_paper::smoke::data::{Setting, Symmetry, simulate};
use std::time::Instant;

/// Seconds of PhiFlow for 310 steps at 64².
const PHIFLOW: f64 = 231.0;

/// Seconds of all steps of a simulation, from a run of at most `steps`; all of them at 64².
fn seconds(setting: &Setting, steps: usize) -> f64 {
    let shortened = Setting { steps: setting.steps.min(steps), ..setting.clone() };
    let start = Instant::now();
    let frames = simulate(&shortened, &|| Ok(())).expect("the data sets do not diverge");
    assert!(!std::hint::black_box(frames).is_empty());
    start.elapsed().as_secs_f64() * setting.steps as f64 / shortened.steps as f64
}

fn main() {
    let mut all = 0.0;
    for kind in Symmetry::ALL {
        let simulations = kind.simulations();
        let sum: f64 = match kind {
            Symmetry::Scaling => {
                // Every fourth size, for a tenth of its steps.
                let timed: Vec<f64> = simulations.iter().step_by(4).map(|setting| seconds(setting, 31)).collect();
                timed.iter().sum::<f64>() * simulations.len() as f64 / timed.len() as f64
            }
            _ => {
                let best = (0..3).map(|_| seconds(&simulations[20], 310)).fold(f64::INFINITY, f64::min);
                eprintln!(
                    "{kind:12} {best:.3} s a simulation of 310 steps at 64²: {:.0} × faster than PhiFlow",
                    PHIFLOW / best
                );
                best * simulations.len() as f64
            }
        };
        eprintln!("{kind:12} {sum:.0} s for all {} simulations on one core", simulations.len());
        all += sum;
    }
    eprintln!("all three    {all:.0} s on one core");
}
