//! Labelled points of the plane whose classes are symmetric, or nearly so, under rotations about the origin.
//!
//! ```text
//! disk and arc:  +1  r ~ U[0, 1),                        θ ~ U[0, 2π)
//!                −1  r ~ U[2.3, 3),                      θ ~ U[−π/4, π/4)
//! wavey rings:   +1  r = 1.1 + σ_⊥ sin 5θ + U[−.15, .15),  θ ~ U[0, 2π)
//!                −1  r = 2.2 + σ_⊥ sin 5θ + U[−.22, .22),  θ ~ U[0, 2π)
//! ```
//!
//! A point is (r cos θ, r sin θ). The disk is uniform in the radius, not in the area. At σ_⊥ = 1 the inner radius reaches −.05, across the
//! origin. The caller passes the random numbers, uniform in [0, 1).
//!
//! Paper: `app:details_so2`.
//!
//! ```
//! use reynolds::random::Random;
//! use reynolds_paper::so2::data::Rings;
//! let mut random = Random::new(1);
//! let rings = Rings::Wavey { amplitude: 0.5 };
//! let (train, test) = rings.sample(350, &mut || random.uniform())?.split(0.8)?;
//! assert_eq!((train.len(), test.len()), (560, 140));
//! # Ok::<(), reynolds_paper::data::Error>(())
//! ```

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, TAU};

use crate::data::error::{Error, Result};

/// Number of waves around a ring: f of the paper.
const WAVES: f64 = 5.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rings {
    /// A disk inside, a quarter of a ring outside.
    DiskAndArc,
    /// Two rings with a wave in the radius; at amplitude 0 the classes are symmetric.
    Wavey {
        /// σ_⊥ ≥ 0.
        amplitude: f64,
    },
}

impl Rings {
    /// Draws `points` of each class, the class +1 first.
    pub fn sample(self, points: usize, uniform: &mut dyn FnMut() -> f64) -> Result<PointCloud> {
        if points == 0 {
            return Err(Error::setting("points per class", "at least 1", points));
        }
        if let Self::Wavey { amplitude } = self
            && !(amplitude.is_finite() && amplitude >= 0.0)
        {
            return Err(Error::setting("amplitude", "a finite number, at least 0", amplitude));
        }
        let mut cloud = PointCloud::default();
        for positive in [true, false] {
            for _ in 0..points {
                let (radius, angle) = self.polar(positive, uniform);
                cloud.points.push([radius * angle.cos(), radius * angle.sin()]);
                cloud.labels.push(positive);
            }
        }
        Ok(cloud)
    }

    /// One point as (r, θ).
    fn polar(self, positive: bool, uniform: &mut dyn FnMut() -> f64) -> (f64, f64) {
        match (self, positive) {
            (Self::DiskAndArc, true) => (uniform(), TAU * uniform()),
            (Self::DiskAndArc, false) => (2.3 + 0.7 * uniform(), FRAC_PI_2 * uniform() - FRAC_PI_4),
            (Self::Wavey { amplitude }, _) => {
                let (middle, jitter) = if positive { (1.1, 0.15) } else { (2.2, 0.22) };
                let angle = TAU * uniform();
                (middle + amplitude * (WAVES * angle).sin() + jitter * (2.0 * uniform() - 1.0), angle)
            }
        }
    }
}

/// Points of the plane with a label each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PointCloud {
    points: Vec<[f64; 2]>,
    labels: Vec<bool>,
}

impl PointCloud {
    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// Whether each point has the label +1.
    pub fn labels(&self) -> &[bool] {
        &self.labels
    }

    /// The first `fraction` of each class, rounded, and the rest.
    pub fn split(&self, fraction: f64) -> Result<(Self, Self)> {
        let (mut first, mut rest) = (Self::default(), Self::default());
        for class in [true, false] {
            let members = || self.labels.iter().zip(&self.points).filter(move |(label, _)| **label == class);
            let count = members().count();
            let taken = (fraction * count as f64).round();
            if !(taken >= 1.0 && taken < count as f64) {
                let expected = format!("a part of {count} points of a class that is neither none nor all of them");
                return Err(Error::setting("fraction", expected, fraction));
            }
            for (number, (&label, &point)) in members().enumerate() {
                let side = if (number as f64) < taken { &mut first } else { &mut rest };
                side.points.push(point);
                side.labels.push(label);
            }
        }
        Ok((first, rest))
    }
}

