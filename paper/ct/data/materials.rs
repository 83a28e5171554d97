//! How strongly matter attenuates X-rays.
//!
//! Mass attenuation coefficients μ/ρ of NIST (J. H. Hubbell and S. M. Seltzer, "Tables of X-Ray Mass Attenuation Coefficients", NIST Standard
//! Reference Database 126), interpolated linearly in the logarithms; at an absorption edge the energy stands twice.

use super::slice::Material;

/// Energies in keV, increasing, and cm²/g.
type Table = (&'static [f64], &'static [f64]);

/// Of the tables without edges.
const ENERGIES: &[f64] = &[20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0];

const WATER: Table = (ENERGIES, &[0.8096, 0.3756, 0.2683, 0.2269, 0.2059, 0.1837, 0.1707, 0.1505]);
/// Cortical bone of ICRU-44.
const BONE: Table = (ENERGIES, &[4.001, 1.331, 0.6655, 0.4242, 0.3148, 0.2229, 0.1855, 0.1480]);
const ALUMINIUM: Table = (ENERGIES, &[3.441, 1.128, 0.5685, 0.3681, 0.2778, 0.2018, 0.1704, 0.1378]);
const TITANIUM: Table = (ENERGIES, &[15.85, 4.972, 2.214, 1.213, 0.7661, 0.4052, 0.2721, 0.1649]);
const CHROMIUM: Table = (ENERGIES, &[20.38, 6.434, 2.856, 1.550, 0.9639, 0.4905, 0.3166, 0.1788]);
const IRON: Table = (ENERGIES, &[25.68, 8.176, 3.629, 1.958, 1.205, 0.5952, 0.3717, 0.1964]);
const COBALT: Table = (ENERGIES, &[28.03, 8.962, 3.981, 2.144, 1.314, 0.6414, 0.3949, 0.2023]);
const NICKEL: Table = (ENERGIES, &[32.20, 10.34, 4.600, 2.474, 1.512, 0.7306, 0.4440, 0.2208]);
const COPPER: Table = (ENERGIES, &[33.79, 10.92, 4.862, 2.613, 1.593, 0.7630, 0.4584, 0.2217]);
/// Above its edge at 20.0 keV.
const MOLYBDENUM: Table = (ENERGIES, &[80.54, 28.10, 12.94, 7.037, 4.274, 1.962, 1.096, 0.4208]);
const SILVER: Table = (
    &[20.0, 25.514, 25.514, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0],
    &[18.36, 9.527, 55.39, 36.68, 17.20, 9.444, 5.766, 2.651, 1.470, 0.5426],
);
const TIN: Table = (
    &[20.0, 29.2, 29.2, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 150.0],
    &[21.46, 7.760, 43.60, 41.21, 19.42, 10.70, 6.564, 3.029, 1.676, 0.6091],
);
const MERCURY: Table = (
    &[20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 83.102, 83.102, 100.0, 150.0],
    &[81.23, 28.41, 13.42, 7.504, 4.683, 2.259, 2.055, 8.464, 5.279, 1.909],
);

/// Of the tables, keV.
pub(super) const RANGE: (f64, f64) = (20.0, 150.0);

/// Density in g/cm³ and elements by mass: dental amalgam, austenitic stainless steel, and the cast cobalt alloy of hip implants.
fn alloy(material: Material) -> (f64, &'static [(f64, Table)]) {
    match material {
        Material::Amalgam => (11.6, &[(0.50, MERCURY), (0.33, SILVER), (0.13, TIN), (0.04, COPPER)]),
        Material::Steel => (8.0, &[(0.70, IRON), (0.18, CHROMIUM), (0.12, NICKEL)]),
        Material::Copper => (8.96, &[(1.0, COPPER)]),
        Material::Cobalt => (8.3, &[(0.66, COBALT), (0.28, CHROMIUM), (0.06, MOLYBDENUM)]),
        Material::Titanium => (4.54, &[(1.0, TITANIUM)]),
    }
}

/// μ/ρ in cm²/g at `kev`, which lies in [`RANGE`].
fn interpolate(table: Table, kev: f64) -> f64 {
    let (energies, values) = table;
    let after = energies.partition_point(|&energy| energy <= kev).clamp(1, energies.len() - 1);
    let ([below, above], [low, high]) = ([energies[after - 1], energies[after]], [values[after - 1], values[after]]);
    let part = (kev / below).ln() / (above / below).ln();
    low * (high / low).powf(part)
}

/// μ/ρ of water in cm²/g; as its density is 1 g/cm³, also its μ in 1/cm.
pub(super) fn water(kev: f64) -> f64 {
    interpolate(WATER, kev)
}

/// μ/ρ of cortical bone in cm²/g.
pub(super) fn bone(kev: f64) -> f64 {
    interpolate(BONE, kev)
}

/// μ of aluminium in 1/cm.
pub(super) fn aluminium(kev: f64) -> f64 {
    2.699 * interpolate(ALUMINIUM, kev)
}

pub(super) fn metal(material: Material, kev: f64) -> f64 {
    let (density, parts) = alloy(material);
    density * parts.iter().map(|&(share, table)| share * interpolate(table, kev)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METALS: [Material; 5] =
        [Material::Amalgam, Material::Steel, Material::Copper, Material::Cobalt, Material::Titanium];

    #[test]
    fn tables_are_met_at_their_energies_and_between_them() {
        assert!((water(60.0) - 0.2059).abs() < 1e-12);
        // XCOM at 70 keV: 0.1929, bone 0.2600 (neither is in the table).
        assert!((water(70.0) / 0.1929 - 1.0).abs() < 5e-3, "{}", water(70.0));
        assert!((bone(70.0) / 0.2600 - 1.0).abs() < 2e-2, "{}", bone(70.0));
        assert!((metal(Material::Copper, 100.0) - 8.96 * 0.4584).abs() < 1e-12);
        assert_eq!(interpolate(MERCURY, 83.102), 8.464);
        assert!(interpolate(MERCURY, 83.0) < 2.1);
    }

    #[test]
    fn alloys_are_whole_and_metals_attenuate_more_than_bone() {
        for material in METALS {
            let sum: f64 = alloy(material).1.iter().map(|&(share, _)| share).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{material:?}: {sum}");
            for kev in [25.0, 60.0, 119.0] {
                assert!(metal(material, kev) > 1.92 * bone(kev), "{material:?} at {kev} keV");
            }
        }
    }
}
