//! Pairs of CT slices with and without metal, against what physics says.

use super::disks::{disk, small, within};
use reynolds_paper::ct::data::{
    Beam, Fan, Material, Metal, Pair, Scanner, Slice, WATER, attenuation, hounsfield, simulate,
};

const SIDE: usize = 128;
const PIXEL: f64 = 3.0;

/// A disk of water, 32 cm across.
fn water() -> Slice {
    let hu = disk(SIDE, PIXEL, 0.0, 0.0, 160.0).iter().map(|part| 1000.0 * (part - 1.0)).collect();
    Slice { name: "water".into(), side: SIDE, pixel_mm: PIXEL, hu }
}

/// Mean of `value` over the pixels that are chosen.
fn mean_of(chosen: impl Fn(usize) -> bool, value: impl Fn(usize) -> f64) -> f64 {
    let values: Vec<f64> = (0..SIDE * SIDE).filter(|&pixel| chosen(pixel)).map(value).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// In Hounsfield units.
fn mean(image: &[f32], chosen: impl Fn(usize) -> bool) -> f64 {
    mean_of(chosen, |pixel| f64::from(hounsfield(image[pixel])))
}

fn root_mean_square(image: &[f32], truth: &[f32], chosen: impl Fn(usize) -> bool) -> f64 {
    mean_of(chosen, |pixel| f64::from((image[pixel] - truth[pixel]) * 1000.0 / WATER).powi(2)).sqrt()
}

/// The largest difference of two images.
fn worst(image: &[f32], other: &[f32]) -> f32 {
    image.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn with_metal(seed: u64, coverage: Vec<f32>) -> Pair {
    simulate(&water(), &Metal { material: Material::Steel, coverage }, &small(), seed).unwrap()
}

/// The truth of a scan without noise and metal.
fn quiet(slice: &Slice, scanner: Scanner) -> Vec<f32> {
    let metal = Metal { material: Material::Steel, coverage: vec![0.0; SIDE * SIDE] };
    simulate(slice, &metal, &Scanner { photons: 0.0, ..scanner }, 1).unwrap().truth
}

#[test]
fn corrected_water_is_flat_and_right() {
    let truth = quiet(&water(), small());
    let centre = mean(&truth, within(SIDE, PIXEL, 0.0, 0.0, 30.0));
    let outer = within(SIDE, PIXEL, 0.0, 0.0, 145.0);
    let inner = within(SIDE, PIXEL, 0.0, 0.0, 115.0);
    let rim = mean(&truth, |pixel| outer(pixel) && !inner(pixel));
    assert!(centre.abs() < 2.0 && rim.abs() < 2.0, "centre {centre} HU, rim {rim} HU");
    assert!((mean(&truth, within(SIDE, PIXEL, 180.0, 0.0, 6.0)) + 1000.0).abs() < 5.0);
}

#[test]
fn without_metal_there_is_one_image_to_the_bit() {
    let pair = with_metal(3, vec![0.0; SIDE * SIDE]);
    assert!(pair.corrupted == pair.truth && pair.interpolated == pair.truth);
    assert!(with_metal(4, vec![0.0; SIDE * SIDE]).truth != pair.truth, "noise must depend on the seed");
}

#[test]
fn metal_makes_streaks_and_bridging_takes_most_away() {
    let mut coverage = disk(SIDE, PIXEL, -60.0, 0.0, 12.0);
    coverage.iter_mut().zip(disk(SIDE, PIXEL, 60.0, 10.0, 12.0)).for_each(|(a, b)| *a += b);
    let pair = with_metal(5, coverage);
    let tissue = within(SIDE, PIXEL, 0.0, 0.0, 140.0);
    let outside = |index: usize| {
        tissue(index) && !within(SIDE, PIXEL, -60.0, 0.0, 24.0)(index) && !within(SIDE, PIXEL, 60.0, 10.0, 24.0)(index)
    };
    let corrupted = root_mean_square(&pair.corrupted, &pair.truth, outside);
    let bridged = root_mean_square(&pair.interpolated, &pair.truth, outside);
    assert!(corrupted > 100.0 && bridged < 0.6 * corrupted, "corrupted {corrupted} HU, bridged {bridged} HU");
}

#[test]
fn one_energy_without_noise_is_the_reconstruction_of_its_line_integrals() {
    let mut slice = water();
    for (hu, part) in slice.hu.iter_mut().zip(disk(SIDE, PIXEL, 50.0, 30.0, 20.0)) {
        *hu += 800.0 * part;
    }
    let scanner = Scanner { beam: Beam::Line { kev: 70.0 }, ..small() };
    let truth = quiet(&slice, scanner.clone());
    let image: Vec<f32> = slice.hu.iter().map(|&hu| attenuation(hu)).collect();
    let fan = Fan::new(&scanner, SIDE, PIXEL).unwrap();
    let worst = worst(&truth, &fan.reconstruct(&fan.forward(&image).unwrap()).unwrap());
    assert!(worst < 2e-4 * WATER, "{worst} 1/cm");
}

#[test]
fn tissue_keeps_its_hounsfield_units() {
    let mut slice = water();
    // (x, y, radius, HU, how far off it may be): dense bone hardens the beam itself, which a correction for water leaves.
    let inserts = [
        (60.0, 0.0, 24.0, -100.0_f32, 5.0),
        (-60.0, 0.0, 24.0, 60.0, 5.0),
        (0.0, 70.0, 15.0, 600.0, 50.0),
        (0.0, -70.0, 24.0, -800.0, 10.0),
    ];
    for (x, y, radius, value, _) in inserts {
        slice.hu.iter_mut().zip(disk(SIDE, PIXEL, x, y, radius)).for_each(|(hu, part)| *hu += value * part);
    }
    let truth = quiet(&slice, small());
    for (x, y, radius, value, allowed) in inserts {
        let found = mean(&truth, within(SIDE, PIXEL, x, y, radius - 9.0));
        assert!((found - f64::from(value)).abs() < allowed, "{value} HU: {found}");
    }
}

#[test]
fn threads_change_nothing() {
    let coverage = disk(SIDE, PIXEL, -60.0, 0.0, 12.0);
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let [one, three] = [1, 3].map(|threads| pool(threads).install(|| with_metal(11, coverage.clone())));
    assert!(one == three);
}

#[test]
fn what_cannot_be_scanned_is_refused() {
    type Change = fn(&mut Slice, &mut Metal);
    let cases: [(Change, &str); 7] = [
        (|s, _| s.hu.truncate(7), "pixels of the slice: expected 16384 (side²), found 7"),
        (|_, m| m.coverage.truncate(7), "pixels of the metal: expected 16384, as in the slice, found 7"),
        (|s, _| s.hu[5] = f32::NAN, "Hounsfield units of the slice: expected finite numbers, found NaN"),
        (|_, m| m.coverage[5] = 1.5, "coverage of the metal: expected numbers from 0 to 1, found 1.5"),
        (|s, _| s.pixel_mm = 0.0, "pixel_mm: expected a positive number"),
        (|s, _| s.pixel_mm = 5.5, "size of the slice: expected at most 2 % of its mass farther than 248.2 mm"),
        (|s, m| (s.pixel_mm, m.coverage[0]) = (4.0, 1.0), "found metal outside the field of view"),
    ];
    for (change, expected) in cases {
        let mut slice = water();
        let mut metal = Metal { material: Material::Copper, coverage: vec![0.0; SIDE * SIDE] };
        change(&mut slice, &mut metal);
        let error = simulate(&slice, &metal, &small(), 0).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_two_scans_have_noise_of_their_own() {
    let metal = Metal { material: Material::Titanium, coverage: disk(SIDE, PIXEL, 0.0, -150.0, 4.0) };
    let scan = |photons: f64| simulate(&water(), &metal, &Scanner { photons, ..small() }, 5).unwrap();
    let (noisy, quiet) = (scan(1e6), scan(0.0));
    let far = within(SIDE, PIXEL, 60.0, 90.0, 30.0);
    let noise = |image: fn(&Pair) -> &[f32]| -> Vec<f32> {
        image(&noisy).iter().zip(image(&quiet)).map(|(with, without)| with - without).collect()
    };
    let (clean, corrupted) = (noise(|pair| &pair.truth), noise(|pair| &pair.corrupted));
    let nothing = vec![0.0; SIDE * SIDE];
    let [one, other] = [&clean, &corrupted].map(|noise| root_mean_square(noise, &nothing, &far));
    assert!(one > 1.0 && (other / one - 1.0).abs() < 0.15, "{one} and {other} HU");
    // Independent: the squares add.
    let apart = root_mean_square(&clean, &corrupted, &far);
    assert!((apart / one.hypot(other) - 1.0).abs() < 0.1, "{apart} of {one} and {other} HU");
    // The bridged scan is the one with metal: far from it both have the same noise.
    let bridged = noise(|pair| &pair.interpolated);
    let [clean, corrupted] = [&clean, &corrupted].map(|noise| root_mean_square(&bridged, noise, &far));
    assert!(corrupted < 0.3 * one && clean > one, "{corrupted} and {clean} of {one} HU");
}

#[test]
fn metal_takes_the_place_of_tissue() {
    let (scanner, coverage) =
        (Scanner { beam: Beam::Line { kev: 80.0 }, photons: 0.0, ..small() }, disk(SIDE, PIXEL, 40.0, -30.0, 12.0));
    // NIST at 80 keV, cm²/g: titanium 0.4052 of 4.54 g/cm³, water 0.1837 of 1 g/cm³.
    let titanium = WATER * (0.4052 * 4.54 / 0.1837) as f32;
    let slice = water();
    let image: Vec<f32> =
        slice.hu.iter().zip(&coverage).map(|(&hu, &part)| (1.0 - part) * attenuation(hu) + part * titanium).collect();
    let fan = Fan::new(&scanner, SIDE, PIXEL).unwrap();
    let found = simulate(&slice, &Metal { material: Material::Titanium, coverage }, &scanner, 1).unwrap().corrupted;
    let worst = worst(&found, &fan.reconstruct(&fan.forward(&image).unwrap()).unwrap());
    assert!(worst < 0.02 * WATER, "{worst} 1/cm");
}
