//! The frames of a data set on a device, and the windows of each part.
//!
//! ```text
//! frames [rows, 2, H, W]: simulation by simulation        window: rows first … first+9 input │ first+10 … first+9+n targets
//! ```
//!
//! A minibatch is one selection of rows on the device.

use std::collections::BTreeSet;

use super::experiment::SmokeDataConfig;
use crate::data::folder;
use crate::data::generate::with_bar;
use crate::smoke::data::{self, INPUT_FRAMES, Setting, SmokeFile, Subset};
use crate::smoke::networks::Frames;
use reynolds_torch::tch::{Device, Kind as Number, Tensor};

use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;

/// Consecutive frames of one simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Row of the first input frame.
    pub first: usize,
    /// For errors over simulations.
    pub simulation: usize,
}

/// Frames on a device with the windows of each part. A clone shares the frames.
#[derive(Debug)]
pub struct SmokeData {
    frames: Tensor,
    seen: usize,
    windows: [Vec<Rows>; 4],
}

impl Clone for SmokeData {
    fn clone(&self) -> Self {
        Self { frames: self.frames.shallow_clone(), seen: self.seen, windows: self.windows.clone() }
    }
}

impl SmokeData {
    /// Frames `[rows, 2, H, H]` with the windows of [`Subset::ALL`]; inputs are `seen` frames.
    pub fn new(frames: Tensor, seen: usize, windows: [Vec<Rows>; 4]) -> Self {
        Self { frames, seen, windows }
    }

    /// Reads the simulations that the windows need; [`ensure_needed`] makes missing ones.
    pub fn open(config: &SmokeDataConfig, device: Device) -> Result<Self> {
        let (windows, simulations, folder) =
            (chosen(config)?, config.kind.simulations(), folder(&config.folder, "smoke"));
        let needed = needed(&windows);
        let rows: usize = needed.iter().map(|&number| simulations[number].frames()).sum();
        let side = data::SIDE as i64;
        let frames = Tensor::f_empty([rows as i64, 2, side, side], (Number::Float, device))?;
        let (mut start, mut starts) = (0_usize, vec![0; simulations.len()]);
        for &number in &needed {
            let (file, count) = (SmokeFile::open(&folder, &simulations[number])?, simulations[number].frames());
            let part = Tensor::f_from_slice(&file.frames()?)?.f_view([count as i64, 2, side, side])?;
            frames.f_narrow(0, start as i64, count as i64)?.f_copy_(&part)?;
            file.release();
            starts[number] = start;
            start += count;
        }
        let rows = |window: &data::Window| Rows {
            first: starts[window.simulation] + window.inputs().start,
            simulation: window.simulation,
        };
        let windows = windows.map(|windows| windows.iter().map(rows).collect());
        Ok(Self::new(frames, INPUT_FRAMES, windows))
    }

    pub fn shape(&self) -> Frames {
        Frames { count: self.seen, side: self.frames.size()[3] as usize }
    }

    pub fn number_kind(&self) -> Number {
        self.frames.kind()
    }

    pub fn device(&self) -> Device {
        self.frames.device()
    }

    pub fn windows(&self, part: Subset) -> &[Rows] {
        &self.windows[part as usize]
    }

    /// Frames `[N, 2 (seen + length), H, W]` of windows with first rows `firsts` `[N]`: inputs, then `length` targets.
    pub fn select(&self, firsts: &Tensor, length: usize) -> Result<Tensor> {
        let count = (self.seen + length) as i64;
        let steps = Tensor::f_arange(count, (Number::Int64, self.device()))?;
        let rows = firsts.f_view([-1, 1])?.f_add(&steps)?.f_view([-1])?;
        let side = self.frames.size()[3];
        Ok(self.frames.f_index_select(0, &rows)?.f_view([-1, 2 * count, side, side])?)
    }

    /// First rows `[N]` on the device; synchronises.
    pub fn firsts(&self, rows: &[Rows]) -> Result<Tensor> {
        let firsts: Vec<i64> = rows.iter().map(|rows| rows.first as i64).collect();
        Ok(Tensor::f_from_slice(&firsts)?.f_to_device(self.device())?)
    }
}

/// Simulates missing or damaged files that the windows of these settings need, with a bar on a terminal; `false` if interrupted, after which
/// the same call goes on. Several processes may do so at once. `threads` = 0 takes all.
pub fn ensure_needed(config: &SmokeDataConfig, threads: usize, interrupt: &Interrupt) -> Result<bool> {
    let simulations = config.kind.simulations();
    let needed: Vec<Setting> = needed(&chosen(config)?).iter().map(|&n| simulations[n].clone()).collect();
    let folder = folder(&config.folder, "smoke");
    let what = format!("simulating {} into {}", config.kind, folder.display());
    with_bar(&what, threads, interrupt, |report| data::generate(&folder, &needed, report))
}

