//! A slice with two implants as each network leaves it, in the soft-tissue window, each with a part of it enlarged.

use super::cells::{Cell, find};
use super::row::{Mode, head};
use super::run::{SEEN, picture};
use super::tables::DATA;
use crate::ct::networks::Architecture;
use crate::ct::{CaseImages, SOFT_TISSUE, psnr, shade};
use crate::targets::findings::Figure;
use crate::targets::point::Trained;
use reynolds_report::figure::{Drawing, Frame, Picture, Sheet, Svg};
use reynolds_torch::tch::Tensor;
use reynolds_train::error::Result;

/// Modes of the columns.
const COLUMNS: [Mode; 4] = [Mode::Plain, Mode::Sample, Mode::Penalty, Mode::Projected];

const PANEL: f64 = 130.0;

/// The side of what is enlarged, as a share of that of the slice.
const SHARE: f64 = 0.34;

/// A case as a plain model keeps it.
fn seen(run: &Trained, case: &str) -> Option<CaseImages> {
    let [truth, corrupted, interpolated, keep] = SEEN.map(|image| run.array(&picture(case, image)).to_vec());
    let side = truth.len().isqrt();
    let whole = side > 0 && [&truth, &corrupted, &interpolated, &keep].iter().all(|image| image.len() == side * side);
    whole.then_some(CaseImages { side, truth, corrupted, interpolated, keep })
}

fn psnr_of(image: &[f32], case: &CaseImages) -> Result<f64> {
    let side = case.side as i64;
    let [image, truth, keep] = [image, &case.truth, &case.keep]
        .map(|image| Tensor::f_from_slice(image).and_then(|flat| flat.f_view([1, 1, side, side])));
    Ok(f64::try_from(psnr(&image?, &truth?, &keep?)?)?)
}

/// The whole image and what is enlarged of it, metal white.
fn panels(image: &[f32], case: &CaseImages) -> (Marked, Picture) {
    let white = |(&value, &keep): (&f32, &f32)| if keep < 0.5 { f32::INFINITY } else { value };
    let shown: Vec<f32> = image.iter().zip(&case.keep).map(white).collect();
    let [low, high] = SOFT_TISSUE.map(shade);
    let [row, column, side] = crop(&case.keep, case.side);
    let rows = shown.chunks(case.side).skip(row).take(side);
    let part: Vec<f32> = rows.flat_map(|row| &row[column..column + side]).copied().collect();
    let marked = [column, row, side].map(|pixels| pixels as f64 / case.side as f64);
    (Marked { picture: Picture::new(case.side, &shown, low, high), marked }, Picture::new(side, &part, low, high))
}

/// First row, first column and side of the square in the middle of all metal: between two implants, where their streaks run.
fn crop(keep: &[f32], side: usize) -> [usize; 3] {
    let of_side = ((SHARE * side as f64).round() as usize).clamp(1, side);
    let first = |place: fn(usize, usize) -> usize| {
        let metal = || (0..keep.len()).filter(|&at| keep[at] < 0.5).map(|at| place(at, side));
        let middle = metal().min().zip(metal().max()).map_or(side / 2, |(least, most)| (least + most) / 2);
        middle.saturating_sub(of_side / 2).min(side - of_side)
    };
    [first(|at, side| at / side), first(|at, side| at % side), of_side]
}

/// A picture with a square on it: left, top and side as shares.
struct Marked {
    picture: Picture,
    marked: [f64; 3],
}

impl Drawing for Marked {
    fn draw(&self, svg: &mut Svg, frame: Frame, left: bool, bottom: bool) {
        self.picture.draw(svg, frame, left, bottom);
        let [x, y, side] = self.marked;
        let Frame { width, height, .. } = frame;
        let (x, y) = (frame.x + x * width, frame.y + y * height);
        let square = Frame { x, y, width: side * width, height: side * height };
        svg.rectangle(square, "none", " stroke=\"#e68a00\" stroke-width=\"0.8\"");
    }
}

struct Blank;

impl Drawing for Blank {
    fn draw(&self, _: &mut Svg, _: Frame, _: bool, _: bool) {}
}

