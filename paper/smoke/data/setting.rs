//! The settings of a simulation.

use serde::{Deserialize, Serialize};

use crate::data::error::{Error, Result};

pub const SIDE: usize = 64;

const STEPS: usize = 310;

/// Of the inflow on the grid of 64².
const RADIUS: f64 = 5.0;

/// Changes whenever the solver's numbers do, so that files of an older solver are made again.
const SOLVER: &str = "closed-box MAC, single precision, 1";

/// The symmetry that a data set almost has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Symmetry {
    /// 35 places of the inflow; smoke rises twice as fast in the right half. All 310 frames.
    Translation,
    /// 36 strengths, each at one of the four sides. 309 frames.
    Rotation,
    /// 38 resolutions, brought back to 64²; the time step does not grow with the box. 309 frames.
    Scaling,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Buoyancy {
    Uniform([f64; 2]),
    /// Upwards, with two strengths for the left and the right half. Halved in the first and the last row: the original has it on faces and
    /// takes means at the centres, with 0 on the walls.
    Halves {
        left: f64,
        right: f64,
    },
}

/// Everything that the frames of a simulation follow from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Version of the solver.
    pub solver: String,
    /// Its file is `name.npz`.
    pub name: String,
    pub width: usize,
    pub height: usize,
    /// Centre (x, y) of the disk of inflow, in cells.
    pub centre: [f64; 2],
    pub radius: f64,
    pub buoyancy: Buoyancy,
    /// Time step of the velocity's own advection; the density's is 1.
    pub velocity_step: f64,
    /// Steps, one frame each.
    pub steps: usize,
    /// First frames that are not kept.
    pub dropped: usize,
    /// Factor by which frames are shrunk in space, and velocities divided.
    pub shrink: f64,
}

impl Setting {
    /// A simulation of 310 steps on a grid of 64² with an inflow of radius 5.
    pub fn new(name: impl Into<String>, centre: [f64; 2], buoyancy: Buoyancy, velocity_step: f64) -> Setting {
        Setting {
            solver: SOLVER.into(),
            name: name.into(),
            width: SIDE,
            height: SIDE,
            centre,
            radius: RADIUS,
            buoyancy,
            velocity_step,
            steps: STEPS,
            dropped: 0,
            shrink: 1.0,
        }
    }

    pub fn frames(&self) -> usize {
        self.steps - self.dropped
    }

    pub fn bytes(&self) -> usize {
        self.frames() * 2 * SIDE * SIDE * size_of::<f32>()
    }

    /// Cells times steps, roughly proportional to the time of a simulation.
    pub fn work(&self) -> u64 {
        (self.width * self.height * self.steps) as u64
    }

    /// How many of the `side` + 1 faces of a row are left; corners stay in place.
    pub(super) fn shrunk(&self, side: usize) -> usize {
        ((side + 1) as f64 * (1.0 / self.shrink)).floor() as usize
    }

    /// r² − distance² of the centre of a cell; smoke flows in where it is ≥ 0.
    pub(super) fn inflow_margin(&self, x: usize, y: usize) -> f64 {
        let (dx, dy) = (x as f64 + 0.5 - self.centre[0], y as f64 + 0.5 - self.centre[1]);
        self.radius * self.radius - (dx * dx + dy * dy)
    }

    /// What one unit of density adds to the velocity at the centre of a cell.
    pub(super) fn buoyancy_at(&self, x: usize, y: usize) -> [f64; 2] {
        match self.buoyancy {
            Buoyancy::Uniform(lift) => lift,
            Buoyancy::Halves { left, right } => {
                let lift = if 2 * x + 1 < self.width { left } else { right };
                [0.0, if y == 0 || y + 1 == self.height { 0.5 * lift } else { lift }]
            }
        }
    }
}

impl Symmetry {
    pub const ALL: [Symmetry; 3] = [Symmetry::Translation, Symmetry::Rotation, Symmetry::Scaling];

    pub fn name(self) -> &'static str {
        match self {
            Symmetry::Translation => "translation",
            Symmetry::Rotation => "rotation",
            Symmetry::Scaling => "scaling",
        }
    }

    /// The simulations of the data set: by x and then y, by k, by i.
    ///
    /// ```
    /// use reynolds_paper::smoke::data::Symmetry;
    /// let names: Vec<String> = Symmetry::Rotation.simulations().into_iter().map(|simulation| simulation.name).collect();
    /// assert_eq!((names.len(), names[4].as_str()), (36, "rotation_k05_j0"));
    /// ```
    pub fn simulations(self) -> Vec<Setting> {
        match self {
            Symmetry::Translation => {
                let places = (1..=7).flat_map(|x| (1..=5).map(move |y| (8 * x, 5 * y)));
                places.map(|(x, y)| translation(x, y)).collect()
            }
            Symmetry::Rotation => (1..=36).map(rotation).collect(),
            Symmetry::Scaling => (0..38).map(scaling).collect(),
        }
    }
}

