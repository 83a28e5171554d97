//! Projection and reconstruction of CT slices against what geometry says, and against golden/ct_scan.py.

use super::disks::{disk, small, within};
use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_paper::ct::data::{Fan, Scanner};
use std::path::Path;

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
        assert!((mean - value).abs() < 1e-3 && worst < 4e-3, "{value}: mean {mean}, worst {worst}");
    }
    let error: f64 = image.iter().zip(&back).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    let root = (error / (side * side) as f64).sqrt();
    assert!(root < 0.02, "{root}");
}

#[test]
fn pixels_that_not_every_view_sees_are_air() {
    let scanner = Scanner { cells: 40, cell_mm: 3.0, views: 60, ..Scanner::default() };
    let fan = Fan::new(&scanner, 64, 3.0).unwrap();
    let image = fan.reconstruct(&vec![1.0; fan.samples()]).unwrap();
    let seen = within(64, 3.0, 0.0, 0.0, scanner.field_of_view_mm());
    for (pixel, &value) in image.iter().enumerate() {
        assert_eq!(value != 0.0, seen(pixel), "pixel {pixel}");
    }
}

#[test]
fn images_and_sinograms_of_another_size_are_refused() {
    let fan = Fan::new(&small(), 8, 3.0).unwrap();
    assert_eq!(fan.forward(&[0.0; 63]).unwrap_err().to_string(), "pixels of the image: expected 64, found 63");
    let expected = "samples of the sinogram: expected 72000, found 1";
    assert_eq!(fan.reconstruct(&[0.0]).unwrap_err().to_string(), expected);
    let expected = "size of the slice: expected corners within 0.95 of the source at 550 mm, found corners at 724.1 mm";
    assert_eq!(Fan::new(&small(), 512, 2.0).unwrap_err().to_string(), expected);
    assert!(Fan::new(&small(), 1, 1.0).is_err() && Fan::new(&small(), 8, f64::NAN).is_err());
}

/// A tensor of golden/ct_scan.safetensors.
fn golden(name: &str) -> Vec<f32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ct_scan.safetensors");
    let checkpoint = Checkpoint::open(path).unwrap();
    match checkpoint.read(checkpoint.entry(name).unwrap()).unwrap() {
        Values::F32(values) => values.into_owned(),
        Values::F64(values) => values.iter().map(|&value| value as f32).collect(),
    }
}

#[test]
fn projection_and_reconstruction_are_those_of_an_independent_program() {
    let scanner = Scanner { cells: 50, cell_mm: 14.0, views: 40, ..Scanner::default() };
    let fan = Fan::new(&scanner, 32, 8.0).unwrap();
    let worst = |ours: &[f32], theirs: &[f32]| {
        assert_eq!(ours.len(), theirs.len());
        let largest = theirs.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / largest
    };
    let sinogram = golden("sinogram");
    let projected = worst(&fan.forward(&golden("image")).unwrap(), &sinogram);
    // At 45° Joseph's rule and a bilinear image differ by pixel²/(12 σ²) of a blob, 0.5 % of the largest one.
    assert!(projected < 5e-3, "forward: off by {projected} of the largest");
    let back = worst(&fan.reconstruct(&sinogram).unwrap(), &golden("reconstruction"));
    assert!(back < 1e-3, "reconstruction: off by {back} of the largest");
}
