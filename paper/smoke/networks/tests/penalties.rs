//! The penalty of all networks whose kernels are assembled.

use super::*;
use crate::smoke::networks::Symmetry;
use crate::smoke::networks::rotation::{self, Field, Fields, kernel_space};
use crate::smoke::networks::translation::{BIASES, FILTERS, MIXING};
use crate::smoke::penalty::add_gradient;
use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::{group, rep};

const RELAXED: [(Symmetry, Architecture); 5] = [
    (Symmetry::Translation, Architecture::Rgroup),
    (Symmetry::Rotation, Architecture::Rgroup),
    (Symmetry::Rotation, Architecture::Rsteer),
    (Symmetry::Scaling, Architecture::Rgroup),
    (Symmetry::Scaling, Architecture::Rsteer),
];
const FRAMES: Frames = Frames { count: 2, side: 5 };

fn small(architecture: Architecture, regularised: Regularised) -> SmokeNetConfig {
    SmokeNetConfig { regularised, banks: 3, ..config(architecture, 2, 4) }
}

/// Every relaxed network, on the operator and on the mixing weights.
fn each(check: impl Fn(&str, Regularised, &mut Built)) {
    for (symmetry, architecture) in RELAXED {
        for regularised in [Regularised::Operator, Regularised::Mixing] {
            let case = format!("{symmetry:?} {architecture:?} {regularised:?}");
            check(&case, regularised, &mut moved(symmetry, &small(architecture, regularised), FRAMES));
        }
    }
}

fn both((network, parameters): &Built) -> (f64, f64) {
    energies(network.as_ref(), parameters).unwrap().unwrap()
}

#[test]
fn its_two_terms_add_up_and_a_strength_of_zero_adds_nothing() {
    each(|case, _, built| {
        let (network, parameters) = &*built;
        let of = |strengths| {
            let mut gradient = parameters.flat().zeros_like();
            let value = tch::no_grad(|| add_gradient(network.as_ref(), parameters, strengths, &mut gradient)).unwrap();
            assert!(!value.requires_grad());
            (number(value), gradient)
        };
        let (all, gradient) = of([0.3, 0.7]);
        let ((shared, first), (rest, second), (none, zero)) = (of([0.3, 0.0]), of([0.0, 0.7]), of([0.0, 0.0]));
        let (equivariant, perp) = both(built);
        assert!((shared - 0.3 * equivariant).abs() < 1e-12 * all && (rest - 0.7 * perp).abs() < 1e-12 * all, "{case}");
        assert!((all - shared - rest).abs() < 1e-12 * all && shared > 0.0 && rest > 0.0, "{case}");
        assert!(number((&gradient - first - second).abs().max()) < 1e-12 * number(gradient.abs().max()), "{case}");
        assert_eq!((none, number(zero.abs().max())), (0.0, 0.0), "{case}");
    });
}

#[test]
fn its_gradient_is_that_of_finite_differences_for_every_factor() {
    each(|case, regularised, built| {
        let start = built.1.flat().copy();
        let mut gradient = start.ones_like();
        let value = number(add_gradient(built.0.as_ref(), &built.1, [0.3, 1.7], &mut gradient).unwrap());
        let mut random = Random::new(2);
        for entry in built.1.entries().to_vec() {
            let part = gradient.narrow(0, entry.start as i64, entry.len() as i64) - 1.0;
            let free = part.abs().max().double_value(&[]) == 0.0;
            let steerable = case.contains("Rsteer");
            let expected = match (entry.name.ends_with("bias"), regularised) {
                (true, _) => steerable || regularised == Regularised::Mixing || case.starts_with("Scaling"),
                (false, Regularised::Operator) => {
                    entry.name.starts_with("norms") || entry.name.starts_with("last.") && case.starts_with("Scaling")
                }
                (false, Regularised::Mixing) => !steerable && !entry.name.ends_with("mixing"),
            };
            assert_eq!(free, expected, "{case}: {}", entry.name);
            for _ in 0..6 {
                let index = (entry.start + random.below(entry.len())) as i64;
                let mut at = |step: f64| {
                    let moved = start.copy();
                    let _ = moved.get(index).g_add_scalar_(step);
                    built.1.assign(&moved).unwrap();
                    let (equivariant, perp) = both(built);
                    0.3 * equivariant + 1.7 * perp
                };
                // Exact for a quadratic along each coordinate.
                let difference = (at(1e-2) - at(-1e-2)) / 2e-2;
                let closed = gradient.double_value(&[index]) - 1.0;
                assert!((difference - closed).abs() < 1e-9 * value, "{case} {}: {difference} {closed}", entry.name);
            }
        }
    });
}

