//! Truths about whole networks; what they forecast is compared with PyTorch in paper/tests/networks/smoke_forward.rs.

mod all;
mod penalties;
mod rotation;
mod scaling;
mod translation;
use super::*;
use crate::network::{EVALUATE, TRAIN};
use crate::smoke::penalty::energies;
use crate::testing::{largest, normal, number};
use std::borrow::Borrow;
use tch::{Device, Kind};

type Built = (Box<dyn Network>, Parameters);

fn config(architecture: Architecture, hidden: usize, layers: usize) -> SmokeNetConfig {
    SmokeNetConfig { architecture, hidden, layers, ..SmokeNetConfig::default() }
}

fn build(symmetry: Symmetry, config: &SmokeNetConfig, frames: Frames, kind: Kind) -> reynolds_torch::Result<Built> {
    let mut builder = Parameters::builder();
    let network = config.build(symmetry, frames, &mut builder, &mut Random::new(5))?;
    Ok((network, builder.build(kind, Device::Cpu)?))
}

/// What `make` constructs, with its parameters in double precision.
pub(super) fn constructed<T>(
    config: &SmokeNetConfig,
    symmetry: Symmetry,
    frames: Frames,
    make: impl FnOnce(&mut Construction<'_>) -> T,
) -> (T, Parameters) {
    let mut builder = Parameters::builder();
    let made = make(&mut Construction { config, symmetry, frames, builder: &mut builder, random: &mut Random::new(5) });
    (made, builder.build(Kind::Double, Device::Cpu).unwrap())
}

/// A small network in double precision, every parameter moved from where it began.
fn moved(symmetry: Symmetry, config: &SmokeNetConfig, frames: Frames) -> Built {
    let (network, mut parameters) = build(symmetry, config, frames, Kind::Double).unwrap();
    shake(&mut parameters, 0.3);
    (network, parameters)
}

fn shake(parameters: &mut Parameters, size: f64) {
    let noise = normal(&parameters.flat().size(), 9).to_kind(parameters.flat().kind()) * size;
    parameters.assign(&(parameters.flat() + noise)).unwrap();
}

/// Copies the parameters of one network whose names another has, through `change`.
fn copy(from: &Parameters, to: &Parameters, change: impl Fn(&str, Tensor) -> Tensor) {
    for entry in to.entries() {
        let value = change(&entry.name, from.get(&entry.name).unwrap().detach());
        tch::no_grad(|| to.get(&entry.name).unwrap().copy_(&value));
    }
}

fn forecast((network, parameters): &Built, frames: &Tensor) -> Tensor {
    let assembled = network.assemble(parameters, EVALUATE).unwrap();
    network.forward(parameters, &assembled, frames, EVALUATE).unwrap().detach()
}

/// Frames of vectors `[N, 2T, H, W]` turned by +90°: (v_x, v_y) → (−v_y, v_x) at (x, y) → (−y, x).
pub(super) fn turned_frames(frames: &Tensor) -> Tensor {
    let moved = frames.rot90(-1, [2, 3]);
    let size = moved.size();
    let vectors = moved.view([size[0], -1, 2, size[2], size[3]]);
    Tensor::stack(&[-vectors.select(2, 1), vectors.select(2, 0)], 2).view(size.as_slice())
}

fn squared(tensor: impl Borrow<Tensor>) -> f64 {
    number(tensor.borrow().square().sum(Kind::Double))
}
