//! The sample-based penalty of Bai et al.: the baseline that the projection does without.
//!
//! ```text
//! one g a step:   [y₀; y₁] = layer([x; g·x]),      penalty = weight · Σ_layers ‖g·y₀ − y₁‖
//! ```
//!
//! The batch is doubled by its own copy under g and goes through one forward pass; every regularised layer shows its output to a
//! [`Witness`], which compares the two halves. The norm is that of the whole tensor, plain or squared.
//!
//! ```
//! use reynolds::{group, random::Random, rep};
//! use reynolds_torch::{action::FieldAction, sample_penalty::{SamplePenalty, SamplePenaltyConfig}};
//! use reynolds_torch::tch::{Kind, Tensor};
//! let c4 = group::parse("C4")?;
//! let scalars = FieldAction::new(&rep::trivial(&c4));
//! let penalty = SamplePenalty::new(&scalars, SamplePenaltyConfig { weight: 1.0, squared: false })?;
//! let images = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]).view([1, 1, 2, 2]);
//! let mut witness = penalty.draw(&mut Random::at(0, &[0, 0]))?;
//! let doubled = witness.double(&images)?;
//! witness.see(&doubled.relu(), &scalars)?; // pointwise: equivariant
//! assert_eq!(f64::try_from(witness.penalty()?)?, 0.0);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use reynolds::group::Element;
use reynolds::haar;
use reynolds::random::Random;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use crate::action::FieldAction;
use crate::error::{Error, Result};

/// Strength and form of the sample-based penalty.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplePenaltyConfig {
    /// What the sum over layers is multiplied by; Bai et al. use 1e-6 and 1e-8 on features from 0 to 255.
    pub weight: f64,
    /// Square the norms, as the paper's formula does; the public code does not.
    pub squared: bool,
}

/// The penalty, with the action on the input of the network.
#[derive(Debug, Clone)]
pub struct SamplePenalty {
    input: FieldAction,
    config: SamplePenaltyConfig,
}

impl SamplePenalty {
    /// A penalty for networks whose input transforms by `input`.
    ///
    /// # Errors
    /// [`Error::Setting`] if the weight is negative or not finite.
    pub fn new(input: &FieldAction, config: SamplePenaltyConfig) -> Result<Self> {
        if !(config.weight.is_finite() && config.weight >= 0.0) {
            return Err(Error::setting("weight", "a finite number, at least 0", config.weight));
        }
        Ok(Self { input: input.clone(), config })
    }

    /// Draws the g of one step; the identity too, as Bai et al. do.
    ///
    /// # Errors
    /// [`Error::Reynolds`] if the group cannot be drawn from.
    pub fn draw(&self, random: &mut Random) -> Result<Witness<'_>> {
        let mut drawn = haar::sample(self.input.group().as_ref(), 1, random)?;
        let g = drawn.pop().expect("one was asked for");
        Ok(Witness { penalty: self, g, sum: None })
    }
}

/// What one forward pass on a doubled batch shows.
#[derive(Debug)]
pub struct Witness<'a> {
    penalty: &'a SamplePenalty,
    g: Element,
    sum: Option<Tensor>,
}

impl Witness<'_> {
    /// The g of this step.
    pub fn element(&self) -> &Element {
        &self.g
    }

    /// [x; g·x] for the network's input x: `[2·batch, …]`.
    ///
    /// # Errors
    /// As [`FieldAction::act`].
    pub fn double(&self, input: &Tensor) -> Result<Tensor> {
        self.double_by(input, &self.penalty.input)
    }

    /// [x; g·x] for whatever goes with the input and transforms by `action`: targets, masks.
    ///
    /// # Errors
    /// As [`FieldAction::act`].
    pub fn double_by(&self, tensor: &Tensor, action: &FieldAction) -> Result<Tensor> {
        Ok(Tensor::f_cat(&[tensor, &self.act(tensor, action)?], 0)?)
    }

    /// g·f, by an action of the group that g is of.
    fn act(&self, tensor: &Tensor, action: &FieldAction) -> Result<Tensor> {
        let group = self.penalty.input.group();
        if !reynolds::group::same(group, action.group()) {
            let (expected, got) = (group.name(), action.group().name());
            return Err(reynolds::Error::GroupMismatch { expected, got }.into());
        }
        action.act(&self.g, tensor)
    }

    /// Compares the halves of a layer's output `[2·batch, …]`, whose channels transform by `action`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the batch is odd; [`Error::Reynolds`] if the action is of another group; as [`FieldAction::act`].
    pub fn see(&mut self, output: &Tensor, action: &FieldAction) -> Result<()> {
        let rows = output.size().first().copied().unwrap_or(0);
        if rows == 0 || rows % 2 != 0 {
            return Err(Error::parameter("output", "an even number of rows: a doubled batch", rows));
        }
        let (first, second) = (output.f_narrow(0, 0, rows / 2)?, output.f_narrow(0, rows / 2, rows / 2)?);
        let difference = self.act(&first, action)?.f_sub(&second)?;
        let difference = if difference.is_complex() { difference.f_view_as_real()? } else { difference };
        let kind = if difference.kind() == Kind::Double { Kind::Double } else { Kind::Float };
        let squares = difference.f_to_kind(kind)?.f_square()?.f_sum(kind)?;
        // The plain norm has no derivative at 0, where equivariant layers are.
        let term =
            if self.penalty.config.squared { squares } else { (squares + SMOOTHING).f_sqrt()? - SMOOTHING.sqrt() };
        self.sum = Some(self.sum.take().map_or(Ok(term.shallow_clone()), |sum| sum.f_add(&term))?);
        Ok(())
    }

    /// weight · Σ over the layers seen, a scalar on the tape; zero if none was.
    ///
    /// # Errors
    /// [`Error::Torch`] if libtorch refuses.
    pub fn penalty(&self) -> Result<Tensor> {
        match &self.sum {
            Some(sum) => Ok(sum.f_mul_scalar(self.penalty.config.weight)?),
            None => Ok(Tensor::from(0.0_f32)),
        }
    }
}

