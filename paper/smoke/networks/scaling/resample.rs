//! A 3 × 3 kernel shrunk or dilated.
//!
//! ```text
//! R_d ψ : the tap at offset t moves to (1 + d) t and is distributed among the nearest points, linearly along each axis
//! ```
//!
//! The sum of the taps stays. d = −1 puts all on the centre, 0 changes nothing, ½ spreads over 5 × 5 points, 1 leaves holes there. Inferred:
//! Wang's code samples padded kernels on a shrunk grid, with factors fitted by eye, and resamples the time axis too.

/// Side of a kernel before it is resampled.
pub(crate) const KERNEL: usize = 3;
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

    pub(crate) fn side(&self) -> usize {
        self.side
    }

    /// The share of a tap that goes to a point.
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
}
