//! The sample-based penalty of Bai et al.: the baseline that the projection does without.
//!
//! ```text
//! one g a step:   [y₀; y₁] = layer([x; g·x]),      penalty = weight · Σ_layers ‖g·y₀ − y₁‖
//! ```
//!
//! The batch is doubled by its own copy under g and goes through one forward pass; every regularised layer shows its output to a
//! [`OutputPairs`], which compares the two halves. The norm is that of the whole tensor, plain or squared.
//!
//! A comparison copies half a batch at most twice; of it the difference alone is kept for the gradient. Norms, weights and the sum are taken
//! once for all layers, in [`OutputPairs::penalty`].
//!
//! ```
//! use reynolds::{group, random::Random, rep};
//! use reynolds_torch::{action::FieldAction, sample_penalty::{SamplePenalty, SamplePenaltyConfig}};
//! use reynolds_torch::tch::{Kind, Tensor};
//! let c4 = group::parse("C4")?;
//! let scalars = FieldAction::new(&rep::trivial(&c4));
//! let penalty = SamplePenalty::new(&scalars, SamplePenaltyConfig { weight: 1.0, squared: false })?;
//! let images = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]).view([1, 1, 2, 2]);
//! let mut pairs = penalty.draw(&mut Random::at(0, &[0, 0]))?;
//! let doubled = pairs.double(&images)?;
//! pairs.compare(&doubled.relu(), &scalars)?; // pointwise: equivariant
//! assert_eq!(f64::try_from(pairs.penalty()?)?, 0.0);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use reynolds::group::Element;
use reynolds::haar;
use reynolds::random::Random;
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use crate::action::FieldAction;
use crate::error::{Error, Result, check_nonnegative};

/// Strength and form of the sample-based penalty.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SamplePenaltyConfig {
    /// Factor of the sum over layers; Bai et al. use 1e-6 and 1e-8 on features from 0 to 255.
    pub weight: f64,
    /// Square the norms, as the paper's formula does; the public code does not.
    pub squared: bool,
}

/// The penalty of networks on one kind of input.
#[derive(Debug, Clone)]
pub struct SamplePenalty {
    input: FieldAction,
    config: SamplePenaltyConfig,
}

impl SamplePenalty {
    /// A penalty for networks whose input transforms by `input`.
    pub fn new(input: &FieldAction, config: SamplePenaltyConfig) -> Result<Self> {
        check_nonnegative("weight", config.weight)?;
        Ok(Self { input: input.clone(), config })
    }

    /// Draws the g of one step; the identity too, as Bai et al. do.
    pub fn draw(&self, random: &mut Random) -> Result<OutputPairs<'_>> {
        let mut drawn = haar::sample(self.input.group().as_ref(), 1, random)?;
        let g = drawn.pop().expect("one was asked for");
        Ok(OutputPairs { penalty: self, g, layers: Vec::new() })
    }
}

/// Collects the outputs of one forward pass on a doubled batch.
#[derive(Debug)]
pub struct OutputPairs<'a> {
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

