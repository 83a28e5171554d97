//! The kernels on a processor in the place that they have on a GPU.

use std::rc::Rc;

use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::proximal::{Proximal, Target};
use reynolds_testkit::space;

use super::*;
use crate::binding::TileProducts;
use crate::parameters::Parameters;
use crate::penalty::Penalty;
use crate::projector::FlatProjector;
use crate::proximal::{DualStep, ProximalStep, Scope, TargetStep};
use crate::testing::{largest, normal};

/// Layers that P averages orbits of, with parameters in between that are not bound.
fn parameters(kind: Kind) -> (Parameters, Binding) {
    let spaces = [
        ("a", space("C4", "2 regular", "1 regular + 1 trivial", 3, 2)),
        ("b", space("D4", "1 regular + 1 vector", "1 regular", 3, 2)),
        ("c", space("C4", "1 regular", "1 regular", 0, 0)),
    ];
    let mut builder = Parameters::builder();
    for (name, space) in &spaces {
        let values = |len: usize| Vec::<f64>::try_from(normal(&[len as i64], len as u64)).unwrap();
        builder.real(name, &space.shape(), &values(space.shape().iter().product())).unwrap();
        builder.real(&format!("beside {name}"), &[3], &values(3)).unwrap();
    }
    let parameters = builder.build(kind, Device::Cpu).unwrap();
    let mut builder = Binding::builder(&parameters);
    // Not by the core.
    builder.tile_products(TileProducts::Lists);
    spaces.iter().for_each(|(name, space)| builder.real(name, space).unwrap());
    let binding = builder.build().unwrap();
    (parameters, binding)
}

fn kernels(binding: &Binding, layer_ends: &[usize]) -> Fused {
    let in_flat = |numbers: &Tensor| binding.place.in_flat(numbers);
    Fused::emulated(&binding.projector, binding.kind, (binding.len, layer_ends), in_flat).unwrap()
}

fn ends(binding: &Binding) -> Vec<usize> {
    binding.bound.iter().map(|bound| bound.entry.start + bound.entry.len()).collect()
}

#[test]
fn kernels_that_agree_take_every_step_and_the_gradient() {
    for kind in [Kind::Float, Kind::Double] {
        let (parameters, operations) = parameters(kind);
        let (_, mut by_kernels) = self::parameters(kind);
        assert!(!by_kernels.takes_one_pass());
        by_kernels.one_pass = OnePass::checked(kernels(&by_kernels, &ends(&by_kernels)), &by_kernels).unwrap();
        assert!(by_kernels.takes_one_pass());
        let bindings = [Rc::new(by_kernels), Rc::new(operations)];
        let same = |what: &str, act: &dyn Fn(&Rc<Binding>, &Tensor)| {
            let before = crate::device::launches();
            let [ours, theirs] = [0, 1].map(|nth: usize| {
                let flat = parameters.flat().copy();
                act(&bindings[nth], &flat);
                flat
            });
            assert!(crate::device::launches() > before, "{what}");
            let off = largest(&(ours - theirs));
            assert!(off < 64.0 * norm::epsilon(kind), "{what} in {kind:?}: {off}");
        };
        for (form, whole) in [(Form::Squared, false), (Form::Plain, false), (Form::Plain, true)] {
            let config = PenaltyConfig { lambda_g: 0.2, lambda_perp: 0.6, form, whole, ..PenaltyConfig::default() };
            let step = |binding: &Rc<Binding>| {
                ProximalStep::new(binding.clone(), Proximal::new(config).unwrap().unscaled()).unwrap()
            };
            same("the same strengths", &|binding, flat| step(binding).apply(flat, 0.5).unwrap());
            let strengths = [[0.5, 2.0], [1.0, 0.0], [0.0, 3.0]];
            same("strengths of each", &|binding, flat| {
                step(binding).per_layer(&strengths).unwrap().apply(flat, 0.5).unwrap();
            });
            same("the gradient", &|binding, flat| {
                let at = flat.cos();
                let squared = PenaltyConfig { form: Form::Squared, ..config };
                Penalty::new(binding.clone(), squared).unwrap().add_gradient(&at, &mut flat.shallow_clone()).unwrap();
            });
        }
        for scope in [Scope::Layer, Scope::Network] {
            let target = Target::new(0.3).unwrap();
            same("target", &|binding, flat| {
                TargetStep::new(binding.clone(), target, scope).unwrap().apply(flat, 0.5).unwrap();
            });
            same("dual", &|binding, flat| {
                DualStep::new(binding.clone(), target, scope, 2.0).unwrap().apply(flat, 0.5).unwrap();
            });
        }
    }
}

#[test]
fn kernels_that_disagree_are_not_used() {
    let (_, binding) = parameters(Kind::Float);
    let agrees = |layer_ends: &[usize]| OnePass::checked(kernels(&binding, layer_ends), &binding).unwrap().is_some();
    let ends = ends(&binding);
    assert!(agrees(&ends));
    // Energies of the first layer with those of the second: the gradient is right, steps are not.
    assert!(!agrees(&[ends[1], ends[1] + 1, ends[2]]));
    let bound = binding.gather(&numbers(&binding).unwrap()).unwrap();
    let other = FlatProjector::Mask(bound.ones_like());
    let in_flat = |numbers: &Tensor| binding.place.in_flat(numbers);
    let other = Fused::emulated(&other, Kind::Float, (binding.len, &ends), in_flat);
    assert!(OnePass::checked(other.unwrap(), &binding).unwrap().is_none());
}
