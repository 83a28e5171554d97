//! RGroup.

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::{FRAMES, built, check_gradient, config, forecast, largest, network, normal, squared};
use crate::smoke::networks::conv::widths;
use crate::smoke::networks::scaling::group_net;
use crate::smoke::networks::{Architecture, Frames, Held, Mode, SmokeNetConfig, Symmetry};
use reynolds_torch::parameters::Parameters;

#[test]
fn a_window_alone_has_three_sizes_to_normalise_with() {
    let mut builder = Parameters::builder();
    let frames = Frames { count: 2, side: 1 };
    let network =
        config(Architecture::Rgroup, 2, 3).build(Symmetry::Scaling, frames, &mut builder, &mut Random::new(0)).unwrap();
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    let assembled = network.assemble(&parameters).unwrap();
    let _ = network.forward(&parameters, &assembled, &normal(&[1, 4, 1, 1], 3), Mode::Train).unwrap();
    assert!(largest(parameters.statistics()).is_finite());
}

#[test]
fn a_projected_relaxed_group_network_is_that_of_one_filter_at_all_sizes() {
    let (relaxed, parameters) = network(Architecture::Rgroup, 4);
    let before = forecast(relaxed.as_ref(), &parameters);
    let penalty = relaxed.penalty(&parameters, Held::Operator).unwrap().unwrap();
    let (kept, gone) = penalty.energies(&parameters).unwrap();
    assert!(gone > 1e-3 * kept);
    penalty.project(&parameters).unwrap();
    let mut builder = Parameters::builder();
    let sizes = SmokeNetConfig { banks: 1, ..config(Architecture::Rgroup, 2, 4) };
    let shared = sizes.build(Symmetry::Scaling, FRAMES, &mut builder, &mut Random::new(0)).unwrap();
    let one = builder.build(Kind::Double, Device::Cpu).unwrap();
    for entry in one.entries() {
        let value = if let Some(name) = entry.name.strip_suffix("filters") {
            let mixing = parameters.get(&format!("{name}mixing")).unwrap().get(0).view([2, 1, 1]);
            (parameters.get(&entry.name).unwrap() * mixing).sum_dim_intlist(2, true, Kind::Double)
        } else if entry.name.ends_with("mixing") {
            one.get(&entry.name).unwrap().ones_like()
        } else {
            parameters.get(&entry.name).unwrap()
        };
        tch::no_grad(|| one.get(&entry.name).unwrap().copy_(&value));
    }
    let (after, expected) = (forecast(relaxed.as_ref(), &parameters), forecast(shared.as_ref(), &one));
    assert!(largest(&(&after - &expected)) < 1e-12 * largest(&expected).max(1.0));
    assert!(largest(&(before - &after)) > 1e-3 * largest(&after));
    let (after, gone) = penalty.energies(&parameters).unwrap();
    assert!((after - kept).abs() < 1e-12 * kept && gone < 1e-24 * kept);
}

#[test]
fn the_penalty_of_the_relaxed_group_network_has_the_gradient_of_finite_differences() {
    // Step 1: filters and mixing weights, of the first layer and of the others.
    check_gradient(Architecture::Rgroup, Held::Operator, 1);
    check_gradient(Architecture::Rgroup, Held::Mixing, 1);
}

#[test]
fn the_energies_of_the_group_operator_are_those_of_the_kernels_of_all_sizes() {
    let (relaxed, parameters) = network(Architecture::Rgroup, 4);
    let penalty = relaxed.penalty(&parameters, Held::Operator).unwrap().unwrap();
    let (shared, rest) = penalty.energies(&parameters).unwrap();
    let kernels = || {
        let mut kernels = relaxed.assemble(&parameters).unwrap();
        assert_eq!(kernels.len(), 10);
        kernels.pop();
        kernels.iter().map(Tensor::detach).collect::<Vec<_>>()
    };
    let whole = kernels();
    assert_eq!([whole[3].size()[3], whole[4].size()[3], whole[5].size()[3]], [3, 3, 5]);
    penalty.project(&parameters).unwrap();
    let projected = kernels();
    let off: f64 = whole.iter().zip(&projected).map(|(whole, projected)| squared(&(whole - projected))).sum();
    let kept: f64 = projected.iter().map(squared).sum();
    assert!((shared - kept).abs() < 1e-12 * kept && (rest - off).abs() < 1e-12 * kept, "{shared} {kept} {rest} {off}");
}

#[test]
fn filters_and_mixing_weights_are_trained_and_their_energies_add_up() {
    let (relaxed, parameters) = network(Architecture::Rgroup, 3);
    let gradient = parameters.gradient(&forecast(relaxed.as_ref(), &parameters).square().sum(Kind::Double)).unwrap();
    for entry in parameters.entries() {
        let part = gradient.narrow(0, entry.start as i64, entry.len() as i64);
        assert!(largest(&part) > 1e-6, "{} has no gradient", entry.name);
    }
    let (shared, rest) = relaxed.penalty(&parameters, Held::Mixing).unwrap().unwrap().energies(&parameters).unwrap();
    let weights: f64 = (0..2).map(|number| squared(&parameters.get(&format!("layers.{number}.mixing")).unwrap())).sum();
    assert!((shared + rest - weights).abs() < 1e-12 * weights && rest > 0.0);
    let config = SmokeNetConfig { banks: 3, ..config(Architecture::Rgroup, 5, 4) };
    assert_eq!(built(&config, FRAMES).unwrap(), group_net::count(&widths(&config, FRAMES), 3));
    assert_eq!(built(&config, FRAMES).unwrap(), 3 * 9 * 5 * (4 + 5 + 5) + 3 * 9 + 3 * 10 + 2 * (15 * 9 + 1));
}
