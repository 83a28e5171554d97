//! The slope of the squared penalty for few numbers on a GPU, where launching operations is what costs: three of them, the sum included.
//!
//! ```text
//! a P(w) + b (w − P(w)) of orbits of n numbers each:     X [n, orbits] ↦ (b·1 + (a − b)/n · 11ᵀ) X
//! ```

use tch::{Kind, Tensor};

use super::gather::Gather;
use crate::error::Result;

/// Numbers up to which it pays. On an H200 10⁶ numbers take 49 µs, where P and two sums take 71, and 10⁷ take 238 against 188.
const FEW: i64 = 1 << 21;

/// a P(w) + b (w − P(w)) for certain a and b.
#[derive(Debug)]
pub(crate) struct Mixer {
    /// All numbers, orbit by orbit, the first of each before the second of any, `[n · orbits]` (int32).
    members: Tensor,
    /// `[n, n]`.
    matrix: Tensor,
}

impl Mixer {
    /// For few numbers that are all in orbits of one size, without signs.
    pub(super) fn new(gather: &Gather, [a, b]: [f64; 2], kind: Kind) -> Result<Option<Self>> {
        let signed = gather.member_signs.is_some() || gather.signs.is_some();
        let others = gather.zero.is_some() || gather.lists.is_some() || !gather.tiles.is_empty();
        match gather.orbits[..] {
            [(size, count)] if size > 1 && size * count <= FEW && !signed && !others => {
                let options = (kind, gather.members.device());
                let mean = Tensor::f_full([size, size], (a - b) / size as f64, options)?;
                let matrix = Tensor::f_eye(size, options)?.f_mul_scalar(b)?.f_add(&mean)?;
                Ok(Some(Self { members: gather.members.shallow_clone(), matrix }))
            }
            _ => Ok(None),
        }
    }

    /// `sum ← sum + a P(w) + b (w − P(w))`. No number is added to twice, so that the order of threads is no matter.
    pub(crate) fn add_to(&self, sum: &mut Tensor, weights: &Tensor) -> Result<()> {
        let orbits = weights.f_index_select(0, &self.members)?.f_view([self.matrix.size()[0], -1])?;
        let _ = sum.f_index_add_(0, &self.members, &self.matrix.f_matmul(&orbits)?.f_view([-1])?)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::super::upload;
    use super::*;

    /// Orbits {0, 3}, {2, 1}, {4, 5}.
    fn gather() -> Gather {
        let upload = |numbers: &[i32]| upload(numbers, Kind::Int, Device::Cpu).unwrap();
        Gather {
            members: upload(&[0, 2, 4, 3, 1, 5]),
            member_signs: None,
            orbits: vec![(2, 3)],
            zero: None,
            tiles: vec![],
            lists: None,
            source: upload(&[0, 1, 1, 0, 2, 2]),
            signs: None,
        }
    }

    #[test]
    fn it_adds_what_the_projection_makes() {
        let gather = gather();
        let weights = Tensor::from_slice(&[1.0, 2.0, -3.0, 5.0, 0.5, 0.25]);
        let projected = gather.apply(&weights).unwrap();
        for [a, b] in [[0.3, 0.7], [2.0, 1e-3]] {
            let mut sum = Tensor::from_slice(&[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
            let expected = &sum + a * &projected + b * (&weights - &projected);
            Mixer::new(&gather, [a, b], Kind::Double).unwrap().unwrap().add_to(&mut sum, &weights).unwrap();
            let difference = (sum - expected).abs().max().double_value(&[]);
            assert!(difference < 1e-14, "{difference}");
        }
    }

    #[test]
    fn what_is_wrong_in_one_orbit_stays_there() {
        let mut sum = Tensor::from_slice(&[0.0; 6]);
        let weights = Tensor::from_slice(&[f64::NAN, 2.0, -3.0, 5.0, 0.5, 0.25]);
        Mixer::new(&gather(), [0.3, 0.7], Kind::Double).unwrap().unwrap().add_to(&mut sum, &weights).unwrap();
        let wrong: Vec<bool> = Vec::<f64>::try_from(sum).unwrap().iter().map(|number| number.is_nan()).collect();
        assert_eq!(wrong, [true, false, false, true, false, false]);
    }

    #[test]
    fn signs_numbers_in_no_orbit_and_other_sizes_have_none() {
        let none = |gather: Gather| Mixer::new(&gather, [0.3, 0.7], Kind::Double).unwrap().is_none();
        let signs = || upload(&[1.0, -1.0, 1.0, 1.0, 1.0, 1.0], Kind::Double, Device::Cpu).unwrap();
        assert!(none(Gather { signs: Some(signs()), ..gather() }));
        assert!(none(Gather { member_signs: Some(signs()), ..gather() }));
        assert!(none(Gather { zero: Some(signs()), ..gather() }));
        assert!(none(Gather { orbits: vec![(2, 1), (4, 1)], ..gather() }));
        assert!(none(Gather { orbits: vec![(2, FEW)], ..gather() }));
        assert!(none(Gather { orbits: vec![(1, 6)], ..gather() }));
    }
}
