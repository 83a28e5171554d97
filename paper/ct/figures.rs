//! The figures of a run on CT slices: input, output, truth and errors of a slice.

use std::path::Path;

use super::data::attenuation;
use super::patches::{CaseImages, CtSubset};
use super::task::CtTask;
use reynolds_checkpoint::whole_file;
use reynolds_report::figure::{Picture, Sheet};
use reynolds_train::error::{Error, Result};

const PANEL: f64 = 180.0;

/// The soft-tissue window, in Hounsfield units.
pub const SOFT_TISSUE: [f32; 2] = [-160.0, 240.0];

const ERROR: f32 = 200.0;

/// The value of Hounsfield units in images of the networks.
pub fn shade(hounsfield: f32) -> f32 {
    255.0 * attenuation(hounsfield)
}

/// Draws the middle case of the test and the pelvis, if the set has one.
pub(super) fn draw(task: &CtTask, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
    for (name, part) in [("test", CtSubset::Test), ("pelvis", CtSubset::Figure)] {
        let count = task.data().count(part);
        if count > 0 {
            let images = task.data().images(part, count / 2)?;
            let sheet = case_sheet(&images, &task.reduce(part, count / 2)?);
            whole_file::write(&folder.join(format!("{name}.svg")), sheet.svg().as_bytes())?;
        }
    }
    Ok(())
}

/// A case in the soft-tissue window; below, errors outside the metal.
fn case_sheet(images: &CaseImages, reduced: &[f32]) -> Sheet {
    let mut sheet = Sheet::new(4, PANEL);
    let shown = [
        ("input", &images.corrupted[..]),
        ("interpolated", &images.interpolated),
        ("network", reduced),
        ("truth", &images.truth),
    ];
    let [low, high] = SOFT_TISSUE.map(shade);
    for (title, image) in shown {
        sheet.add(title, Picture::new(images.side, image, low, high), vec![]);
    }
    for (_, image) in &shown[..3] {
        let error = off(image, &images.truth, &images.keep);
        let caption = format!("mean |error| {:.1} HU", error.iter().sum::<f32>() / error.len() as f32);
        sheet.add("", Picture::new(images.side, &error, 0.0, ERROR), vec![caption]);
    }
    sheet.row_heads = vec!["slice".into(), "|error|".into()];
    (sheet.label_room, sheet.tick_room) = (4.0, 4.0);
    sheet
}

/// |x − truth| in Hounsfield units, 0 in the metal.
fn off(image: &[f32], truth: &[f32], keep: &[f32]) -> Vec<f32> {
    let unit = shade(1.0) - shade(0.0);
    image.iter().zip(truth).zip(keep).map(|((image, truth), keep)| keep * (image - truth).abs() / unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_four_pictures_and_three_of_what_is_off() {
        let truth = vec![shade(0.0); 4];
        let keep = vec![1.0, 1.0, 1.0, 0.0];
        let mut corrupted = truth.clone();
        (corrupted[0], corrupted[3]) = (shade(80.0), shade(3000.0));
        let images = CaseImages { side: 2, interpolated: truth.clone(), corrupted, truth: truth.clone(), keep };
        let sheet = case_sheet(&images, &truth);
        let text = sheet.svg();
        assert_eq!(sheet.panels.len(), 7);
        assert!(["mean |error| 20.0 HU", "mean |error| 0.0 HU", ">network<"].iter().all(|part| text.contains(part)));
    }
}
