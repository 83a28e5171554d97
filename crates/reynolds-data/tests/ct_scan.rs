//! The CT scanner: projection, reconstruction and pairs against what geometry and physics say.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use reynolds_data::ct::{Fan, Material, Metal, Pair, Scanner, Slice, WATER, hounsfield, simulate};

/// A scanner of the default's shape with fewer, wider cells and fewer views.
fn small() -> Scanner {
    Scanner { cells: 300, cell_mm: 3.0, views: 240, ..Scanner::default() }
}

/// How much of each pixel lies in a disk (centre and radius in mm, y upwards), from 8 × 8 points of it.
fn disk(side: usize, pixel_mm: f64, x: f64, y: f64, radius: f64) -> Vec<f32> {
    let at = |index: usize, part: usize| (index as f64 + (part as f64 + 0.5) / 8.0 - 0.5 * side as f64) * pixel_mm;
    let inside = |pixel: usize, point: usize| {
        let (right, up) = (at(pixel % side, point % 8), -at(pixel / side, point / 8));
        (right - x).hypot(up - y) <= radius
    };
    let share = |pixel: usize| (0..64).filter(|&point| inside(pixel, point)).count() as f32 / 64.0;
    (0..side * side).map(share).collect()
}

/// Pixels whose centre is nearer than `radius` to a point.
fn within(side: usize, pixel_mm: f64, x: f64, y: f64, radius: f64) -> impl Fn(usize) -> bool {
    move |pixel| {
        let at = |index: usize| (index as f64 + 0.5 - 0.5 * side as f64) * pixel_mm;
        (at(pixel % side) - x).hypot(-at(pixel / side) - y) <= radius
    }
}

#[test]
fn line_integrals_of_a_disk_are_its_chords() {
    let scanner = small();
    let (x, y, radius) = (40.0, -25.0, 90.0);
    let fan = Fan::new(&scanner, 200, 1.5).unwrap();
    let sinogram = fan.forward(&disk(200, 1.5, x, y, radius)).unwrap();
    let (mut worst, mut square, mut sum, mut whole) = (0.0_f64, 0.0, 0.0, 0.0);
    for (sample, &value) in sinogram.iter().enumerate() {
        let (view, cell) = (sample / scanner.cells, sample % scanner.cells);
        let beta = std::f64::consts::TAU * view as f64 / scanner.views as f64;
        let gamma = (cell as f64 - 149.5 + scanner.offset_cells) * scanner.cell_mm / scanner.source_to_detector_mm;
        let (along_x, along_y) = (-(beta + gamma).cos(), -(beta + gamma).sin());
        let (to_x, to_y) = (x - 550.0 * beta.cos(), y - 550.0 * beta.sin());
        let distance = to_x * along_y - to_y * along_x;
        let chord = 0.2 * (radius * radius - distance * distance).max(0.0).sqrt();
        let error = (f64::from(value) - chord).abs();
        square += error * error;
        sum += f64::from(value);
        whole += chord;
        // Next to the rim a chord changes by more than the width of a pixel from ray to ray.
        if (distance.abs() - radius).abs() > 6.0 {
            worst = worst.max(error);
        }
    }
    let mean = (square / sinogram.len() as f64).sqrt();
    assert!(worst < 0.1, "{worst} cm of 18 cm");
    assert!(mean < 0.04, "{mean} cm");
    assert!((sum / whole - 1.0).abs() < 2e-4, "{sum} cm of {whole} cm");
}

#[test]
fn a_reconstruction_is_what_was_projected() {
    let (side, pixel) = (128, 3.0);
    let fan = Fan::new(&Scanner { views: 480, ..small() }, side, pixel).unwrap();
    let parts =
        [(0.0, 0.0, 150.0, 0.2_f32), (60.0, 40.0, 40.0, 0.1), (-70.0, -20.0, 30.0, -0.15), (10.0, -90.0, 20.0, 0.3)];
    let mut image = vec![0.0; side * side];
    for (x, y, radius, value) in parts {
        image.iter_mut().zip(disk(side, pixel, x, y, radius)).for_each(|(sum, part)| *sum += value * part);
    }
    let back = fan.reconstruct(&fan.forward(&image).unwrap()).unwrap();
    // Away from edges.
    for (x, y, radius, value) in
        [(60.0, 40.0, 25.0, 0.3), (-70.0, -20.0, 18.0, 0.05), (10.0, -90.0, 8.0, 0.5), (0.0, 0.0, 8.0, 0.2)]
    {
        let inside = within(side, pixel, x, y, radius);
        let values: Vec<f32> = (0..side * side).filter(|&pixel| inside(pixel)).map(|pixel| back[pixel]).collect();
        let worst = values.iter().map(|found| (found - value).abs()).fold(0.0, f32::max);
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        println!("{value}: mean {mean} worst {worst}");
        assert!((mean - value).abs() < 1e-3 && worst < 4e-3, "{value}: mean {mean}, worst {worst}");
    }
    let error: f64 = image.iter().zip(&back).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    let root = (error / (side * side) as f64).sqrt();
    println!("rms {root}");
    assert!(root < 0.02, "{root}");
}

