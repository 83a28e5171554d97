//! A simulation from settings to frames.

use super::frame::{FRAME, Shrink};
use super::{Setting, Solver};
use crate::data::error::{Error, Result};

/// The frames of a simulation, [frames, 2, 64, 64]. `stepped` is called after every step; an error of it stops the simulation.
///
/// ```
/// use reynolds_paper::smoke::data::{Symmetry, Setting, simulate};
/// let first = Setting { steps: 3, ..Symmetry::Rotation.simulations()[0].clone() };
/// let frames = simulate(&first, &|| Ok(()))?;
/// assert_eq!(frames.len(), 2 * (2 * 64 * 64));
/// assert!(frames.iter().any(|&v| v > 0.0));
/// # Ok::<(), reynolds_paper::data::Error>(())
/// ```
pub fn simulate(setting: &Setting, stepped: &dyn Fn() -> Result<()>) -> Result<Vec<f32>> {
    let (mut solver, shrink) = (Solver::new(setting), Shrink::new(setting));
    let limit = setting.width.max(setting.height) as f64;
    let mut frames = Vec::with_capacity(setting.frames() * FRAME);
    for step in 0..setting.steps {
        solver.step();
        let fastest = f64::from(solver.fastest());
        if fastest.is_nan() || fastest > limit {
            let simulation = setting.name.clone();
            return Err(Error::Diverged { simulation, step: step + 1, limit, found: fastest });
        }
        if !solver.is_solved() {
            return Err(Error::Unsolved { simulation: setting.name.clone(), step: step + 1 });
        }
        if step >= setting.dropped {
            shrink.append(&solver, setting.width, setting.height, &mut frames);
        }
        stepped()?;
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::data::Buoyancy;

    #[test]
    fn a_simulation_that_blows_up_is_named_with_its_step() {
        let setting = Setting::new("wild", [32.0, 5.0], Buoyancy::Uniform([0.0, 500.0]), 1.0);
        let error = simulate(&setting, &|| Ok(())).unwrap_err().to_string();
        assert!(error.starts_with("simulation wild: expected velocities of at most 64 at step 1, found "), "{error}");
        // Infinities meet in the pressure solve and become NaN.
        let setting = Setting::new("wilder", [32.0, 5.0], Buoyancy::Uniform([0.0, 1e308]), 1.0);
        assert!(matches!(simulate(&setting, &|| Ok(())), Err(Error::Diverged { .. })));
    }
}
