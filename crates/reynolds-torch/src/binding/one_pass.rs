//! The squared penalty and its slope in one pass over the parameters: on a processor by executors of the core, on a GPU by a kernel.

use reynolds::projection::Energies;
use tch::{Device, Kind, Tensor};

use super::place::Place;
use crate::error::Result;
use crate::norm;
use crate::projector::{FlatProjector, Fused, Host};

/// Leaves tensors alone that are no plain vectors.
#[derive(Debug)]
pub(super) enum OnePass {
    Host(Host),
    Fused(Fused),
}

impl OnePass {
    /// On a GPU, if there is a way, for flat tensors `[len]`, and if it agrees with `projector` there.
    pub(super) fn on_gpu(
        projector: &FlatProjector,
        place: &Place,
        (kind, device): (Kind, Device),
        len: usize,
    ) -> Result<Option<Self>> {
        let in_flat = |numbers: &Tensor| place.in_flat(numbers);
        let Some(fused) = Fused::new(projector, (kind, device), len, in_flat)? else { return Ok(None) };
        let slopes = [0.25, 0.75];
        let flat = Tensor::f_arange(len as i64, (kind, device))?.f_sin()?;
        let sum = flat.f_zeros_like()?;
        let value = fused.measured(Some(&sum), &flat, slopes).ok().flatten();
        let weights = place.gather(&flat)?;
        let projected = projector.apply(&weights)?;
        let perp = weights.f_sub(&projected)?;
        let energy = |part: &Tensor| -> Result<f64> { Ok(f64::try_from(part.f_square()?.f_sum(Kind::Double)?)?) };
        let expected = penalty(slopes, Energies { equivariant: energy(&projected)?, perp: energy(&perp)? });
        place.add_to(&sum, &projected.f_mul_scalar(-slopes[0])?.f_sub(&perp.f_mul_scalar(slopes[1])?)?)?;
        let value = value.map_or(Ok(f64::NAN), f64::try_from)?;
        let off = f64::try_from(sum.f_abs()?.f_max()?)?;
        let within = ROUNDING * norm::epsilon(kind);
        Ok(((value - expected).abs() <= within * expected && off <= within).then_some(Self::Fused(fused)))
    }

    /// `sum ← sum + a P(W) + b (W − P(W))` of flat tensors; whether it was done.
    pub(super) fn add_to(&self, sum: &Tensor, flat: &Tensor, slopes: [f64; 2]) -> Result<bool> {
        match self {
            Self::Host(host) => Ok(host.execute(Some(sum), flat, slopes, false).is_some()),
            Self::Fused(fused) => fused.add_to(sum, flat, slopes),
        }
    }

    /// The same if there is a `sum`, and (a ‖P(W)‖² + b ‖W − P(W)‖²) / 2; `None` if nothing was done.
    pub(super) fn measured(&self, sum: Option<&Tensor>, flat: &Tensor, slopes: [f64; 2]) -> Result<Option<Tensor>> {
        match self {
            Self::Host(host) => {
                let options = (flat.kind(), Device::Cpu);
                let number = |energies| Ok(Tensor::f_full([0_i64; 0], penalty(slopes, energies), options)?);
                host.execute(sum, flat, slopes, true).map(number).transpose()
            }
            Self::Fused(fused) => fused.measured(sum, flat, slopes),
        }
    }
}

/// What a kernel and operations of libtorch may differ by, in units of rounding, for numbers up to 1 in orbits of up to 128.
const ROUNDING: f64 = 512.0;

/// Half the weighted sum of energies; a part that is not asked for may be no number.
fn penalty([a, b]: [f64; 2], energies: Energies) -> f64 {
    let term = |slope: f64, energy: f64| if slope > 0.0 { slope / 2.0 * energy } else { 0.0 };
    term(a, energies.equivariant) + term(b, energies.perp)
}
