//! The fields of a layer's channels, and a projection that runs on the rows of one output field after the other.

use std::ops::Add;

use rayon::prelude::*;

use super::Energies;
use crate::rep::{self, Decomposition, Piece, Rep};
use crate::scalar::{Scalar, Weight};

/// The fields of one side of a layer, in channel order.
#[derive(Debug, Clone)]
pub(crate) struct Fields<F: Scalar> {
    /// The different representations that occur.
    pub(crate) kinds: Vec<Rep<F>>,
    /// For each field: its kind and its first channel.
    pub(crate) placed: Vec<(usize, usize)>,
}

impl<F: Scalar> Fields<F> {
    /// The summands of a representation; one that is no sum is one field.
    pub(crate) fn of(representation: &Rep<F>) -> Self {
        let whole = [(1, representation.clone())];
        let mut fields = Self { kinds: vec![], placed: vec![] };
        let mut channel = 0;
        for (copies, rep) in representation.summands().unwrap_or(&whole) {
            let known = rep::position(fields.kinds.iter(), rep);
            let kind = known.unwrap_or_else(|| {
                fields.kinds.push(rep.clone());
                fields.kinds.len() - 1
            });
            for _ in 0..*copies {
                fields.placed.push((kind, channel));
                channel += rep.dim();
            }
        }
        fields
    }

    /// How a field of each kind decomposes, from the decomposition of the whole representation.
    pub(super) fn pieces(&self, whole: Decomposition<F>) -> Vec<Piece<F>> {
        let first = |kind| self.starts(kind).next().expect("a kind has a field");
        let mut pieces = whole.pieces.into_iter().filter(|piece| piece.copies > 0);
        // Kinds are numbered in the order in which they first occur, as pieces are.
        (0..self.kinds.len())
            .map(|kind| pieces.find(|piece| piece.offset == first(kind)).expect("a piece a summand"))
            .collect()
    }

    /// Kind, first channel and number of equal fields that follow each other.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let runs = self.placed.chunk_by(|one, next| one.0 == next.0);
        runs.map(|run| (run[0].0, run[0].1, run.len()))
    }

    /// First channels of the fields of a kind.
    pub(crate) fn starts(&self, kind: usize) -> impl Iterator<Item = usize> {
        self.placed.iter().filter(move |field| field.0 == kind).map(|field| field.1)
    }

    /// Number of channels of a kind.
    pub(super) fn dim(&self, kind: usize) -> usize {
        self.kinds[kind].dim()
    }
}

/// Runs `apply` on the rows of one output field after the other. `rows` gives an argument and the number of weights for each field; a
/// thread keeps its memory from field to field. Energies are added in the order of the fields, so that the number of threads changes no digit.
pub(super) fn by_rows<T: Weight, R: Send, M: Send>(
    rows: impl Iterator<Item = (R, usize)>,
    parallel: bool,
    (mut weights, mut out): (&[T], &mut [T]),
    memory: impl Fn() -> M + Send + Sync,
    apply: impl Fn(&mut M, R, &[T], &mut [T]) -> Energies + Send + Sync,
) -> Energies {
    let mut jobs = Vec::with_capacity(rows.size_hint().0);
    for (row, len) in rows {
        let (part, rest) = weights.split_at(len);
        let (into, left) = out.split_at_mut(len);
        jobs.push((row, part, into));
        (weights, out) = (rest, left);
    }
    let apply = |memory: &mut M, (row, part, into): (R, &[T], &mut [T])| apply(memory, row, part, into);
    let energies: Vec<Energies> = if parallel {
        jobs.into_par_iter().map_init(memory, apply).collect()
    } else {
        let mut memory = memory();
        jobs.into_iter().map(|job| apply(&mut memory, job)).collect()
    };
    energies.into_iter().fold(Energies::default(), Energies::add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group;
    use crate::projection::{KernelSpace, Orbits};

    #[test]
    fn equal_representations_built_apart_are_one_kind() {
        let c4 = group::parse("C4").unwrap();
        let regular = || rep::regular(&c4).unwrap();
        let apart = rep::sum(&c4, &[(1, regular()), (1, regular()), (2, regular())]).unwrap();
        let fields = Fields::of(&apart);
        assert_eq!((fields.kinds.len(), fields.placed.len()), (1, 4));
        // So their orbits are held once, as those of four copies are.
        let together = rep::sum(&c4, &[(4, regular())]).unwrap();
        for fields in [apart, together] {
            let orbits = Orbits::derive(&KernelSpace::dense(&fields, &fields).unwrap()).unwrap();
            assert_eq!(orbits.expect("a permutation action").tiling(1).kinds().len(), 1);
        }
    }
}
