//! Comparison of every result with the Haar average before it is timed.

use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::random::Random;
use reynolds::rep::Rep;

use reynolds_train::error::{Error, Result};

/// Number of random pairs of fields that are compared, beside the first and the last.
const PAIRS: usize = 4;

/// Tolerance for sums of `terms` terms in single precision, relative to the largest weight.
pub(super) fn tolerance(terms: usize) -> f64 {
    32.0 * f64::from(f32::EPSILON) * (terms as f64).sqrt()
}

/// Compares two results.
pub(super) fn agree(what: &str, found: &[f32], expected: &[f32], tolerance: f64) -> Result<()> {
    let pairs = found.iter().zip(expected).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs());
    // Not `max`, which ignores NaN.
    let worst = pairs.fold(0.0, |worst: f64, next| if worst.is_nan() || next <= worst { worst } else { next });
    let scale = expected.iter().fold(1.0, |scale: f64, &value| scale.max(f64::from(value).abs()));
    if found.len() != expected.len() || worst.is_nan() || worst > tolerance * scale {
        let expected = format!("{} numbers within {:.1e}", expected.len(), tolerance * scale);
        let found = format!("{} of them, off by {worst:.1e}", found.len());
        return Err(Error::Experiment(format!("{what}: expected {expected}, found {found}").into()));
    }
    Ok(())
}

/// Compares P(W) with the Haar average on single pairs of fields, which P maps independently: the first, the last and some others.
pub(super) fn with_haar(what: &str, space: &KernelSpace, weights: &[f32], projected: &[f32]) -> Result<()> {
    let (rows, columns) = (fields(space.codomain()), fields(space.domain()));
    let mut random = Random::new(11);
    let mut draw = |fields: &[(usize, Rep)]| random.below(fields.len());
    let mut pairs = vec![(0, 0), (rows.len() - 1, columns.len() - 1)];
    pairs.extend((0..PAIRS).map(|_| (draw(&rows), draw(&columns))));
    for (row, column) in pairs {
        let ((top, out), (left, into)) = (&rows[row], &columns[column]);
        let (points, width) = (space.points(), space.domain().dim());
        let place = |index: usize| {
            let (pair, x) = (index / points, index % points);
            ((top + pair / into.dim()) * width + left + pair % into.dim()) * points + x
        };
        let tile = match space.grid() {
            Some(grid) => KernelSpace::kernel(into, out, grid)?,
            None => KernelSpace::dense(into, out)?,
        };
        let gather = |from: &[f32]| -> Vec<f32> { (0..tile.len()).map(|index| from[place(index)]).collect() };
        let before: Vec<f64> = gather(weights).into_iter().map(f64::from).collect();
        let expected: Vec<f32> =
            HaarProjector::new(&tile)?.project(&before)?.into_iter().map(|value| value as f32).collect();
        agree(what, &gather(projected), &expected, tolerance(tile.len()))?;
    }
    Ok(())
}

/// Each field with its first channel.
fn fields(representation: &Rep) -> Vec<(usize, Rep)> {
    let whole = [(1, representation.clone())];
    let mut channel = 0;
    let mut fields = Vec::new();
    for (copies, rep) in representation.summands().unwrap_or(&whole) {
        for _ in 0..*copies {
            fields.push((channel, rep.clone()));
            channel += rep.dim();
        }
    }
    fields
}

/// P(W) of S_n on maps of order-2 tensors, `copies` on either side, without enumerating S_n: the mean over all (a, b; c, d) with the same
/// equalities among them.
pub(super) fn equality_patterns(n: usize, copies: usize, weights: &[f32]) -> Vec<f32> {
    let (pairs, width) = (n * n, n * n * copies);
    let pattern = |out: usize, into: usize| {
        let [a, b, c, d] = [out / n, out % n, into / n, into % n];
        let equal = [a == b, a == c, a == d, b == c, b == d, c == d];
        equal.iter().fold(0, |bits, &equal| 2 * bits + usize::from(equal))
    };
    let mut projected = vec![0.0; weights.len()];
    for tile in 0..copies * copies {
        let (top, left) = (tile / copies * pairs, tile % copies * pairs);
        let mut sums = [(0.0_f64, 0_u32); 64];
        let all = || (0..pairs * pairs).map(|index| (index / pairs, index % pairs));
        for (out, into) in all() {
            let (sum, count) = &mut sums[pattern(out, into)];
            *sum += f64::from(weights[(top + out) * width + left + into]);
            *count += 1;
        }
        for (out, into) in all() {
            let (sum, count) = sums[pattern(out, into)];
            projected[(top + out) * width + left + into] = (sum / f64::from(count)) as f32;
        }
    }
    projected
}

#[cfg(test)]
mod tests {
    use reynolds::projection::derive;
    use reynolds::{group, rep};

    use super::*;

    #[test]
    fn wrong_values_are_found_anywhere_in_a_tile() {
        let c4 = group::parse("C4").unwrap();
        let field = rep::parse_fields(&c4, "1 regular").unwrap();
        let space = KernelSpace::kernel(&field, &field, &rep::Grid::new(&c4, 3, 2).unwrap()).unwrap();
        let weights: Vec<f32> = (0..space.len()).map(|i| (i as f32).sin()).collect();
        let projected = derive(&space).unwrap().project(&weights).unwrap();
        with_haar("orbits", &space, &weights, &projected).unwrap();
        for wrong in [0, 77, 143] {
            for value in [projected[wrong] + 1e-3, f32::NAN] {
                let mut projected = projected.clone();
                projected[wrong] = value;
                let error = with_haar("orbits", &space, &weights, &projected).unwrap_err().to_string();
                assert!(error.starts_with("orbits: expected 144 numbers within"), "{error}");
            }
        }
        assert!(agree("short", &[1.0], &[1.0, 1.0], 1.0).is_err());
    }

    #[test]
    fn patterns_of_equalities_are_the_orbits_of_the_symmetric_group() {
        let s4 = group::parse("S4").unwrap();
        let points = rep::permutation(&s4).unwrap();
        let fields = rep::sum(&s4, &[(2, rep::tensor(&points, &points).unwrap())]).unwrap();
        let space = KernelSpace::dense(&fields, &fields).unwrap();
        let weights: Vec<f64> = (0..space.len()).map(|i| (i as f64).sin()).collect();
        let expected = HaarProjector::new(&space).unwrap().project(&weights).unwrap();
        let single = |numbers: &[f64]| -> Vec<f32> { numbers.iter().map(|&value| value as f32).collect() };
        let found = equality_patterns(4, 2, &single(&weights));
        agree("patterns", &found, &single(&expected), 1e-6).unwrap();
    }
}