#[cfg(test)]
mod tests {
    use reynolds::random::Random;

    use super::*;

    fn sequence(seed: u64) -> impl FnMut() -> f64 {
        let mut random = Random::new(seed);
        move || random.uniform()
    }

    fn polar([x, y]: [f64; 2]) -> (f64, f64) {
        (x.hypot(y), y.atan2(x))
    }

    #[test]
    fn the_disk_fills_its_radii_and_the_arc_its_angles() {
        let cloud = Rings::DiskAndArc.sample(2000, &mut sequence(3)).unwrap();
        let (disk, arc) = cloud.points().split_at(2000);
        assert!(
            cloud.labels()[..2000].iter().all(|&label| label) && cloud.labels()[2000..].iter().all(|&label| !label)
        );
        let radii: Vec<f64> = disk.iter().map(|&point| polar(point).0).collect();
        assert!(radii.iter().all(|&r| r < 1.0) && radii.iter().any(|&r| r > 0.99));
        // Uniform in the radius: half of the points within r = 1/2, where uniform in the area would put a quarter.
        let inner = radii.iter().filter(|&&r| r < 0.5).count();
        assert!((850..1150).contains(&inner), "{inner}");
        for quadrant in 0..4 {
            let within = |&&point: &&[f64; 2]| ((polar(point).1 + TAU) % TAU / FRAC_PI_2) as usize == quadrant;
            assert!((400..600).contains(&disk.iter().filter(within).count()));
        }
        for &point in arc {
            let (r, theta) = polar(point);
            assert!((2.3..3.0 + 1e-12).contains(&r) && theta.abs() <= FRAC_PI_4 + 1e-12);
        }
        assert!(arc.iter().any(|&point| polar(point).1 > 0.77) && arc.iter().any(|&point| polar(point).1 < -0.77));
    }

    #[test]
    fn rings_follow_their_wave_within_the_jitter() {
        for amplitude in [0.0, 0.5, 0.75, 1.0] {
            let cloud = Rings::Wavey { amplitude }.sample(500, &mut sequence(5)).unwrap();
            let mut widest = [0.0_f64; 2];
            for (&point, &positive) in cloud.points().iter().zip(cloud.labels()) {
                let (middle, jitter) = if positive { (1.1, 0.15) } else { (2.2, 0.22) };
                let (r, theta) = polar(point);
                // A negative radius lies across the origin: r ↦ −r, θ ↦ θ + π, where sin 5θ changes its sign.
                let ahead = r - middle - amplitude * (WAVES * theta).sin();
                let across = -r - middle + amplitude * (WAVES * theta).sin();
                let off = ahead.abs().min(across.abs());
                assert!(off <= jitter + 1e-12, "{point:?}");
                widest[usize::from(positive)] = widest[usize::from(positive)].max(off);
            }
            assert!(widest[0] > 0.21 && widest[1] > 0.14, "{widest:?}");
        }
    }

    #[test]
    fn a_split_keeps_the_balance_of_labels_and_every_point() {
        let cloud = Rings::DiskAndArc.sample(350, &mut sequence(1)).unwrap();
        let (train, test) = cloud.split(0.8).unwrap();
        let positive = |part: &PointCloud| part.labels().iter().filter(|&&label| label).count();
        assert_eq!((train.len(), positive(&train), test.len(), positive(&test)), (560, 280, 140, 70));
        let mut together = [train.points(), test.points()].concat();
        let mut all = cloud.points().to_vec();
        together.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(together, all);
    }

    #[test]
    fn equal_random_numbers_give_equal_points() {
        let rings = Rings::Wavey { amplitude: 0.5 };
        let draw = |start| rings.sample(20, &mut sequence(start)).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn bad_settings_are_errors() {
        let mut uniform = sequence(1);
        assert!(Rings::DiskAndArc.sample(0, &mut uniform).is_err());
        for amplitude in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(Rings::Wavey { amplitude }.sample(5, &mut uniform).is_err());
        }
        let cloud = Rings::DiskAndArc.sample(5, &mut uniform).unwrap();
        for fraction in [0.0, 1.0, -0.5, 0.05, f64::NAN, 2.0] {
            assert!(cloud.split(fraction).is_err(), "{fraction}");
        }
    }
}
