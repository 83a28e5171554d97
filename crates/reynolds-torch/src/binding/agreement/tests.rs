//! The emulated kernels in place of those of a GPU.

use std::rc::Rc;
use std::sync::Arc;

use reynolds::group;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::projection::{Basis, Lowered, derive};
use reynolds::proximal::Proximal;
use reynolds::rep::parse_fields;
use reynolds::steerable::RingsConfig;
use reynolds_testkit::space;
use tch::Device;

use super::*;
use crate::binding::TileProducts;
use crate::parameters::Parameters;
use crate::penalty::Penalty;
use crate::projector::FlatProjector;
use crate::proximal::ProximalStep;
use crate::testing::{largest, normal};

/// A band-limited kernel of 5² or 3³ points.
fn band(group: &str, domain: &str, codomain: &str, (side, dims): (usize, usize)) -> (Vec<usize>, Lowered<f64>) {
    let group = group::parse(group).unwrap();
    let [domain, codomain] = [domain, codomain].map(|fields| parse_fields(&group, fields).unwrap());
    let basis = Basis::derive(&domain, &codomain, side, dims, &RingsConfig::default()).unwrap();
    (basis.shape(), Lowered::Basis(Box::new(basis)))
}

/// Layers that P averages orbits of, or such with some that are band-limited, with parameters in between that are not bound.
fn parameters(kind: Kind, banded: bool) -> (Parameters, Binding) {
    let spaces = [
        space("C4", "2 regular", "1 regular + 1 trivial", 3, 2),
        space("D4", "1 regular + 1 vector", "1 regular", 3, 2),
        space("C4", "1 regular", "1 regular", 0, 0),
    ];
    let mut layers = spaces.map(|space| (space.shape(), derive(&space).unwrap()));
    if banded {
        layers[0] = band("SO2", "2x(0..2)", "1x(0..2)", (5, 2));
        // Its largest tile is cut.
        layers[2] = band("SO3", "2x0 + 1x1 + 1x2", "1x0 + 2x1 + 1x2", (3, 3));
    }
    let layers = layers.map(|(shape, projector)| (shape, Arc::new(projector)));
    let named = || (0..layers.len()).map(|nth| nth.to_string()).zip(&layers);
    let mut builder = Parameters::builder();
    for (name, (shape, _)) in named() {
        let values = |len: usize| Vec::<f64>::try_from(normal(&[len as i64], len as u64)).unwrap();
        builder.real(&name, shape, &values(shape.iter().product())).unwrap();
        builder.real(&format!("beside {name}"), &[3], &values(3)).unwrap();
    }
    let parameters = builder.build(kind, Device::Cpu).unwrap();
    let mut builder = Binding::builder(&parameters);
    // Operations of libtorch, not executors of the core.
    builder.tile_products(TileProducts::Lists);
    named().for_each(|(name, (_, projector))| builder.projector(&name, projector).unwrap());
    let binding = builder.build().unwrap();
    (parameters, binding)
}

fn kernels(binding: &Binding, layer_ends: &[usize]) -> Fused {
    let in_flat = |numbers: &Tensor| binding.selection.in_flat(numbers);
    Fused::emulated(&binding.projector, binding.kind, (binding.len, layer_ends), in_flat).unwrap()
}

fn ends(binding: &Binding) -> Vec<usize> {
    binding.bound.iter().map(|bound| bound.entry.start + bound.entry.len()).collect()
}

#[test]
fn kernels_that_agree_take_the_gradient_and_the_steps() {
    for (kind, banded) in [(Kind::Float, false), (Kind::Double, false), (Kind::Float, true), (Kind::Double, true)] {
        let (parameters, operations) = parameters(kind, banded);
        let (_, mut by_kernels) = self::parameters(kind, banded);
        by_kernels.one_pass = checked(kernels(&by_kernels, &ends(&by_kernels)), &by_kernels).unwrap();
        assert!(by_kernels.takes_one_pass() && !operations.takes_one_pass());
        let bindings = [Rc::new(by_kernels), Rc::new(operations)];
        let same = |what: &str, act: &dyn Fn(&Rc<Binding>, &mut Tensor)| {
            let before = crate::device::launches();
            let [ours, theirs] = [0, 1].map(|nth: usize| {
                let mut flat = parameters.flat().copy();
                act(&bindings[nth], &mut flat);
                flat
            });
            assert!(crate::device::launches() > before, "{what}");
            let off = largest(&(ours - theirs));
            assert!(off < 64.0 * norm::epsilon(kind), "{what} in {kind:?}, banded {banded}: {off}");
        };
        let config = PenaltyConfig { lambda_g: 0.2, lambda_perp: 0.6, ..PenaltyConfig::default() };
        same("the gradient", &|binding, flat| {
            let penalty = Penalty::new(binding.clone(), config).unwrap();
            penalty.add_gradient(&flat.cos(), flat).unwrap();
        });
        for form in [Form::Squared, Form::Plain] {
            let proximal = Proximal::new(PenaltyConfig { form, ..config }).unwrap();
            same("strengths of each", &|binding, flat| {
                let step = ProximalStep::new(binding.clone(), proximal).unwrap();
                step.per_layer(&[[0.5, 2.0], [1.0, 0.0], [0.0, 3.0]]).unwrap().apply(flat, 0.5).unwrap();
            });
        }
    }
}

#[test]
fn kernels_that_disagree_are_not_used() {
    let (_, binding) = parameters(Kind::Float, false);
    let agrees = |layer_ends: &[usize]| checked(kernels(&binding, layer_ends), &binding).unwrap().is_some();
    let ends = ends(&binding);
    assert!(agrees(&ends));
    // Energies of the first layer with those of the second: the gradient is right, steps are not.
    assert!(!agrees(&[ends[1], ends[1] + 1, ends[2]]));
    let bound = binding.gather(&probe(&binding).unwrap()).unwrap();
    let other = FlatProjector::Mask(bound.ones_like());
    let in_flat = |numbers: &Tensor| binding.selection.in_flat(numbers);
    let other = Fused::emulated(&other, Kind::Float, (binding.len, &ends), in_flat);
    assert!(checked(other.unwrap(), &binding).unwrap().is_none());
}
