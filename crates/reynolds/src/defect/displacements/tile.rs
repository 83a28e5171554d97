//! The orbits of one pair of fields, with what every element does to their members.

use super::orbit_shape::{OrbitShape, Step};
use crate::group::Element;
use crate::projection::KernelSpace;
use crate::rep::{Rep, SignedPermutation};
use crate::scalar::Scalar;

/// How one element moves the weights of a tile.
struct Move {
    out: SignedPermutation,
    into: SignedPermutation,
    grid: Option<Vec<u32>>,
}

/// The orbits of `count` neighbouring tiles, grouped by shape; `place` says where a weight of a copy lies. Elements come one of each pair
/// g, g⁻¹, with the number of elements each stands for.
pub(super) fn tile_shapes<F: Scalar>(
    space: &KernelSpace<F>,
    out: &Rep<F>,
    into: &Rep<F>,
    (chosen, counts): (&[Element], &[usize]),
    count: usize,
    place: impl Fn(usize, usize) -> usize,
) -> Option<Vec<OrbitShape>> {
    let moves: Vec<Move> = chosen
        .iter()
        .map(|g| {
            let grid = space.grid().map(|grid| grid.permutation(g));
            Some(Move { out: out.signed_permutation(g)?, into: into.signed_permutation(g)?, grid })
        })
        .collect::<Option<_>>()?;
    let (ins, points) = (into.dim(), space.points());
    let image = |motion: &Move, weight: usize| -> (usize, bool) {
        let (o, i, x) = (weight / points / ins, weight / points % ins, weight % points);
        let to = (motion.out.image[o] as usize * ins + motion.into.image[i] as usize) * points;
        let moved = motion.grid.as_ref().map_or(x, |grid| grid[x] as usize);
        (to + moved, motion.out.negative[o] != motion.into.negative[i])
    };
    let n = out.dim() * ins * points;
    let mut position = vec![usize::MAX; n];
    let mut shapes: Vec<OrbitShape> = Vec::new();
    for first in 0..n {
        if position[first] != usize::MAX {
            continue;
        }
        // Members in the order in which the elements reach them, each with the sign it gets there: free orbits all look alike then.
        let mut members = vec![(first, false)];
        position[first] = 0;
        let mut next = 0;
        while next < members.len() {
            let (weight, sign) = members[next];
            for motion in &moves {
                let (to, minus) = image(motion, weight);
                if position[to] == usize::MAX {
                    position[to] = members.len();
                    members.push((to, sign != minus));
                }
            }
            next += 1;
        }
        let step = |motion: &Move, from: usize| -> Step {
            let (weight, sign) = members[from];
            let (to, minus) = image(motion, weight);
            let to = position[to];
            Step { from: from as u32, to: to as u32, opposite: (sign != members[to].1) != minus }
        };
        let steps: Vec<Vec<Step>> =
            moves.iter().map(|motion| (0..members.len()).map(|from| step(motion, from)).collect()).collect();
        let shape = OrbitShape::new(members.len(), &steps, counts);
        let known = shapes.iter().position(|other| other.alike(&shape));
        let shape = match known {
            Some(index) => &mut shapes[index],
            None => {
                shapes.push(shape);
                shapes.last_mut().expect("just pushed")
            }
        };
        for copy in 0..count {
            shape.push(members.iter().map(|&(weight, negative)| (place(copy, weight) as u32, negative)));
        }
    }
    shapes.iter_mut().for_each(OrbitShape::seal);
    Some(shapes)
}
