//! The gated nonlinearity: every irrep times the sigmoid of a scalar of its own.
//!
//! ```text
//! y_l = x_l · σ(g_l − b_l)      the gates g_l are dropped
//! ```
//!
//! Channels go by components, then by copies: those of the irreps, then the gates, one an irrep. A scale of the fields and a shift of
//! their scalars before it ([`Affine`]) are applied to the gates and to the trivial irrep; the other irreps take the scale with their gate:
//! they are read once and written once.

use reynolds::random::Random;
use tch::Tensor;

use super::Affine;
use super::volume_layout::{flatten, unflatten};
use crate::error::{Error, Result};
use crate::parameters::{Builder, Parameters};

/// `[N, (d + irreps)·copies, D, H, W]` → `[N, d·copies, D, H, W]`.
#[derive(Debug, Clone)]
pub struct Gate {
    bias: String,
    copies: i64,
    irreps: Vec<i64>,
}

impl Gate {
    /// Adds `name.bias`, `[irreps, copies]`, standard normal. A field has irreps of the dimensions given, the first of them trivial.
    pub fn new(
        builder: &mut Builder,
        name: &str,
        copies: usize,
        irreps: &[usize],
        random: &mut Random,
    ) -> Result<Self> {
        let bias = format!("{name}.bias");
        let values: Vec<f64> = (0..irreps.len() * copies).map(|_| random.normal()).collect();
        builder.real(&bias, &[irreps.len(), copies], &values)?;
        Ok(Self { bias, copies: copies as i64, irreps: irreps.iter().map(|&dim| dim as i64).collect() })
    }

    /// The gated volumes.
    pub fn forward(&self, parameters: &Parameters, volumes: &Tensor, affine: &Affine) -> Result<Tensor> {
        self.sum(parameters, &[(volumes, affine)])
    }

    /// The sum of several gated volumes of one shape: products are added as they are made.
    pub fn sum(&self, parameters: &Parameters, terms: &[(&Tensor, &Affine)]) -> Result<Tensor> {
        let bias = parameters.get(&self.bias)?;
        let mut sums: Vec<Tensor> = Vec::new();
        for (volumes, affine) in terms {
            let term = self.term(&flatten(volumes)?, affine, &bias)?;
            if sums.is_empty() {
                sums = term.features.iter().zip(&term.factors).map(|(x, g)| x.f_mul(g)).collect::<Result<_, _>>()?;
            } else {
                for ((sum, feature), factor) in sums.iter_mut().zip(&term.features).zip(&term.factors) {
                    *sum = sum.f_addcmul(feature, factor)?;
                }
            }
            sums[0] = sums[0].f_add(&term.constant)?;
        }
        let parts = sums.iter().map(|sum| sum.f_flatten(1, 2)).collect::<Result<Vec<_>, _>>()?;
        unflatten(&Tensor::f_cat(&parts, 1)?, terms[0].0)
    }

    /// The factors of one term, of volumes `[B, C, I]`.
    fn term(&self, flat: &Tensor, affine: &Affine, bias: &Tensor) -> Result<Term> {
        let (count, copies, kind) = (self.irreps.len() as i64, self.copies, flat.kind());
        let mut sizes: Vec<i64> = self.irreps.iter().map(|dim| dim * copies).collect();
        sizes.push(count * copies);
        let mut parts = flat.f_split_with_sizes(sizes, 1)?;
        let raw = parts.pop().expect("gates come after the irreps").f_unflatten(1, [count, copies])?;
        let [first, gates] =
            <[Tensor; 2]>::try_from(affine.shift.f_split_with_sizes([1, count], 0)?).map_err(|_| {
                Error::setting("shift", "one row for the trivial irrep and one a gate", affine.shift.size()[0])
            })?;
        // [1, irreps, copies, 1]: what is small is in the type of the parameters.
        let shift = gates.f_sub(bias)?.f_view([1, count, copies, 1])?;
        let scale = affine.scale.as_ref().map(|scale| scale.f_view([1, 1, copies, 1])).transpose()?;
        let open = match &scale {
            Some(scale) => raw.f_mul(scale)?.f_add(&shift)?.f_sigmoid()?,
            None => raw.f_add(&shift)?.f_sigmoid()?,
        };
        let constant = open.f_narrow(1, 0, 1)?.f_mul(&first.f_view([1, 1, copies, 1])?)?.f_to_kind(kind)?;
        let factors = match &scale {
            Some(scale) => open.f_mul(scale)?,
            None => open,
        };
        let factors = factors.f_to_kind(kind)?.f_split(1, 1)?;
        let features = parts.iter().zip(&self.irreps).map(|(part, &dim)| part.f_unflatten(1, [dim, copies]));
        Ok(Term { features: features.collect::<Result<_, _>>()?, factors, constant })
    }
}

