//! What the bodies of [`phantom`](super::phantom()) are made of: ellipses, painted one over the other.

use std::f64::consts::{PI, TAU};

use super::phantom::{AIR, Ellipse, Region};
use reynolds::random::Random;

const FAT: f64 = -100.0;
const MUSCLE: f64 = 55.0;
const CORTEX: f64 = 850.0;
const LUNG: f64 = -840.0;

/// The ellipses of a body, in the order of painting.
pub(super) fn draw(region: Region, random: &mut Random) -> Vec<Ellipse> {
    let mut scene = Scene { ellipses: Vec::new(), random };
    match region {
        Region::Abdomen => scene.abdomen(),
        Region::Thorax => scene.thorax(),
        Region::Pelvis => scene.pelvis(),
        Region::Head => scene.head(),
        Region::Jaw => scene.jaw(),
    }
    scene.ellipses
}

/// Where the right hip of a pelvis has its centre, as (distance from the middle line, y): the first two numbers of its stream.
pub(super) fn hip(random: &mut Random) -> [f64; 2] {
    [random.between(90.0, 100.0), random.between(-4.0, 8.0)]
}

struct Scene<'a> {
    ellipses: Vec<Ellipse>,
    random: &'a mut Random,
}

impl Scene<'_> {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.random.between(low, high)
    }

    fn ellipse(&mut self, x: f64, y: f64, rx: f64, ry: f64, hu: f64) {
        self.turned(x, y, rx, ry, 0.0, hu);
    }

    fn turned(&mut self, x: f64, y: f64, rx: f64, ry: f64, turn: f64, hu: f64) {
        self.ellipses.push(Ellipse { centre: [x, y], radii: [rx.max(0.5), ry.max(0.5)], turn, power: 2.0, hu });
    }

    /// With fuller corners.
    fn full(&mut self, x: f64, y: f64, rx: f64, ry: f64, power: f64, hu: f64) {
        self.ellipses.push(Ellipse { centre: [x, y], radii: [rx, ry], turn: 0.0, power, hu });
    }

    /// Cortex around marrow.
    fn bone(&mut self, x: f64, y: f64, rx: f64, ry: f64, turn: f64, shell: f64) {
        let (cortex, marrow) = (self.between(CORTEX - 150.0, CORTEX + 150.0), self.between(180.0, 320.0));
        self.turned(x, y, rx, ry, turn, cortex);
        if rx > shell && ry > shell {
            self.turned(x, y, rx - shell, ry - shell, turn, marrow);
        }
    }

    /// Skin, fat and the muscular wall of a trunk; returns the half axes inside the wall.
    fn trunk(&mut self, width: f64, height: f64, fat: f64, wall: f64) -> [f64; 2] {
        self.full(0.0, 0.0, width, height, 2.4, 20.0);
        self.full(0.0, 0.0, width - 2.5, height - 2.5, 2.4, FAT);
        let (rx, ry) = (width - fat * 1.2, height - fat);
        self.full(0.0, 3.0, rx, ry, 2.3, MUSCLE);
        [rx - wall, ry - wall]
    }

    /// A vertebra whose body lies at `y`, with muscles beside it.
    fn spine(&mut self, y: f64, size: f64) {
        for side in [-1.0, 1.0] {
            self.ellipse(side * 36.0 * size, y + 26.0 * size, 26.0 * size, 20.0 * size, MUSCLE);
            self.turned(side * 26.0 * size, y + 20.0 * size, 20.0 * size, 4.5 * size, side * 0.25, 550.0);
        }
        self.bone(0.0, y + 25.0 * size, 17.0 * size, 13.0 * size, 0.0, 4.0 * size);
        self.bone(0.0, y + 44.0 * size, 4.5 * size, 15.0 * size, 0.0, 2.0);
        self.ellipse(0.0, y + 23.0 * size, 9.5 * size, 8.0 * size, 25.0);
        self.bone(0.0, y, 24.0 * size, 18.0 * size, 0.0, 3.0 * size);
    }

    /// Ribs on the wall on both sides, between two angles from the front.
    fn ribs(&mut self, rx: f64, ry: f64, count: usize, from: f64, to: f64) {
        for side in [-1.0, 1.0] {
            for n in 0..count {
                let share = (n as f64 + self.between(0.25, 0.75)) / count as f64;
                let angle = from + (to - from) * share;
                let (x, y) = (side * rx * angle.sin(), -ry * angle.cos() + 3.0);
                let along = (ry * angle.sin()).atan2(rx * angle.cos()) * side;
                let length = self.between(8.0, 19.0);
                self.bone(x, y, length, 4.2, along, 1.6);
            }
        }
    }

    fn abdomen(&mut self) {
        let (width, height) = (self.between(150.0, 182.0), self.between(100.0, 126.0));
        let fat = self.between(12.0, 30.0);
        let [rx, ry] = self.trunk(width, height, fat, 11.0);
        self.full(0.0, -6.0, rx, ry - 6.0, 2.3, FAT + 5.0);
        let enhanced = self.between(0.0, 90.0);
        let spine = 0.42 * height;
        let (liver, spleen) = (55.0 + 0.5 * enhanced, 48.0 + 0.6 * enhanced);
        let grow = self.between(0.8, 1.05);
        self.turned(-0.46 * rx, -0.12 * ry, 0.50 * rx * grow, 0.66 * ry * grow, 0.3, liver);
        self.turned(-0.12 * rx, -0.42 * ry, 0.36 * rx * grow, 0.30 * ry * grow, -0.2, liver);
        self.turned(0.72 * rx, 0.12 * ry, 0.16 * rx, 0.40 * ry, 0.35, spleen);
        for side in [-1.0, 1.0] {
            let (x, y) = (side * self.between(0.42, 0.50) * rx, self.between(0.34, 0.46) * ry);
            self.turned(x, y, 24.0, 31.0, side * 0.5, 35.0 + 1.3 * enhanced);
            self.turned(x - side * 10.0, y - 2.0, 9.0, 12.0, side * 0.5, FAT + 20.0);
            self.ellipse(side * 40.0, spine - 2.0, 15.0, 20.0, MUSCLE + 3.0);
        }
        self.bowel(rx, ry);
        self.ellipse(11.0, spine - 31.0, 10.5, 10.5, 40.0 + 1.5 * enhanced);
        self.ellipse(-16.0, spine - 29.0, 13.0, 10.0, 38.0 + enhanced);
        self.spine(spine, 1.0);
        self.ribs(rx + 3.0, ry + 1.0, 4, 1.3, 2.5);
    }

    /// Loops in the front of the belly, some with gas on top.
    fn bowel(&mut self, rx: f64, ry: f64) {
        let loops = 9 + self.random.below(8);
        for _ in 0..loops {
            let (x, y) = (self.between(-0.25, 0.78) * rx, self.between(-0.78, 0.15) * ry);
            if (x / rx).hypot(y / ry) > 0.82 {
                continue;
            }
            let (a, b, turn) = (self.between(10.0, 21.0), self.between(8.0, 15.0), self.between(-1.0, 1.0));
            let inside = self.between(5.0, 45.0);
            self.turned(x, y, a, b, turn, 60.0);
            self.turned(x, y, a - 2.5, b - 2.5, turn, inside);
            if self.random.uniform() < 0.4 {
                self.turned(x, y - 0.2 * b, 0.7 * a, 0.5 * b, 0.3 * turn, AIR + 30.0);
            }
        }
    }

    fn thorax(&mut self) {
        let (width, height) = (self.between(150.0, 180.0), self.between(98.0, 118.0));
        let fat = self.between(8.0, 18.0);
        let [rx, ry] = self.trunk(width, height, fat, 16.0);
        let spine = 0.52 * height;
        self.full(0.0, 0.0, rx, ry, 2.3, 30.0);
        self.ribs(rx + 5.0, ry + 4.0, 6, 0.45, 2.75);
        for side in [-1.0, 1.0] {
            let lung = LUNG + self.between(-30.0, 40.0);
            self.turned(side * 0.52 * rx, 0.0, 0.45 * rx, 0.90 * ry, side * 0.08, lung);
            self.turned(side * 0.48 * rx, 0.35 * ry, 0.42 * rx, 0.55 * ry, 0.0, lung);
            for _ in 0..28 {
                let (x, y) = (self.between(0.22, 0.85) * side * rx, self.between(-0.65, 0.7) * ry);
                let size = self.between(0.8, 3.2) * (1.3 - (x / rx).abs());
                let (longer, turn) = (self.between(1.0, 3.0), self.between(0.0, PI));
                if ((x / rx).abs() - 0.52).hypot(y / ry * 0.5) < 0.36 {
                    self.turned(x, y, size * longer, size, turn, 40.0);
                }
            }
            self.turned(side * (rx + 4.0), 0.42 * ry, 4.5, 22.0, side * 0.45, 600.0);
        }
        let enhanced = self.between(0.0, 130.0);
        let heart = self.between(0.85, 1.1);
        self.ellipse(0.0, -0.05 * ry, 0.20 * rx, 0.78 * ry, FAT + 40.0);
        self.turned(22.0, -0.12 * ry, 56.0 * heart, 44.0 * heart, 0.45, MUSCLE);
        self.turned(34.0, -0.06 * ry, 30.0 * heart, 22.0 * heart, 0.5, 45.0 + enhanced);
        self.turned(-8.0, -0.2 * ry, 22.0 * heart, 24.0 * heart, 0.2, 42.0 + enhanced);
        self.ellipse(22.0, spine - 22.0, 12.5, 12.5, 42.0 + enhanced);
        self.ellipse(2.0, spine - 31.0, 7.0, 5.0, 30.0);
        self.spine(spine, 0.92);
        self.bone(0.0, -ry + 1.0, 21.0, 6.0, 0.0, 2.0);
    }

    fn pelvis(&mut self) {
        let [hip, level] = hip(self.random);
        let (width, height) = (self.between(168.0, 186.0), self.between(100.0, 116.0));
        let fat = self.between(14.0, 26.0);
        let [rx, ry] = self.trunk(width, height, fat, 9.0);
        self.full(0.0, -0.1 * ry, 0.62 * rx, 0.72 * ry, 2.2, FAT + 10.0);
        for side in [-1.0, 1.0] {
            // Muscles with fat between them, from back to front.
            self.turned(side * 78.0, 62.0, 60.0, 27.0, side * -0.45, FAT + 15.0);
            self.turned(side * 82.0, 66.0, 56.0, 22.0, side * -0.45, MUSCLE);
            self.turned(side * 55.0, 30.0, 13.0, 32.0, side * 0.3, MUSCLE);
            self.turned(side * (hip - 4.0), level - 46.0, 26.0, 15.0, side * 0.4, MUSCLE);
            self.ellipse(side * (hip - 30.0), level - 52.0, 7.0, 6.5, 120.0);
            self.ellipse(side * (hip - 43.0), level - 50.0, 7.5, 6.5, 90.0);
            // Trochanter, neck, socket, joint, head.
            self.bone(side * (hip + 48.0), level + 18.0, 15.0, 19.0, side * 0.5, 3.0);
            self.bone(side * (hip + 26.0), level + 10.0, 27.0, 13.0, side * 0.35, 3.0);
            self.turned(side * (hip - 24.0), level - 4.0, 13.0, 34.0, side * 0.30, CORTEX);
            self.turned(side * (hip - 25.0), level - 4.0, 7.5, 28.0, side * 0.30, 260.0);
            self.turned(side * (hip - 14.0), level + 36.0, 11.0, 17.0, side * -0.35, CORTEX - 100.0);
            self.turned(side * (hip - 14.0), level + 36.0, 6.5, 12.0, side * -0.35, 240.0);
            self.ellipse(side * hip, level, 26.5, 26.5, 70.0);
            self.bone(side * hip, level, 24.0, 24.0, 0.0, 2.2);
            self.bone(side * 34.0, level - 50.0, 34.0, 7.5, side * 0.45, 2.5);
        }
        let bladder = self.between(26.0, 40.0);
        self.ellipse(0.0, -22.0, bladder + 3.0, 0.75 * bladder + 3.0, 40.0);
        self.ellipse(0.0, -22.0, bladder, 0.75 * bladder, 6.0);
        self.ellipse(0.0, 20.0, 26.0, 16.0, 48.0);
        self.ellipse(0.0, 50.0, 19.0, 16.0, 45.0);
        self.ellipse(2.0, 47.0, 11.0, 8.0, AIR + 40.0);
        self.bone(0.0, ry - 18.0, 17.0, 9.0, 0.0, 2.0);
    }

    fn head(&mut self) {
        let (width, height) = (self.between(70.0, 77.0), self.between(86.0, 97.0));
        let (scalp, skull) = (self.between(4.0, 7.0), self.between(5.5, 9.0));
        self.ellipse(0.0, 0.0, width, height, 30.0);
        self.ellipse(0.0, 0.0, width - 2.0, height - 2.0, FAT + 20.0);
        let (rx, ry) = (width - scalp, height - scalp);
        self.ellipse(0.0, 0.0, rx, ry, 1250.0);
        self.ellipse(0.0, 0.0, rx - 0.32 * skull, ry - 0.32 * skull, 600.0);
        self.ellipse(0.0, 0.0, rx - 0.62 * skull, ry - 0.62 * skull, 1250.0);
        let (rx, ry) = (rx - skull, ry - skull);
        self.ellipse(0.0, 0.0, rx, ry, 8.0);
        self.ellipse(0.0, 0.0, rx - 2.0, ry - 2.0, 38.0);
        for side in [-1.0, 1.0] {
            self.turned(side * 0.45 * rx, -0.05 * ry, 0.33 * rx, 0.72 * ry, side * -0.08, 29.0);
            // Folds: fluid from the surface inwards.
            for n in 0..9 {
                let angle = PI * (n as f64 + self.between(0.3, 0.7)) / 9.0;
                let (x, y) = (side * 0.9 * rx * angle.sin(), -0.9 * ry * angle.cos());
                let depth = self.between(3.0, 8.0);
                self.turned(x, y, depth, 1.1, y.atan2(x), 14.0);
            }
            let wide = self.between(4.0, 7.5);
            self.turned(side * 10.0, -14.0, wide, 22.0, side * 0.22, 7.0);
            self.turned(side * 17.0, 26.0, wide * 0.8, 15.0, side * -0.35, 7.0);
            self.turned(side * 19.0, -2.0, 7.0, 13.0, side * -0.3, 39.0);
        }
        self.ellipse(0.0, 0.0, 0.8, ry - 3.0, 55.0);
        self.ellipse(0.0, 0.0, 2.0, 9.0, 8.0);
    }

    fn jaw(&mut self) {
        let (width, height) = (self.between(58.0, 68.0), self.between(74.0, 84.0));
        self.full(0.0, 0.0, width, height, 2.2, 25.0);
        self.full(0.0, 0.0, width - 2.0, height - 2.0, 2.2, FAT + 10.0);
        for side in [-1.0, 1.0] {
            self.turned(side * 0.72 * width, -8.0, 10.0, 24.0, side * 0.15, MUSCLE);
            self.turned(side * 0.55 * width, 40.0, 14.0, 24.0, side * -0.5, MUSCLE);
            self.ellipse(side * 0.5 * width, 14.0, 6.0, 6.0, 90.0);
        }
        self.ellipse(0.0, -22.0, 27.0, 32.0, MUSCLE);
        let spread = self.between(0.62, 0.70) * width;
        // The arch of the jaw, and the teeth on it.
        let at = |angle: f64| (spread * angle.sin(), 8.0 - 58.0 * angle.cos());
        for (rx, ry, hu) in [(8.0, 7.0, 950.0), (4.5, 3.5, 380.0)] {
            for n in 0..=28 {
                let (x, y) = at(PI * (f64::from(n) / 28.0 - 0.5) * 1.25);
                self.turned(x, y, rx, ry, 0.0, hu);
            }
        }
        for n in 0..14 {
            let (x, y) = at(PI * (f64::from(n) / 13.0 - 0.5));
            let size = if (4..10).contains(&n) { 3.2 } else { 4.6 };
            let enamel = self.between(1700.0, 2300.0);
            self.turned(x, y, size, size, 0.0, enamel);
            self.turned(x, y, 0.35 * size, 0.35 * size, TAU * 0.1, 900.0);
        }
        let airway = self.between(5.0, 8.0);
        self.ellipse(0.0, 12.0, 11.0, airway, AIR + 10.0);
        self.spine(36.0, 0.62);
    }
}
