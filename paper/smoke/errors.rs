//! Errors of rollouts by window and step, their means and standard errors.
//!
//! ```text
//! e(w, t) = mean over components and pixels of (prediction − truth)²      MSE = mean of e      RMSE = √MSE
//! ```
//!
//! Every window has the same weight; in Wang's code the windows of a short last minibatch weigh more. Windows of one simulation overlap, so
//! standard errors are over simulations: with S_c the sum over the n_c windows of simulation c and m the mean over all n,
//!
//! ```text
//! se(m)² = C/(C − 1) Σ_c (S_c − n_c m)² / n²            se(√m) = se(m) / (2√m)
//! ```

/// e(w, t) of every window of a part of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct RolloutErrors {
    steps: usize,
    simulations: Vec<usize>,
    /// `[windows, steps]`.
    squared: Vec<f64>,
}

impl RolloutErrors {
    /// Mean squares `[windows, steps]`, and the simulation of each window.
    pub fn new(simulations: Vec<usize>, steps: usize, squared: Vec<f64>) -> Self {
        assert_eq!(squared.len(), steps * simulations.len(), "a number for each window and step");
        Self { steps, simulations, squared }
    }

    pub fn mse(&self) -> f64 {
        self.squared.iter().sum::<f64>() / self.squared.len() as f64
    }

    pub fn rmse(&self) -> f64 {
        self.mse().sqrt()
    }

    pub fn by_step(&self) -> Vec<f64> {
        let windows = self.simulations.len() as f64;
        let at = |step: usize| self.squared.iter().skip(step).step_by(self.steps).sum::<f64>() / windows;
        (0..self.steps).map(|step| at(step).sqrt()).collect()
    }

    /// The standard error of [`RolloutErrors::rmse`] over simulations; NaN if there are fewer than two.
    pub fn rmse_error(&self) -> f64 {
        let slope = 0.5 / self.rmse();
        self.standard_error(&self.by_window().map(|mse| slope * mse).collect::<Vec<_>>())
    }

    /// How much lower the RMSE is than that of `other` on the same windows, with its standard error over simulations.
    pub fn gain_over(&self, other: &Self) -> (f64, f64) {
        assert_eq!(self.simulations, other.simulations, "errors on the same windows");
        let slopes = (0.5 / self.rmse(), 0.5 / other.rmse());
        let pairs = self.by_window().zip(other.by_window());
        let gains: Vec<f64> = pairs.map(|(mine, theirs)| slopes.1 * theirs - slopes.0 * mine).collect();
        (other.rmse() - self.rmse(), self.standard_error(&gains))
    }

    fn by_window(&self) -> impl Iterator<Item = f64> {
        self.squared.chunks(self.steps).map(|window| window.iter().sum::<f64>() / self.steps as f64)
    }

    /// The standard error of the mean of one number a window.
    fn standard_error(&self, numbers: &[f64]) -> f64 {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let mut sums = std::collections::BTreeMap::<usize, f64>::new();
        for (simulation, number) in self.simulations.iter().zip(numbers) {
            *sums.entry(*simulation).or_default() += number - mean;
        }
        let simulations = sums.len() as f64;
        if sums.len() < 2 {
            return f64::NAN;
        }
        let squares: f64 = sums.values().map(|sum| sum * sum).sum();
        (simulations / (simulations - 1.0) * squares).sqrt() / count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_roots_by_hand() {
        // Two windows of two steps: mean squares 1, 3 and 5, 7.
        let errors = RolloutErrors::new(vec![0, 1], 2, vec![1.0, 3.0, 5.0, 7.0]);
        assert_eq!((errors.mse(), errors.rmse()), (4.0, 2.0));
        assert_eq!(errors.by_step(), [3.0_f64.sqrt(), 5.0_f64.sqrt()]);
        // Windows have 2 and 6: the mean 4 has standard error 2, its root 2/(2·2).
        assert!((errors.rmse_error() - 0.5).abs() < 1e-15);
    }

    #[test]
    fn windows_of_one_simulation_are_one_observation() {
        let apart = RolloutErrors::new(vec![0, 1, 2, 3], 1, vec![1.0, 1.0, 3.0, 3.0]);
        let together = RolloutErrors::new(vec![0, 0, 1, 1], 1, vec![1.0, 1.0, 3.0, 3.0]);
        // se of the mean 2: √(4/3)/2 with four observations, 1 with two; through the slope 1/(2√2).
        let slope = 0.5 / 2.0_f64.sqrt();
        assert!((apart.rmse_error() - slope * (4.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-15);
        assert!((together.rmse_error() - slope).abs() < 1e-15);
        assert!(RolloutErrors::new(vec![0, 0], 1, vec![1.0, 3.0]).rmse_error().is_nan());
    }

    #[test]
    fn a_gain_is_judged_window_by_window() {
        // The other is 4 times as far off in mean square wherever this one is off: √ doubles, and both slopes cancel the spread.
        let squared = [1.0, 2.0, 6.0];
        let [mine, theirs] =
            [1.0, 4.0].map(|factor| RolloutErrors::new(vec![0, 1, 2], 1, squared.map(|e| factor * e).to_vec()));
        let (gain, error) = mine.gain_over(&theirs);
        assert!((gain - mine.rmse()).abs() < 1e-15);
        // d_w = 4e_w/(2·2r) − e_w/(2r) = e_w/(2r): the error of the RMSE itself.
        assert!((error - mine.rmse_error()).abs() < 1e-15);
        let (gain, error) = mine.gain_over(&mine);
        assert_eq!((gain, error), (0.0, 0.0));
    }
}