#[test]
fn the_energies_of_mixing_weights_add_up_to_theirs_and_those_of_operators_are_of_what_is_assembled() {
    each(|case, regularised, built| {
        let (equivariant, perp) = both(built);
        let (network, parameters) = built;
        let suffix = if case.contains("Rsteer") { "weight" } else { "mixing" };
        let mixing = parameters.entries().iter().filter(|entry| entry.name.ends_with(suffix));
        let weights: f64 = mixing.map(|entry| squared(parameters.get(&entry.name).unwrap())).sum();
        if regularised == Regularised::Mixing {
            let sum = equivariant + perp;
            assert!((sum - weights).abs() < 1e-12 * weights && equivariant > 0.0 && perp > 0.0, "{case}");
        } else if case.starts_with("Scaling") {
            let kernels = |parameters: &Parameters| {
                let mut kernels = network.assemble(parameters, EVALUATE).unwrap();
                // The last kernel of RGroup is dense.
                kernels.truncate(if case.contains("Rgroup") { kernels.len() - 1 } else { kernels.len() });
                kernels.iter().map(Tensor::detach).collect::<Vec<_>>()
            };
            let whole = kernels(parameters);
            network.project(parameters).unwrap();
            let projected = kernels(parameters);
            let off: f64 = whole.iter().zip(&projected).map(|(whole, projected)| squared(whole - projected)).sum();
            let kept: f64 = projected.iter().map(squared).sum();
            let scale = 1e-12 * (kept + off);
            assert!((equivariant - kept).abs() < scale && (perp - off).abs() < scale, "{case}: {perp} {off}");
        }
    });
}

#[test]
fn projecting_keeps_the_equivariant_part_removes_the_rest_and_changes_nothing_when_repeated() {
    each(|case, _, built| {
        let (equivariant, perp) = both(built);
        assert!(perp > 1e-3 * equivariant, "{case}");
        built.0.project(&mut built.1).unwrap();
        let (kept, gone) = both(built);
        assert!((kept - equivariant).abs() < 1e-12 * kept && gone < 1e-24 * kept, "{case}: {kept} {gone}");
        let (network, parameters) = built;
        let once = parameters.flat().copy();
        network.project(parameters).unwrap();
        assert!(number((parameters.flat() - once).abs().max()) < 1e-15, "{case}");
    });
}

#[test]
fn its_value_is_right_in_single_precision_close_to_the_shared_weights() {
    for (symmetry, architecture) in RELAXED {
        for regularised in [Regularised::Operator, Regularised::Mixing] {
            let config = SmokeNetConfig { regularised, ..config(architecture, 4, 4) };
            let frames = Frames { count: 2, side: 8 };
            let mut built = [Kind::Double, Kind::Float].map(|kind| build(symmetry, &config, frames, kind).unwrap());
            let [(network, exact), (_, single)] = &mut built;
            network.project(exact).unwrap();
            let size = 1e-4 * exact.flat().abs().mean(Kind::Double);
            single.assign(&(exact.flat() + normal(&exact.flat().size(), 3) * size)).unwrap();
            exact.assign(&single.flat().to_kind(Kind::Double)).unwrap();
            let (shared, rest) = both(&built[0]);
            let [(network, _), (_, single)] = &built;
            assert!(rest < 1e-5 * shared, "{symmetry:?} {architecture:?} {regularised:?}: {rest} of {shared}");
            for strengths in [[0.0, 0.7], [0.3, 0.0], [0.3, 0.7]] {
                let value = add_gradient(network.as_ref(), single, strengths, &mut single.flat().zeros_like()).unwrap();
                let (value, expected) = (number(value), strengths[0] * shared + strengths[1] * rest);
                let case = format!("{symmetry:?} {architecture:?} {regularised:?}");
                assert!((value - expected).abs() < 0.03 * expected, "{case}: {value:e}");
            }
        }
    }
}

