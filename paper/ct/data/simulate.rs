//! A slice and its metal through a scanner: what it shows without the metal, with it, and with its trace bridged.
//!
//! ```text
//! tissue:   water (1 − b) v  and bone  b v ρ,   v = 1 + HU/1000,  b rising from 0 at 100 HU to 1 at 1500 HU,  ρ attenuates as water does
//! metal:    covers c of a pixel: tissue (1 − c), metal c
//! count:    n ~ Poisson(photons · I), at least 1                  I of all energies along the ray
//! sample:   −ln(n / photons), corrected for the hardening of the beam by water
//! ```
//!
//! ρ is that of bone behind 20 cm of water, so that a slice there keeps its Hounsfield units. The two scans are two exposures with independent
//! noise. Without noise they differ in the trace of the metal alone, and without metal there is one scan.
//!
//! Unlike XCIST at the full settings of the challenge this has one ray for each cell and view, from a point, at an instant; and no scattered
//! photons, electronic noise, crosstalk of cells or rows beside the slice.

use super::fan::{Fan, Region};
use super::filter::Filter;
use super::forward::Layers;
use super::noise::{Exposure, arrived};
use super::scanner::Scanner;
use super::slice::{Metal, Pair, Slice};
use super::spectrum::Spectrum;
use crate::data::error::{Error, Result};
use rayon::prelude::*;

/// Hounsfield units below which tissue is water, and above which it is bone.
const BONE: (f32, f32) = (100.0, 1500.0);
/// A ray is in the trace if it meets more metal than this part of a pixel's width.
const TRACE: f64 = 0.01;
/// The share of a slice's mass that may lie outside the field of view: it is taken away.
const OUTSIDE: f64 = 0.02;
const DARK: f32 = 1e-9;

/// Truth, corrupted, interpolated; the fourth lane is empty and makes vectors of them.
const LANES: usize = 4;

/// Scans a slice without and with metal and reconstructs both, and the second with the trace of the metal bridged.
///
/// The outcome is a function of the arguments: neither threads nor time enter.
///
/// ```
/// use reynolds_paper::ct::data::{Material, Metal, Scanner, Slice, simulate};
/// let side = 32;
/// let inside = |pixel: usize| (pixel / side).abs_diff(16) + (pixel % side).abs_diff(16);
/// let hu = (0..side * side).map(|pixel| if inside(pixel) < 12 { 0.0 } else { -1000.0 }).collect();
/// let slice = Slice { name: "water".into(), side, pixel_mm: 8.0, hu };
/// let coverage = (0..side * side).map(|pixel| if inside(pixel) < 2 { 1.0 } else { 0.0 }).collect();
/// let metal = Metal { material: Material::Titanium, coverage };
/// let scanner = Scanner { views: 90, cells: 225, cell_mm: 4.0, ..Scanner::default() };
/// let pair = simulate(&slice, &metal, &scanner, 7)?;
/// assert!((pair.truth[16 * side + 16] - 0.192).abs() < 0.01);
/// assert!(pair.corrupted[16 * side + 16] > 0.5);
/// # Ok::<(), reynolds_paper::data::Error>(())
/// ```
pub fn simulate(slice: &Slice, metal: &Metal, scanner: &Scanner, seed: u64) -> Result<Pair> {
    let fan = Fan::new(scanner, slice.side, slice.pixel_mm)?;
    validate(slice, metal, &fan)?;
    let spectrum = Spectrum::new(&scanner.beam, metal.material);
    let scan = Scan::new(slice, metal, &fan, &spectrum, seed);
    let filter = Filter::new(&fan);
    let cells = scanner.cells;
    let mut rows = vec![[0.0; LANES]; fan.samples()];
    rows.par_chunks_mut(cells).enumerate().for_each_init(
        || (Samples::new(cells), filter.workspace()),
        |(samples, workspace), (view, filtered)| {
            scan.view(view, samples);
            fan.filter_row(&filter, workspace, &samples.truth, filtered, 0);
            if scan.metal.is_none() {
                filtered.iter_mut().for_each(|[truth, corrupted, ..]| *corrupted = *truth);
            } else {
                fan.filter_row(&filter, workspace, &samples.corrupted, filtered, 1);
            }
            if samples.touched {
                fan.filter_row(&filter, workspace, &samples.interpolated, filtered, 2);
            } else {
                filtered.iter_mut().for_each(|[_, corrupted, interpolated, _]| *interpolated = *corrupted);
            }
        },
    );
    let images = fan.back_project(&rows);
    let [truth, corrupted, interpolated] = [0, 1, 2].map(|lane| images.iter().map(|values| values[lane]).collect());
    Ok(Pair { side: slice.side, truth, corrupted, interpolated, metal: metal.coverage.clone() })
}

