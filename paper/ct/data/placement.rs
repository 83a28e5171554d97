//! Where implants go: into the body, preferably into bone, in sizes that patients have.

use std::f64::consts::TAU;

use super::implant::{Implant, Shape};
use super::resize::resize;
use super::slice::{Material, Slice};
use reynolds::random::Random;

/// Pixels along a side of the map of places.
const MAP: usize = 128;

/// Least Hounsfield units of the body, of tissue other than lung and gas, and of bone.
const BODY: f32 = -350.0;
const TISSUE: f32 = -200.0;
const BONE: f32 = 250.0;

/// Tissue that stays around an implant, in millimetres.
const MARGIN: f64 = 3.0;

/// In mm²: smaller bodies are too small for metal; up to the second they are heads and necks.
const SMALLEST: f64 = 4_000.0;
const HEAD: f64 = 38_000.0;

/// The body in a slice: the largest connected piece that is denser than air, its holes filled.
#[derive(Debug)]
pub(super) struct Body {
    pixel_mm: f64,
    hu: Vec<f32>,
    /// Distance to the outside in millimetres; 0 outside.
    depth: Vec<f64>,
}

impl Body {
    pub(super) fn of(slice: &Slice) -> Option<Body> {
        let hu = resize(&slice.hu, slice.side, MAP);
        let pixel_mm = slice.pixel_mm * slice.side as f64 / MAP as f64;
        let mut largest: Vec<usize> = Vec::new();
        let mut seen = vec![false; MAP * MAP];
        for start in 0..MAP * MAP {
            if hu[start] > BODY && !seen[start] {
                let piece = flood(start, &mut seen, |at| hu[at] > BODY);
                if piece.len() > largest.len() {
                    largest = piece;
                }
            }
        }
        if (largest.len() as f64) * pixel_mm * pixel_mm < SMALLEST {
            return None;
        }
        let mut wall = vec![false; MAP * MAP];
        largest.iter().for_each(|&at| wall[at] = true);
        let mut outside = vec![false; MAP * MAP];
        let is_border = |at: &usize| [at % MAP, at / MAP].iter().any(|place| [0, MAP - 1].contains(place));
        for at in (0..MAP * MAP).filter(is_border) {
            if !wall[at] && !outside[at] {
                flood(at, &mut outside, |at| !wall[at]);
            }
        }
        Some(Body { pixel_mm, hu, depth: depth(&outside, pixel_mm) })
    }

    fn area(&self) -> f64 {
        self.depth.iter().filter(|depth| **depth > 0.0).count() as f64 * self.pixel_mm * self.pixel_mm
    }

    pub(super) fn is_head(&self) -> bool {
        self.area() < HEAD
    }

    /// A place for an implant of this extent; none where it would stick out.
    fn place(&self, extent_mm: f64, random: &mut Random) -> Option<[f64; 2]> {
        let deep = |at: &usize| self.depth[*at] > extent_mm / 2.0 + MARGIN;
        let of = |least: f32| (0..MAP * MAP).filter(|&at| self.hu[at] > least).filter(deep).collect::<Vec<usize>>();
        let bone = if random.uniform() < 0.75 { of(BONE) } else { Vec::new() };
        let places = if bone.is_empty() { of(TISSUE) } else { bone };
        let jitter = [random.between(0.0, 1.0), random.between(0.0, 1.0)];
        (!places.is_empty()).then(|| {
            let at = places[random.below(places.len())];
            let place = |n: usize, jitter: f64| (n as f64 + jitter - MAP as f64 / 2.0) * self.pixel_mm;
            [place(at % MAP, jitter[0]), place(at / MAP, jitter[1])]
        })
    }
}

/// All places connected with this one, each marked as seen.
fn flood(start: usize, seen: &mut [bool], inside: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut piece = vec![start];
    seen[start] = true;
    let mut next = 0;
    while let Some(&at) = piece.get(next) {
        next += 1;
        let (x, y) = (at % MAP, at / MAP);
        let beside = [(x > 0).then(|| at - 1), (x + 1 < MAP).then(|| at + 1)];
        let below = [(y > 0).then(|| at - MAP), (y + 1 < MAP).then(|| at + MAP)];
        for neighbour in beside.into_iter().chain(below).flatten() {
            if !seen[neighbour] && inside(neighbour) {
                seen[neighbour] = true;
                piece.push(neighbour);
            }
        }
    }
    piece
}

/// Distance from the outside in steps along and across rows, by two sweeps; the border of the image is outside.
fn depth(outside: &[bool], pixel_mm: f64) -> Vec<f64> {
    let steps = [(1_i32, 0_i32, 1.0), (0, 1, 1.0), (1, 1, 2.0_f64.sqrt()), (-1, 1, 2.0_f64.sqrt())];
    let mut depth: Vec<f64> = outside.iter().map(|&outside| if outside { 0.0 } else { f64::INFINITY }).collect();
    let mut relax = |at: usize, sign: i32| {
        for (dx, dy, length) in steps {
            let (x, y) = ((at % MAP) as i32 - sign * dx, (at / MAP) as i32 - sign * dy);
            let within = (0..MAP as i32).contains(&x) && (0..MAP as i32).contains(&y);
            let other = if within { depth[y as usize * MAP + x as usize] } else { 0.0 };
            depth[at] = depth[at].min(other + length * pixel_mm);
        }
    };
    (0..MAP * MAP).for_each(|at| relax(at, 1));
    (0..MAP * MAP).rev().for_each(|at| relax(at, -1));
    depth
}

