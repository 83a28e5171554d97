//! Ours with and without gates, projected: what is equivariant, and what is not.

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::super::{Mode, Network, Nonlinearity, Pass, SIDE, Symmetry, VolumeNetConfig};
use super::dense::normal;
use reynolds_torch::parameters::{Entry, Parameters};
use reynolds_torch::{Binding, Precision};

/// A network of width 1 with W = P(W), kernels as large as they were before, and statistics as after some training.
fn projected(group: Symmetry, nonlinearity: Nonlinearity) -> (Box<dyn Network>, Parameters) {
    let mut builder = Parameters::builder();
    let config = VolumeNetConfig { group, nonlinearity, width: 1, ..VolumeNetConfig::default() };
    let network = config.build(3, &mut builder, &mut Random::new(5)).unwrap();
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    let binding = Binding::of_plan(&parameters, &network.plan().unwrap().unwrap()).unwrap();
    binding.project_in_place(&parameters).unwrap();
    for bound in binding.bound().iter().filter(|bound| bound.entry.shape.len() == 5) {
        let (start, len) = (bound.entry.start as i64, bound.entry.len() as i64);
        let larger = (len as f64 / bound.rank as f64).sqrt();
        let _ = parameters.flat().narrow(0, start, len).g_mul_scalar_(larger);
    }
    for entry in parameters.statistics_entries() {
        let noise = normal(&[entry.len() as i64], entry.start as u64) * 0.2;
        let centre = if entry.name.ends_with("var") { 1.0 } else { 0.0 };
        parameters.statistics().narrow(0, entry.start as i64, entry.len() as i64).copy_(&(noise.exp() - 1.0 + centre));
    }
    (network, parameters)
}

/// The 24 rotations of volumes `[N, C, D, H, W]`: six faces up, four turns about the vertical.
fn rotations(volumes: &Tensor) -> Vec<Tensor> {
    let faces =
        (0..4).map(|turns| volumes.rot90(turns, [2, 3])).chain([1, 3].map(|turns| volumes.rot90(turns, [2, 4])));
    faces.flat_map(|up| (0..4).map(move |turns| up.rot90(turns, [3, 4]))).collect()
}

/// The largest change of a logit, beside the largest logit, over what is done to a volume.
fn change(network: &dyn Network, parameters: &Parameters, done: impl Fn(&Tensor) -> Vec<Tensor>) -> f64 {
    let _guard = tch::no_grad_guard();
    let side = SIDE as i64;
    let pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };
    let batch = Tensor::cat(&done(&normal(&[1, 1, side, side, side], 4)), 0);
    let assembled = network.assemble(parameters, pass).unwrap();
    let logits = network.forward(parameters, &assembled, &batch, pass).unwrap();
    let first = logits.narrow(0, 0, 1);
    ((&logits - &first).abs().max() / first.abs().max()).double_value(&[])
}

#[test]
fn gates_cost_as_many_parameters_as_counted() {
    let config = VolumeNetConfig { nonlinearity: Nonlinearity::Gated, ..VolumeNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = config.build(2, &mut builder, &mut Random::new(0)).unwrap();
    let kernels = builder.entries().iter().filter(|entry| entry.shape.len() == 5);
    assert_eq!(kernels.map(Entry::len).sum::<usize>(), 2_567_480);
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    let binding = Binding::of_plan(&parameters, &network.plan().unwrap().unwrap()).unwrap();
    let kernels = binding.bound().iter().filter(|bound| bound.entry.shape.len() == 5);
    assert_eq!(kernels.map(|bound| bound.entry.len()).sum::<usize>(), 2_567_480);
}

#[test]
fn with_gates_and_projected_kernels_it_is_invariant_under_the_rotations_of_the_grid() {
    let (network, parameters) = projected(Symmetry::So3, Nonlinearity::Gated);
    let turned = change(network.as_ref(), &parameters, rotations);
    assert!(turned < 1e-9, "{turned:e}");
    let mirrored = change(network.as_ref(), &parameters, |volume| vec![volume.shallow_clone(), volume.flip([4])]);
    assert!(mirrored > 1e-6, "{mirrored:e}");
}

#[test]
fn of_o3_it_is_invariant_under_reflections_too() {
    let (network, parameters) = projected(Symmetry::O3, Nonlinearity::Gated);
    let done = |volume: &Tensor| vec![volume.shallow_clone(), volume.flip([4]), volume.rot90(1, [2, 3]).flip([3])];
    let turned = change(network.as_ref(), &parameters, done);
    assert!(turned < 1e-9, "{turned:e}");
}

#[test]
fn without_gates_its_linear_maps_are_equivariant_and_it_is_not() {
    let (network, parameters) = projected(Symmetry::So3, Nonlinearity::Pointwise);
    let turned = change(network.as_ref(), &parameters, |volume| vec![volume.shallow_clone(), volume.rot90(1, [2, 3])]);
    assert!(turned > 1e-4, "{turned:e}");
    // Irreps of the first layer are 0, 1, 2: the length of each at every voxel turns with the volume.
    let side = SIDE as i64;
    let volume = normal(&[1, 1, side, side, side], 4);
    let lengths = |volume: &Tensor| -> Vec<Tensor> {
        let kernel = parameters.get("r1.conv1.weight").unwrap().detach();
        let features = volume.conv3d(&kernel, None::<Tensor>, [1; 3], [2; 3], [1; 3], 1).square();
        [(0, 1), (1, 3), (4, 5)].map(|(at, dim)| features.narrow(1, at, dim).sum_dim_intlist(1, true, None)).into()
    };
    for (before, after) in lengths(&volume).iter().zip(lengths(&volume.rot90(1, [2, 3]))) {
        let error = (before.rot90(1, [2, 3]) - after).abs().max() / before.abs().max();
        assert!(error.double_value(&[]) < 1e-12);
    }
}
