//! The paper's numbers: `tab:ct_mar` and `tab:norm_comparison`, on data that are not ours.

use reynolds::norm::Exponent::{One, Three, Two};
use reynolds::norm::{Exponent, Norm};

use super::row::{Mode, NETWORKS, Row};
use crate::ct::networks::Architecture;
use crate::targets::Named;

/// A row of `tab:ct_mar`; not a number where the paper has a dash.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Published {
    /// Millions.
    pub(super) parameters: f64,
    /// Training images a second at batch 4.
    pub(super) train_4: f64,
    /// And at batch 12.
    pub(super) train_12: f64,
    /// Images a second.
    pub(super) inference: f64,
    /// Seconds.
    pub(super) epoch: f64,
    /// GB.
    pub(super) memory: f64,
    /// dB.
    pub(super) psnr: f64,
    pub(super) ssim: f64,
}

const NONE: f64 = f64::NAN;

/// Parameters, training at 4 and 12, inference, epoch, memory, PSNR, SSIM; modes in their order.
const TABLE: [[[f64; 8]; 5]; 3] = [
    [
        [4.2, 4.90, 5.16, 8.40, 1108.0, 11.08, 42.08, 0.9559],
        [4.2, 2.54, NONE, 8.38, 2011.0, 21.99, 40.02, 0.9623],
        [4.2, NONE, NONE, NONE, NONE, NONE, 23.63, 0.8384],
        [6.9, 3.49, 4.14, 5.37, 1455.0, 11.15, 37.12, 0.9413],
        [4.2, 4.25, 4.99, 7.44, 1202.0, 11.11, 42.68, 0.9620],
    ],
    [
        [4.3, 8.38, 9.72, 11.86, 632.0, 10.90, 41.44, 0.9468],
        [4.3, 4.05, NONE, 10.15, 1303.0, 23.93, 41.47, 0.9464],
        [4.3, NONE, NONE, NONE, NONE, NONE, 41.59, 0.9602],
        [6.6, 3.10, 6.10, 6.93, 1028.0, 12.08, 39.42, 0.9481],
        [4.3, 5.77, 7.82, 10.11, 782.0, 12.05, 41.52, 0.9605],
    ],
    [
        [4.3, 8.59, 9.86, 12.00, 624.0, 10.37, 42.36, 0.9596],
        [4.3, 4.05, NONE, 10.13, 1304.0, 23.93, 41.50, 0.9593],
        [4.3, NONE, NONE, NONE, NONE, NONE, 41.37, 0.9609],
        [6.6, 4.51, 6.14, 6.92, 1016.0, 12.08, 39.45, 0.9507],
        [4.3, 5.66, 7.87, 10.14, 769.0, 12.05, 41.88, 0.9612],
    ],
];

/// A row of the paper's table.
pub(super) fn published(row: Row) -> Published {
    let network = NETWORKS.iter().position(|&network| network == row.network).unwrap_or_default();
    let mode = Mode::ALL.iter().position(|&mode| mode == row.mode).unwrap_or_default();
    let [parameters, train_4, train_12, inference, epoch, memory, psnr, ssim] = TABLE[network][mode];
    Published { parameters, train_4, train_12, inference, epoch, memory, psnr, ssim }
}

/// What the paper's table says a mode loses in training throughput against another of the same network, as a share.
pub(super) fn lost(network: Architecture, mode: Mode, against: Mode, batches: [usize; 2]) -> f64 {
    let speed = |mode, batch| {
        let row = published(Row { network, mode });
        if batch == 12 { row.train_12 } else { row.train_4 }
    };
    1.0 - speed(mode, batches[0]) / speed(against, batches[1])
}

const fn entrywise(p: Exponent, q: Exponent) -> Norm {
    Norm::Entrywise { p, q }
}

impl Named for Norm {
    /// In the paper's order.
    const ALL: &'static [Self] = &[
        Norm::Spectral,
        Norm::Frobenius,
        Norm::Max,
        entrywise(One, One),
        entrywise(One, Two),
        entrywise(One, Three),
        entrywise(Two, One),
        entrywise(Two, Two),
        entrywise(Two, Three),
        entrywise(Three, One),
        entrywise(Three, Two),
        entrywise(Three, Three),
    ];

    fn name(self) -> String {
        self.to_string()
    }
}

/// A row of `tab:norm_comparison`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PublishedNorm {
    /// Training images a second.
    pub(super) train: f64,
    /// Seconds.
    pub(super) epoch: f64,
    /// dB.
    pub(super) psnr: f64,
    pub(super) ssim: f64,
}

/// Training, epoch, PSNR, SSIM.
const NORM_TABLE: [[f64; 4]; 12] = [
    [6.59, 877.0, 39.25, 0.9318],
    [7.22, 778.0, 38.48, 0.9457],
    [7.73, 777.0, 35.61, 0.9153],
    [7.63, 785.0, 35.57, 0.8864],
    [7.12, 785.0, 38.05, 0.9365],
    [7.12, 785.0, 38.67, 0.9391],
    [7.65, 783.0, 39.33, 0.9299],
    [7.65, 783.0, 38.24, 0.9430],
    [7.61, 786.0, 38.18, 0.9299],
    [7.59, 787.0, 39.10, 0.9304],
    [7.32, 810.0, 39.54, 0.9322],
    [7.18, 780.0, 37.86, 0.9346],
];

/// The paper's numbers for a norm.
pub(super) fn published_norm(norm: Norm) -> Option<PublishedNorm> {
    let place = Norm::ALL.iter().position(|&other| other == norm)?;
    let [train, epoch, psnr, ssim] = NORM_TABLE[place];
    Some(PublishedNorm { train, epoch, psnr, ssim })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_network_and_mode() {
        let of = |network, mode| published(Row { network, mode });
        assert_eq!(of(Architecture::Acdnet, Mode::Projected).psnr, 23.63);
        assert_eq!(of(Architecture::Dicdnet, Mode::Rpp).memory, 12.08);
        assert_eq!(of(Architecture::Oscnet, Mode::Penalty).train_12, 7.87);
    }

    #[test]
    fn the_table_loses_less_to_sampling_and_more_to_the_penalty_than_the_text_says() {
        let lost = |mode, against, batches| {
            NETWORKS.map(|network| (100.0 * super::lost(network, mode, against, batches)).round())
        };
        assert_eq!(lost(Mode::Sample, Mode::Penalty, [4, 4]), [40.0, 30.0, 28.0]);
        assert_eq!(lost(Mode::Sample, Mode::Penalty, [4, 12]), [49.0, 48.0, 49.0]);
        assert_eq!(lost(Mode::Penalty, Mode::Plain, [4, 4]), [13.0, 31.0, 34.0]);
    }

    #[test]
    fn every_norm_is_one_and_frobenius_and_2_2_are_the_same_number_by_two_names() {
        let names: Vec<String> = Norm::ALL.iter().map(|norm| norm.name()).collect();
        assert_eq!(names.join(" "), "spectral frobenius max (1,1) (1,2) (1,3) (2,1) (2,2) (2,3) (3,1) (3,2) (3,3)");
        assert_eq!(Norm::ALL.iter().map(|norm| published_norm(*norm).unwrap().epoch).fold(0.0, f64::max), 877.0);
        assert_eq!(published_norm("(3,2)".parse().unwrap()).unwrap().psnr, 39.54);
    }
}
