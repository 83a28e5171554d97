//! Labelled volumes in memory, of MedMNIST or generated.
//!
//! ```text
//! images u8 [count, side, side, side], row-major;   labels u8 [count], each below the number of classes
//! ```
//!
//! ```
//! use reynolds_paper::medmnist::data::volumes::Volumes;
//! let volumes = Volumes { side: 2, images: (0..16).collect(), labels: vec![1, 0] };
//! assert_eq!(volumes.count(), 2);
//! assert_eq!(volumes.image(1), [8, 9, 10, 11, 12, 13, 14, 15]);
//! assert_eq!(volumes.counts(3), [1, 1, 0]);
//! ```

mod preview;

pub use preview::preview;

/// Cubes of grey values with a label each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volumes {
    pub side: usize,
    /// `[count, side, side, side]`, row-major.
    pub images: Vec<u8>,
    pub labels: Vec<u8>,
}

impl Volumes {
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// The voxels of one of them, `[side, side, side]`.
    pub fn image(&self, n: usize) -> &[u8] {
        let voxels = self.side.pow(3);
        &self.images[n * voxels..(n + 1) * voxels]
    }

    /// How many have each label, for labels below `classes`.
    pub fn counts(&self, classes: usize) -> Vec<usize> {
        let mut counts = vec![0; classes];
        self.labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
        counts
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeSet {
    pub name: String,
    pub classes: Vec<String>,
    pub train: Volumes,
    pub validation: Volumes,
    pub test: Volumes,
}