/// Replaces the marked samples of a row by the straight line between the nearest others, or by the nearest one where a side has none. A row
/// that is marked throughout stays.
fn bridge(row: &mut [f32], marked: &[bool]) {
    let mut start = 0;
    while let Some(first) = (start..row.len()).find(|&cell| marked[cell]) {
        let end = (first..row.len()).find(|&cell| !marked[cell]);
        let (before, after) = (first.checked_sub(1).map(|cell| row[cell]), end.map(|cell| row[cell]));
        let end = end.unwrap_or(row.len());
        let (Some(left), Some(right)) = (before.or(after), after.or(before)) else { return };
        let cells = (end - first + 1) as f32;
        for (step, cell) in (first..end).enumerate() {
            row[cell] = left + (right - left) * (step + 1) as f32 / cells;
        }
        start = end;
    }
}

/// The pixels in the field of view.
fn visible(fan: &Fan) -> Vec<bool> {
    let rows = (0..fan.side).map(|row| fan.visible(row));
    rows.flat_map(|columns| (0..fan.side).map(move |column| columns.contains(&column))).collect()
}

fn validate(slice: &Slice, metal: &Metal, fan: &Fan) -> Result<()> {
    let pixels = fan.pixels();
    if slice.hu.len() != pixels {
        return Err(Error::setting("pixels of the slice", format_args!("{pixels} (side²)"), slice.hu.len()));
    }
    if metal.coverage.len() != pixels {
        let expected = format!("{pixels}, as in the slice");
        return Err(Error::setting("pixels of the metal", expected, metal.coverage.len()));
    }
    if let Some(hu) = slice.hu.iter().find(|hu| !hu.is_finite()) {
        return Err(Error::setting("Hounsfield units of the slice", "finite numbers", hu));
    }
    if let Some(part) = metal.coverage.iter().find(|part| !(0.0..=1.0).contains(*part)) {
        return Err(Error::setting("coverage of the metal", "numbers from 0 to 1", part));
    }
    let (mut whole, mut outside) = (0.0, 0.0);
    for ((&hu, &part), seen) in slice.hu.iter().zip(&metal.coverage).zip(visible(fan)) {
        let mass = f64::from((1.0 + 1e-3 * hu).max(0.0));
        whole += mass;
        if !seen {
            outside += mass;
            if part > 0.0 {
                let expected = format!("metal within {:.1} mm of the centre", fan.scanner.field_of_view_mm());
                return Err(Error::setting("coverage of the metal", expected, "metal outside the field of view"));
            }
        }
    }
    if outside > OUTSIDE * whole {
        let (most, radius) = (100.0 * OUTSIDE, fan.scanner.field_of_view_mm());
        let expected = format!("at most {most} % of its mass farther than {radius:.1} mm from the centre");
        return Err(Error::setting("size of the slice", expected, format!("{:.1} %", 100.0 * outside / whole)));
    }
    Ok(())
}

struct Scan<'a> {
    fan: &'a Fan,
    spectrum: &'a Spectrum,
    /// Water and bone; `None` for nothing but air.
    tissue: Option<Layers<2>>,
    /// Water, bone and all else that the metal is in place of, and its own length.
    metal: Option<Layers<4>>,
    /// Least length in cm of metal in the trace.
    trace_cm: f32,
    seed: u64,
}

/// A row of each.
struct Samples {
    truth: Vec<f32>,
    corrupted: Vec<f32>,
    interpolated: Vec<f32>,
    marked: Vec<bool>,
    touched: bool,
    tissue: Vec<[f32; 2]>,
    metal: Vec<[f32; 4]>,
    lengths: Vec<[f32; 3]>,
    transmission: Vec<f32>,
}

impl Samples {
    fn new(cells: usize) -> Self {
        let (zeros, marked, touched) = (vec![0.0; cells], vec![false; cells], false);
        let (tissue, metal, lengths) = (vec![[0.0; 2]; cells], vec![[0.0; 4]; cells], vec![[0.0; 3]; cells]);
        let (truth, corrupted, interpolated) = (zeros.clone(), zeros.clone(), zeros.clone());
        Self { truth, corrupted, interpolated, marked, touched, tissue, metal, lengths, transmission: zeros }
    }
}