/// A picture and its PSNR.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub(super) case: &'static str,
    pub(super) label: String,
    pub(super) psnr: f64,
}

/// The figure of each case, and the PSNR of every picture.
pub(super) fn figures(cells: &[Cell<'_>]) -> Result<(Vec<Figure>, Vec<Shown>)> {
    let of_case = |case| figure(cells, case).transpose();
    let (figures, shown): (Vec<_>, Vec<_>) =
        ["figure", "test"].into_iter().filter_map(of_case).collect::<Result<_>>()?;
    Ok((figures, shown.concat()))
}

/// The figure of a case and the PSNR of every picture on it; `None` if no plain model kept it.
fn figure(cells: &[Cell<'_>], case: &'static str) -> Result<Option<(Figure, Vec<Shown>)>> {
    let runs = cells.iter().filter_map(|cell| cell.runs.first());
    let Some(images) = runs.into_iter().find_map(|run| seen(run, case)) else { return Ok(None) };
    let mut sheet = Sheet::new(2 * COLUMNS.len(), PANEL);
    let mut shown = Vec::new();
    let mut add = |sheet: &mut Sheet, title: &str, label: String, image: &[f32]| -> Result<()> {
        let psnr = psnr_of(image, &images)?;
        let (whole, part) = panels(image, &images);
        let caption = if psnr.is_finite() { format!("{psnr:.2} dB") } else { String::new() };
        sheet.add(title, whole, vec![caption]).add("", part, Vec::new());
        shown.push(Shown { case, label, psnr });
        Ok(())
    };
    let blank = |sheet: &mut Sheet| {
        sheet.add("", Blank, Vec::new()).add("", Blank, Vec::new());
    };
    for (title, image) in [("input", &images.corrupted), ("LI", &images.interpolated), ("truth", &images.truth)] {
        add(&mut sheet, title, title.into(), image)?;
    }
    (3..COLUMNS.len()).for_each(|_| blank(&mut sheet));
    sheet.row_heads = vec![String::new()];
    for network in Architecture::ALL {
        let pictures = COLUMNS.map(|mode| {
            let (trained, image) = if mode == Mode::Projected { (Mode::Plain, "projected") } else { (mode, "network") };
            let array = find(cells, network, trained)?.runs.first()?.array(&picture(case, image));
            (array.len() == images.side * images.side).then_some((mode, array))
        });
        if pictures.iter().all(Option::is_none) {
            continue;
        }
        let first = sheet.row_heads.len() == 1;
        for (kept, mode) in pictures.into_iter().zip(COLUMNS) {
            let title = if first { mode.head().trim_start_matches("+ ") } else { "" };
            match kept {
                Some((_, image)) => add(&mut sheet, title, format!("{} {}", head(network), mode.head()), image)?,
                None => blank(&mut sheet),
            }
        }
        sheet.row_heads.push(head(network).into());
    }
    (sheet.label_room, sheet.tick_room) = (4.0, 4.0);
    let [low, high] = SOFT_TISSUE;
    let (name, what) = match case {
        "figure" => ("fig-ct", "a pelvic slice with two implants"),
        _ => ("fig-ct-test", "a slice of the test"),
    };
    let caption = format!(
        "{DATA}: {what} as it is scanned, with the trace of the metal bridged (LI), without metal, and as each network leaves it; seed 0. \
         Window {low} to {high} HU, metal white. At the right of each picture its marked part, below it the PSNR of the slice."
    );
    Ok(Some((Figure { name, svg: sheet.svg(), caption }, shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_enlarged_lies_between_the_implants_and_inside() {
        let mut keep = vec![1.0; 100 * 100];
        (keep[50 * 100 + 20], keep[54 * 100 + 80]) = (0.0, 0.0);
        assert_eq!(crop(&keep, 100), [52 - 17, 50 - 17, 34]);
        let corner = [&[0.0][..], &vec![1.0; 9999]].concat();
        assert_eq!(crop(&corner, 100), [0, 0, 34]);
        assert_eq!(crop(&vec![1.0; 10_000], 100), [33, 33, 34], "without metal the middle");
    }
}
