//! The penalty in a training loop of one's own, as the README shows it: `cargo run -p reynolds-torch --example penalty`.

#![allow(clippy::print_stdout, reason = "an example for people")]

use reynolds::{penalty::PenaltyConfig, plan::SymmetryPlan, random::Random};
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Penalty, Result};

/// The plan of the one layer.
const PLAN: &str = r#"
group = "C4"
[[layer]]
name = "conv.weight"
domain = "2 regular"
codomain = "2 regular"
"#;

fn main() -> Result<()> {
    for lambda_perp in [0.0, 0.1, 10.0] {
        println!("λ_⊥ = {lambda_perp:>4}: equivariant energy {:.3}", train(lambda_perp)?);
    }
    Ok(())
}

/// The share ‖P(W)‖²/‖W‖² of a convolution that was trained to copy a random one.
pub(crate) fn train(lambda_perp: f64) -> Result<f64> {
    let mut random = Random::new(0);
    let mut numbers = |count| -> Vec<f64> { (0..count).map(|_| random.normal()).collect() };
    let images = Tensor::from_slice(&numbers(4 * 8 * 36)).view([4, 8, 6, 6]);
    let teacher = Tensor::from_slice(&numbers(8 * 8 * 9)).view([8, 8, 3, 3]);
    let convolve = |weights: &Tensor| images.conv2d(weights, None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
    let targets = convolve(&teacher);

    // README: begin
    let mut builder = Parameters::builder(); // all parameters in one flat storage
    builder.real("conv.weight", &[8, 8, 3, 3], &numbers(8 * 8 * 9))?;
    let parameters = builder.build(Kind::Double, Device::Cpu)?;
    let mut binding = Binding::builder(&parameters);
    binding.plan(&SymmetryPlan::from_toml(PLAN)?)?; // the TOML that `reynolds plan` writes
    let penalty = Penalty::new(binding.build()?, PenaltyConfig { lambda_perp, ..PenaltyConfig::default() })?;
    let mut adam = Adam::new(AdamConfig::default(), parameters.flat())?;
    for _ in 0..200 {
        let loss = (convolve(&parameters.get("conv.weight")?) - &targets).square().mean(Kind::Double);
        let mut gradient = parameters.gradient(&loss)?;
        penalty.add_gradient(parameters.flat(), &mut gradient)?; // + 2λ_G P(W) + 2λ_⊥ (W − P(W)), all layers at once
        adam.step(parameters.flat(), &gradient, 0.03)?;
    }
    let (_name, energies) = &penalty.binding().energies(parameters.flat())?[0];
    // README: end
    Ok(energies.ratio())
}