impl<'a> Scan<'a> {
    fn new(slice: &Slice, metal: &Metal, fan: &'a Fan, spectrum: &'a Spectrum, seed: u64) -> Self {
        let side = slice.side;
        let seen = visible(fan);
        let matter = |pixel: usize| {
            let hu = slice.hu[pixel];
            let value = if seen[pixel] { (1.0 + 1e-3 * hu).max(0.0) } else { 0.0 };
            let bone = ((hu - BONE.0) / (BONE.1 - BONE.0)).clamp(0.0, 1.0);
            [(1.0 - bone) * value, bone * value * spectrum.bone_density]
        };
        let values: Vec<f32> = (0..fan.pixels()).map(|pixel| matter(pixel).iter().sum()).collect();
        Self {
            fan,
            spectrum,
            tissue: Region::around(&values, side).map(|region| Layers::new(side, region, matter)),
            metal: Region::around(&metal.coverage, side).map(|region| {
                Layers::new(side, region, |pixel| {
                    let part = metal.coverage[pixel];
                    let [water, bone] = matter(pixel);
                    [part * water, part * bone, part, 0.0]
                })
            }),
            trace_cm: (TRACE * 0.1 * slice.pixel_mm) as f32,
            seed,
        }
    }

    fn view(&self, view: usize, samples: &mut Samples) {
        if let Some(tissue) = &self.tissue {
            tissue.project(self.fan, view, &mut samples.tissue);
        }
        if let Some(metal) = &self.metal {
            metal.project(self.fan, view, &mut samples.metal);
        }
        for (lengths, &[water, bone]) in samples.lengths.iter_mut().zip(&samples.tissue) {
            *lengths = [water, bone, 0.0];
        }
        self.spectrum.transmit(&samples.lengths, &mut samples.transmission);
        self.expose(Exposure::Clean, view, &samples.transmission, &mut samples.truth);
        let met = |values: &[f32; 4]| values[2] > 0.0;
        samples.touched = samples.metal.iter().any(met);
        if let (Some(first), Some(last)) = (samples.metal.iter().position(met), samples.metal.iter().rposition(met)) {
            for cell in first..=last {
                let ([water, bone], [less_water, less_bone, metal, _]) = (samples.tissue[cell], samples.metal[cell]);
                samples.lengths[cell] = [(water - less_water).max(0.0), (bone - less_bone).max(0.0), metal];
            }
            self.spectrum.transmit(&samples.lengths[first..=last], &mut samples.transmission[first..=last]);
        }
        if self.metal.is_some() {
            self.expose(Exposure::Metal, view, &samples.transmission, &mut samples.corrupted);
        } else {
            samples.corrupted.copy_from_slice(&samples.truth);
        }
        for (marked, metal) in samples.marked.iter_mut().zip(&samples.metal) {
            *marked = metal[2] > self.trace_cm;
        }
        samples.interpolated.copy_from_slice(&samples.corrupted);
        bridge(&mut samples.interpolated, &samples.marked);
    }

    /// The corrected logarithms of what arrives at the cells of a view.
    fn expose(&self, exposure: Exposure, view: usize, transmission: &[f32], row: &mut [f32]) {
        let photons = self.fan.scanner.photons;
        for (cell, (sample, &transmission)) in row.iter_mut().zip(transmission).enumerate() {
            let part = match photons > 0.0 {
                true => {
                    let count = arrived(photons * f64::from(transmission), self.seed, exposure, view, cell);
                    (count.max(1.0) / photons) as f32
                }
                false => transmission.max(DARK),
            };
            *sample = self.spectrum.correct(-part.ln());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_bridged_by_the_line_between_its_neighbours_and_rows_of_one_kind_stay() {
        let (a, b) = (true, false);
        let mut row = [9.0, 9.0, 1.0, 2.0, 9.0, 9.0, 9.0, 4.0, 9.0, 0.0, 9.0];
        bridge(&mut row, &[a, a, b, b, a, a, a, b, a, b, a]);
        assert_eq!(row, [1.0, 1.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 2.0, 0.0, 0.0]);
        for marked in [a, b] {
            let mut row = [1.0, 2.0, 3.0];
            bridge(&mut row, &[marked; 3]);
            assert_eq!(row, [1.0, 2.0, 3.0]);
        }
    }
}