/// x_l, `[B, 2l + 1, copies, I]`; what it is multiplied by, `[B, 1, copies, I]`; what is added to the trivial irrep.
struct Term {
    features: Vec<Tensor>,
    factors: Vec<Tensor>,
    constant: Tensor,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{built, innermost, largest, normal};

    /// Two copies of a scalar and a vector.
    fn layer() -> (Gate, Parameters) {
        built(|builder| Gate::new(builder, "gate", 2, &[1, 3], &mut Random::new(1)))
    }

    #[test]
    fn gates_begin_spread_as_standard_normal_numbers() {
        let (_, parameters) = built(|builder| Gate::new(builder, "gate", 250, &[1, 3, 5, 7], &mut Random::new(1)));
        let bias = parameters.flat();
        let (mean, deviation) = (bias.mean(bias.kind()).double_value(&[]), bias.std(true).double_value(&[]));
        // Four standard errors of a thousand numbers.
        assert!(mean.abs() < 0.13 && (deviation - 1.0).abs() < 0.09, "{mean} {deviation}");
    }

    /// Channel by channel: component c of copy a at 2c + a, gates after the four components.
    fn by_hand(volumes: &Tensor, affine: &Affine, bias: &Tensor) -> Tensor {
        let channel = |index: i64| volumes.select(1, index);
        let mut parts = Vec::new();
        for (component, irrep) in [(0, 0), (1, 1), (2, 1), (3, 1)] {
            for copy in 0..2 {
                let scale = affine.scale.as_ref().map_or(1.0, |scale| scale.double_value(&[copy]));
                let shift = if component == 0 { affine.shift.double_value(&[0, copy]) } else { 0.0 };
                let offset = affine.shift.double_value(&[1 + irrep, copy]) - bias.double_value(&[irrep, copy]);
                let gate = (channel(8 + 2 * irrep + copy) * scale + offset).sigmoid();
                parts.push((channel(2 * component + copy) * scale + shift) * gate);
            }
        }
        Tensor::stack(&parts, 1)
    }

    #[test]
    fn gates_scale_and_shift_as_the_equation_says_in_both_orders_of_memory() {
        let (gate, parameters) = layer();
        let plain = normal(&[2, 12, 3, 4, 5], 2);
        let normed = Affine { scale: Some(normal(&[2], 3)), shift: normal(&[3, 2], 4) };
        let bare = Affine { scale: None, shift: normal(&[3, 2], 5) };
        let bias = parameters.get("gate.bias").unwrap();
        for affine in [&normed, &bare] {
            let expected = by_hand(&plain, affine, &bias);
            for volumes in [&plain, &innermost(&plain)] {
                let output = gate.forward(&parameters, volumes, affine).unwrap();
                assert_eq!(output.stride()[1] == 1, volumes.stride()[1] == 1);
                assert!(largest(&(output - &expected)) < 1e-14);
            }
        }
        let other = normal(&[2, 12, 3, 4, 5], 6);
        let sum = gate.sum(&parameters, &[(&plain, &normed), (&other, &bare)]).unwrap();
        assert!(largest(&(sum - by_hand(&plain, &normed, &bias) - by_hand(&other, &bare, &bias))) < 1e-14);
    }
}
