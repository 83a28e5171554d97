//! The cases of a data set, determined by its settings and the files of its library.
//!
//! ```text
//! phantoms     every case is another patient
//! slices       test: one series, and nothing else   ·   training: the others, but for the upper end of the longest:
//!              ├── training ───────────┤ gap ├ validation ┤
//! shapes       the first 80 % train, the next 10 % validate, the last 10 % test
//! ```
//!
//! The number of cases of a part changes none of them: a larger set begins with the smaller one.

use super::anatomy;
use super::case::{Anatomy, Case, MAKER, Subset, contents};
use super::implant::{Implant, Shape};
use super::library::Library;
use super::phantom::{Region, phantom};
use super::placement::{self, Body};
use super::set::{SetConfig, Source};
use super::slice::Material;
use crate::data::error::{Error, Result};
use rayon::prelude::*;
use reynolds::random::Random;

/// 1/10 of the slices of the longest training series validate.
const VALIDATION_SHARE: usize = 10;

/// Slices between training and validation that are in neither: neighbours show nearly the same.
const GAP: usize = 5;

/// Pixels along a side of the phantoms that metal is placed in.
const COARSE: usize = 128;

/// (x, y) of the hips in the pelvis of the challenge, as shares of its side.
const HIPS: [[f64; 2]; 2] = [[0.336, 0.570], [0.714, 0.585]];

#[derive(Clone, Copy)]
enum Purpose {
    Order,
    Region,
    Metal,
    Noise,
}

fn stream(config: &SetConfig, purpose: Purpose, part: Subset, number: usize) -> Random {
    Random::at(config.seed, &[0x6374, purpose as u64, part as u64, number as u64])
}

/// A slice by the number of its series and its own.
type SlicePosition = (usize, usize);

impl SetConfig {
    /// All cases, part by part, the one of the figure last.
    pub fn cases(&self, library: &Library) -> Result<Vec<Case>> {
        self.validate()?;
        if library.source != self.source {
            return Err(Error::setting("source", library.source, self.source));
        }
        let places = match self.source {
            Source::Phantom => Default::default(),
            Source::Slices => self.places(library)?,
        };
        let mut cases = Vec::new();
        for (part, places) in Subset::ALL.into_iter().zip(places) {
            let numbers = (0..self.count(part)).into_par_iter();
            cases.par_extend(numbers.map(|number| self.case(library, part, &places, number)));
        }
        cases.push(self.figure(library));
        Ok(cases)
    }

    /// The slices of training, validation and test.
    fn places(&self, library: &Library) -> Result<[Vec<SlicePosition>; 3]> {
        let series = &library.series;
        if series.len() < 2 {
            return Err(Error::setting("slices", "at least 2 series, since one is for testing alone", series.len()));
        }
        let mut by_length: Vec<usize> = (0..series.len()).collect();
        by_length.sort_by_key(|&n| std::cmp::Reverse(series[n].count()));
        let test = match self.test_series.as_str() {
            "" => by_length[series.len() / 2],
            name => series.iter().position(|series| series.name() == name).ok_or_else(|| {
                let names: Vec<&str> = series.iter().map(|series| series.name()).collect();
                Error::setting("test_series", names.join(", "), name)
            })?,
        };
        let usable = |n: usize| -> Vec<SlicePosition> {
            let body = |number: &usize| Body::of(&series[n].slice(*number, COARSE)).is_some();
            let numbers: Vec<usize> = (0..series[n].count()).into_par_iter().filter(body).collect();
            numbers.into_iter().map(|number| (n, number)).collect()
        };
        let longest = by_length.iter().copied().find(|&n| n != test).unwrap_or(0);
        let (mut train, mut validation) = (Vec::new(), Vec::new());
        for n in (0..series.len()).filter(|&n| n != test) {
            let mut places = usable(n);
            if n == longest {
                let end = places.len() / VALIDATION_SHARE;
                validation = places.split_off(places.len() - end);
                places.truncate(places.len().saturating_sub(GAP));
            }
            train.extend(places);
        }
        let parts = [train, validation, usable(test)];
        for (part, places) in Subset::ALL.into_iter().zip(&parts) {
            if places.is_empty() && self.count(part) > 0 {
                return Err(Error::setting("slices", format!("slices with a body for {}", part.name()), "none"));
            }
        }
        Ok(parts)
    }

    fn case(&self, library: &Library, part: Subset, places: &[SlicePosition], number: usize) -> Case {
        let (anatomy, slice) = match self.source {
            Source::Phantom => {
                let region = region(&mut stream(self, Purpose::Region, part, number));
                let number = ((part as u64) << 32) + number as u64;
                let slice = phantom(region, self.seed, number, COARSE);
                (Anatomy::Phantom { region, seed: self.seed, number }, slice)
            }
            Source::Slices => {
                // Every slice once, in random order; then all of them again, in another.
                let order = stream(self, Purpose::Order, part, number / places.len()).permutation(places.len());
                let (series, number) = places[order[number % places.len()]];
                let series = &library.series[series];
                let checksum = series.checksum(number);
                (Anatomy::Slice { series: series.name().into(), number, checksum }, series.slice(number, COARSE))
            }
        };
        let mut random = stream(self, Purpose::Metal, part, number);
        let mask = |random: &mut Random| shape(library, part, random);
        let mask: Option<&dyn Fn(&mut Random) -> Shape> = if library.masks.is_empty() { None } else { Some(&mask) };
        let body = Body::of(&slice).expect("slices without a body were sorted out, and phantoms have one");
        let (material, implants) = placement::implants(&body, mask, &mut random);
        self.made(part, number, anatomy, material, implants)
    }

