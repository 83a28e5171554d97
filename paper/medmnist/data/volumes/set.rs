//! Volumes, and what is learnt from, chosen by and tested on.

/// Cubes of grey values with a label each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volumes {
    pub side: usize,
    /// `[count, side, side, side]`, row-major.
    pub images: Vec<u8>,
    /// `[count]`.
    pub labels: Vec<u8>,
}

impl Volumes {
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// The voxels of one of them, `[side, side, side]`.
    ///
    /// # Panics
    /// When `n` is not below [`Volumes::count`].
    pub fn image(&self, n: usize) -> &[u8] {
        let voxels = self.side.pow(3);
        &self.images[n * voxels..(n + 1) * voxels]
    }

    /// How many have each label, for labels below `classes`.
    ///
    /// # Panics
    /// When a label is not below `classes`.
    pub fn counts(&self, classes: usize) -> Vec<usize> {
        let mut counts = vec![0; classes];
        self.labels.iter().for_each(|&label| counts[usize::from(label)] += 1);
        counts
    }
}

/// Volumes to learn from, to choose settings by, and to test on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeSet {
    /// What it is called in tables.
    pub name: String,
    pub classes: Vec<String>,
    pub train: Volumes,
    pub validation: Volumes,
    pub test: Volumes,
}
