//! Projects one random layer per group and prints what the projector sees: `make demo-project`.

#![allow(clippy::print_stdout, reason = "a demo prints")]

use reynolds::projection::{Basis, Dimensions, Projector};
use reynolds::random::Random;
use reynolds::steerable::RingsConfig;
use reynolds::{Layer, Result, group, rep};

/// Group, fields of the input, fields of the output, side and dimensions of the kernel (0: dense map).
const LAYERS: [(&str, &str, &str, usize, usize); 11] = [
    ("C4", "9 regular", "9 regular", 5, 2),
    ("D4", "3 trivial", "4 regular", 3, 2),
    ("C4", "10 irrep(1)", "4 regular", 3, 2),
    ("Oh", "2 regular", "2 regular", 3, 3),
    ("S5", "4 permutation", "4 permutation", 0, 0),
    ("Z8 x Z8", "permutation", "permutation", 0, 0),
    ("C3", "8 irrep(1)", "8 irrep(1) + 4 trivial", 0, 0),
    ("I", "2 irrep(3) + vector", "2 irrep(3) + regular", 0, 0),
    ("SO2", "4x(0..4)", "4x(0..4)", 0, 0),
    ("SO3", "8x0 + 4x1 + 2x2", "8x0 + 4x1 + 2x2", 0, 0),
    ("O3", "8x0e + 4x1o", "8x0e + 4x1o", 0, 0),
];

fn main() -> Result<()> {
    println!("A random layer W, its projection P(W) onto the equivariant maps, and how far W is from it.\n");
    println!(
        "{:<9}{:<24}{:<8}{:>9}{:>8}{:>9}{:>9}   worst defect",
        "group", "fields", "form", "weights", "rank P", "energy", "dim"
    );
    let mut random = Random::new(2026);
    for (name, domain, codomain, side, dims) in LAYERS {
        let layer = match dims {
            0 => Layer::linear(name, domain, codomain)?,
            2 => Layer::conv2d(name, domain, codomain, side)?,
            _ => Layer::conv3d(name, domain, codomain, side)?,
        };
        let weights: Vec<f64> = (0..layer.len()).map(|_| random.normal()).collect();
        let (energies, bracket, rank) = (layer.energies(&weights)?, layer.worst_defect(&weights)?, layer.rank());
        println!(
            "{name:<9}{domain:<24}{:<8}{:>9}{rank:>8}{:>9.4}{:>9.4}   [{:.3}, {:.3}]",
            layer.projector().form(),
            layer.len(),
            energies.ratio(),
            rank as f64 / layer.len() as f64,
            bracket.lower,
            bracket.upper,
        );
        let twice = layer.energies(&layer.project(&weights)?)?;
        assert!(twice.perp <= 1e-20 * twice.total().max(1.0), "P² = P");
    }
    let so3 = group::parse("SO3")?;
    let fields = rep::parse_fields(&so3, "2x0 + 2x1 + 2x2")?;
    let basis = Basis::derive(&fields, &fields, 5, 3, &RingsConfig::default())?;
    let weights: Vec<f64> = (0..basis.len()).map(|_| random.normal()).collect();
    let energies = basis.energies(&weights)?;
    let (len, rank) = (weights.len(), basis.rank());
    println!(
        "{:<9}{:<24}{:<8}{len:>9}{rank:>8}{:>9.4}{:>9.4}   (a 5x5x5 grid carries no SO(3): distance to the span {:.3})",
        "SO3",
        "2x0 + 2x1 + 2x2, k=5",
        "basis",
        energies.ratio(),
        rank as f64 / len as f64,
        energies.perp.sqrt()
    );
    println!(
        "\nenergy = |P(W)|^2 / |W|^2; dim = rank P / weights, the energy to expect of Gaussian weights such as these."
    );
    println!(
        "worst defect = the largest |W g - g W| over g in the group, between two proven bounds (equal for finite groups)."
    );
    Ok(())
}
