//! The two ways to multiply tiles, on the band-limited kernels of a small SO(3) network: P alone, in turns, waited for; and the slope of
//! the penalty.
//!
//! ```text
//! cargo bench -p reynolds-torch --bench tiles -- --device cuda:0 --rounds 200
//! ```

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::sync::Arc;
use std::time::Instant;

use reynolds::penalty::PenaltyConfig;
use reynolds::projection::{Basis, Lowered};
use reynolds::random::Random;
use reynolds::steerable::RingsConfig;
use reynolds::{group, rep};
use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::{Cuda, Device, Kind};
use reynolds_torch::{Binding, Parameters, Penalty, device};

/// Copies and highest degree of the input, of the output, and the side of the kernel.
const LAYERS: [(usize, usize, usize, usize, usize); 6] =
    [(1, 0, 2, 2, 7), (2, 2, 4, 3, 5), (2, 2, 4, 3, 7), (4, 3, 8, 3, 3), (8, 3, 8, 3, 3), (8, 3, 12, 2, 3)];

fn main() {
    let (mut place, mut rounds) = (Device::Cpu, 200_usize);
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{name}: expected a value"));
        match name.as_str() {
            "--device" => place = device::parse(&value).unwrap(),
            "--rounds" => rounds = value.parse().unwrap(),
            _ => panic!("{name}: expected --device or --rounds"),
        }
    }
    let (parameters, projectors) = network(place);
    let flat = parameters.flat();
    let bind = |products: TileProducts| {
        let mut builder = Binding::builder(&parameters);
        builder.tile_products(products);
        projectors.iter().enumerate().for_each(|(number, p)| builder.projector(&number.to_string(), p).unwrap());
        builder.build().unwrap()
    };
    let start = Instant::now();
    let [per_kind, lists] = [bind(TileProducts::PerKind), bind(TileProducts::Lists)];
    let built = start.elapsed().as_secs_f64() / 2.0;
    // What a training step adds: on a processor by the core's executors.
    let config = PenaltyConfig { lambda_g: 0.1, lambda_perp: 0.3, ..PenaltyConfig::default() };
    let penalty = Penalty::new(bind(TileProducts::on(place)), config).unwrap();
    let mut gradient = flat.zeros_like();
    let operations = [per_kind.operations(), lists.operations(), penalty.binding().operations()];
    let names = ["products a kind of tile", "weighted lists", "penalty's slope"];
    let mut works: [Box<dyn FnMut() + '_>; 3] = [
        Box::new(|| drop(per_kind.project(flat).unwrap())),
        Box::new(|| drop(lists.project(flat).unwrap())),
        Box::new(|| penalty.add_gradient(flat, &mut gradient).unwrap()),
    ];
    let mut seconds = [vec![], vec![], vec![]];
    for _ in 0..rounds {
        for (work, seconds) in works.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            work();
            if let Device::Cuda(number) = place {
                Cuda::synchronize(number as i64);
            }
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    println!("6 band-limited SO(3) kernels, {} weights, bound in {:.0} ms; P alone", parameters.len(), built * 1e3);
    for ((name, mut seconds), operations) in names.into_iter().zip(seconds).zip(operations) {
        seconds.sort_by(f64::total_cmp);
        println!("  {name:<26} {operations:>4} operations {:>12.1} us", 1e6 * seconds[rounds / 2]);
    }
}

fn network(place: Device) -> (Parameters, Vec<Arc<Lowered>>) {
    let so3 = group::parse("SO3").unwrap();
    let fields = |copies: usize, most: usize| {
        let text: Vec<String> = (0..=most).map(|l| format!("{copies}x{l}")).collect();
        rep::parse_fields(&so3, &text.join(" + ")).unwrap()
    };
    let mut builder = Parameters::builder();
    let mut projectors = Vec::new();
    let mut random = Random::new(2);
    for (number, (copies, degree, copies_out, degree_out, side)) in LAYERS.into_iter().enumerate() {
        let (domain, codomain) = (fields(copies, degree), fields(copies_out, degree_out));
        let basis = Basis::derive(&domain, &codomain, side, 3, &RingsConfig::default()).unwrap();
        let numbers: Vec<f64> = (0..basis.shape().iter().product()).map(|_| random.normal()).collect();
        builder.real(&number.to_string(), &basis.shape(), &numbers).unwrap();
        projectors.push(Arc::new(Lowered::Basis(Box::new(basis))));
    }
    (builder.build(Kind::Float, place).unwrap(), projectors)
}