/// Added under the root of the plain norm.
const SMOOTHING: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use reynolds::{group, rep};

    use super::*;

    fn images(count: i64) -> Tensor {
        let mut random = Random::new(5);
        let values: Vec<f32> = (0..count * 36).map(|_| random.normal() as f32).collect();
        Tensor::from_slice(&values).view([count, 1, 6, 6])
    }

    /// The 3×3 mean is equivariant and a ramp is not; a quarter of the draws is the identity, under which nothing can be seen.
    #[test]
    fn an_equivariant_layer_costs_nothing_and_another_does() {
        let c4 = group::parse("C4").unwrap();
        let scalars = FieldAction::new(&rep::trivial(&c4));
        let config = SamplePenaltyConfig { weight: 2.0, squared: true };
        let penalty = SamplePenalty::new(&scalars, config).unwrap();
        let ramp = Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).view([1, 1, 3, 3]);
        for step in 0..12 {
            let cost = |kernel: &Tensor| {
                let mut witness = penalty.draw(&mut Random::at(1, &[step])).unwrap();
                let batch = witness.double(&images(2)).unwrap();
                let output = batch.conv2d(kernel, None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
                witness.see(&output, &scalars).unwrap();
                let identity = *witness.element() == c4.identity();
                (identity, witness.penalty().unwrap().double_value(&[]))
            };
            assert!(cost(&(ramp.ones_like() / 9.0)).1 < 1e-9);
            let (identity, unequal) = cost(&ramp);
            assert_eq!(identity, unequal == 0.0, "{unequal}");
        }
    }

    /// By hand: an element of C2 swaps the two channels of a regular field; two layers are seen.
    #[test]
    fn the_penalty_is_the_weighted_sum_of_the_norms_of_all_layers() {
        let c2 = group::parse("C2").unwrap();
        let regular = FieldAction::new(&rep::regular(&c2).unwrap());
        for (squared, expected) in [(true, 3.0 * (50.0 + 8.0)), (false, 3.0 * (50.0_f64.sqrt() + 8.0_f64.sqrt()))] {
            let penalty = SamplePenalty::new(&regular, SamplePenaltyConfig { weight: 3.0, squared }).unwrap();
            let turned = |at: &u64| *penalty.draw(&mut Random::at(0, &[*at])).unwrap().element() != c2.identity();
            let step = (0..20).find(turned).expect("half of the draws turn");
            let mut witness = penalty.draw(&mut Random::at(0, &[step])).unwrap();
            // (1, 6) becomes (6, 1), which the second half, (1, 6), is off by (5, -5); then (2, 4) likewise.
            for [a, b] in [[1.0, 6.0], [2.0, 4.0]] {
                witness.see(&Tensor::from_slice(&[a, b, a, b]).view([2, 2]), &regular).unwrap();
            }
            let found = witness.penalty().unwrap().double_value(&[]);
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
        let complex = Tensor::complex(
            &Tensor::zeros([2, 2], (Kind::Double, tch::Device::Cpu)),
            &Tensor::from_slice(&[1.0, 6.0, 1.0, 6.0]).view([2, 2]),
        );
        let penalty = SamplePenalty::new(&regular, SamplePenaltyConfig { weight: 1.0, squared: true }).unwrap();
        let mut witness = penalty.draw(&mut Random::at(0, &[0])).unwrap();
        witness.see(&complex, &regular).unwrap();
        assert!(witness.penalty().unwrap().double_value(&[]) >= 0.0);
        let other = FieldAction::new(&rep::regular(&group::parse("C3").unwrap()).unwrap());
        assert!(witness.see(&Tensor::zeros([2, 3], (Kind::Float, tch::Device::Cpu)), &other).is_err());
    }

    #[test]
    fn the_plain_norm_is_differentiable_where_a_layer_is_equivariant() {
        let c4 = group::parse("C4").unwrap();
        let scalars = FieldAction::new(&rep::trivial(&c4));
        let config = SamplePenaltyConfig { weight: 1.0, squared: false };
        let penalty = SamplePenalty::new(&scalars, config).unwrap();
        let scale = Tensor::from(2.0_f32).set_requires_grad(true);
        let mut witness = penalty.draw(&mut Random::at(1, &[2])).unwrap();
        let output = witness.double(&images(1)).unwrap() * &scale;
        witness.see(&output, &scalars).unwrap();
        witness.penalty().unwrap().backward();
        assert_eq!(scale.grad().double_value(&[]), 0.0);
    }

    #[test]
    fn bad_settings_and_odd_batches_are_errors() {
        let c4 = group::parse("C4").unwrap();
        let scalars = FieldAction::new(&rep::trivial(&c4));
        let config = SamplePenaltyConfig { weight: -1.0, squared: false };
        assert!(SamplePenalty::new(&scalars, config).is_err());
        let penalty = SamplePenalty::new(&scalars, SamplePenaltyConfig::default()).unwrap();
        let mut witness = penalty.draw(&mut Random::new(0)).unwrap();
        assert!(witness.see(&images(3), &scalars).is_err());
    }
}
