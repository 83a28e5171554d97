//! Four chiral solids by their distances, in a ball of radius one about the origin.
//!
//! ```text
//! flag    a pole, a sheet at its top to one side, a foot at its bottom to another
//! teapot  a ball, a lid on it, a spout, and a handle a quarter turn from the spout
//! screw   three bars end to end, each at right angles to the two others
//! helix   a tube of one and a half turns
//! ```
//!
//! Their volumes are alike, so that the sum of the voxels does not tell them apart.

use super::matrix::{Vector, dot};

const TURNS: f64 = 1.5;

/// Straight pieces of the helix.
const PIECES: usize = 18;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece {
    /// With round ends.
    Rod {
        from: Vector,
        to: Vector,
        radius: f64,
    },
    Ball {
        centre: Vector,
        radius: f64,
    },
    /// Along the axes.
    Block {
        centre: Vector,
        half: Vector,
    },
}

fn rod(from: Vector, to: Vector, radius: f64) -> Piece {
    Piece::Rod { from, to, radius }
}

fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn length(v: Vector) -> f64 {
    dot(v, v).sqrt()
}

impl Piece {
    /// Distance of a point outside; negative within.
    fn distance(&self, p: Vector) -> f64 {
        match *self {
            Piece::Rod { from, to, radius } => {
                let (along, here) = (minus(to, from), minus(p, from));
                let share = (dot(here, along) / dot(along, along)).clamp(0.0, 1.0);
                length(minus(here, along.map(|part| share * part))) - radius
            }
            Piece::Ball { centre, radius } => length(minus(p, centre)) - radius,
            Piece::Block { centre, half } => {
                let beyond: Vector = std::array::from_fn(|axis| (p[axis] - centre[axis]).abs() - half[axis]);
                let within = beyond[0].max(beyond[1]).max(beyond[2]).min(0.0);
                length(beyond.map(|part| part.max(0.0))) + within
            }
        }
    }

    fn reach(&self) -> f64 {
        match *self {
            Piece::Rod { from, to, radius } => length(from).max(length(to)) + radius,
            Piece::Ball { centre, radius } => length(centre) + radius,
            Piece::Block { centre, half } => length(std::array::from_fn(|axis| centre[axis].abs() + half[axis])),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SolidKind {
    Flag,
    Teapot,
    Screw,
    Helix,
}

#[derive(Debug, Clone)]
pub(super) struct Solid {
    pieces: Vec<Piece>,
    /// A bound on the distance of its points from the origin.
    pub(super) reach: f64,
}

impl Solid {
    /// The solid upright; of the chiral pairs, the right-handed one.
    pub(super) fn new(kind: SolidKind) -> Self {
        let pieces = match kind {
            SolidKind::Flag => flag(),
            SolidKind::Teapot => teapot(),
            SolidKind::Screw => screw(),
            SolidKind::Helix => helix(),
        };
        let reach = pieces.iter().map(Piece::reach).fold(0.0, f64::max);
        Self { pieces, reach }
    }

    /// Distance of a point outside; negative within, a bound on the depth.
    pub(super) fn distance(&self, p: Vector) -> f64 {
        self.pieces.iter().map(|piece| piece.distance(p)).fold(f64::INFINITY, f64::min)
    }
}

fn flag() -> Vec<Piece> {
    vec![
        rod([0.0, 0.0, -0.64], [0.0, 0.0, 0.64], 0.16),
        Piece::Block { centre: [0.29, 0.0, 0.4], half: [0.28, 0.13, 0.2] },
        rod([0.0, 0.0, -0.62], [0.0, 0.52, -0.4], 0.15),
    ]
}

fn teapot() -> Vec<Piece> {
    let middle = [0.0, 0.0, -0.08];
    vec![
        Piece::Ball { centre: middle, radius: 0.33 },
        Piece::Ball { centre: [0.0, 0.0, 0.38], radius: 0.17 },
        rod(middle, [0.58, 0.0, 0.3], 0.11),
        rod(middle, [0.0, 0.68, -0.08], 0.11),
    ]
}

fn screw() -> Vec<Piece> {
    let (reach, half) = (0.31, 0.155);
    let long = reach + half;
    vec![
        Piece::Block { centre: [0.0, -reach, -reach], half: [long, half, half] },
        Piece::Block { centre: [reach, 0.0, -reach], half: [half, long, half] },
        Piece::Block { centre: [reach, reach, 0.0], half: [half, half, long] },
    ]
}

fn helix() -> Vec<Piece> {
    let point = |number: usize| {
        let share = number as f64 / PIECES as f64 - 0.5;
        let (sine, cosine) = (std::f64::consts::TAU * TURNS * share).sin_cos();
        [0.42 * cosine, 0.42 * sine, 1.1 * share]
    };
    (0..PIECES).map(|number| rod(point(number), point(number + 1), 0.125)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_solid_geometry() {
        let bar = rod([0.0, 0.0, 0.0], [0.0, 0.0, 2.0], 0.5);
        assert!((bar.distance([3.0, 4.0, 1.0]) - 4.5).abs() < 1e-12);
        assert!((bar.distance([0.0, 3.0, 6.0]) - 4.5).abs() < 1e-12);
        let block = Piece::Block { centre: [1.0, 0.0, 0.0], half: [1.0, 2.0, 3.0] };
        assert!((block.distance([5.0, 6.0, 0.0]) - 5.0).abs() < 1e-12);
        assert!((block.distance([1.5, 0.0, 0.0]) + 0.5).abs() < 1e-12);
        assert!((Piece::Ball { centre: [0.0, 0.0, 1.0], radius: 1.0 }.distance([0.0, 0.0, -1.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn solids_have_similar_volumes_and_stay_in_the_cube() {
        let cells = 60;
        let place = |n: usize| 2.0 * (n as f64 + 0.5) / f64::from(cells) - 1.0;
        for kind in [SolidKind::Flag, SolidKind::Teapot, SolidKind::Screw, SolidKind::Helix] {
            let solid = Solid::new(kind);
            let mut within = 0;
            for n in 0..(cells as usize).pow(3) {
                let p = [place(n / 3600), place(n / 60 % 60), place(n % 60)];
                if solid.distance(p) < 0.0 {
                    within += 1;
                    assert!(length(p) <= solid.reach, "{kind:?}");
                }
            }
            let volume = f64::from(within) * (2.0 / f64::from(cells)).powi(3);
            assert!((0.19..0.23).contains(&volume), "{kind:?} {volume}");
            assert!(1.1 * solid.reach + 2.0 / 28.0 < 1.0, "{kind:?} {}", solid.reach);
        }
    }
}
