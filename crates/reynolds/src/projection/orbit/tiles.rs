//! The orbit form tile by tile: each shared pattern is a kind.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::tiling::{Builder, SignedOrbits, TileProjector, Tiling};
use super::{OrbitLabels, OrbitLists, Orbits, Part, Pattern};

impl Orbits {
    /// This projector on weights of `numbers` real numbers each.
    pub(in crate::projection) fn tiling(&self, numbers: usize) -> Tiling {
        let rows = self.len / self.row;
        let mut builder = Builder::new((rows, self.row, 1), numbers);
        let mut kinds = HashMap::new();
        let mut start = 0;
        for layout in self.kinds.iter().map(|&kind| &self.layouts[kind]) {
            for Part { start: column, len, pattern } in &layout.parts {
                let kind = *kinds.entry(Arc::as_ptr(pattern)).or_insert_with(|| {
                    let orbits = pattern.orbits(self.row, *len).spread(numbers);
                    builder.kind(layout.channels, len * numbers, TileProjector::Orbits(orbits))
                });
                builder.place(kind, start, *column);
            }
            start += layout.channels;
        }
        builder.build()
    }
}

impl Pattern {
    /// The orbits, with weights counted row after row of `len`; in the layer rows are `row` apart.
    fn orbits(&self, row: usize, len: usize) -> SignedOrbits {
        let local = |offset: u32| (offset as usize / row * len + offset as usize % row) as u32;
        match self {
            Self::Lists(lists) => lists.orbits(local),
            Self::Labels(labels) => labels.orbits(),
        }
    }
}

impl OrbitLists {
    fn orbits(&self, local: impl Fn(u32) -> u32) -> SignedOrbits {
        let mut orbits = SignedOrbits::default();
        for run in &self.fixed {
            (run.start..run.start + run.len).for_each(|offset| orbits.push([(local(offset), false)], false));
        }
        for run in &self.dead {
            orbits.push((run.start..run.start + run.len).map(|offset| (local(offset), false)), true);
        }
        for group in &self.small {
            for (index, members) in group.offsets.chunks_exact(group.size).enumerate() {
                let negative = |k: usize| group.negative.get(index * group.size + k) == Some(&true);
                orbits.push(members.iter().enumerate().map(|(k, &offset)| (local(offset), negative(k))), false);
            }
        }
        for runs in &self.large {
            let members = runs.iter().flat_map(|run| (run.start..run.start + run.len).map(|at| (at, run.negative)));
            orbits.push(members.map(|(offset, negative)| (local(offset), negative)), false);
        }
        orbits
    }
}

impl OrbitLabels {
    fn orbits(&self) -> SignedOrbits {
        let mut members: Vec<Vec<(u32, bool)>> = vec![Vec::new(); self.sizes.len()];
        for (weight, &label) in self.labels.iter().enumerate() {
            members[usize::from(label / 2)].push((weight as u32, label % 2 == 1));
        }
        let mut orbits = SignedOrbits::default();
        members.into_iter().zip(&self.sizes).for_each(|(orbit, &size)| orbits.push(orbit, size == 0));
        orbits
    }
}
