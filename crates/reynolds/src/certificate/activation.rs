//! Pointwise activations: their slopes, and the fields on which they are equivariant.

use crate::rep::{Rep, SignedPermutation};

/// A function applied to every coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// x; equivariant on every field.
    Identity,
    /// max(x, 0).
    Relu,
    /// x for x > 0, slope·x below.
    LeakyRelu(f64),
    /// tanh x, odd.
    Tanh,
    /// sin x, odd.
    Sine,
    /// 1/(1 + e⁻ˣ).
    Sigmoid,
    /// x/(1 + e⁻ˣ).
    Silu,
    /// The Gaussian error linear unit in its tanh form; the bounds hold for the exact form too.
    Gelu,
    /// ln(1 + eˣ).
    Softplus,
}

impl Activation {
    /// σ(x).
    pub fn at(self, x: f64) -> f64 {
        match self {
            Self::Identity => x,
            Self::Relu => x.max(0.0),
            Self::LeakyRelu(slope) => x.max(0.0) + slope * x.min(0.0),
            Self::Tanh => x.tanh(),
            Self::Sine => x.sin(),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Silu => x / (1.0 + (-x).exp()),
            Self::Gelu => 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x.powi(3))).tanh()),
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        }
    }

    /// An upper bound of |σ′|.
    pub fn lipschitz(self) -> f64 {
        match self {
            Self::Identity | Self::Relu | Self::Tanh | Self::Sine | Self::Softplus => 1.0,
            Self::LeakyRelu(slope) => slope.abs().max(1.0),
            Self::Sigmoid => 0.25,
            Self::Silu => 1.1,
            Self::Gelu => 1.13,
        }
    }

    /// Whether σ(−x) = −σ(x).
    fn is_odd(self) -> bool {
        match self {
            Self::Identity | Self::Tanh | Self::Sine => true,
            Self::LeakyRelu(slope) => slope == 1.0,
            Self::Relu | Self::Sigmoid | Self::Silu | Self::Gelu | Self::Softplus => false,
        }
    }

    /// Why it does not commute with the action on `fields`. The generators decide: signed permutations form a closed group.
    pub(super) fn check(self, fields: &Rep) -> Result<(), String> {
        if let Self::LeakyRelu(slope) = self
            && !slope.is_finite()
        {
            return Err(format!("its slope is {slope}"));
        }
        if self == Self::Identity {
            return Ok(());
        }
        for g in fields.group().generators() {
            let action = fields.signed_permutation(&g).or_else(|| SignedPermutation::from_matrix(&fields.matrix(&g)));
            let Some(action) = action else {
                return Err(format!(
                    "a pointwise activation is equivariant on permutation fields only, and these are {}",
                    fields.label()
                ));
            };
            if !self.is_odd() && action.negative.contains(&true) {
                return Err(format!("{self:?} is not odd, and the action on {} changes signs", fields.label()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group, rep};

    const ALL: [Activation; 9] = [
        Activation::Identity,
        Activation::Relu,
        Activation::LeakyRelu(-1.5),
        Activation::Tanh,
        Activation::Sine,
        Activation::Sigmoid,
        Activation::Silu,
        Activation::Gelu,
        Activation::Softplus,
    ];

    #[test]
    fn slopes_and_oddness_are_those_of_the_values() {
        for sigma in ALL {
            let slopes = (-8000..8000).map(|k| {
                let x = f64::from(k) * 1e-3;
                (sigma.at(x + 1e-3) - sigma.at(x)).abs() / 1e-3
            });
            let steepest = slopes.fold(0.0, f64::max);
            let bound = sigma.lipschitz();
            assert!(steepest <= bound + 1e-9 && steepest > 0.98 * bound, "{sigma:?}: {steepest}");
            let odd = [0.3, 1.2, 4.0].iter().all(|&x| (sigma.at(x) + sigma.at(-x)).abs() < 1e-15);
            assert_eq!(odd, sigma.is_odd(), "{sigma:?}");
        }
    }

    #[test]
    fn fields_decide_what_is_equivariant() {
        let c4 = group::parse("C4").unwrap();
        let (permuted, signed) = (rep::regular(&c4).unwrap(), rep::point(&c4).unwrap());
        let turned = rep::point(&group::parse("C8").unwrap()).unwrap();
        for sigma in ALL {
            assert!(sigma.check(&permuted).is_ok());
            assert_eq!(sigma.check(&signed).is_ok(), sigma.is_odd(), "{sigma:?}");
            assert_eq!(sigma.check(&turned).is_ok(), sigma == Activation::Identity, "{sigma:?}");
        }
        assert!(Activation::Relu.check(&signed).unwrap_err().contains("not odd"));
    }
}