    /// Two metal hips: in the pelvis of the library where it has one, else in a phantom.
    fn figure(&self, library: &Library) -> Case {
        let mut random = stream(self, Purpose::Metal, Subset::Figure, 0);
        let (anatomy, hips) = match &library.pelvis {
            Some(pelvis) => {
                let field = pelvis.pixel_mm * pelvis.side as f64;
                let hips = HIPS.map(|hip| hip.map(|share| (share - 0.5) * field));
                (Anatomy::Pelvis { checksum: contents(pelvis) }, hips)
            }
            None => {
                let (region, number) = (Region::Pelvis, (Subset::Figure as u64) << 32);
                let [x, y] = anatomy::hip(&mut super::phantom::stream(region, self.seed, number));
                (Anatomy::Phantom { region, seed: self.seed, number }, [[-x, y], [x, y]])
            }
        };
        let implant = |(hip, extent_mm): ([f64; 2], f64)| {
            let shape =
                if library.masks.is_empty() { Shape::Ball } else { shape(library, Subset::Figure, &mut random) };
            Implant { shape, centre_mm: hip.map(f64::round), extent_mm, turn: 0.0 }
        };
        let implants = hips.into_iter().zip([28.0, 25.0]).map(implant).collect();
        self.made(Subset::Figure, 0, anatomy, Material::Cobalt, implants)
    }

    fn made(&self, part: Subset, number: usize, anatomy: Anatomy, material: Material, implants: Vec<Implant>) -> Case {
        let name = match part {
            Subset::Figure => "figure_pelvis".into(),
            _ => format!("{}_{number:04}", part.name()),
        };
        // An integer that other readers of JSON keep exact in double precision.
        let seed = stream(self, Purpose::Noise, part, number).bits() >> 11;
        let (maker, side, scanner) = (MAKER.into(), self.side, self.scanner.clone());
        Case { maker, name, part, anatomy, side, material, implants, scanner, seed }
    }
}

/// Trunks more often than heads.
fn region(random: &mut Random) -> Region {
    use Region::{Abdomen, Head, Jaw, Pelvis, Thorax};
    [Abdomen, Abdomen, Abdomen, Thorax, Thorax, Thorax, Pelvis, Pelvis, Head, Jaw][random.below(10)]
}

/// A shape of those of the part; of all where there are too few to share out.
fn shape(library: &Library, part: Subset, random: &mut Random) -> Shape {
    let count = library.masks.len();
    let (train, middle) = (count * 8 / 10, count * 9 / 10);
    let range = match part {
        Subset::Train => 0..train,
        Subset::Validation => train..middle,
        Subset::Test | Subset::Figure => middle..count,
    };
    let range = if range.is_empty() { 0..count } else { range };
    let number = range.start + random.below(range.len());
    Shape::Mask { number, checksum: library.masks[number].checksum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> SetConfig {
        SetConfig { side: 32, train: 12, validation: 3, test: 4, seed: 3, ..SetConfig::default() }
    }

    #[test]
    fn cases_follow_from_the_settings_and_a_larger_set_begins_with_the_smaller() {
        let library = Library::built_in();
        let cases = config().cases(&library).unwrap();
        assert_eq!(cases, config().cases(&library).unwrap());
        assert_eq!(cases.len(), 12 + 3 + 4 + 1);
        let larger = SetConfig { train: 14, ..config() }.cases(&library).unwrap();
        assert_eq!(cases[..12], larger[..12]);
        assert_eq!(cases[12..], larger[14..]);
        let other = SetConfig { seed: 4, ..config() }.cases(&library).unwrap();
        assert!(cases.iter().zip(&other).all(|(one, other)| one.seed != other.seed && one.anatomy != other.anatomy));
    }

    #[test]
    fn no_two_cases_share_a_phantom_or_a_name_and_all_have_metal_the_figure_in_both_hips() {
        let cases = config().cases(&Library::built_in()).unwrap();
        for (n, one) in cases.iter().enumerate() {
            assert!(!one.implants.is_empty(), "{}", one.name);
            assert!(cases[..n].iter().all(|other| other.anatomy != one.anatomy && other.name != one.name));
        }
        let figure = cases.last().unwrap();
        assert_eq!((figure.part, figure.implants.len()), (Subset::Figure, 2));
        // Bone lies where the metal goes.
        let slice = figure.slice(&Library::built_in()).unwrap();
        for implant in &figure.implants {
            let [x, y] = implant.centre_mm.map(|mm| (mm / slice.pixel_mm + 16.0) as usize);
            assert!(slice.hu[y * 32 + x] > 150.0, "{}", slice.hu[y * 32 + x]);
        }
    }

    #[test]
    fn settings_out_of_range_are_named() {
        for (wrong, expected) in [
            (SetConfig { side: 8, ..config() }, "side: expected 16 to 1024, found 8"),
            (SetConfig { source: Source::Slices, ..config() }, "source: expected phantom, found slices"),
            (SetConfig { train: 1_000_001, ..config() }, "train: expected at most 1000000, found 1000001"),
        ] {
            assert_eq!(wrong.cases(&Library::built_in()).unwrap_err().to_string(), expected);
        }
    }
}
