//! The penalty in a training loop of tch, as the README shows it: `cargo run -p reynolds-torch --example penalty`.

#![allow(clippy::print_stdout, reason = "an example for people")]

use reynolds::{penalty::PenaltyConfig, plan::SymmetryPlan};
use reynolds_torch::tch::{self, Device, Kind, Tensor, nn, nn::ModuleT, nn::OptimizerConfig};
use reynolds_torch::{Penalty, Result, Variables};

/// Which fields the one layer has.
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
    tch::manual_seed(0);
    let (images, teacher) = (
        Tensor::randn([4, 8, 6, 6], (Kind::Float, Device::Cpu)),
        Tensor::randn([8, 8, 3, 3], (Kind::Float, Device::Cpu)),
    );
    let targets = images.conv2d(&teacher, None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
    let store = nn::VarStore::new(Device::Cpu);
    let config = nn::ConvConfig { padding: 1, bias: false, ..Default::default() };
    let network = nn::seq_t().add(nn::conv2d(store.root() / "conv", 8, 8, 3, config));
    let mut optimiser = nn::Adam::default().build(&store, 0.03)?;

    // README: begin
    let mut variables = Variables::of(&store)?; // the trainable variables of an nn::VarStore
    let mut binding = variables.binding();
    binding.plan(&SymmetryPlan::from_toml(PLAN)?)?; // which layer has which fields: `reynolds plan` writes one
    let penalty = Penalty::new(binding.build()?, PenaltyConfig { lambda_perp, ..PenaltyConfig::default() })?;
    for _ in 0..200 {
        optimiser.zero_grad();
        let loss = (network.forward_t(&images, true) - &targets).square().mean(Kind::Float);
        loss.backward();
        let _ = variables.add_penalty(&penalty)?; // gradient in closed form, for all layers at once
        optimiser.step();
    }
    // README: end
    let (_name, energies) = &penalty.binding().energies(&variables.flat()?)?[0];
    Ok(energies.ratio())
}
