//! The energies of a beam, its transmission through matter, and the correction for its hardening by water.
//!
//! ```text
//! tube:          n(E) ∝ (E_peak/E − 1) exp(−μ_Al(E) d)              Kramers' law behind d of aluminium; characteristic lines are left out
//! detector:      s(E) ∝ E n(E),  Σ s = 1                            it integrates energy
//! transmission:  I(w, b, m) = Σ_E s(E) exp(−(μ_w w + μ_b b + μ_m m))
//! correction:    p = −ln I ↦ WATER · w with −ln I(w, 0, 0) = p      water of any length becomes straight
//! ```

use super::materials;
use super::slice::{Material, WATER};
use crate::data::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Width of an energy bin, keV.
const BIN: f64 = 5.0;
/// Steps of the correction table, and the largest −ln I in it; a floor of one photon in 2e7 is 16.8.
const STEPS: usize = 4096;
const LARGEST: f64 = 24.0;

/// Centimetres of water behind which bone keeps its Hounsfield units.
const BODY_CM: f64 = 20.0;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Beam {
    /// Bremsstrahlung of a tungsten tube, in bins of 5 keV from 20 keV up.
    Tube {
        peak_kv: f64,
        /// Millimetres of aluminium that tube, filters and bow-tie are worth.
        aluminium_mm: f64,
    },
    Line {
        kev: f64,
    },
}

impl Default for Beam {
    fn default() -> Self {
        Self::Tube { peak_kv: 120.0, aluminium_mm: 12.0 }
    }
}

impl Beam {
    pub(super) fn validate(&self) -> Result<()> {
        let (low, high) = materials::RANGE;
        let within = |value: f64, low: f64| value >= low && value <= high;
        match *self {
            Self::Tube { peak_kv, .. } if !within(peak_kv, low + BIN) => {
                Err(Error::setting("beam: peak_kv", format_args!("{} to {high}", low + BIN), peak_kv))
            }
            Self::Tube { aluminium_mm, .. } if !(0.0..=100.0).contains(&aluminium_mm) => {
                Err(Error::setting("beam: aluminium_mm", "0 to 100", aluminium_mm))
            }
            Self::Line { kev } if !within(kev, low) => {
                Err(Error::setting("beam: kev", format_args!("{low} to {high}"), kev))
            }
            _ => Ok(()),
        }
    }

    /// (keV, s) of each bin; Σ s = 1.
    fn bins(&self) -> Vec<(f64, f64)> {
        let mut bins: Vec<(f64, f64)> = match *self {
            Self::Line { kev } => vec![(kev, 1.0)],
            Self::Tube { peak_kv, aluminium_mm } => {
                let bins = ((peak_kv - materials::RANGE.0) / BIN).floor() as usize;
                let centre = |bin: usize| materials::RANGE.0 + BIN * (bin as f64 + 0.5);
                let signal = |kev: f64| (peak_kv - kev) * (-materials::aluminium(kev) * 0.1 * aluminium_mm).exp();
                (0..bins).map(|bin| (centre(bin), signal(centre(bin)))).collect()
            }
        };
        let sum: f64 = bins.iter().map(|bin| bin.1).sum();
        bins.iter_mut().for_each(|bin| bin.1 /= sum);
        bins
    }
}

#[derive(Debug, Clone, Copy)]
struct Bin {
    /// s.
    signal: f32,
    /// μ of water, of bone (per g/cm³) and of the metal, times log₂ e.
    attenuation: [f32; 3],
}

/// A beam before water, bone and a metal.
#[derive(Debug, Clone)]
pub(super) struct Spectrum {
    bins: Vec<Bin>,
    /// g/cm³ of bone that attenuate as water does, behind [`BODY_CM`] of water.
    pub(super) bone_density: f32,
    /// Water in cm for −ln I = 0, h, 2h, …
    water: Vec<f32>,
}

impl Spectrum {
    pub(super) fn new(beam: &Beam, metal: Material) -> Self {
        let bins = beam.bins();
        let behind = |table: fn(f64) -> f64| -> f64 {
            bins.iter().map(|&(kev, signal)| table(kev) * signal * (-BODY_CM * materials::water(kev)).exp()).sum()
        };
        let bone_density = (behind(materials::water) / behind(materials::bone)) as f32;
        let water = correction(&bins);
        let narrow = |(kev, signal): (f64, f64)| {
            let attenuation = [materials::water(kev), materials::bone(kev), materials::metal(metal, kev)];
            let attenuation = attenuation.map(|value| (value * std::f64::consts::LOG2_E) as f32);
            Bin { signal: signal as f32, attenuation }
        };
        Self { bins: bins.into_iter().map(narrow).collect(), bone_density, water }
    }

    /// I of each ray, from its cm of water, g/cm² of bone and cm of metal.
    pub(super) fn transmit(&self, lengths: &[[f32; 3]], transmission: &mut [f32]) {
        const WIDTH: usize = 8;
        for (lengths, transmission) in lengths.chunks(WIDTH).zip(transmission.chunks_mut(WIDTH)) {
            let mut columns = [[0.0; WIDTH]; 3];
            for (ray, lengths) in lengths.iter().enumerate() {
                for material in 0..3 {
                    columns[material][ray] = lengths[material];
                }
            }
            let mut sum = [0.0; WIDTH];
            for bin in &self.bins {
                let [water, bone, metal] = bin.attenuation;
                for ray in 0..WIDTH {
                    let power = water * columns[0][ray] + bone * columns[1][ray] + metal * columns[2][ray];
                    sum[ray] += bin.signal * exp2(-power);
                }
            }
            transmission.copy_from_slice(&sum[..transmission.len()]);
        }
    }

