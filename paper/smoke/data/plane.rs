//! A rectangle of numbers with PhiFlow's lookup between points.

/// `height` rows of `width` numbers, row-major: bilinear between points, continued as the edge outside. The velocity planes of the
/// [solver](super::Solver) have an edge of zeros.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) values: Vec<f32>,
}

/// Two neighbours along an axis, and the share of the second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between {
    first: usize,
    second: usize,
    share: f32,
}

impl Between {
    /// Around `place`, in units of the grid, among `count` points of which the first lies at −`before`. The share is taken before the place is
    /// moved by `before`, which rounds; a neighbour outside is the nearest point.
    #[inline]
    pub(super) fn new(place: f32, before: f32, count: usize) -> Between {
        // NaN becomes 0 and infinity the edge: the divergence check sees them where they came from.
        let whole = place as i32;
        let rest = place - whole as f32;
        let share = if rest < 0.0 { rest + 1.0 } else { rest };
        let moved = place + before;
        let whole = moved as i32;
        let floor = if moved < whole as f32 { whole.saturating_sub(1) } else { whole };
        let last = count as i32 - 1;
        Between { first: floor.clamp(0, last) as usize, second: floor.saturating_add(1).clamp(0, last) as usize, share }
    }
}

impl Plane {
    pub(super) fn zero(width: usize, height: usize) -> Plane {
        Plane { width, height, values: vec![0.0; width * height] }
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.width..(row + 1) * self.width]
    }

    /// The four points around a place: lower left, upper left, lower right, upper right.
    #[inline]
    pub(super) fn around(&self, x: Between, y: Between) -> [f32; 4] {
        let (lower, upper) = (y.first * self.width, y.second * self.width);
        [
            self.values[lower + x.first],
            self.values[upper + x.first],
            self.values[lower + x.second],
            self.values[upper + x.second],
        ]
    }

    #[inline]
    pub(super) fn at(&self, x: Between, y: Between) -> f32 {
        let [a, b, c, d] = self.around(x, y);
        let (left, right, low, up) = (1.0 - x.share, x.share, 1.0 - y.share, y.share);
        a * (left * low) + b * (left * up) + c * (right * low) + d * (right * up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_is_bilinear_inside_and_the_edge_outside() {
        let plane = Plane { width: 3, height: 2, values: vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0] };
        let at = |x: f32, y: f32| plane.at(Between::new(x, 0.0, 3), Between::new(y, 0.0, 2));
        assert_eq!(at(0.5, 0.0), 0.5);
        assert_eq!(at(1.25, 0.5), 6.25);
        assert_eq!(at(2.0, 1.0), 12.0);
        assert_eq!(at(-7.25, 0.0), 0.0);
        assert_eq!(at(9.0, 9.5), 12.0);
        assert!(at(f32::NAN, f32::INFINITY).is_nan());
    }
}
