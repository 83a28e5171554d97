//! Layers of every lowered form, bound to tensors, beside what the core computes for them in double precision.
#![allow(dead_code, reason = "each test file takes what it needs")]

mod steps;

use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use faer::{Mat, c64};
use reynolds::group::{GroupRef, MatrixGroup};
use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::projection::{Basis, KernelSpace, Lowered, derive};
use reynolds::proximal::{Factors, Proximal, Target};
use reynolds::random::Random;
use reynolds::rep::{Rep, Representation, parse_fields};
use reynolds::scalar::{Scalar, Weight};
use reynolds::steerable::RingsConfig;
use reynolds::{group, irreps::Irreps, rep};
use reynolds_testkit::space;
use reynolds_torch::binding::{BindingBuilder, TileProducts};
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Penalty};

#[allow(unused_imports, reason = "each test file takes what it needs")]
pub(crate) use steps::*;

/// A layer bound to a group, on real numbers: a complex weight is two.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) complex: bool,
    /// Whether its projector is one that the core executes at every step.
    pub(crate) executed: bool,
    bind: Arc<Bind>,
    penalty: Arc<HostPenalty>,
    step: Arc<HostStep>,
}

/// A step of its own after the optimiser's, for one layer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Decoupled {
    Penalty(Proximal),
    Target(Target),
}

type Bind = dyn Fn(&mut BindingBuilder, &str) + Send + Sync;
/// The penalty and its gradient.
type HostPenalty = dyn Fn(PenaltyConfig, &[f64]) -> (f64, Vec<f64>) + Send + Sync;
/// What a step with the step size makes of the numbers.
type HostStep = dyn Fn(Decoupled, &[f64], f64) -> (Factors, Vec<f64>) + Send + Sync;

impl Layer {
    fn new<F: Scalar + Weight>(name: &str, shape: Vec<usize>, projector: Lowered<F>) -> Self {
        let complex = F::from_real_parts([0.0, 1.0]) != F::ZERO;
        let executed = match &projector {
            Lowered::Orbits(_) | Lowered::Basis(_) => true,
            Lowered::Blocks(blocks) => !blocks.is_turned(),
            _ => false,
        };
        let (projector, rows) = (Arc::new(projector), shape[0]);
        let bound = projector.clone();
        let weights_of = move |numbers: &[f64]| -> Vec<F> {
            numbers.chunks(if complex { 2 } else { 1 }).map(|z| F::from_real_parts([z[0], z[z.len() - 1]])).collect()
        };
        // Im z = Re(−i z).
        let imaginary = move |z: F| complex.then(|| (F::from_real_parts([0.0, -1.0]) * z).real());
        let numbers_of = move |weights: Vec<F>| -> Vec<f64> {
            weights.into_iter().flat_map(|z| [Some(z.real()), imaginary(z)]).flatten().collect()
        };
        let of_step = projector.clone();
        let step = move |step: Decoupled, numbers: &[f64], size: f64| {
            let mut weights = weights_of(numbers);
            let factors = match step {
                Decoupled::Penalty(proximal) => proximal.apply(&*of_step, &mut weights, size),
                Decoupled::Target(target) => target.apply(&*of_step, &mut weights),
            };
            (factors.unwrap(), numbers_of(weights))
        };
        let penalty = move |config: PenaltyConfig, numbers: &[f64]| {
            let weights = weights_of(numbers);
            let mut gradient = vec![F::ZERO; weights.len()];
            let value = config.add_gradient(&*projector, &weights, rows, &mut gradient).unwrap();
            (value, numbers_of(gradient))
        };
        Self {
            name: name.into(),
            shape,
            complex,
            executed,
            bind: Arc::new(move |builder, name| builder.projector(name, &bound).unwrap()),
            penalty: Arc::new(penalty),
            step: Arc::new(step),
        }
    }

    fn of<F: Scalar + Weight>(name: &str, space: &KernelSpace<F>) -> Self {
        Self::new(name, space.shape(), derive(space).unwrap())
    }

    /// The same, sharing the projector.
    pub(crate) fn again(&self, name: String) -> Self {
        Self { name, ..self.clone() }
    }

