//! What one tensor says about each candidate.

use std::collections::HashMap;

use super::evidence::{Evidence, Step};
use super::lattice::{Lattice, Partition};
use super::{Contest, Fields, Steps};
use crate::error::{Error, Result};
use crate::values::Values;

/// What one tensor says about each candidate.
#[derive(Debug, Clone)]
pub struct Weighed {
    pub(super) norm: f64,
    pub(super) weights: usize,
    /// ‖P(W)‖² and its mean over random signs, for each class.
    pub(super) energies: Vec<(f64, f64)>,
    pub(super) evidence: HashMap<(Option<usize>, usize), Evidence>,
}

impl Contest {
    /// Measures one tensor; `None` if it holds nothing but zeros, or a number that is not finite: neither is evidence.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of weights is not that of the tensor.
    pub fn weigh(&self, tensor: usize, values: &Values<'_>) -> Result<Option<Weighed>> {
        let (shape, lattice, steps) = &self.lattices[self.tensors[tensor].1];
        if values.len() != shape.iter().product::<usize>() {
            return Err(Error::shape("tensor", format!("{shape:?}"), format!("{} weights", values.len())));
        }
        if values.is_zero() || values.first_not_finite().is_some() {
            return Ok(None);
        }
        let mut weights = values.to_f64().into_owned();
        let largest = weights.iter().fold(0.0_f64, |largest, w| largest.max(w.abs()));
        weights.iter_mut().for_each(|w| *w /= largest);
        let energies = lattice.partitions.iter().map(|partition| {
            let (energy, chance) = energy(&weights, partition, lattice.chunk);
            (energy * largest * largest, chance * largest * largest)
        });
        let energies = energies.collect();
        let norm = weights.iter().map(|w| w * w).sum::<f64>() * largest * largest;
        if self.kind.fields == Fields::Points {
            // The mean of a whole matrix is invariant under every permutation, and says nothing about blocks.
            let mean = weights.iter().sum::<f64>() / weights.len() as f64;
            weights.iter_mut().for_each(|w| *w -= mean);
        }
        standardise(&mut weights, lattice.points);
        let evidence = evidence(&weights, lattice, steps);
        Ok(Some(Weighed { norm, weights: weights.len(), energies, evidence }))
    }
}

/// ‖P(W)‖² and its mean over random signs.
fn energy(weights: &[f64], partition: &Partition, chunk: usize) -> (f64, f64) {
    let (mut energy, mut chance) = (0.0, 0.0);
    let mut orbits = vec![(0.0, 0.0, 0.0); partition.orbits];
    for chunk in weights.chunks_exact(chunk) {
        orbits.fill((0.0, 0.0, 0.0));
        for (&w, &label) in chunk.iter().zip(&partition.labels) {
            let (sum, square, count) = &mut orbits[label as usize];
            *sum += w;
            *square += w * w;
            *count += 1.0;
        }
        energy += orbits.iter().map(|(sum, _, count)| sum * sum / count).sum::<f64>();
        chance += orbits.iter().map(|(_, square, count)| square / count).sum::<f64>();
    }
    (energy, chance)
}

/// The evidence of every step.
fn evidence(weights: &[f64], lattice: &Lattice, steps: &Steps) -> HashMap<(Option<usize>, usize), Evidence> {
    let mut all = HashMap::new();
    let mut starts: Vec<Option<usize>> = steps.iter().map(|step| step.0).collect();
    starts.dedup();
    for from in starts {
        let mut taken: Vec<(usize, &Step, Evidence)> =
            steps.iter().filter(|step| step.0 == from).map(|(_, to, step)| (*to, step, Evidence::default())).collect();
        let mut sums = Vec::new();
        for chunk in weights.chunks_exact(lattice.chunk) {
            let members: &[f64] = match from.map(|class| &lattice.partitions[class]) {
                None => chunk,
                Some(partition) => {
                    sums.clear();
                    sums.resize(partition.orbits, 0.0);
                    chunk.iter().zip(&partition.labels).for_each(|(w, &label)| sums[label as usize] += w);
                    &sums
                }
            };
            taken.iter_mut().for_each(|(_, step, evidence)| step.add(members, evidence));
        }
        all.extend(taken.into_iter().map(|(to, _, found)| ((from, to), found)));
    }
    all
}

/// Divides the weights at each point of the kernel by their root mean square, where there are enough to know it. A point without weights
/// worth mentioning is set to zero.
fn standardise(weights: &mut [f64], points: usize) {
    const NEGLIGIBLE: f64 = 1e-12;
    const ENOUGH: usize = 8;
    if weights.len() < ENOUGH * points {
        return;
    }
    let mut squares = vec![0.0; points];
    for kernel in weights.chunks_exact(points) {
        squares.iter_mut().zip(kernel).for_each(|(square, w)| *square += w * w);
    }
    let largest = squares.iter().fold(0.0_f64, |largest, &square| largest.max(square));
    let count = (weights.len() / points) as f64;
    let scale: Vec<f64> = squares
        .iter()
        .map(|&square| if square > NEGLIGIBLE * largest { (count / square).sqrt() } else { 0.0 })
        .collect();
    for kernel in weights.chunks_exact_mut(points) {
        kernel.iter_mut().zip(&scale).for_each(|(w, scale)| *w *= scale);
    }
}