/// Refuses more windows than the parts of a data set have.
pub fn check_windows(config: &SmokeDataConfig) -> Result<()> {
    chosen(config).map(drop)
}

fn chosen(config: &SmokeDataConfig) -> Result<[Vec<data::Window>; 4]> {
    let mut parts: [Vec<data::Window>; 4] = Default::default();
    for part in Subset::ALL {
        let (key, count) = match part {
            Subset::Train => ("data.train_windows", config.train_windows),
            _ => ("data.evaluation_windows", config.evaluation_windows),
        };
        let all = config.kind.windows(part);
        if count > all.len() {
            let expected = format!("at most {}, the windows of a part ({part:?} of {})", all.len(), config.kind);
            return Err(Error::config(key, expected.to_lowercase(), count));
        }
        parts[part as usize] = spread(&all, count);
    }
    Ok(parts)
}

/// `count` of these, spread evenly; all if 0.
fn spread<T: Copy>(all: &[T], count: usize) -> Vec<T> {
    match count {
        0 => all.to_vec(),
        count => (0..count).map(|number| all[(2 * number + 1) * all.len() / (2 * count)]).collect(),
    }
}

fn needed(windows: &[Vec<data::Window>; 4]) -> BTreeSet<usize> {
    windows.iter().flatten().map(|window| window.simulation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::data::Symmetry;

    fn few(train_windows: usize, evaluation_windows: usize) -> SmokeDataConfig {
        SmokeDataConfig { train_windows, evaluation_windows, ..SmokeDataConfig::default() }
    }

    /// Ten rows of 1 × 1 frames: row r is (r, −r).
    fn data() -> SmokeData {
        let numbers: Vec<f32> = (0..10).flat_map(|row| [row as f32, -(row as f32)]).collect();
        let frames = Tensor::from_slice(&numbers).view([10, 2, 1, 1]);
        SmokeData::new(frames, 3, Default::default())
    }

    #[test]
    fn a_minibatch_is_frames_in_order_with_components_inside() {
        let rows = [Rows { first: 4, simulation: 0 }, Rows { first: 1, simulation: 0 }];
        let data = data();
        let batch = data.select(&data.firsts(&rows).unwrap(), 1).unwrap();
        assert_eq!(batch.size(), [2, 8, 1, 1]);
        let expected = [4.0, -4.0, 5.0, -5.0, 6.0, -6.0, 7.0, -7.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0];
        assert_eq!(Vec::<f32>::try_from(batch.view([-1])).unwrap(), expected);
    }

    #[test]
    fn windows_are_spread_evenly() {
        let all: Vec<usize> = (0..12).collect();
        for (count, expected) in [(3, &[2, 6, 10][..]), (12, &all), (0, &all), (1, &[6])] {
            assert_eq!(spread(&all, count), expected);
        }
    }

    #[test]
    fn few_windows_need_few_simulations_and_too_many_are_refused() {
        let windows = chosen(&few(2, 1)).unwrap();
        assert_eq!(windows.each_ref().map(Vec::len), [2, 1, 1, 1]);
        assert!(needed(&windows).len() <= 5);
        let many = SmokeDataConfig { kind: Symmetry::Scaling, ..few(0, 1001) };
        let error = chosen(&many).unwrap_err().to_string();
        let expected = "at most 1000, the windows of a part (domain of scaling), found 1001";
        assert_eq!(error, format!("config: data.evaluation_windows: expected {expected}"));
    }

    #[test]
    fn a_missing_file_is_named_and_an_interrupt_makes_none() {
        let folder = tempfile::tempdir().unwrap();
        let config = SmokeDataConfig { folder: folder.path().display().to_string(), ..few(1, 1) };
        let error = SmokeData::open(&config, Device::Cpu).unwrap_err().to_string();
        assert!(error.contains("rotation_k") && error.contains(".npz"), "{error}");
        let interrupt = Interrupt::new();
        interrupt.request();
        assert!(!ensure_needed(&config, 1, &interrupt).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let nowhere = SmokeDataConfig { folder: "/dev/null/smoke".into(), ..few(1, 1) };
        let error = ensure_needed(&nowhere, 1, &Interrupt::new()).unwrap_err().to_string();
        assert!(error.contains("/dev/null/smoke"), "{error}");
    }
}