    /// Real numbers.
    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product::<usize>() * if self.complex { 2 } else { 1 }
    }

    /// A step by the core.
    pub(crate) fn stepped(&self, step: Decoupled, numbers: &[f64], size: f64) -> (Factors, Vec<f64>) {
        (self.step)(step, numbers, size)
    }

    /// P(W) by the core: the gradient of ‖P(W)‖²/2.
    pub(crate) fn projected(&self, numbers: &[f64]) -> Vec<f64> {
        (self.penalty)(PenaltyConfig { lambda_g: 0.5, lambda_perp: 0.0, ..PenaltyConfig::default() }, numbers).1
    }
}

/// Fields `domain` → `codomain` on a grid of `side` points in `dims` directions, or a dense map for `side` = 0.
pub(crate) fn real(name: &str, group: &str, domain: &str, codomain: &str, (side, dims): (usize, usize)) -> Layer {
    Layer::of(name, &space(group, domain, codomain, side, dims))
}

/// A dense map between complex irreps.
pub(crate) fn complex(name: &str, group: &str, domain: &str, codomain: &str) -> Layer {
    let group = group::parse(group).unwrap();
    let [domain, codomain] =
        [domain, codomain].map(|fields| fields.parse::<Irreps>().unwrap().complex_rep(&group).unwrap());
    Layer::of(name, &KernelSpace::dense(&domain, &codomain).unwrap())
}

/// Two copies of the irrep of Q₈ on ℝ⁴ by left multiplication, and a scalar.
fn quaternionic(name: &str) -> Layer {
    let i = [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]];
    let j = [[0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]];
    let matrix = |rows: [[f64; 4]; 4]| Mat::from_fn(4, 4, |r, c| rows[r][c]);
    let group: GroupRef = Arc::new(MatrixGroup::new(&[matrix(i), matrix(j)]).unwrap());
    let irrep = group.clone().irreps(0).unwrap().into_iter().find(|irrep| irrep.dim() == 4).unwrap();
    let fields = rep::sum(&group, &[(2, irrep.into()), (1, rep::trivial(&group))]).unwrap();
    Layer::of(name, &KernelSpace::dense(&fields, &fields).unwrap())
}

/// A band-limited kernel.
pub(crate) fn band(name: &str, group: &str, domain: &str, codomain: &str, side: usize, dims: usize) -> Layer {
    let group = group::parse(group).unwrap();
    let [domain, codomain] = [domain, codomain].map(|fields| parse_fields(&group, fields).unwrap());
    let basis = Basis::derive(&domain, &codomain, side, dims, &RingsConfig::default()).unwrap();
    Layer::new(name, basis.shape(), Lowered::<f64>::Basis(Box::new(basis)))
}

/// From complex irreps to the same ones in a basis turned by a random unitary matrix.
fn turned(name: &str, group: &str) -> Layer {
    let group = group::parse(group).unwrap();
    let dual = reynolds::irrep::unitary_dual(&group, 0).unwrap().into_iter().take(3);
    let parts: Vec<(usize, Rep<c64>)> = dual.enumerate().map(|(i, irrep)| (1 + i % 2, irrep.into())).collect();
    let irreps = rep::sum(&group, &parts).unwrap();
    let unitary = Random::new(5).matrix::<c64>(irreps.dim(), irreps.dim()).qr().compute_Q();
    Layer::of(name, &KernelSpace::dense(&irreps, &rep::subspace(&irreps, unitary)).unwrap())
}

