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
use super::case::{Bench, making};
use super::clock::{Clock, Work};
use super::series::{Panel, Plot, Point};
use reynolds_train::error::Result;

const PENALTY: &str = "value and gradient (ours)";
const SLOPE: &str = "gradient, as a step adds it (ours)";
const FLOOR: &str = "floor: read W, read and write ∇";

/// λ_G and λ_⊥; what they are does not change what a step costs, as long as neither is 0.
const STRENGTHS: [f64; 2] = [0.25, 1.0];

/// Convolutions 36 → 36, 5×5, held by C4: what a step of training pays for the penalty.
pub(super) fn plot(bench: &Bench<'_>, device: Device) -> Result<Plot> {
    let title = format!("penalty of 5×5 convolutions, C4, f32, {}", device::name(device));
    let mut panel = Panel::new(&title, "weights N")
        .series(SLOPE, Some(1.0), "paper: linear in the parameters")
        .series(PENALTY, Some(1.0), "paper: linear in the parameters")
        .floor(FLOOR);
    let c4 = group::parse("C4")?;
    let fields = rep::parse_fields(&c4, "9 regular")?;
    let space = KernelSpace::kernel(&fields, &fields, &Grid::new(&c4, 5, 2)?)?;
    let projector = Arc::new(derive(&space)?);
    let clock = Clock { device, ..bench.clock };
    for &layers in &bench.sizes.layers {
        point(&clock, &mut panel, &space, &projector, layers)?;
        bench.progress.advance(1);
    }
    Ok(Plot { name: "penalty".into(), panels: vec![panel.fitted()] })
}

fn point(clock: &Clock, panel: &mut Panel, space: &KernelSpace, projector: &Arc<Lowered>, layers: usize) -> Result<()> {
    let mut random = Random::new(layers as u64);
    let mut builder = Parameters::builder();
    for layer in 0..layers {
        let values: Vec<f64> = (0..space.len()).map(|_| 2.0 * random.uniform() - 1.0).collect();
        builder.real(&name(layer), &space.shape(), &values)?;
    }
    let parameters = builder.build(Kind::Float, clock.device)?;
    let mut binding = Binding::builder(&parameters);
    (0..layers).try_for_each(|layer| binding.projector(&name(layer), projector))?;
    let [lambda_g, lambda_perp] = STRENGTHS;
    let config = PenaltyConfig { lambda_g, lambda_perp, ..PenaltyConfig::default() };
    let penalty = Penalty::new(binding.build()?, config)?;
    let flat = parameters.flat();
    let gradient = flat.f_zeros_like()?;
    penalty.add_slope(flat, &gradient)?;
    check(SLOPE, projector, flat, &gradient)?;
    let gradient = flat.f_zeros_like()?;
    let _ = penalty.add_gradient(flat, &gradient)?;
    check(PENALTY, projector, flat, &gradient)?;
    let _guard = tch::no_grad_guard();
    let mut copy = flat.f_zeros_like()?;
    let copying: Work<'_> = Box::new(|| {
        copy.f_copy_(flat)?;
        Ok(())
    });
    let adding = making(|| Ok(penalty.add_gradient(flat, &gradient)?));
    let sloping = making(|| Ok(penalty.add_slope(flat, &gradient)?));
    let found = clock.quartiles(&mut [copying, sloping, adding])?;
    // A copy moves two numbers a weight, the penalty three at least.
    let (x, weights) = (parameters.len() as f64, parameters.len());
    panel.add(FLOOR, Point::new(x, weights, found[0].times(1.5)));
    panel.add(SLOPE, Point::new(x, weights, found[1]));
    panel.add(PENALTY, Point::new(x, weights, found[2]));
    Ok(())
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
