//! A network whose parameters are projected commutes with the group; one whose parameters are not does not.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use reynolds::group::{self, Element};
use reynolds::plan::SymmetryPlan;
use reynolds::random::Random;
use reynolds::rep::parse_fields;
use reynolds_torch::action::FieldAction;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters};

/// Fields in and out, and the side of the kernel: image → regular fields → …, with biases, ReLU between.
const LAYERS: [(&str, &str, usize); 3] =
    [("trivial", "2 regular", 5), ("2 regular", "3 regular", 3), ("3 regular", "regular", 5)];

fn network(group: &str, kind: Kind) -> (Parameters, SymmetryPlan) {
    let (mut random, mut builder) = (Random::new(3), Parameters::builder());
    let mut numbers = |len: usize| (0..len).map(|_| 0.2 * random.normal()).collect::<Vec<f64>>();
    let mut plan = format!("group = \"{group}\"\n");
    let group = group::parse(group).unwrap();
    for (layer, (domain, codomain, side)) in LAYERS.into_iter().enumerate() {
        let [ins, outs] = [domain, codomain].map(|fields| parse_fields(&group, fields).unwrap().dim());
        let shape = [outs, ins, side, side];
        builder.real(&format!("{layer}.weight"), &shape, &numbers(shape.iter().product())).unwrap();
        builder.real(&format!("{layer}.bias"), &[outs], &numbers(outs)).unwrap();
        plan += &format!("[[layer]]\nname = \"{layer}.weight\"\ndomain = \"{domain}\"\ncodomain = \"{codomain}\"\n");
    }
    (builder.build(kind, Device::Cpu).unwrap(), SymmetryPlan::from_toml(&plan).unwrap())
}

fn forward(parameters: &Parameters, image: &Tensor, padding: &str) -> Tensor {
    let mut features = image.shallow_clone();
    for (layer, (_, _, side)) in LAYERS.into_iter().enumerate() {
        let [weight, bias] = ["weight", "bias"].map(|part| parameters.get(&format!("{layer}.{part}")).unwrap());
        let input = if layer == 0 { features } else { features.relu() };
        let padded = input.f_pad([side as i64 / 2; 4], padding, None).unwrap();
        features = padded.conv2d(&weight, Some(&bias), [1, 1], [0, 0], [1, 1], 1);
    }
    features.detach()
}

/// The largest ‖f(g·x) − g·f(x)‖∞ over the group, relative to the largest output.
fn defect(parameters: &Parameters, group: &str, padding: &str) -> f64 {
    let group = group::parse(group).unwrap();
    let [input, output] = ["trivial", "regular"].map(|fields| FieldAction::new(&parse_fields(&group, fields).unwrap()));
    let mut random = Random::new(4);
    let image: Vec<f64> = (0..2 * 11 * 11).map(|_| random.normal()).collect();
    let image = Tensor::from_slice(&image).view([2, 1, 11, 11]).to_kind(parameters.flat().kind());
    let features = forward(parameters, &image, padding);
    let largest = |tensor: &Tensor| tensor.abs().max().double_value(&[]);
    let difference = |g: u128| {
        let g = Element::Finite(g);
        let moved = forward(parameters, &input.act(&g, &image).unwrap(), padding);
        largest(&(moved - output.act(&g, &features).unwrap())) / largest(&features)
    };
    (0..group.order().unwrap()).map(difference).fold(0.0, f64::max)
}

#[test]
fn a_projected_network_commutes_with_the_group() {
    for group in ["C4", "D4"] {
        for (kind, tolerance) in [(Kind::Double, 1e-12), (Kind::Float, 1e-5)] {
            let (mut parameters, plan) = network(group, kind);
            let binding = Binding::of_plan(&parameters, &plan).unwrap();
            assert_eq!(binding.bound().len(), 2 * LAYERS.len());
            assert!(defect(&parameters, group, "constant") > 0.1, "random weights are not equivariant");
            binding.project_in_place(&mut parameters).unwrap();
            for padding in ["constant", "circular"] {
                let defect = defect(&parameters, group, padding);
                assert!(defect <= tolerance, "{group} {kind:?}, padding {padding}: {defect:e}");
            }
        }
    }
}
