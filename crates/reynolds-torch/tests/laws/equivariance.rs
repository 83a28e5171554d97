//! A network whose parameters are projected commutes with the group; one whose parameters are not does not.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use reynolds::group::{self, Element};
use reynolds::plan::SymmetryPlan;
use reynolds::random::Random;
use reynolds::rep::parse_fields;
use reynolds_torch::action::FieldAction;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters};

/// Image → regular fields → regular fields → regular fields, with biases, ReLU between.
const SIZES: [(i64, i64, &str); 3] = [(1, 8, "5"), (8, 12, "3"), (12, 4, "5")];

fn network(group: &str, kind: Kind) -> (Parameters, SymmetryPlan) {
    let mut random = Random::new(3);
    let mut builder = Parameters::builder();
    let order = group::parse(group).unwrap().order().unwrap() as i64;
    let mut plan = format!("group = \"{group}\"\n");
    for (layer, (into, out, side)) in SIZES.iter().enumerate() {
        let side: usize = side.parse().unwrap();
        let channels = |fields: i64| if fields == 1 { 1 } else { fields / 4 * order };
        let (ins, outs) = (channels(*into) as usize, channels(*out) as usize);
        let mut numbers = |len: usize| (0..len).map(|_| 0.2 * random.normal()).collect::<Vec<f64>>();
        let shape = [outs, ins, side, side];
        builder.real(&format!("{layer}.weight"), &shape, &numbers(shape.iter().product())).unwrap();
        builder.real(&format!("{layer}.bias"), &[outs], &numbers(outs)).unwrap();
        let domain = if ins == 1 { "trivial".into() } else { format!("{} regular", into / 4) };
        plan += &format!(
            "[[layer]]\nname = \"{layer}.weight\"\ndomain = \"{domain}\"\ncodomain = \"{} regular\"\n",
            out / 4
        );
    }
    (builder.build(kind, Device::Cpu).unwrap(), SymmetryPlan::from_toml(&plan).unwrap())
}

fn forward(parameters: &Parameters, image: &Tensor, circular: bool) -> Tensor {
    let mut features = image.shallow_clone();
    for layer in 0..SIZES.len() {
        let weight = parameters.get(&format!("{layer}.weight")).unwrap();
        let bias = parameters.get(&format!("{layer}.bias")).unwrap();
        let margin = weight.size()[2] / 2;
        features = if circular {
            let padded = features.f_pad([margin; 4], "circular", None).unwrap();
            padded.conv2d(&weight, Some(&bias), [1, 1], [0, 0], [1, 1], 1)
        } else {
            features.conv2d(&weight, Some(&bias), [1, 1], [margin, margin], [1, 1], 1)
        };
        if layer + 1 < SIZES.len() {
            features = features.relu();
        }
    }
    features.detach()
}

/// The largest ‖f(g·x) − g·f(x)‖∞ over the group, relative to the largest output.
fn defect(parameters: &Parameters, group: &str, circular: bool) -> f64 {
    let group = group::parse(group).unwrap();
    let act = |fields: &str| FieldAction::new(&parse_fields(&group, fields).unwrap());
    let (input, output) = (act("trivial"), act("regular"));
    let mut random = Random::new(4);
    let image: Vec<f64> = (0..2 * 11 * 11).map(|_| random.normal()).collect();
    let image = Tensor::from_slice(&image).view([2, 1, 11, 11]).to_kind(parameters.flat().kind());
    let features = forward(parameters, &image, circular);
    let largest = |tensor: &Tensor| tensor.abs().max().double_value(&[]);
    let difference = |g: u128| {
        let g = Element::Finite(g);
        let moved = forward(parameters, &input.act(&g, &image).unwrap(), circular);
        largest(&(moved - output.act(&g, &features).unwrap())) / largest(&features)
    };
    (0..group.order().unwrap()).map(difference).fold(0.0, f64::max)
}

#[test]
fn a_projected_network_commutes_with_the_group() {
    for group in ["C4", "D4"] {
        for (kind, tolerance) in [(Kind::Double, 1e-12), (Kind::Float, 1e-5)] {
            let (parameters, plan) = network(group, kind);
            let mut binding = Binding::builder(&parameters);
            binding.plan(&plan).unwrap();
            let binding = binding.build().unwrap();
            assert_eq!(binding.bound().len(), 2 * SIZES.len());
            assert!(defect(&parameters, group, false) > 0.1, "random weights are not equivariant");
            binding.project_in_place(&parameters).unwrap();
            for circular in [false, true] {
                let defect = defect(&parameters, group, circular);
                assert!(defect <= tolerance, "{group} {kind:?}, circular {circular}: {defect:e}");
            }
        }
    }
}