impl std::fmt::Display for Symmetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Symmetry {
    type Err = Error;

    fn from_str(text: &str) -> Result<Symmetry> {
        let kind = Symmetry::ALL.into_iter().find(|kind| kind.name() == text);
        kind.ok_or_else(|| Error::setting("kind", "translation, rotation or scaling", text))
    }
}

fn translation(x: u32, y: u32) -> Setting {
    let centre = [f64::from(x), f64::from(y)];
    Setting::new(format!("translation_x{x:02}_y{y:02}"), centre, Buoyancy::Halves { left: 0.1, right: 0.2 }, 0.5)
}

/// The k-th strength, at side (k − 1) mod 4: below, right, above (where it is a tenth more), left.
fn rotation(k: u32) -> Setting {
    let side = (k - 1) % 4;
    let (centre, lift) = match side {
        0 => ([32.0, 5.0], [0.0, 0.01]),
        1 => ([59.0, 32.0], [-0.01, 0.0]),
        2 => ([32.0, 59.0], [0.0, -0.011]),
        _ => ([5.0, 32.0], [0.01, 0.0]),
    };
    let buoyancy = Buoyancy::Uniform(lift.map(|unit| unit * f64::from(k)));
    Setting { dropped: 1, ..Setting::new(format!("rotation_k{k:02}_j{side}"), centre, buoyancy, 1.0) }
}

/// A box of 64f cells a side, f = 1 + i/10, with everything in it f times as large.
fn scaling(i: u32) -> Setting {
    let f = 1.0 + 0.1 * f64::from(i);
    let side = (SIDE as f64 * f) as usize;
    Setting {
        width: side,
        height: side,
        radius: RADIUS * f,
        dropped: 1,
        shrink: f,
        ..Setting::new(format!("scaling_i{i:02}"), [32.0 * f, 5.0 * f], Buoyancy::Uniform([0.0, 0.1 * f]), 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_35_36_and_38_simulations_that_make_sense_under_different_names() {
        let mut names = std::collections::HashSet::new();
        for (kind, count, frames) in
            [(Symmetry::Translation, 35, 310), (Symmetry::Rotation, 36, 309), (Symmetry::Scaling, 38, 309)]
        {
            let simulations = kind.simulations();
            assert_eq!(simulations.len(), count);
            for simulation in simulations {
                assert_eq!(simulation.frames(), frames);
                assert!(names.insert(simulation.name));
            }
            assert_eq!(kind.name().parse::<Symmetry>().unwrap(), kind);
        }
        let error = "spin".parse::<Symmetry>().unwrap_err().to_string();
        assert!(error.contains("expected translation, rotation or scaling"));
    }

    #[test]
    fn settings_are_those_of_the_data_sets() {
        let rotation = &Symmetry::Rotation.simulations()[6];
        assert_eq!((rotation.name.as_str(), rotation.centre), ("rotation_k07_j2", [32.0, 59.0]));
        let Buoyancy::Uniform([0.0, lift]) = rotation.buoyancy else { panic!("{:?}", rotation.buoyancy) };
        assert!((lift + 0.077).abs() < 1e-15);
        let sides: Vec<usize> = Symmetry::Scaling.simulations().iter().map(|s| s.width).collect();
        assert_eq!((sides[0], sides[1], sides[5], sides[10], sides[37]), (64, 70, 96, 128, 300));
        let kept: Vec<usize> = Symmetry::Scaling.simulations().iter().map(|s| s.shrunk(s.width)).collect();
        assert_eq!((kept[0], kept[1..].iter().all(|&points| points == 64)), (65, true));
    }

    #[test]
    fn the_lift_of_halves_is_halved_at_floor_and_ceiling() {
        let setting = &Symmetry::Translation.simulations()[0];
        assert_eq!(setting.buoyancy_at(31, 10), [0.0, 0.1]);
        assert_eq!(setting.buoyancy_at(32, 10), [0.0, 0.2]);
        assert_eq!(setting.buoyancy_at(31, 0), [0.0, 0.05]);
        assert_eq!(setting.buoyancy_at(32, 63), [0.0, 0.1]);
    }

    #[test]
    fn no_cell_is_so_near_the_rim_of_the_inflow_that_rounding_decides() {
        for setting in Symmetry::ALL.iter().flat_map(|kind| kind.simulations()) {
            for y in 0..setting.height {
                for x in 0..setting.width {
                    let margin = setting.inflow_margin(x, y).abs();
                    // Exactly on the rim, at f = 1.5, 2.5, 3.5 and 4.5, everything is a multiple of a quarter.
                    assert!(margin == 0.0 || margin > 1e-4, "{}: ({x}, {y}) {margin}", setting.name);
                }
            }
        }
    }
}
