//! Seconds a pair at 256² with the challenge's scanner: `cargo bench -p reynolds-paper --bench ct_data`
//!
//! The floor is one cycle of 3 GHz for each multiplication and addition of a vector of four samples.

use reynolds_bench::Clock;
use reynolds_paper::ct::data::{Fan, Material, Metal, Scanner, Slice, simulate};

const SIDE: usize = 256;
/// 400 mm, as the challenge's bodies.
const PIXEL_MM: f64 = 400.0 / SIDE as f64;

/// A body of water with two lungs, a spine and two implants: values by the place in the slice, from −1 to 1.
fn body() -> (Slice, Metal) {
    let ellipse =
        |x: f64, y: f64, w: f64, h: f64| move |u: f64, v: f64| ((u - x) / w).powi(2) + ((v - y) / h).powi(2) <= 1.0;
    let parts = [
        (ellipse(0.0, 0.0, 0.85, 0.6), 0.0),
        (ellipse(-0.4, 0.05, 0.25, 0.35), -800.0),
        (ellipse(0.4, 0.05, 0.25, 0.35), -800.0),
        (ellipse(0.0, -0.35, 0.12, 0.12), 900.0),
    ];
    let implants = [ellipse(-0.1, 0.3, 0.04, 0.03), ellipse(0.2, -0.3, 0.02, 0.06)];
    let place = |pixel: usize| {
        let at = |index: usize| (2 * index + 1) as f64 / SIDE as f64 - 1.0;
        (at(pixel % SIDE), -at(pixel / SIDE))
    };
    let hu = |pixel: usize| {
        let (u, v) = place(pixel);
        parts.iter().rev().find(|(inside, _)| inside(u, v)).map_or(-1000.0, |&(_, hu)| hu)
    };
    let covered = |pixel: usize| {
        let (u, v) = place(pixel);
        if implants.iter().any(|inside| inside(u, v)) { 1.0 } else { 0.0 }
    };
    let pixels = SIDE * SIDE;
    let slice = Slice { name: "body".into(), side: SIDE, pixel_mm: PIXEL_MM, hu: (0..pixels).map(hu).collect() };
    (slice, Metal { material: Material::Steel, coverage: (0..pixels).map(covered).collect() })
}

/// Median seconds of nine calls.
fn median<T>(run: impl Fn() -> T) -> f64 {
    let call = || {
        std::hint::black_box(run());
        Ok(())
    };
    Clock::HOST.median(0, 9, call).expect("the call does not fail")
}

fn main() {
    let scanner = Scanner::default();
    let (slice, metal) = body();
    let fan = Fan::new(&scanner, SIDE, PIXEL_MM).expect("the default is a scanner");
    let image: Vec<f32> = slice.hu.iter().map(|hu| 1.0 + hu / 1000.0).collect();
    let sinogram = fan.forward(&image).expect("the image has the size of the grid");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    eprintln!("{} views × {} cells, {SIDE}² pixels, {threads} threads", scanner.views, scanner.cells);

    let quiet = Scanner { photons: 0.0, ..scanner.clone() };
    let pair = median(|| simulate(&slice, &metal, &scanner, 1));
    let silent = median(|| simulate(&slice, &metal, &quiet, 1));
    let forward = median(|| fan.forward(&image));
    let back = median(|| fan.reconstruct(&sinogram));
    let cycles = |operations: f64| operations / (3e9 * threads as f64);
    // A step: a load and an interpolation of two layers; a sample of a pixel: the same of three lanes, and where it is.
    let steps = (scanner.views * scanner.cells * SIDE) as f64;
    let places = (scanner.views * SIDE * SIDE) as f64;
    eprintln!("pair          {pair:.3} s (bar: 1.5 s); floor {:.3} s", cycles(4.0 * steps + 8.0 * places));
    eprintln!("  noise       {:.3} s of it", pair - silent);
    eprintln!("forward       {forward:.3} s, one image; floor {:.3} s", cycles(4.0 * steps));
    eprintln!("reconstruct   {back:.3} s, one image; floor {:.3} s", cycles(8.0 * places));
}
