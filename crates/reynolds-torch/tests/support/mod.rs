//! Layers of every lowered form, with random weights, bound to tensors and held beside the host.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::rc::Rc;
use std::sync::Arc;

use faer::{Mat, c64};
use reynolds::group::{GroupRef, MatrixGroup};
use reynolds::projection::{Basis, Energies, KernelSpace, Lowered, Projector, derive};
use reynolds::random::Random;
use reynolds::rep::{Grid, Rep, Representation, parse_fields};
use reynolds::scalar::{Over, Scalar, Weight};
use reynolds::steerable::RingsConfig;
use reynolds::{group, irreps::Irreps, rep};
use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters};

/// A projector, real or complex.
#[derive(Debug, Clone)]
pub(crate) enum AnyProjector {
    Real(Arc<Lowered<f64>>),
    Complex(Arc<Lowered<c64>>),
}

/// A layer that is held against a group.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) projector: AnyProjector,
}

impl Layer {
    pub(crate) fn is_complex(&self) -> bool {
        matches!(self.projector, AnyProjector::Complex(_))
    }

    pub(crate) fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Real numbers.
    pub(crate) fn len(&self) -> usize {
        self.numel() * if self.is_complex() { 2 } else { 1 }
    }
}

fn space_layer<F: Scalar>(name: &str, space: &KernelSpace<F>, wrap: fn(Arc<Lowered<F>>) -> AnyProjector) -> Layer {
    Layer { name: name.into(), shape: space.shape(), projector: wrap(Arc::new(derive(space).unwrap())) }
}

/// Fields `domain` → `codomain` on a grid of `side` points in `dims` directions, or a dense map for `dims` = 0.
pub(crate) fn real(name: &str, group: &str, domain: &str, codomain: &str, (side, dims): (usize, usize)) -> Layer {
    let group = group::parse(group).unwrap();
    let (domain, codomain) = (parse_fields(&group, domain).unwrap(), parse_fields(&group, codomain).unwrap());
    let space = if dims == 0 {
        KernelSpace::dense(&domain, &codomain).unwrap()
    } else {
        KernelSpace::kernel(&domain, &codomain, &Grid::new(&group, side, dims).unwrap()).unwrap()
    };
    space_layer(name, &space, AnyProjector::Real)
}

/// A dense map between complex irreps.
pub(crate) fn complex(name: &str, group: &str, domain: &str, codomain: &str) -> Layer {
    let group = group::parse(group).unwrap();
    let fields = |text: &str| text.parse::<Irreps>().unwrap().complex_rep(&group).unwrap();
    space_layer(name, &KernelSpace::dense(&fields(domain), &fields(codomain)).unwrap(), AnyProjector::Complex)
}

/// Two copies of the irrep of Q₈ on ℝ⁴ by left multiplication, and a scalar.
pub(crate) fn quaternionic(name: &str) -> Layer {
    let i = [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]];
    let j = [[0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]];
    let matrix = |rows: [[f64; 4]; 4]| Mat::from_fn(4, 4, |r, c| rows[r][c]);
    let group: GroupRef = Arc::new(MatrixGroup::new(&[matrix(i), matrix(j)]).unwrap());
    let irrep = group.clone().irreps(0).unwrap().into_iter().find(|irrep| irrep.dim() == 4).unwrap();
    let fields = rep::sum(&group, &[(2, irrep.into()), (1, rep::trivial(&group))]).unwrap();
    space_layer(name, &KernelSpace::dense(&fields, &fields).unwrap(), AnyProjector::Real)
}

/// A band-limited kernel.
pub(crate) fn band(name: &str, group: &str, domain: &str, codomain: &str, side: usize, dims: usize) -> Layer {
    let group = group::parse(group).unwrap();
    let (domain, codomain) = (parse_fields(&group, domain).unwrap(), parse_fields(&group, codomain).unwrap());
    let basis = Basis::derive(&domain, &codomain, side, dims, &RingsConfig::default()).unwrap();
    let shape = basis.shape();
    Layer { name: name.into(), shape, projector: AnyProjector::Real(Arc::new(Lowered::Basis(Box::new(basis)))) }
}

/// From complex irreps to the same ones in a basis turned by a random unitary matrix.
pub(crate) fn turned(name: &str, group: &str) -> Layer {
    let group = group::parse(group).unwrap();
    let dual = reynolds::irrep::unitary_dual(&group, 0).unwrap().into_iter().take(3);
    let parts: Vec<(usize, Rep<c64>)> = dual.enumerate().map(|(i, irrep)| (1 + i % 2, irrep.into())).collect();
    let irreps = rep::sum(&group, &parts).unwrap();
    let unitary = Random::new(5).matrix::<c64>(irreps.dim(), irreps.dim()).qr().compute_Q();
    let turned = rep::subspace(&irreps, unitary);
    space_layer(name, &KernelSpace::dense(&irreps, &turned).unwrap(), AnyProjector::Complex)
}