    /// −ln I corrected for the hardening of the beam by water: WATER · w, w cm of water transmit as much.
    pub(super) fn correct(&self, logarithm: f32) -> f32 {
        let place = (logarithm * (STEPS as f32 / LARGEST as f32)).min(STEPS as f32);
        // Noise may leave more than was sent: the first step goes on below zero.
        let index = (place.max(0.0) as usize).min(STEPS - 1);
        let (low, high) = (self.water[index], self.water[index + 1]);
        WATER * (low + (place - index as f32) * (high - low))
    }
}

/// The length of water in cm at each step of −ln I, by Newton's iteration.
fn correction(bins: &[(f64, f64)]) -> Vec<f32> {
    let mut length = 0.0;
    let at = |index: usize| {
        let target = index as f64 * (LARGEST / STEPS as f64);
        for _ in 0..4 {
            let (mut sum, mut slope) = (0.0, 0.0);
            for &(kev, signal) in bins {
                let attenuation = materials::water(kev);
                let left = signal * (-attenuation * length).exp();
                sum += left;
                slope += attenuation * left;
            }
            length += (target + sum.ln()) * sum / slope;
        }
        length as f32
    };
    (0..=STEPS).map(at).collect()
}

/// 2^x for x ≤ 0 to 2e-7 of itself, about 0 below −126; straight-line code, so that loops over it are vectorised.
fn exp2(x: f32) -> f32 {
    /// Adding this rounds to a whole number, which then stands in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(-126.0);
    let rounded = x + ROUND;
    let part = x - (rounded - ROUND);
    let series = 1.0
        + part
            * (0.693_146_9
                + part * (0.240_222_38 + part * (0.055_508_93 + part * (0.009_671_703 + part * 0.001_321_867_5))));
    let power = f32::from_bits(rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    series * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transmission(spectrum: &Spectrum, lengths: [f32; 3]) -> f32 {
        let mut left = [0.0];
        spectrum.transmit(&[lengths], &mut left);
        left[0]
    }

    #[test]
    fn powers_of_two_are_right_to_single_precision() {
        for step in 0..126_000 {
            let x = -1e-3 * step as f32;
            let exact = f64::from(x).exp2();
            let error = f64::from(exp2(x)) / exact - 1.0;
            assert!(error.abs() < 4e-7, "{x}: {error:e}");
        }
        assert!(exp2(-1000.0) < 1.2e-38);
    }

    #[test]
    fn one_energy_attenuates_by_the_law_of_beer() {
        let spectrum = Spectrum::new(&Beam::Line { kev: 60.0 }, Material::Copper);
        let expected = (-(0.2059 * 10.0 + 0.3148 * 2.0 + 8.96 * 1.593 * 0.1_f64)).exp();
        assert!((f64::from(transmission(&spectrum, [10.0, 2.0, 0.1])) / expected - 1.0).abs() < 1e-5);
        // And water is straight already.
        let left = transmission(&spectrum, [10.0, 0.0, 0.0]);
        assert!((spectrum.correct(-left.ln()) - 10.0 * WATER).abs() < 1e-5);
    }

    #[test]
    fn water_of_any_length_is_straight_after_correction_and_bent_before() {
        let spectrum = Spectrum::new(&Beam::default(), Material::Steel);
        let logarithm = |length: f32| -transmission(&spectrum, [length, 0.0, 0.0]).ln();
        for length in [0.0, 0.3, 1.0, 10.0, 20.0, 35.0, 50.0] {
            assert!((spectrum.correct(logarithm(length)) / WATER - length).abs() < 2e-5 * length.max(1.0), "{length}");
        }
        assert!(logarithm(30.0) < 0.95 * 30.0 * logarithm(1.0));
    }

    #[test]
    fn more_photons_than_were_sent_are_less_than_no_water() {
        let spectrum = Spectrum::new(&Beam::default(), Material::Steel);
        let slope = spectrum.correct(1e-3) / 1e-3;
        assert!((spectrum.correct(-1e-3) + 1e-3 * slope).abs() < 1e-7);
        assert!(spectrum.correct(100.0).is_finite());
    }

    #[test]
    fn a_tube_of_120_kv_has_its_mean_where_water_is_0_192() {
        let mean: f64 = Beam::default().bins().iter().map(|(kev, signal)| kev * signal).sum();
        let water = materials::water(mean);
        assert!((water / f64::from(WATER) - 1.0).abs() < 0.03, "{mean} keV: {water}");
    }

    #[test]
    fn energies_outside_the_tables_are_refused() {
        let tube = |peak_kv, aluminium_mm| Beam::Tube { peak_kv, aluminium_mm };
        for beam in [Beam::Line { kev: 10.0 }, tube(160.0, 3.0), tube(120.0, f64::NAN)] {
            assert!(beam.validate().is_err(), "{beam:?}");
        }
    }
}
