//! The random numbers of a volume: label, pose, place and size.

use super::class::{CLASSES, pose};
use super::config::ShapesConfig;
use super::matrix::{Matrix, Vector, direction, haar, product, turn};
use reynolds::random::Random;

/// Tells these numbers from others of the same seed.
const PURPOSE: u64 = 0x7368;

#[derive(Debug, Clone)]
pub(super) struct Drawn {
    pub(super) label: usize,
    /// From the solid's own frame to that of the volume.
    pub(super) matrix: Matrix,
    pub(super) shift: Vector,
    /// Relative to the solid's own size.
    pub(super) size: f64,
    /// Goes on with the noise.
    pub(super) random: Random,
}

/// Draws a volume, a function of seed, part (training, validation, test) and number. The same numbers are drawn whatever `breaking` is, so that a volume in the pose of its
/// class stays so, all else equal, at every greater `breaking`.
pub(super) fn draw(config: &ShapesConfig, part: u64, number: usize) -> Drawn {
    let mut random = Random::at(config.seed, &[PURPOSE, part, number as u64]);
    let label = number % CLASSES.len();
    let (_, own) = pose(label);
    let stands = random.uniform() < config.breaking;
    let anywhere = haar(&mut random);
    // Axes are uniform on the sphere: the law of small turns is the same in every orientation.
    let axis = direction(&mut random);
    let jitter = turn(axis, config.jitter.to_radians() * random.uniform());
    let shift = std::array::from_fn(|_| random.between(-config.shift, config.shift));
    let size = 1.0 + random.between(-config.size, config.size);
    let matrix = product(if stands { &jitter } else { &anywhere }, &own);
    Drawn { label, matrix, shift, size, random }
}

#[cfg(test)]
mod tests {
    use super::super::class::{REFLECTION_PAIRS, ROTATION_PAIRS};
    use super::super::matrix::tests::determinant;
    use super::*;

    /// The label that lies nearest by the orientation of its solid alone, among two; none when both are further off than the jitter.
    fn told(drawn: &Drawn, pair: [usize; 2], jitter: f64) -> Option<usize> {
        let near = |&label: &usize| {
            let (_, own) = pose(label);
            let trace: f64 = (0..3).map(|i| (0..3).map(|j| drawn.matrix[i][j] * own[i][j]).sum::<f64>()).sum();
            let proper = determinant(&drawn.matrix) * determinant(&own) > 0.0;
            proper && trace >= 1.0 + 2.0 * jitter.to_radians().cos() - 1e-9
        };
        pair.into_iter().find(near)
    }

    #[test]
    fn the_best_accuracy_within_a_pair_is_half_of_one_plus_breaking() {
        for breaking in [0.0, 0.3, 0.7, 1.0] {
            let config = ShapesConfig { breaking, ..ShapesConfig::default() };
            for pairs in [ROTATION_PAIRS, REFLECTION_PAIRS] {
                let (mut right, mut count) = (0.0, 0.0);
                for number in 0..16_000 {
                    let drawn = draw(&config, 2, number);
                    let Some(pair) = pairs.into_iter().find(|pair| pair.contains(&drawn.label)) else { continue };
                    count += 1.0;
                    // Where the orientation says nothing, either label is right half of the time.
                    right += match told(&drawn, pair, config.jitter) {
                        Some(label) => f64::from(label == drawn.label),
                        None => 0.5,
                    };
                }
                assert_eq!(count, 8000.0);
                assert!((right / count - 0.5 - breaking / 2.0).abs() < 0.012, "{breaking}: {}", right / count);
            }
        }
    }

    #[test]
    fn half_of_the_volumes_are_mirrored_without_breaking_and_none_with_it() {
        let mirrored = |breaking: f64| {
            let config = ShapesConfig { breaking, ..ShapesConfig::default() };
            let turned = |number: &usize| {
                let drawn = draw(&config, 0, *number);
                determinant(&drawn.matrix) * determinant(&pose(drawn.label).1) < 0.0
            };
            (0..8000).filter(turned).count()
        };
        assert_eq!(mirrored(1.0), 0);
        assert!((3800..4200).contains(&mirrored(0.0)));
    }

    #[test]
    fn poses_of_a_class_stay_at_greater_breaking_and_parts_differ() {
        let at = |breaking: f64, part: u64, number: usize| {
            draw(&ShapesConfig { breaking, ..ShapesConfig::default() }, part, number)
        };
        let mut standing = 0;
        for number in 0..200 {
            let (less, more) = (at(0.4, 0, number), at(0.8, 0, number));
            assert_eq!((less.shift, less.size, less.label), (more.shift, more.size, more.label));
            let stands = |drawn: &Drawn| told(drawn, [drawn.label; 2], 10.0).is_some();
            assert!(!stands(&less) || (stands(&more) && less.matrix == more.matrix));
            standing += usize::from(stands(&less));
            assert_ne!(less.shift, at(0.4, 1, number).shift);
            assert!(less.shift.iter().all(|shift| shift.abs() <= 1.0) && (less.size - 1.0).abs() <= 0.1);
        }
        assert!((50..110).contains(&standing), "{standing}");
    }
}