/// Kernels on the tape, by the definition of the network, with a space that its symmetry acts on and what each counts for.
type Kernels = Vec<(Tensor, KernelSpace)>;

/// The gradient by the tape of λ_G ‖P(W)‖² + λ_⊥ ‖W − P(W)‖², with P the Haar average, and both energies; projected kernels beside.
fn averaged(parameters: &Parameters, kernels: &Kernels, [g, perp]: [f64; 2]) -> (Tensor, [f64; 2], Vec<Vec<f64>>) {
    let (mut both, mut projected, mut terms) = ([0.0; 2], Vec::new(), Vec::new());
    for (kernel, space) in kernels {
        let haar = HaarProjector::new(space).unwrap();
        let numbers = numbers(kernel);
        let average = haar.project(&numbers).unwrap();
        let rest: Vec<f64> = numbers.iter().zip(&average).map(|(all, average)| all - average).collect();
        let square = |numbers: &[f64]| numbers.iter().map(|number| number * number).sum::<f64>();
        both = [both[0] + square(&average), both[1] + square(&rest)];
        // P is an orthogonal projection: the cotangent at W is 2λ_G P(W) + 2λ_⊥ (W − P(W)).
        let cotangent: Vec<f64> =
            average.iter().zip(&rest).map(|(average, rest)| 2.0 * (g * average + perp * rest)).collect();
        terms.push(kernel.contiguous().view([-1]).dot(&Tensor::from_slice(&cotangent)));
        projected.push(average);
    }
    (parameters.gradient(&Tensor::stack(&terms, 0).sum(Kind::Double)).unwrap(), both, projected)
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.detach().contiguous().view([-1])).unwrap()
}

/// The kernels of a network for turns between fields, before lifting and reading out are folded in.
fn turning(architecture: Architecture, parameters: &Parameters) -> Kernels {
    let made = |new: &mut Construction<'_>| match architecture {
        Architecture::Rgroup => (rotation::Rgroup::new(new).unwrap().unfolded(parameters).unwrap(), Field::Regular),
        _ => {
            let assembled = rotation::Rsteer::new(new).unwrap().assemble(parameters, EVALUATE).unwrap();
            (assembled.into_iter().step_by(2).collect(), Field::Vector)
        }
    };
    let config = small(architecture, Regularised::Operator);
    let ((kernels, end), _) = constructed(&config, Symmetry::Rotation, FRAMES, made);
    let hidden: Fields = (2, Field::Regular);
    let fields = [(FRAMES.count, end), hidden, hidden, hidden, (1, end)];
    let spaces = fields.windows(2).map(|pair| kernel_space(pair[0], pair[1]).unwrap());
    kernels.into_iter().zip(spaces).collect()
}

