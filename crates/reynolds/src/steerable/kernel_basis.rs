//! Orthonormal bases of the steerable kernels between two irreps.
//!
//! ```text
//! K(x) = φ̃_{J,n}(|x|) Σ_m C[·, ·, m] Y_Jm(x/|x|),      C ∈ (V′ ⊗ V ⊗ V_J)^G
//! ```
//!
//! Sampled kernels of SO(2), O(2), SO(3), O(3) are orthonormal as they come. Those of a finite group may overlap, since its harmonics
//! of different degree can hold equal irreps and those of one degree several: they are orthonormalised numerically.
//!
//! ```
//! use reynolds::group;
//! use reynolds::steerable::{Band, KernelBasis, RingsConfig, Shells};
//! let irreps = group::parse("SO3")?.irreps(1)?;
//! let band = Band::new(Shells::new(3, 3, &RingsConfig::default())?)?;
//! // Vectors to vectors: degree 0 at the centre, degrees 0, 1, 2 on the ring.
//! assert_eq!(KernelBasis::new(&irreps[1], &irreps[1], &band)?.columns.ncols(), 4);
//! # Ok::<(), reynolds::Error>(())
//! ```

use faer::Mat;

use super::Band;
use super::band::orthonormalise;
use super::invariants::Invariants;
use crate::error::Result;
use crate::irrep::Irrep;
use crate::rep::Representation;

/// An orthonormal basis of the band-limited steerable kernels from one irrep to another, in the coordinates of a [`Band`].
#[derive(Debug, Clone)]
pub struct KernelBasis {
    /// The orthonormal coordinates, `[d_out·d_in·functions, kernels]`, functions fastest, the input channel next.
    pub columns: Mat<f64>,
    shape: [usize; 2],
}

impl KernelBasis {
    /// The kernels from `domain` to `codomain`.
    pub fn new(codomain: &Irrep, domain: &Irrep, band: &Band) -> Result<Self> {
        Ok(Self::all(&[codomain], &[domain], band)?.swap_remove(0).swap_remove(0))
    }

    /// The kernels from each irrep of `domain` to each of `codomain`, `[codomain][domain]`, sharing what can be shared.
    pub fn all(codomain: &[&Irrep], domain: &[&Irrep], band: &Band) -> Result<Vec<Vec<Self>>> {
        let degrees: Vec<usize> = band.degrees.iter().map(|part| part.degree).collect();
        let source = Invariants::new(codomain, domain, &degrees, band.shells.dims)?;
        let pair = |o: usize, i: usize| {
            let tensors: Result<Vec<_>> = (0..degrees.len()).map(|j| source.of(o, i, j)).collect();
            Self::from_invariants(&tensors?, [codomain[o].dim(), domain[i].dim()], band)
        };
        (0..codomain.len()).map(|o| (0..domain.len()).map(|i| pair(o, i)).collect()).collect()
    }

    /// The kernels made of the given invariants, one matrix `[d_out·d_in·dim Y_J, n]` per degree of the band.
    fn from_invariants(invariants: &[Mat<f64>], shape: [usize; 2], band: &Band) -> Result<Self> {
        let functions = band.coordinates.nrows();
        let channels = shape[0] * shape[1];
        let count = band.degrees.iter().zip(invariants).map(|(part, c)| part.radial * c.ncols()).sum();
        let mut columns = Mat::zeros(functions * channels, count);
        let mut at = 0;
        for (part, tensors) in band.degrees.iter().zip(invariants) {
            for n in 0..part.radial {
                let block = band.coordinates.subcols(part.offset + n * part.dim, part.dim);
                for tensor in tensors.col_iter() {
                    // Coordinates [functions, in, out], functions fastest: one harmonic expansion per channel pair.
                    let expansion = Mat::from_fn(part.dim, channels, |m, channel| tensor[channel * part.dim + m]);
                    let kernel = block * expansion;
                    for channel in 0..channels {
                        for f in 0..functions {
                            columns[(channel * functions + f, at)] = kernel[(f, channel)];
                        }
                    }
                    at += 1;
                }
            }
        }
        let gram = columns.transpose() * &columns;
        if (gram - Mat::<f64>::identity(count, count)).norm_max() > 1e-13 {
            columns = orthonormalise(&columns)?.0;
        }
        Ok(Self { columns, shape })
    }

    /// E, `[d_out·d_in·points, kernels]`: the kernels on the grid, row-major `[d_out, d_in, points]` down each column.
    pub fn sampled(&self, band: &Band) -> Mat<f64> {
        let (points, functions) = band.functions.shape();
        let channels = self.shape[0] * self.shape[1];
        let mut sampled = Mat::zeros(channels * points, self.columns.ncols());
        for channel in 0..channels {
            let part = &band.functions * self.columns.subrows(channel * functions, functions);
            sampled.subrows_mut(channel * points, points).copy_from(&part);
        }
        sampled
    }
}
