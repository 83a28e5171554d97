//! A 3 × 3 kernel shrunk or dilated.
//!
//! ```text
//! R_d ψ : the tap at offset t is moved to (1 + d) t and shared out among the nearest points, linearly along each axis
//! ```
//!
//! The sum of the taps is kept. d = −1 puts all on the centre, 0 changes nothing, ½ spreads over 5 × 5 points, 1 leaves holes there.
//!
//! Inferred: Wang's code samples padded kernels on a shrunk grid, with factors fitted by eye ("to deal with weird filtering"), and resamples
//! the time axis too. This is the plain linear reading of "shrunk or dilated by d".

/// Taps along the side of a kernel before it is resampled.
pub(crate) const KERNEL: usize = 3;
/// Its taps.
pub(crate) const TAPS: usize = KERNEL * KERNEL;

/// R_d as a matrix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resampling {
    side: usize,
    /// [point along the side, tap along the side].
    line: Vec<[f64; KERNEL]>,
}

impl Resampling {
    /// R_d with d ≥ −1.
    pub(crate) fn new(shift: f64) -> Self {
        let spacing = 1.0 + shift;
        let reach = spacing.ceil().max(1.0) as i64;
        let weight = |point: i64, tap: i64| (1.0 - (spacing * tap as f64 - point as f64).abs()).max(0.0);
        let line = (-reach..=reach).map(|point| [weight(point, -1), weight(point, 0), weight(point, 1)]).collect();
        Self { side: 2 * reach as usize + 1, line }
    }

    /// Points along the side of the new kernel.
    pub(crate) fn side(&self) -> usize {
        self.side
    }

    /// What a tap gives to a point.
    pub(crate) fn entry(&self, [y, x]: [usize; 2], tap: usize) -> f64 {
        self.line[y][tap / KERNEL] * self.line[x][tap % KERNEL]
    }
}

/// How far each of `count` scales is from the middle one: (s − ⌊S/2⌋)/2.
pub(crate) fn shifts(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |scale| (scale as f64 - (count / 2) as f64) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_is_shared_out_among_its_neighbours_by_hand() {
        let sides: Vec<usize> = shifts(5).map(|shift| Resampling::new(shift).side()).collect();
        assert_eq!(sides, [3, 3, 3, 5, 5]);
        let half = Resampling::new(0.5);
        // The tap at offset (0, 1) goes to (0, 1.5).
        assert_eq!([half.entry([2, 3], 5), half.entry([2, 4], 5), half.entry([2, 2], 5)], [0.5, 0.5, 0.0]);
        // That at (1, 1) to (1.5, 1.5), in quarters.
        assert_eq!([half.entry([3, 3], 8), half.entry([4, 3], 8)], [0.25, 0.25]);
        let shrunk = Resampling::new(-0.5);
        assert_eq!([shrunk.entry([1, 1], 5), shrunk.entry([1, 2], 5)], [0.5, 0.5]);
        let point = Resampling::new(-1.0);
        assert!((0..TAPS).all(|tap| point.entry([1, 1], tap) == 1.0));
        let dilated = Resampling::new(1.0);
        assert_eq!([dilated.entry([4, 4], 8), dilated.entry([3, 3], 8)], [1.0, 0.0]);
    }

    #[test]
    fn sums_are_kept_and_nothing_changes_without_a_shift() {
        for shift in shifts(5) {
            let map = Resampling::new(shift);
            for tap in 0..TAPS {
                let points = (0..map.side()).flat_map(|y| (0..map.side()).map(move |x| [y, x]));
                let sum: f64 = points.map(|point| map.entry(point, tap)).sum();
                assert_eq!(sum, 1.0);
            }
        }
        let same = Resampling::new(0.0);
        assert!((0..81).all(|at| same.entry([at / 27, at / 9 % 3], at % 9) == f64::from(u8::from(at / 9 == at % 9))));
    }
}