fn water(side: usize, pixel: f64) -> Slice {
    let hu = disk(side, pixel, 0.0, 0.0, 160.0).iter().map(|part| 1000.0 * (part - 1.0)).collect();
    Slice { name: "water".into(), side, pixel_mm: pixel, hu }
}

/// Mean in Hounsfield units of the pixels that are chosen.
fn mean(image: &[f32], chosen: impl Fn(usize) -> bool) -> f64 {
    let values: Vec<f64> =
        (0..image.len()).filter(|&pixel| chosen(pixel)).map(|pixel| f64::from(hounsfield(image[pixel]))).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn root_mean_square(image: &[f32], truth: &[f32], chosen: impl Fn(usize) -> bool) -> f64 {
    let squares: Vec<f64> = (0..image.len())
        .filter(|&pixel| chosen(pixel))
        .map(|pixel| f64::from((image[pixel] - truth[pixel]) * 1000.0 / WATER).powi(2))
        .collect();
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

fn with_metal(seed: u64, coverage: Vec<f32>) -> Pair {
    let slice = water(128, 3.0);
    simulate(&slice, &Metal { material: Material::Steel, coverage }, &small(), seed).unwrap()
}

#[test]
fn corrected_water_is_flat_and_right() {
    let scanner = Scanner { photons: 0.0, ..small() };
    let metal = Metal { material: Material::Steel, coverage: vec![0.0; 128 * 128] };
    let truth = simulate(&water(128, 3.0), &metal, &scanner, 1).unwrap().truth;
    let centre = mean(&truth, within(128, 3.0, 0.0, 0.0, 30.0));
    let outer = within(128, 3.0, 0.0, 0.0, 145.0);
    let inner = within(128, 3.0, 0.0, 0.0, 115.0);
    let rim = mean(&truth, |pixel| outer(pixel) && !inner(pixel));
    println!("centre {centre} HU, rim {rim} HU, air {}", mean(&truth, within(128, 3.0, 180.0, 0.0, 6.0)));
    assert!(centre.abs() < 2.0 && rim.abs() < 2.0, "centre {centre} HU, rim {rim} HU");
    assert!((mean(&truth, within(128, 3.0, 180.0, 0.0, 6.0)) + 1000.0).abs() < 5.0);
}

#[test]
fn without_metal_there_is_one_image_to_the_bit() {
    let pair = with_metal(3, vec![0.0; 128 * 128]);
    assert!(pair.corrupted == pair.truth && pair.interpolated == pair.truth);
    assert!(with_metal(4, vec![0.0; 128 * 128]).truth != pair.truth, "noise must depend on the seed");
}

#[test]
fn metal_makes_streaks_and_bridging_takes_most_away() {
    let (side, pixel) = (128, 3.0);
    let mut coverage = disk(side, pixel, -60.0, 0.0, 12.0);
    coverage.iter_mut().zip(disk(side, pixel, 60.0, 10.0, 12.0)).for_each(|(a, b)| *a += b);
    let pair = with_metal(5, coverage);
    let tissue = within(side, pixel, 0.0, 0.0, 140.0);
    let outside = |index: usize| {
        tissue(index) && !within(side, pixel, -60.0, 0.0, 24.0)(index) && !within(side, pixel, 60.0, 10.0, 24.0)(index)
    };
    let corrupted = root_mean_square(&pair.corrupted, &pair.truth, outside);
    let bridged = root_mean_square(&pair.interpolated, &pair.truth, outside);
    println!(
        "corrupted {corrupted} HU, bridged {bridged} HU, between {} HU",
        mean(&pair.corrupted, within(side, pixel, 0.0, 5.0, 12.0))
    );
    assert!(corrupted > 100.0 && bridged < 0.6 * corrupted, "corrupted {corrupted} HU, bridged {bridged} HU");
}
