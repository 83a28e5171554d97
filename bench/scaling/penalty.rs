//! Cost of the penalty of a whole network on libtorch, value and gradient, versus the number of its weights.

use std::sync::Arc;

use reynolds::group;
use reynolds::penalty::PenaltyConfig;
use reynolds::projection::{Dimensions, KernelSpace, Lowered, Projector, derive};
use reynolds::random::Random;
use reynolds::rep::{self, Grid};
use reynolds_torch::tch::{self, Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Penalty, device};

use super::agreement::{agree, tolerance};
use super::series::{Panel, Plot, Point};
use super::ways::{Effort, making};
use crate::Clock;
use reynolds_train::error::Result;
use reynolds_train::progress;

const PENALTY: &str = "value and gradient (ours)";
const SLOPE: &str = "gradient, as a step adds it (ours)";
const FLOOR: &str = "floor: read W, read and write ∇";

/// λ_G and λ_⊥; the cost does not depend on them unless one is 0.
const STRENGTHS: [f64; 2] = [0.25, 1.0];

/// The penalty of 5×5 convolutions 36 → 36 under C4.
pub(super) fn plot(
    layers: &[usize],
    device: Device,
    effort: Effort,
    progress: &progress::WorkProgress,
) -> Result<Plot> {
    let title = format!("penalty of 5×5 convolutions, C4, f32, {}", device::name(device));
    let mut panel = Panel::new(&title, "weights N")
        .series(SLOPE, Some(1.0), "paper: linear in the parameters")
        .series(PENALTY, Some(1.0), "paper: linear in the parameters")
        .floor(FLOOR);
    let c4 = group::parse("C4")?;
    let fields = rep::parse_fields(&c4, "9 regular")?;
    let space = KernelSpace::kernel(&fields, &fields, &Grid::new(&c4, 5, 2)?)?;
    let projector = Arc::new(derive(&space)?);
    for &layers in layers {
        let found = times(device, effort, &space, &projector, layers)?;
        for (name, point) in [FLOOR, SLOPE, PENALTY].into_iter().zip(found) {
            panel.add(name, point);
        }
        progress.advance(1);
    }
    Ok(Plot { name: "penalty".into(), panels: vec![panel.fitted()] })
}

/// Times of the floor, of the gradient, and of value and gradient, for this number of layers.
fn times(
    device: Device,
    effort: Effort,
    space: &KernelSpace,
    projector: &Arc<Lowered>,
    layers: usize,
) -> Result<[Point; 3]> {
    let mut random = Random::new(layers as u64);
    let mut builder = Parameters::builder();
    for layer in 0..layers {
        let values: Vec<f64> = (0..space.len()).map(|_| 2.0 * random.uniform() - 1.0).collect();
        builder.real(&name(layer), &space.shape(), &values)?;
    }
    let parameters = builder.build(Kind::Float, device)?;
    let mut binding = Binding::builder(&parameters);
    (0..layers).try_for_each(|layer| binding.projector(&name(layer), projector))?;
    let [lambda_g, lambda_perp] = STRENGTHS;
    let config = PenaltyConfig { lambda_g, lambda_perp, ..PenaltyConfig::default() };
    let penalty = Penalty::new(binding.build()?, config)?;
    let flat = parameters.flat();
    let mut gradient = flat.f_zeros_like()?;
    penalty.add_gradient(flat, &mut gradient)?;
    check(SLOPE, projector, flat, &gradient)?;
    let mut gradient = flat.f_zeros_like()?;
    let _ = penalty.add_gradient_with_value(flat, &mut gradient)?;
    check(PENALTY, projector, flat, &gradient)?;
    let _guard = tch::no_grad_guard();
    let mut copy = flat.f_zeros_like()?;
    let copying = making(|| Ok(copy.f_copy_(flat)?));
    let sloping = making(|| Ok(penalty.add_gradient(flat, &mut gradient.shallow_clone())?));
    let adding = making(|| Ok(penalty.add_gradient_with_value(flat, &mut gradient.shallow_clone())?));
    let found = Clock { device }.turns(effort.turns, &mut [copying, sloping, adding])?;
    let point = |number: usize| Point::new(parameters.len() as f64, parameters.len(), &found[number]);
    // A copy moves two numbers a weight, the penalty three at least.
    Ok([point(0).times(1.5), point(1), point(2)])
}

fn name(layer: usize) -> String {
    format!("{layer}.weight")
}

/// The gradient of the first layer and of the last is 2λ_G P(W) + 2λ_⊥ (W − P(W)) with P of the host.
fn check(what: &str, projector: &Lowered, flat: &Tensor, gradient: &Tensor) -> Result<()> {
    let len = projector.len() as i64;
    let [on_g, on_perp] = STRENGTHS.map(|lambda| 2.0 * lambda as f32);
    for start in [0, flat.size1()? - len] {
        let numbers = |tensor: &Tensor| -> Result<Vec<f32>> {
            Ok(Vec::try_from(tensor.f_narrow(0, start, len)?.f_to_device(Device::Cpu)?)?)
        };
        let weights = numbers(flat)?;
        let projected = projector.project(&weights)?;
        let expected: Vec<f32> = weights.iter().zip(&projected).map(|(&w, &p)| on_g * p + on_perp * (w - p)).collect();
        agree(what, &numbers(gradient)?, &expected, tolerance(4))?;
    }
    Ok(())
}
