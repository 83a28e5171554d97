//! The pressure in a closed box by conjugate gradients, with PhiFlow's steps and rounding.
//!
//! ```text
//! (Δp)(x, y) = Σ over neighbours inside the box of p(neighbour) − p(x, y) = d(x, y) − mean d
//! from p = 0 until ‖residual‖ ≤ 1e-5 ‖d − mean d‖:
//!   α = ⟨q, r⟩/⟨q, Δq⟩,   p += α q,   r −= α Δq,   q = r − (⟨r, Δq⟩ q)/⟨q, Δq⟩
//! ```
//!
//! The variant of Hestenes and Stiefel that PhiFlow calls adaptive. Sums are NumPy's ([`sum`](super::sum)), over x and then y; the Laplacian
//! adds its five terms by ascending index, as a product with a sparse matrix does.

use super::sum::products;

/// Relative to the right-hand side.
const TOLERANCE: f64 = 1e-5;

const MOST: usize = 1000;

/// The solver of a box with its buffers.
#[derive(Debug, Clone)]
pub(super) struct Pressure {
    height: usize,
    /// Minus the number of neighbours.
    centre: Vec<f32>,
    residual: Vec<f32>,
    /// q, with a column of zeros before and after the box.
    direction: Vec<f32>,
    /// Δq.
    image: Vec<f32>,
}

impl Pressure {
    pub(super) fn new(width: usize, height: usize) -> Pressure {
        let inside = |at: usize, count: usize| usize::from(at > 0) + usize::from(at + 1 < count);
        let cells = (0..width).flat_map(|x| (0..height).map(move |y| (x, y)));
        Pressure {
            height,
            centre: cells.map(|(x, y)| -((inside(x, width) + inside(y, height)) as f32)).collect(),
            residual: vec![0.0; width * height],
            direction: vec![0.0; (width + 2) * height],
            image: vec![0.0; width * height],
        }
    }

    /// Replaces a divergence [width, height] by the pressure of which it is the Laplacian; `true` if the tolerance was reached.
    pub(super) fn solve(&mut self, field: &mut [f32]) -> bool {
        let n = field.len();
        let inside = self.height..self.height + n;
        // The image is not needed yet: filled with ones it turns a product into a sum.
        self.image.fill(1.0);
        let mean = products(field, &self.image, &self.image)[0] / n as f32;
        for (residual, d) in self.residual.iter_mut().zip(field.iter_mut()) {
            *residual = *d - mean;
            *d = 0.0;
        }
        self.direction[inside.clone()].copy_from_slice(&self.residual);
        let mut square = products(&self.residual, &self.residual, &self.image)[0];
        let target = TOLERANCE * TOLERANCE * f64::from(square);
        for _ in 0..MOST {
            if f64::from(square) <= target {
                return true;
            }
            self.apply();
            let direction = &mut self.direction[inside.clone()];
            let [along, reach] = products(direction, &self.image, &self.residual);
            let step = reach / along;
            for (p, q) in field.iter_mut().zip(direction.iter()) {
                *p += step * q;
            }
            for (residual, image) in self.residual.iter_mut().zip(&self.image) {
                *residual -= step * image;
            }
            let overlap;
            [square, overlap] = products(&self.residual, &self.residual, &self.image);
            for (q, residual) in direction.iter_mut().zip(&self.residual) {
                *q = residual - (overlap * *q) / along;
            }
        }
        f64::from(square) <= target
    }

    /// Δq.
    fn apply(&mut self) {
        let height = self.height;
        let last = height - 1;
        let columns = self.image.chunks_exact_mut(height).zip(self.centre.chunks_exact(height));
        for ((image, centre), near) in columns.zip(self.direction.windows(3 * height).step_by(height)) {
            let (left, rest) = near.split_at(height);
            let (here, right) = rest.split_at(height);
            image[0] = ((left[0] + centre[0] * here[0]) + here[1]) + right[0];
            let inner = image[1..last].iter_mut().zip(&left[1..last]).zip(&right[1..last]).zip(&centre[1..last]);
            for ((((image, left), right), centre), here) in inner.zip(here.windows(3)) {
                *image = (((left + here[0]) + centre * here[1]) + here[2]) + right;
            }
            image[last] = ((left[last] + here[last - 1]) + centre[last] * here[last]) + right[last];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_solve_is_solved() {
        let mut field = vec![0.0; 64];
        assert!(Pressure::new(8, 8).solve(&mut field));
        assert!(field.iter().all(|p| *p == 0.0));
    }
}