impl OutputPairs<'_> {
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

    fn check_group(&self, action: &FieldAction) -> Result<()> {
        let group = self.penalty.input.group();
        if reynolds::group::same(group, action.group()) {
            return Ok(());
        }
        let (expected, got) = (group.name(), action.group().name());
        Err(reynolds::Error::GroupMismatch { expected, got }.into())
    }

    /// Compares the halves of a layer's output `[2·batch, …]`, whose channels transform by `action`.
    pub fn compare(&mut self, output: &Tensor, action: &FieldAction) -> Result<()> {
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
    use crate::testing::{innermost, largest, normal};

    /// The penalty on fields of C4 and their action.
    fn penalty(fields: &str, weight: f64, squared: bool) -> (SamplePenalty, FieldAction) {
        let action = FieldAction::new(&rep::parse_fields(&group::parse("C4").unwrap(), fields).unwrap());
        (SamplePenalty::new(&action, SamplePenaltyConfig { weight, squared }).unwrap(), action)
    }

    /// A step that draws so many quarter turns.
    fn drawn(penalty: &SamplePenalty, turns: u128) -> OutputPairs<'_> {
        let draw = |step| penalty.draw(&mut Random::at(0, &[step])).unwrap();
        (0..100).map(draw).find(|pairs| pairs.g == Element::Finite(turns)).expect("every turn is drawn")
    }

    /// The 3×3 mean is equivariant and a ramp is not; under the identity nothing can be seen. The plain norm has a derivative at 0.
    #[test]
    fn an_equivariant_layer_costs_nothing_and_another_does() {
        let ramp = Tensor::arange(9, (Kind::Double, tch::Device::Cpu)).view([1, 1, 3, 3]);
        for (turns, squared) in [(0, true), (1, true), (2, true), (3, true), (1, false)] {
            let (penalty, scalars) = penalty("1 trivial", 2.0, squared);
            let cost = |kernel: &Tensor| {
                let mut pairs = drawn(&penalty, turns);
                let scale = Tensor::from(2.0).set_requires_grad(true);
                let batch = pairs.double(&normal(&[2, 1, 6, 6], 5)).unwrap() * &scale;
                pairs.compare(&batch.conv2d(kernel, None::<Tensor>, [1, 1], [1, 1], [1, 1], 1), &scalars).unwrap();
                let cost = pairs.penalty().unwrap();
                cost.backward();
                (cost.double_value(&[]), scale.grad().double_value(&[]))
            };
            let (value, slope) = cost(&(ramp.ones_like() / 9.0));
            assert!(value < 1e-9 && slope.abs() < 1e-9, "{value} {slope}");
            assert_eq!(turns == 0, cost(&ramp).0 == 0.0);
        }
    }

    /// ‖rot_r(y₀) − shift_r(y₁)‖ as Bai et al. write it, shift_r: entry k ← (k + r) mod 4 of its group of four, by loops over indices;
    /// and its gradient by differences, in both layouts, of two layers.
    #[test]
    fn it_is_the_penalty_of_the_public_code_for_every_turn() {
        let (batch, channels, side) = (2_usize, 12_usize, 5_usize);
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
        let leaf = normal(&[4, 12, 5, 5], 8).set_requires_grad(true);
        let values = Vec::<f64>::try_from(leaf.detach().view([-1])).unwrap();
        for (squared, r) in [false, true].into_iter().flat_map(|squared| (0..4_usize).map(move |r| (squared, r))) {
            let (penalty, regular) = penalty("3 regular", 0.3, squared);
            let form = |square: f64| 2.0 * 0.3 * if squared { square } else { square.sqrt() };
            for output in [leaf.shallow_clone(), innermost(&leaf)] {
                let mut pairs = drawn(&penalty, r as u128);
                (0..2).for_each(|_| pairs.compare(&output, &regular).unwrap());
                let value = pairs.penalty().unwrap();
                let (found, expected) = (value.double_value(&[]), form(literal(&values, r)));
                assert!((found - expected).abs() < 1e-6 + 1e-12 * expected, "{r}: {found} {expected}");
                let gradient = Tensor::run_backward(&[value], &[&leaf], false, false)[0].reshape([-1]);
                for place in [0, 77, 310, 599, 600, 731, 1199] {
                    let moved = |by: f64| {
                        let mut values = values.clone();
                        values[place] += by;
                        form(literal(&values, r))
                    };
                    let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                    let found = gradient.double_value(&[place as i64]);
                    assert!((slope - found).abs() < 1e-7 * (1.0 + slope.abs()), "{r} {place}: {found} {slope}");
                }
            }
        }
    }

    /// The value is that of the rounded numbers, to the digits of f32; the gradient has those of bf16.
    #[test]
    fn norms_of_bf16_have_the_digits_of_f32() {
        let (penalty, scalars) = penalty("1 trivial", 1.0, false);
        let rounded = normal(&[40, 1, 6, 6], 5).to_kind(Kind::BFloat16);
        let value = |output: &Tensor| {
            let leaf = output.copy().set_requires_grad(true);
            let mut pairs = drawn(&penalty, 1);
            pairs.compare(&leaf, &scalars).unwrap();
            let value = pairs.penalty().unwrap();
            value.backward();
            (value.double_value(&[]), leaf.grad().to_kind(Kind::Double))
        };
        let ((low, low_gradient), (full, gradient)) = (value(&rounded), value(&rounded.to_kind(Kind::Double)));
        // The difference of two bf16 numbers is rounded once more, half an ulp (2⁻⁹) at most, with no preferred sign.
        assert!((low - full).abs() < full / 2048.0, "{low} {full}");
        assert!(largest(&(low_gradient - &gradient)) < largest(&gradient) / 64.0);
    }

    #[test]
    fn complex_outputs_count_and_bad_settings_odd_batches_and_other_groups_are_errors() {
        let (penalty, regular) = penalty("1 regular", 1.0, true);
        let mut pairs = drawn(&penalty, 2);
        // (0, 1, 0, 0)i becomes (0, 0, 0, 1)i: a difference of √2.
        let part = Tensor::from_slice(&[0.0, 1.0, 0.0, 0.0]).view([1, 4]).repeat([2, 1]);
        pairs.compare(&Tensor::complex(&part.zeros_like(), &part), &regular).unwrap();
        assert_eq!(pairs.penalty().unwrap().double_value(&[]), 2.0);
        assert!(pairs.compare(&normal(&[3, 4], 1), &regular).is_err());
        let other = FieldAction::new(&rep::regular(&group::parse("C3").unwrap()).unwrap());
        assert!(pairs.compare(&normal(&[2, 3], 1), &other).is_err());
        assert!(SamplePenalty::new(&regular, SamplePenaltyConfig { weight: -1.0, squared: false }).is_err());
    }
}