/// W of every layer on a torus, `[out · n², in · n²]`, and its bias `[out · n²]`, under all shifts.
fn shifting(parameters: &Parameters) -> Kernels {
    let shifts = group::parse("C5 x C5").unwrap();
    let images = |channels: i64| rep::sum(&shifts, &[(channels as usize, rep::regular(&shifts).unwrap())]).unwrap();
    let mut kernels = Kernels::new();
    for layer in 0..4 {
        let get = |name: &str| parameters.get(name).unwrap();
        let weight = match layer {
            0 => get(FILTERS[0]).get(0).permute([1, 2, 0, 3, 4]),
            1 | 2 => get(FILTERS[1]).get(layer - 1).transpose(0, 1),
            _ => get(FILTERS[2]).get(0).transpose(0, 1),
        };
        let bias = if layer < 3 { get(BIASES[0]).get(layer) } else { get(BIASES[1]).get(0) };
        // Entries of W at (o, p), (i, p + d): Σ_r w_r(p) ψ_r[o, i, d], by the offset d.
        let mixing = get(MIXING).get(layer);
        let (n, size) = (mixing.size()[1], weight.size());
        let by_offset = Tensor::einsum("ryx,roiab->oyxiab", &[&mixing, &weight], None::<&[i64]>);
        let (outputs, inputs) = (size[1], size[2]);
        let column = |row: i64, entry: i64| {
            let ((y, x), (dy, dx)) = ((row / n % n, row % n), (entry / 3 % 3, entry % 3));
            (entry / 9 * n + (y + dy - 1).rem_euclid(n)) * n + (x + dx - 1).rem_euclid(n)
        };
        let columns: Vec<i64> =
            (0..outputs * n * n).flat_map(|row| (0..inputs * 9).map(move |entry| column(row, entry))).collect();
        let columns = Tensor::from_slice(&columns).view([outputs * n * n, inputs * 9]);
        let empty = Tensor::zeros([outputs * n * n, inputs * n * n], (Kind::Double, Device::Cpu));
        let matrix = empty.scatter_add(1, &columns, &by_offset.reshape([outputs * n * n, inputs * 9]));
        kernels.push((matrix, KernelSpace::dense(&images(inputs), &images(outputs)).unwrap()));
        let vector = Tensor::einsum("ryx,or->oyx", &[&mixing, &bias], None::<&[i64]>);
        kernels.push((vector, KernelSpace::dense(&rep::trivial(&shifts), &images(outputs)).unwrap()));
    }
    kernels
}

#[test]
fn it_is_the_tapes_on_the_haar_average_of_the_dense_kernels() {
    let strengths = [0.3, 1.7];
    for (symmetry, architecture) in &RELAXED[..3] {
        let (network, mut parameters) = moved(*symmetry, &small(*architecture, Regularised::Operator), FRAMES);
        let kernels = |parameters: &Parameters| match symmetry {
            Symmetry::Translation => shifting(parameters),
            _ => turning(*architecture, parameters),
        };
        let (expected, energies_of_haar, projected) = averaged(&parameters, &kernels(&parameters), strengths);
        let mut gradient = parameters.flat().zeros_like();
        let value = number(add_gradient(network.as_ref(), &parameters, strengths, &mut gradient).unwrap());
        let [equivariant, perp] = energies_of_haar;
        let scale = equivariant + perp;
        assert!(equivariant > 0.05 * scale && perp > 0.05 * scale);
        let found = energies(network.as_ref(), &parameters).unwrap().unwrap();
        assert!((found.0 - equivariant).abs() < 1e-12 * scale, "{architecture:?}: {} {equivariant}", found.0);
        assert!((found.1 - perp).abs() < 1e-12 * scale, "{architecture:?}: {} {perp}", found.1);
        assert!((value - 0.3 * equivariant - 1.7 * perp).abs() < 1e-12 * value, "{symmetry:?} {architecture:?}");
        let largest = number(expected.abs().max());
        let off = number((gradient - expected).abs().max());
        assert!(off < 1e-12 * largest.max(1.0), "{symmetry:?} {architecture:?}: {off:e} of {largest}");
        network.project(&mut parameters).unwrap();
        for ((kernel, _), expected) in kernels(&parameters).iter().zip(projected) {
            let norm = expected.iter().map(|value| value * value).sum::<f64>().sqrt();
            let worst = numbers(kernel).iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-12 * norm.max(1.0), "{symmetry:?} {architecture:?}: {worst:e}");
        }
    }
}
