//! The sample-based penalty of Bai et al.: the baseline that the projection does without.
//!
//! ```text
//! one g a step:   [y₀; y₁] = layer([x; g·x]),      penalty = weight · Σ_layers ‖g·y₀ − y₁‖
//! ```
//!
//! The batch is doubled by its own copy under g and goes through one forward pass; every regularised layer shows its output to a
//! [`Witness`], which compares the two halves. The norm is that of the whole tensor, plain or squared.
//!
//! A comparison is a copy that turns, a copy that rolls channels, one difference d and one product ⟨d, d⟩, half a batch each; of these d
//! alone is kept for the gradient. Norms, weights and the sum are taken once for all layers, in [`Witness::penalty`].
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
        Ok(Witness { penalty: self, g, layers: Vec::new() })
    }
}

/// What one forward pass on a doubled batch shows.
#[derive(Debug)]
pub struct Witness<'a> {
    penalty: &'a SamplePenalty,
    g: Element,
    layers: Vec<Seen>,
}

/// One layer: d = g·y₀ − y₁.
#[derive(Debug)]
struct Seen {
    /// ⟨d, stop(d)⟩, whose gradient is d: half that of ‖d‖².
    product: Tensor,
    /// ‖d‖², not on the tape, in f32 at least.
    square: Tensor,
}