/// One to three implants of one material. `mask` draws a shape of a file, where there is one; else shapes are built in.
pub(super) fn implants(
    body: &Body,
    mask: Option<&dyn Fn(&mut Random) -> Shape>,
    random: &mut Random,
) -> (Material, Vec<Implant>) {
    let head = body.is_head();
    let material = material(head, random);
    let count = match random.uniform() {
        u if u < 0.5 => 1,
        u if u < 0.85 => 2,
        _ => 3,
    };
    let mut implants: Vec<Implant> = Vec::new();
    for number in 0..count {
        let (shape, extent_mm) = piece(head, number, mask, random);
        // Titanium attenuates half as much: artefacts of all metals should be visible, and the body too.
        let mut extent_mm = extent_mm * if material == Material::Titanium { 1.1 } else { 0.65 };
        for _ in 0..40 {
            let turn = random.between(0.0, TAU);
            let centre = body.place(extent_mm, random);
            let apart = |centre: &[f64; 2]| {
                implants.iter().all(|other| {
                    let distance = (centre[0] - other.centre_mm[0]).hypot(centre[1] - other.centre_mm[1]);
                    distance > 0.6 * (extent_mm + other.extent_mm)
                })
            };
            if let Some(centre_mm) = centre.filter(apart).map(|centre| centre.map(hundredth)) {
                let (extent_mm, turn) = (hundredth(extent_mm), hundredth(turn));
                implants.push(Implant { shape, centre_mm, extent_mm, turn });
                break;
            }
            extent_mm = (extent_mm * 0.93).max(2.5);
        }
    }
    if implants.is_empty() {
        // No room: the deepest place has the most.
        let deepest = (0..MAP * MAP).max_by(|&one, &other| body.depth[one].total_cmp(&body.depth[other])).unwrap_or(0);
        let place = |n: usize| hundredth((n as f64 + 0.5 - MAP as f64 / 2.0) * body.pixel_mm);
        let (shape, _) = piece(head, 1, mask, random);
        let centre_mm = [place(deepest % MAP), place(deepest / MAP)];
        implants.push(Implant { shape, centre_mm, extent_mm: 2.5, turn: 0.0 });
    }
    (material, implants)
}

fn hundredth(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

fn material(head: bool, random: &mut Random) -> Material {
    use Material::{Amalgam, Cobalt, Copper, Steel, Titanium};
    let body = [Titanium, Titanium, Titanium, Steel, Steel, Steel, Cobalt, Cobalt, Copper, Copper];
    let teeth = [Titanium, Titanium, Titanium, Steel, Steel, Cobalt, Copper, Amalgam, Amalgam, Amalgam];
    if head { teeth[random.below(10)] } else { body[random.below(10)] }
}

/// Shape and extent; the first of a slice may be large.
fn piece(head: bool, number: usize, mask: Option<&dyn Fn(&mut Random) -> Shape>, random: &mut Random) -> (Shape, f64) {
    let spread = |random: &mut Random, low: f64, high: f64| low * (high / low).powf(random.uniform());
    let largest = if number == 0 { 1.0 } else { 0.6 };
    if let Some(mask) = mask {
        let shape = mask(random);
        let extent = if head { spread(random, 4.0, 18.0 * largest) } else { spread(random, 6.0, 42.0 * largest) };
        return (shape, extent);
    }
    use Shape::{Ball, Blob, Coil, Filling, Rod, Screw};
    let blob = Blob(random.bits() >> 32);
    let of_head = [(Filling, 5.0, 13.0), (Coil, 6.0, 14.0), (Screw, 9.0, 18.0), (blob, 4.0, 16.0)];
    let (ball, large) = ((Ball, 18.0, 34.0 * largest.max(0.7)), (blob, 6.0, 36.0 * largest));
    let of_body = [ball, (Screw, 22.0, 45.0), (Rod, 8.0, 22.0), (Coil, 7.0, 15.0), large];
    let (shape, low, high) = if head { of_head[random.below(4)] } else { of_body[random.below(5)] };
    (shape, spread(random, low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of tissue with a bone in it, and a table apart.
    fn slice() -> Slice {
        let side = 64;
        let pixel = |at: usize| {
            let (x, y) = ((at % side) as f64 - 31.5, (at / side) as f64 - 27.5);
            match x.hypot(y) {
                _ if (x - 8.0).hypot(y) < 3.0 => 800.0,
                r if r < 24.0 => 40.0,
                _ if y > 30.0 && y < 33.0 => 100.0,
                _ => -1000.0,
            }
        };
        Slice { name: "disk".into(), side, pixel_mm: 6.0, hu: (0..side * side).map(pixel).collect() }
    }

    #[test]
    fn the_body_is_the_largest_piece_and_deepest_in_its_middle() {
        let body = Body::of(&slice()).unwrap();
        let disk = std::f64::consts::PI * 144.0 * 144.0;
        assert!((body.area() / disk - 1.0).abs() < 0.06, "{} {disk}", body.area());
        let deepest = body.depth.iter().fold(0.0, |most: f64, d| most.max(*d));
        assert!((deepest - 144.0).abs() < 10.0, "{deepest}");
        assert!(!body.is_head());
        let empty = Slice { hu: vec![-1000.0; 64 * 64], ..slice() };
        assert!(Body::of(&empty).is_none());
    }

    #[test]
    fn implants_lie_in_the_body_and_mostly_in_bone() {
        let body = Body::of(&slice()).unwrap();
        let mut in_bone = 0;
        for seed in 0..100 {
            let (_, implants) = implants(&body, None, &mut Random::at(seed, &[]));
            assert!((1..=3).contains(&implants.len()));
            for implant in &implants {
                let [x, y] = implant.centre_mm;
                assert!(x.hypot(y + 24.0) + implant.extent_mm / 2.0 < 150.0, "{implant:?}");
                in_bone += usize::from((x - 48.0).hypot(y + 24.0) < 30.0);
            }
        }
        assert!(in_bone > 50, "{in_bone}");
    }
}
