//! The orbits of several groups on tensors of one shape, and which of them lie in which.

use super::{Fields, Kind};
use crate::error::{Error, Result};
use crate::group::GroupRef;
use crate::plan::UniformFields;
use crate::projection::{KernelSpace, TileProjector, derive};
use crate::rep::{self, Grid};

/// The orbits of some groups on every run of `chunk` weights.
#[derive(Debug)]
pub(super) struct Lattice {
    /// Weights after which the orbits repeat.
    pub(super) chunk: usize,
    /// Points of the kernel.
    pub(super) points: usize,
    /// For every candidate the class of its orbits; `None` if it does not act, or leaves every weight where it is.
    pub(super) class: Vec<Option<usize>>,
    /// The orbits of each class.
    pub(super) partitions: Vec<Partition>,
}

/// Disjoint orbits: for each weight of a chunk the number of its orbit.
#[derive(Debug, PartialEq)]
pub(super) struct Partition {
    pub(super) labels: Vec<u32>,
    pub(super) orbits: usize,
}

impl Lattice {
    pub(super) fn new(candidates: &[GroupRef], kind: &Kind, shape: &[usize]) -> Result<Self> {
        let points = shape[2..].iter().product();
        let acting: Vec<Option<usize>> = candidates.iter().map(|group| channels(group, kind, shape)).collect();
        // A multiple of all their fields: every group has whole orbits in it.
        let rows = acting.iter().flatten().fold(1, |a, &b| lcm(a, b));
        let columns = if kind.fields == Fields::Kernels(UniformFields::Trivial) { 1 } else { shape[1] };
        let mut lattice = Self { chunk: rows * columns * points, points, class: vec![], partitions: vec![] };
        for (group, acts) in candidates.iter().zip(acting) {
            let partition = match acts {
                Some(_) => partition(group, kind, rows, columns, &shape[2..])?,
                None => None,
            };
            let class = partition.filter(|partition| partition.orbits < lattice.chunk).map(|partition| {
                let known = lattice.partitions.iter().position(|other| *other == partition);
                known.unwrap_or_else(|| {
                    lattice.partitions.push(partition);
                    lattice.partitions.len() - 1
                })
            });
            lattice.class.push(class);
        }
        Ok(lattice)
    }
}

/// Channels of one field, if all channels split into such.
fn channels(group: &GroupRef, kind: &Kind, shape: &[usize]) -> Option<usize> {
    let dim = match kind.fields {
        Fields::Kernels(UniformFields::Trivial) => 1,
        Fields::Kernels(UniformFields::Regular) => usize::try_from(group.order()?).ok()?,
        Fields::Points => group.point_permutation(&group.identity())?.len(),
    };
    (shape[0].is_multiple_of(dim) && shape[1].is_multiple_of(dim)).then_some(dim)
}

/// The orbits on `[rows, columns, k…]`; `None` if the group does not act on the kernel.
fn partition(group: &GroupRef, kind: &Kind, rows: usize, columns: usize, sides: &[usize]) -> Result<Option<Partition>> {
    let field = match kind.fields {
        Fields::Kernels(UniformFields::Trivial) => rep::trivial(group),
        Fields::Kernels(UniformFields::Regular) => rep::regular(group)?,
        Fields::Points => rep::permutation(group)?,
    };
    let fields = |channels: usize| rep::sum(group, &[(channels / field.dim(), field.clone())]);
    let (codomain, domain) = (fields(rows)?, fields(columns)?);
    let space = match sides {
        [] => KernelSpace::dense(&domain, &codomain)?,
        sides => match Grid::of_shape(group, sides) {
            Ok(grid) => KernelSpace::kernel(&domain, &codomain, &grid)?,
            Err(Error::NoAction { .. } | Error::OutOfRange { .. }) => return Ok(None),
            Err(error) => return Err(error),
        },
    };
    let tiling = derive(&space)?.tiling()?;
    let mut partition = Partition { labels: vec![0; space.len()], orbits: 0 };
    for tile in tiling.tiles() {
        let TileProjector::Orbits(orbits) = &tiling.kinds()[tile.kind].projector else { return Ok(None) };
        let places: Vec<usize> = tiling.places(*tile).collect();
        for (members, _) in orbits.iter() {
            members.iter().for_each(|&member| partition.labels[places[member as usize]] = partition.orbits as u32);
            partition.orbits += 1;
        }
    }
    Ok(Some(partition.in_order()))
}

impl Partition {
    /// The same orbits, numbered as they are first met, so that equal ones compare equal.
    fn in_order(mut self) -> Self {
        let mut numbers = vec![u32::MAX; self.orbits];
        let mut next = 0;
        for label in &mut self.labels {
            let number = &mut numbers[*label as usize];
            if *number == u32::MAX {
                *number = next;
                next += 1;
            }
            *label = *number;
        }
        self
    }

    /// Whether every orbit lies in one of `coarser`.
    pub(super) fn refines(&self, coarser: &Self) -> bool {
        let mut parent = vec![u32::MAX; self.orbits];
        self.labels.iter().zip(&coarser.labels).all(|(&own, &other)| {
            let parent = &mut parent[own as usize];
            let first = *parent == u32::MAX;
            *parent = if first { other } else { *parent };
            *parent == other
        })
    }
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