/// One layer of every form, small.
pub(crate) fn every_form() -> Vec<Layer> {
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
}

/// Standard normal real numbers for a layer.
pub(crate) fn random_numbers(layers: &[Layer], seed: u64) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed);
    layers.iter().map(|layer| (0..layer.len()).map(|_| random.normal()).collect()).collect()
}

/// The layers as parameters; between them ones that are not bound, if `gaps`.
pub(crate) fn parameters(layers: &[Layer], numbers: &[Vec<f64>], kind: Kind, gaps: bool) -> Parameters {
    parameters_on(Device::Cpu, layers, numbers, kind, gaps)
}

/// The same on a device.
pub(crate) fn parameters_on(
    device: Device,
    layers: &[Layer],
    numbers: &[Vec<f64>],
    kind: Kind,
    gaps: bool,
) -> Parameters {
    let mut builder = Parameters::builder();
    for (layer, numbers) in layers.iter().zip(numbers) {
        if gaps {
            builder.real(&format!("unbound beside {}", layer.name), &[3], &[0.5, -1.5, 2.5]).unwrap();
        }
        if layer.is_complex() {
            let pairs: Vec<(f64, f64)> = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            builder.complex(&layer.name, &layer.shape, &pairs).unwrap();
        } else {
            builder.real(&layer.name, &layer.shape, numbers).unwrap();
        }
    }
    builder.build(kind, device).unwrap()
}

/// Binds the layers.
pub(crate) fn bind(parameters: &Parameters, layers: &[Layer]) -> Rc<Binding> {
    bind_by(parameters, layers, TileProducts::PerKind)
}

/// Binds the layers, with tiles multiplied in the given way.
pub(crate) fn bind_by(parameters: &Parameters, layers: &[Layer], products: TileProducts) -> Rc<Binding> {
    let mut builder = Binding::builder(parameters);
    builder.tile_products(products);
    for layer in layers {
        match &layer.projector {
            AnyProjector::Real(projector) => builder.projector(&layer.name, projector).unwrap(),
            AnyProjector::Complex(projector) => builder.projector(&layer.name, projector).unwrap(),
        }
    }
    Rc::new(builder.build().unwrap())
}

/// What the host makes of a layer in double precision, given weights of its own kind: real numbers in and out, and a number.
pub(crate) fn on_host(layer: &Layer, numbers: &[f64], call: &dyn HostCall) -> (Vec<f64>, f64) {
    match &layer.projector {
        AnyProjector::Real(projector) => call.real(projector, numbers, layer.shape[0]),
        AnyProjector::Complex(projector) => {
            let weights: Vec<c64> = numbers.chunks_exact(2).map(|pair| c64::new(pair[0], pair[1])).collect();
            let (out, value) = call.complex(projector, &weights, layer.shape[0]);
            (out.iter().flat_map(|z| [z.re, z.im]).collect(), value)
        }
    }
}

/// Something the host does with a projector and weights.
pub(crate) trait HostCall {
    fn real(&self, projector: &Lowered<f64>, weights: &[f64], rows: usize) -> (Vec<f64>, f64);
    fn complex(&self, projector: &Lowered<c64>, weights: &[c64], rows: usize) -> (Vec<c64>, f64);
}

/// P(W) and ‖P(W)‖².
pub(crate) struct Project;

impl HostCall for Project {
    fn real(&self, projector: &Lowered<f64>, weights: &[f64], _: usize) -> (Vec<f64>, f64) {
        projected(projector, weights)
    }
    fn complex(&self, projector: &Lowered<c64>, weights: &[c64], _: usize) -> (Vec<c64>, f64) {
        projected(projector, weights)
    }
}

fn projected<F: Scalar, T: Over<F> + Weight>(projector: &Lowered<F>, weights: &[T]) -> (Vec<T>, f64) {
    let mut out = vec![T::default(); weights.len()];
    let Energies { equivariant, .. } = projector.project_into(weights, &mut out).unwrap();
    (out, equivariant)
}

/// a P(W) + b (W − P(W)) of every parameter by the core in double precision, 0 where nothing is bound, and ‖P(W)‖² and ‖W − P(W)‖²,
/// number by number.
pub(crate) fn formula(layers: &[Layer], parameters: &Parameters, [a, b]: [f64; 2]) -> (Vec<f64>, [f64; 2]) {
    let flat = numbers(parameters.flat());
    let (mut slope, mut energies) = (vec![0.0; flat.len()], [0.0; 2]);
    for entry in parameters.entries() {
        if let Some(layer) = layers.iter().find(|layer| layer.name == entry.name) {
            let place = entry.start..entry.start + entry.len();
            let (projected, _) = on_host(layer, &flat[place.clone()], &Project);
            for ((slope, w), p) in slope[place.clone()].iter_mut().zip(&flat[place]).zip(projected) {
                *slope = a * p + b * (w - p);
                energies = [energies[0] + p * p, energies[1] + (w - p) * (w - p)];
            }
        }
    }
    (slope, energies)
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
