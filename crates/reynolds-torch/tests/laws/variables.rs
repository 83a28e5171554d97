//! Tensors of a VarStore, bound as they are.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use reynolds::group;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::plan::{SymmetryPlan, UniformFields};
use reynolds_torch::tch::nn::VarStore;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Penalty, Variables};

fn tensor(shape: &[i64], kind: Kind) -> Tensor {
    let len: i64 = shape.iter().product();
    Tensor::arange(len, (Kind::Double, Device::Cpu)).sin().view(shape).to_kind(kind)
}

/// A store with two convolutions and a head; only the convolutions are bound.
fn store() -> VarStore {
    let mut store = VarStore::new(Device::Cpu);
    let root = store.root();
    for (name, shape) in [("b.weight", vec![4, 8, 3, 3]), ("a.weight", vec![8, 4, 3, 3]), ("head", vec![3, 5])] {
        let _ = (&root / name.split('.').next().unwrap())
            .var_copy(name.rsplit('.').next().unwrap(), &tensor(&shape, Kind::Float));
    }
    store.double();
    store
}

fn bound(variables: &Variables, config: PenaltyConfig) -> Penalty {
    let mut binding = variables.binding();
    binding.plan(&SymmetryPlan::uniform(&group::parse("C4").unwrap(), UniformFields::Regular).unwrap()).unwrap();
    Penalty::new(binding.build().unwrap(), config).unwrap()
}

#[test]
fn what_is_added_to_grad_is_the_gradient_on_the_tape() {
    for form in [Form::Squared, Form::Plain] {
        let config = PenaltyConfig { lambda_g: 0.2, lambda_perp: 0.5, form, ..PenaltyConfig::default() };
        let (ours, theirs) = (store(), store());
        let mut variables = Variables::of(&ours).unwrap();
        let penalty = bound(&variables, config);
        let loss = |store: &VarStore| {
            store.variables().values().map(|v| v.pow_tensor_scalar(3).sum(Kind::Double)).sum::<Tensor>()
        };
        loss(&ours).backward();
        let value = variables.add_penalty(&penalty).unwrap();
        let on_tape = penalty.differentiable(&Variables::of(&theirs).unwrap().on_tape().unwrap()).unwrap();
        assert!((value.double_value(&[]) - on_tape.double_value(&[])).abs() < 1e-12);
        (loss(&theirs) + on_tape).backward();
        for (name, variable) in ours.variables() {
            let expected = theirs.variables()[&name].grad();
            assert_close(&numbers(&variable.grad()), &numbers(&expected), 1e-12, &name);
        }
    }
}

#[test]
fn complex_and_real_tensors_in_any_order() {
    let layers = [real("w", "C4", "regular", "regular", (0, 0)), complex("z", "SO2", "1x(-1..1)", "1x(-1..1)")];
    let z =
        Tensor::complex(&tensor(&[3, 3], Kind::Double), &tensor(&[3, 3], Kind::Double).cos()).set_requires_grad(true);
    let odd = tensor(&[3], Kind::Double).set_requires_grad(true);
    let w = tensor(&[4, 4], Kind::Double).set_requires_grad(true);
    let named = [("odd", &odd), ("w", &w), ("z", &z)].map(|(name, tensor)| (name.to_string(), tensor.shallow_clone()));
    let mut variables = Variables::new(named).unwrap();
    let mut binding = variables.binding();
    bind_to(&mut binding, &layers);
    let penalty = Penalty::new(binding.build().unwrap(), squared([0.0, 0.5])).unwrap();
    let _ = variables.add_penalty(&penalty).unwrap();
    // 2λ_⊥ (W − P(W)): z off the diagonal.
    let expected = z.detach() - z.detach().diagonal(0, 0, 1).diag_embed(0, 0, 1);
    assert_close(&numbers(&z.grad().view_as_real()), &numbers(&expected.view_as_real()), 1e-12, "z");
    assert!(!odd.grad().defined());
    let (diagonal, before) = (z.detach() - &expected, odd.detach().copy());
    variables.project(penalty.binding()).unwrap();
    assert_close(&numbers(&z.detach().view_as_real()), &numbers(&diagonal.view_as_real()), 1e-12, "P(z)");
    assert_eq!(odd.detach(), before);
}

#[test]
fn tensors_that_do_not_go_together_are_errors() {
    let named = |a: Tensor, b: Tensor| Variables::new([("a".to_string(), a), ("b".to_string(), b)]);
    let float = || tensor(&[2], Kind::Float);
    let message = named(float(), tensor(&[2], Kind::Double)).unwrap_err().to_string();
    assert_eq!(message, "parameter \"b\": expected Float on Cpu, as \"a\", found Double on Cpu");
    assert!(named(float(), tensor(&[2], Kind::Int64)).unwrap_err().to_string().contains("a tensor of f32 or f64"));
    assert!(Variables::new([("a".to_string(), float()), ("a".to_string(), float())]).is_err());
    assert!(Variables::new([]).is_err());
}