impl Witness<'_> {
    /// The g of this step.
    pub fn element(&self) -> &Element {
        &self.g
    }

    /// [x; g·x] for the network's input x: `[2·batch, …]`.
    pub fn double(&self, input: &Tensor) -> Result<Tensor> {
        self.double_by(input, &self.penalty.input)
    }

    /// [x; g·x] for whatever goes with the input and transforms by `action`: targets, masks.
    pub fn double_by(&self, tensor: &Tensor, action: &FieldAction) -> Result<Tensor> {
        self.check_group(action)?;
        Ok(Tensor::f_cat(&[tensor, &action.act(&self.g, tensor)?], 0)?)
    }

    /// Whether g is of the group of an action.
    fn check_group(&self, action: &FieldAction) -> Result<()> {
        let group = self.penalty.input.group();
        match reynolds::group::same(group, action.group()) {
            true => Ok(()),
            false => {
                let (expected, got) = (group.name(), action.group().name());
                Err(reynolds::Error::GroupMismatch { expected, got }.into())
            }
        }
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
        self.check_group(action)?;
        let difference = action.difference(&self.g, output)?;
        let difference = if difference.is_complex() { difference.f_view_as_real()? } else { difference };
        let difference = difference.f_reshape([-1])?;
        let product = difference.f_dot(&difference.f_detach()?)?;
        let square = match product.kind() {
            Kind::Float | Kind::Double => product.f_detach()?,
            // A sum of many needs more digits than its terms: that of bf16 is taken in f32, with no copy of these.
            _ => difference.f_detach()?.f_linalg_norm(2.0, None::<&[i64]>, false, Kind::Float)?.f_square()?,
        };
        self.layers.push(Seen { product, square });
        Ok(())
    }

    /// weight · Σ over the layers seen, a scalar on the tape; zero if none was.
    pub fn penalty(&self) -> Result<Tensor> {
        let Some(layer) = self.layers.first() else { return Ok(Tensor::from(0.0_f32)) };
        let kind = layer.square.kind();
        let stack = |of: fn(&Seen) -> &Tensor| -> Result<Tensor> {
            let terms = self.layers.iter().map(|layer| of(layer).f_to_kind(kind)).collect::<Result<Vec<_>, _>>()?;
            Ok(Tensor::f_stack(&terms, 0)?)
        };
        let (products, squares) = (stack(|layer| &layer.product)?, stack(|layer| &layer.square)?);
        // Zero, with the gradient of half the squares.
        let half = products.f_sub(&products.f_detach()?)?;
        let terms = if self.penalty.config.squared {
            squares.f_add(&half.f_mul_scalar(2.0)?)?
        } else {
            // The plain norm has no derivative at 0, where equivariant layers are.
            let norms = squares.f_add_scalar(SMOOTHING)?.f_sqrt()?;
            norms.f_sub_scalar(SMOOTHING.sqrt())?.f_add(&half.f_div(&norms)?)?
        };
        Ok(terms.f_sum(kind)?.f_mul_scalar(self.penalty.config.weight)?)
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

    /// ‖rot_r(y₀) − shift_r(y₁)‖ as Bai et al. write it, shift_r: entry k ← (k + r) mod 4 of its group of four, by loops over indices;
    /// and its gradient by differences, in both layouts.
    #[test]
    fn it_is_the_penalty_of_the_public_code_for_every_turn() {
        let c4 = group::parse("C4").unwrap();
        let (batch, groups, side) = (2_usize, 3_usize, 5_usize);
        let regular = FieldAction::new(&rep::parse_fields(&c4, "3 regular").unwrap());
        let channels = 4 * groups;
        let at = |n: usize, c: usize, i: usize, j: usize| ((n * channels + c) * side + i) * side + j;
        let literal = |y: &[f64], r: usize| -> f64 {
            let mut sum = 0.0;
            for (n, c, place) in (0..batch)
                .flat_map(|n| (0..channels).flat_map(move |c| (0..side * side).map(move |place| (n, c, place))))
            {
                let (i, j) = (place / side, place % side);
                // rot90 takes its entry (i, j) from (j, side − 1 − i).
                let (row, column) = (0..r).fold((i, j), |(i, j), _| (j, side - 1 - i));
                let shifted = c - c % 4 + (c % 4 + r) % 4;
                sum += (y[at(n, c, row, column)] - y[at(batch + n, shifted, i, j)]).powi(2);
            }
            sum
        };
        let mut random = Random::new(8);
        let values: Vec<f64> = (0..2 * batch * channels * side * side).map(|_| random.normal()).collect();
        let shape = [2 * batch as i64, channels as i64, side as i64, side as i64];
        for (squared, innermost) in [(false, false), (false, true), (true, false), (true, true)] {
            let penalty = SamplePenalty::new(&regular, SamplePenaltyConfig { weight: 0.3, squared }).unwrap();
            for r in 0..4_usize {
                let drawn = |step: &u64| {
                    *penalty.draw(&mut Random::at(0, &[*step])).unwrap().element() == Element::Finite(r as u128)
                };
                let step = (0..100).find(drawn).expect("every turn is drawn");
                let mut witness = penalty.draw(&mut Random::at(0, &[step])).unwrap();
                let leaf = Tensor::from_slice(&values).set_requires_grad(true);
                let output = leaf.view(shape);
                let output = match innermost {
                    true => output.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]),
                    false => output,
                };
                for _ in 0..2 {
                    witness.see(&output, &regular).unwrap();
                }
                let value = witness.penalty().unwrap();
                let form = |square: f64| 2.0 * 0.3 * if squared { square } else { square.sqrt() };
                let (found, expected) = (value.double_value(&[]), form(literal(&values, r)));
                assert!((found - expected).abs() < 1e-6 + 1e-12 * expected, "{r}: {found} {expected}");
                value.backward();
                for place in [0, 77, 310, 599, 600, 731, 1199] {
                    let moved = |by: f64| {
                        let mut values = values.clone();
                        values[place] += by;
                        form(literal(&values, r))
                    };
                    let (slope, found) =
                        ((moved(1e-5) - moved(-1e-5)) / 2e-5, leaf.grad().double_value(&[place as i64]));
                    assert!((slope - found).abs() < 1e-7 * (1.0 + slope.abs()), "{r} {place}: {found} {slope}");
                }
            }
        }
    }

    /// The value is that of the rounded numbers, to the digits of f32; the gradient has those of bf16.
    #[test]
    fn norms_of_bf16_have_the_digits_of_f32() {
        let c4 = group::parse("C4").unwrap();
        let scalars = FieldAction::new(&rep::trivial(&c4));
        let penalty = SamplePenalty::new(&scalars, SamplePenaltyConfig { weight: 1.0, squared: false }).unwrap();
        let rounded = images(40).to_kind(Kind::BFloat16);
        let value = |output: &Tensor| {
            let leaf = output.detach().copy().set_requires_grad(true);
            let mut witness = penalty.draw(&mut Random::at(1, &[3])).unwrap();
            witness.see(&leaf, &scalars).unwrap();
            let value = witness.penalty().unwrap();
            value.backward();
            (value.double_value(&[]), leaf.grad().to_kind(Kind::Double))
        };
        let ((low, low_gradient), (full, gradient)) = (value(&rounded), value(&rounded.to_kind(Kind::Double)));
        // The difference of two bf16 numbers is rounded once more, half an ulp (2⁻⁹) at most, with no preferred sign.
        assert!((low - full).abs() < full / 2048.0, "{low} {full}");
        let error = (low_gradient - &gradient).abs().max().double_value(&[]);
        assert!(error < gradient.abs().max().double_value(&[]) / 64.0, "{error}");
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