/// One layer of every form, small.
pub(crate) fn every_form() -> Vec<Layer> {
    static LAYERS: LazyLock<Vec<Layer>> = LazyLock::new(|| {
        vec![
            real("C4 regular 5x5", "C4", "2 regular", "2 regular + 1 trivial", (5, 2)),
            real("D4 regular and vector 3x3", "D4", "1 regular + 1 vector", "1 regular", (3, 2)),
            real("Oh trivial and vector 3x3x3", "Oh", "1 trivial + 1 vector", "2 trivial + 1 vector", (3, 3)),
            real("S5 permutation dense", "S5", "2 permutation + 1 trivial", "1 permutation", (0, 0)),
            real("SO3 irreps dense", "SO3", "3x0 + 2x1 + 1x2", "2x0 + 2x1 + 1x2", (0, 0)),
            real("C3 complex type dense", "C3", "2 irrep(1) + 1 irrep(0)", "1 irrep(1) + 2 irrep(0)", (0, 0)),
            real("C8 irreps and regular dense", "C8", "1 regular + 1 irrep(1)", "2 irrep(1) + 1 irrep(3)", (0, 0)),
            real("Oh irrep chain 3x3x3", "Oh", "2 irrep(4)", "1 irrep(4) + 1 trivial", (3, 3)),
            band("SO2 band 5x5", "SO2", "2x(0..2)", "1x(0..2)", 5, 2),
            band("SO3 band 3x3x3", "SO3", "2x0 + 1x1", "1x0 + 2x1", 3, 3),
            complex("SO2 mask", "SO2", "4x(-4..4)", "4x(-4..4)"),
            quaternionic("Q8 quaternionic type dense"),
            turned("C5 complex irreps in a turned basis", "C5"),
            turned("D5 complex irreps in a turned basis", "D5"),
        ]
    });
    LAYERS.clone()
}

/// Every norm in both forms, on P(W) and on W.
pub(crate) fn every_config() -> Vec<PenaltyConfig> {
    let forms = [(Form::Squared, false), (Form::Squared, true), (Form::Plain, false), (Form::Plain, true)];
    let with = |norm| forms.map(|(form, whole)| PenaltyConfig { lambda_g: 0.3, lambda_perp: 0.7, norm, form, whole });
    Norm::all().into_iter().flat_map(with).collect()
}

/// The squared Frobenius penalty.
pub(crate) fn squared([lambda_g, lambda_perp]: [f64; 2]) -> PenaltyConfig {
    PenaltyConfig { lambda_g, lambda_perp, ..PenaltyConfig::default() }
}

/// The layers as parameters with standard normal numbers; between them ones that are not bound, if `gaps`.
pub(crate) fn parameters(layers: &[Layer], seed: u64, kind: Kind, gaps: bool) -> Parameters {
    parameters_on(Device::Cpu, layers, seed, kind, gaps)
}

pub(crate) fn parameters_on(device: Device, layers: &[Layer], seed: u64, kind: Kind, gaps: bool) -> Parameters {
    let (mut builder, mut random) = (Parameters::builder(), Random::new(seed));
    for layer in layers {
        if gaps {
            builder.real(&format!("unbound beside {}", layer.name), &[3], &[0.5, -1.5, 2.5]).unwrap();
        }
        let numbers: Vec<f64> = (0..layer.len()).map(|_| random.normal()).collect();
        let pairs: Vec<(f64, f64)> = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        match layer.complex {
            true => builder.complex(&layer.name, &layer.shape, &pairs).unwrap(),
            false => builder.real(&layer.name, &layer.shape, &numbers).unwrap(),
        }
    }
    builder.build(kind, device).unwrap()
}

pub(crate) const BOTH_WAYS: [TileProducts; 2] = [TileProducts::PerKind, TileProducts::Lists];

pub(crate) fn bind(parameters: &Parameters, layers: &[Layer]) -> Rc<Binding> {
    bind_by(parameters, layers, TileProducts::PerKind)
}

pub(crate) fn bind_by(parameters: &Parameters, layers: &[Layer], products: TileProducts) -> Rc<Binding> {
    let mut builder = Binding::builder(parameters);
    builder.tile_products(products);
    bind_to(&mut builder, layers);
    Rc::new(builder.build().unwrap())
}

pub(crate) fn bind_to(builder: &mut BindingBuilder, layers: &[Layer]) {
    layers.iter().for_each(|layer| (layer.bind)(builder, &layer.name));
}

/// The penalty of all parameters by the core in double precision and its gradient, 0 where nothing is bound.
pub(crate) fn by_the_core(layers: &[Layer], parameters: &Parameters, config: PenaltyConfig) -> (f64, Vec<f64>) {
    let flat = numbers(parameters.flat());
    let (mut value, mut gradient) = (0.0, vec![0.0; flat.len()]);
    for entry in parameters.entries() {
        if let Some(layer) = layers.iter().find(|layer| layer.name == entry.name) {
            let place = entry.start..entry.start + entry.len();
            let (part, slope) = (layer.penalty)(config, &flat[place.clone()]);
            value += part;
            gradient[place].copy_from_slice(&slope);
        }
    }
    (value, gradient)
}

/// The same numbers, every second one of a storage: no plain vector, so that operations of libtorch do the work of executors.
pub(crate) fn strided(flat: &Tensor) -> Tensor {
    let mut strided = Tensor::zeros([2 * flat.size()[0]], (flat.kind(), flat.device())).slice(0, 0, None, 2);
    strided.copy_(flat);
    strided
}

/// Panics unless all ways to the penalty and to its gradient, on the tape too, agree with the core.
pub(crate) fn assert_agrees(penalty: &Penalty, layers: &[Layer], parameters: &Parameters) {
    let (config, flat) = (penalty.config(), parameters.flat());
    let (kind, start) = (flat.kind(), flat.cos());
    let (value, slope) = by_the_core(layers, parameters, config);
    let value_within = tolerance(kind, parameters.len(), value);
    // How a spectral norm changes depends on how far apart singular values are.
    let gap = if config.norm == Norm::Spectral && kind == Kind::Float { 10.0 } else { 1.0 };
    let is_squared = (config.norm, config.form) == (Norm::Frobenius, Form::Squared);
    let within = if is_squared { tolerance(kind, 64, 1.0) } else { 10.0 * gap * value_within };
    let expected: Vec<f64> = numbers(&start).iter().zip(&slope).map(|(sum, slope)| sum + slope).collect();
    // Executors take plain vectors only, operations of libtorch strided ones too.
    let ways: [fn(&Tensor) -> Tensor; 2] = [Tensor::copy, strided];
    for laid_out in &ways[..if is_squared && flat.device() == Device::Cpu { 2 } else { 1 }] {
        let what = format!("{} and others, {kind:?}, {config:?}", layers[0].name);
        let (mut sum, mut measured) = (laid_out(&start), laid_out(&start));
        penalty.add_gradient(flat, &mut sum).unwrap();
        let with_gradient = penalty.add_gradient_with_value(flat, &mut measured).unwrap();
        for found in [with_gradient, penalty.value(&laid_out(flat)).unwrap()] {
            assert!(found.size().is_empty() && found.kind() == kind && found.device() == flat.device(), "{what}");
            assert_close(&numbers(&found), &[value], value_within, &format!("value, {what}"));
        }
        for gradient in [sum, measured] {
            assert_close(&numbers(&gradient), &expected, within, &format!("gradient, {what}"));
            for unbound in parameters.entries().iter().filter(|entry| entry.name.starts_with("unbound")) {
                let part = |tensor: &Tensor| tensor.narrow(0, unbound.start as i64, unbound.len() as i64);
                assert_eq!(part(&gradient), part(&start), "{what}");
            }
        }
    }
    let on_tape = penalty.on_tape(parameters).unwrap();
    assert_close(&numbers(&on_tape), &[value], value_within, "value on the tape");
    assert_close(&numbers(&parameters.gradient(&on_tape).unwrap()), &slope, within, "gradient by the tape");
}

/// The numbers of a tensor in double precision.
pub(crate) fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::<f64>::try_from(tensor.to_kind(Kind::Double).reshape([-1])).unwrap()
}

/// The tolerance for numbers of a kind that come from about `terms` terms of size `scale`.
pub(crate) fn tolerance(kind: Kind, terms: usize, scale: f64) -> f64 {
    match kind {
        Kind::Double => 1e-12 * scale.max(1.0),
        _ => f64::from(f32::EPSILON) * 8.0 * (terms as f64).sqrt() * scale.max(1.0),
    }
}

/// Panics unless the two agree entry by entry.
pub(crate) fn assert_close(ours: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    let worst = ours.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "{what}: {worst:e} apart, at most {tolerance:e} expected");
}
