//! The kernel on a processor against the operations of libtorch: a C++ compiler takes the same source as NVRTC.

#![allow(unsafe_code, reason = "what a compiler made is opened and called with addresses of tensors")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use libloading::Library;

use super::*;
use crate::device::upload;
use crate::projector::gather::Gather;

/// `emulated` of emulated.cpp.
type Emulated = unsafe extern "C" fn(
    u32,
    *const c_void,
    *mut c_void,
    *const i32,
    i32,
    f64,
    f64,
    *mut c_void,
    *mut f64,
    *mut u32,
    u32,
    u32,
);

/// The kernel for each size of orbits, compiled for a processor.
struct OnProcessor {
    table: Table,
    libraries: Vec<&'static Library>,
}

impl OnProcessor {
    fn new(projector: &FlatProjector, len: usize, kind: Kind) -> Self {
        Self::of(Table::new(projector, len, |numbers| Ok(numbers.shallow_clone())).unwrap().unwrap(), kind)
    }

    fn of(table: Table, kind: Kind) -> Self {
        let libraries = table.runs.iter().map(|run| library(kind, run.size)).collect();
        Self { table, libraries }
    }

    /// What launches of so many blocks make of `sum`, and the value if they measure.
    fn launch(&self, blocks: u32, weights: &Tensor, sum: Option<&Tensor>, [a, b]: [f64; 2], measured: bool) -> f64 {
        // Blocks of a GPU have memory of their own; here all launches share one.
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let value = weights.new_full([1], f64::NAN, (weights.kind(), Device::Cpu));
        let all = blocks * self.libraries.len() as u32;
        let (mut partial, mut done) = (vec![f64::NAN; 2 * all as usize], 0);
        for (nth, (library, run)) in self.libraries.iter().zip(&self.table.runs).enumerate() {
            let value = if measured { value.data_ptr() } else { std::ptr::null_mut() };
            let sum = sum.map_or(std::ptr::null_mut(), Tensor::data_ptr);
            let members = self.table.members.data_ptr().cast::<i32>().wrapping_add(run.start);
            let first = blocks * nth as u32;
            // SAFETY: the signature is that of emulated.cpp, whose memory nobody else uses meanwhile; the tensors are contiguous, of the library's number
            // type and as long as the table says.
            unsafe {
                let emulated = library.get::<Emulated>(b"emulated\0").unwrap();
                let weights = weights.data_ptr();
                let partial = partial.as_mut_ptr();
                emulated(blocks, weights, sum, members, run.count, a, b, value, partial, &mut done, first, all);
            }
        }
        assert_eq!(done, 0, "ready for the next launch");
        value.double_value(&[0])
    }
}

/// The kernel for one number type and size.
fn library(kind: Kind, size: i64) -> &'static Library {
    static KNOWN: Mutex<BTreeMap<(bool, i64), &Library>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    known.entry((kind == Kind::Double, size)).or_insert_with(|| Box::leak(Box::new(compiled(kind, size))))
}

/// A library that a compiler has just made.
fn compiled(kind: Kind, size: i64) -> Library {
    let name = if kind == Kind::Double { "double" } else { "float" };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/projector/fused/emulated.cpp");
    let path = format!("{}/fused-{}-{name}-{size}.so", env!("OUT_DIR"), std::process::id());
    let options = ["-std=c++20", "-shared", "-fPIC", "-pthread", "-Wall", "-Werror", "-Wno-unknown-pragmas"];
    let defined = [format!("-DNUMBER={name}"), format!("-DSIZE={size}")];
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let made = Command::new(compiler).args(options).args(defined).args([source, "-o", &path]).status();
    assert!(made.unwrap().success());
    // SAFETY: the library has no initialisers but those of C++.
    let library = unsafe { Library::new(&path) }.unwrap();
    std::fs::remove_file(path).unwrap();
    library
}

/// P on `len` numbers that averages these orbits and drops the other numbers; a member below zero, ~i, is −w_i.
fn gather(len: usize, orbits: &[Vec<i32>], kind: Kind) -> FlatProjector {
    let mut sizes: BTreeMap<usize, Vec<&Vec<i32>>> = BTreeMap::new();
    orbits.iter().for_each(|orbit| sizes.entry(orbit.len()).or_default().push(orbit));
    let (mut members, mut source, mut signs) = (vec![], vec![orbits.len() as i32; len], vec![1.0; len]);
    let mut value = 0;
    for (&size, orbits) in &sizes {
        for (nth, (number, orbit)) in (0..size).flat_map(|nth| orbits.iter().enumerate().map(move |orbit| (nth, orbit)))
        {
            let member = orbit[nth].max(!orbit[nth]);
            members.push(member);
            source[member as usize] = value + number as i32;
            signs[member as usize] = if orbit[nth] < 0 { -1.0 } else { 1.0 };
        }
        value += orbits.len() as i32;
    }
    let member_signs: Vec<f64> = members.iter().map(|&member| signs[member as usize]).collect();
    let upload_signs = |signs: &[f64]| signs.contains(&-1.0).then(|| upload(signs, kind, Device::Cpu).unwrap());
    FlatProjector::Gather(Gather {
        members: upload(&members, Kind::Int, Device::Cpu).unwrap(),
        member_signs: upload_signs(&member_signs),
        orbits: sizes.iter().map(|(&size, orbits)| (size as i64, orbits.len() as i64)).collect(),
        zero: source.contains(&value).then(|| Tensor::zeros([1], (kind, Device::Cpu))),
        tiles: vec![],
        lists: None,
        source: upload(&source, Kind::Int, Device::Cpu).unwrap(),
        signs: upload_signs(&signs),
    })
}

/// Orbits of these sizes over numbers in no order, with and without signs, and a few numbers in none.
fn mixed(sizes: &[usize], signed: bool) -> (usize, Vec<Vec<i32>>) {
    let len = sizes.iter().sum::<usize>() + 5;
    let step = (len / 3..).find(|&step| (2..=step).all(|k| step % k != 0 || len % k != 0)).unwrap();
    let mut numbers = (0..len).map(|nth| (nth * step % len) as i32);
    let sign = |member: i32| if signed && member % 3 == 1 { !member } else { member };
    (len, sizes.iter().map(|&size| numbers.by_ref().take(size).map(sign).collect()).collect())
}

fn numbers(len: usize, kind: Kind) -> Tensor {
    Tensor::arange(len as i64, (Kind::Double, Device::Cpu)).multiply_scalar(1.7).sin().to_kind(kind)
}

#[test]
fn it_adds_and_measures_what_the_projection_makes() {
    // More of a size than a launch of one block has threads.
    let sizes: Vec<usize> = (0..60).map(|nth| [1, 4, 6, 8, 9, 48][nth % 6]).collect();
    for (kind, epsilon) in [(Kind::Float, f64::from(f32::EPSILON)), (Kind::Double, f64::EPSILON)] {
        for signed in [false, true] {
            let (len, orbits) = mixed(&sizes, signed);
            let projector = gather(len, &orbits, kind);
            let kernel = OnProcessor::new(&projector, len, kind);
            let weights = numbers(len, kind);
            let projected = projector.apply(&weights).unwrap();
            for [a, b] in [[0.3, 0.7], [2.0, 1e-3], [0.0, 0.5], [0.5, 0.0], [0.4, 0.4]] {
                let energy = |part: &Tensor| part.square().sum(Kind::Double).double_value(&[]);
                let penalty = (a * energy(&projected) + b * energy(&(&weights - &projected))) / 2.0;
                for blocks in [1, 3] {
                    let [sum, measured] = [numbers(len, kind).cos(), numbers(len, kind).cos()];
                    let expected = &sum + a * &projected + b * (&weights - &projected);
                    kernel.launch(blocks, &weights, Some(&sum), [a, b], false);
                    let value = kernel.launch(blocks, &weights, Some(&measured), [a, b], true);
                    let off = (&sum - expected).abs().max().double_value(&[]);
                    assert!(off < 64.0 * epsilon, "{kind:?}, signs {signed}, slopes {a} {b}, {blocks} blocks: {off}");
                    assert_eq!(sum, measured);
                    assert!((value / penalty - 1.0).abs() < 64.0 * epsilon, "{value} beside {penalty}");
                    assert_eq!(kernel.launch(blocks, &weights, None, [a, b], true), value, "the same without a sum");
                }
            }
        }
    }
}

#[test]
fn equal_slopes_are_weight_decay_to_the_last_bit() {
    let (len, orbits) = mixed(&[3, 12], true);
    let (weights, sum) = (numbers(len, Kind::Double), Tensor::zeros([len as i64], (Kind::Double, Device::Cpu)));
    let kernel = OnProcessor::new(&gather(len, &orbits, Kind::Double), len, Kind::Double);
    kernel.launch(1, &weights, Some(&sum), [0.3, 0.3], false);
    assert_eq!(sum, weights * 0.3);
}

#[test]
fn numbers_that_are_equal_have_no_rest_to_the_last_bit() {
    for size in [3, 6, 7, 100] {
        let orbit = gather(size, &[(0..size as i32).collect()], Kind::Float);
        let weights = Tensor::full([size as i64], 0.1, (Kind::Float, Device::Cpu));
        let sum = weights.zeros_like();
        let kernel = OnProcessor::new(&orbit, size, Kind::Float);
        assert_eq!(kernel.launch(1, &weights, Some(&sum), [0.0, 0.5], true), 0.0, "orbits of {size}");
        assert_eq!(sum.abs().max().double_value(&[]), 0.0, "orbits of {size}");
    }
}

#[test]
fn what_is_wrong_in_one_orbit_stays_there_and_what_is_not_asked_for_does_not_count() {
    let kernel = OnProcessor::new(&gather(4, &[vec![0, 3], vec![1]], Kind::Double), 4, Kind::Double);
    let weights = Tensor::from_slice(&[f64::INFINITY, 2.0, 1.0, 1.0]);
    let sum = Tensor::zeros([4], (Kind::Double, Device::Cpu));
    assert!(!kernel.launch(2, &weights, Some(&sum), [0.3, 0.7], true).is_finite());
    let wrong: Vec<bool> = Vec::<f64>::try_from(sum).unwrap().iter().map(|number| !number.is_finite()).collect();
    assert_eq!(wrong, [true, false, false, true]);
    // W − P(W) of a number in no orbit is that number, of one alone in its orbit 0; ‖P(W)‖² overflows.
    let weights = Tensor::from_slice(&[0.0, 1e200, 1.0, 0.0]);
    assert_eq!(kernel.launch(1, &weights, None, [0.0, 0.5], true), 0.25);
    // And ‖W − P(W)‖² does where an orbit has mean 0.
    let weights = Tensor::from_slice(&[1e200, 1.0, 0.0, -1e200]);
    assert_eq!(kernel.launch(1, &weights, None, [0.5, 0.0], true), 0.25);
}

#[test]
fn parameters_that_are_not_bound_may_lie_in_between() {
    let projector = gather(4, &[vec![0, !2], vec![1]], Kind::Double);
    let place = Tensor::from_slice(&[1_i32, 3, 4, 6]);
    let table = Table::new(&projector, 7, |numbers| Ok(place.index_select(0, numbers))).unwrap().unwrap();
    let weights = Tensor::from_slice(&[9.0, 1.0, 9.0, 2.0, 5.0, 9.0, 4.0]);
    let sum = Tensor::zeros([7], (Kind::Double, Device::Cpu));
    let value = OnProcessor::of(table, Kind::Double).launch(1, &weights, Some(&sum), [1.0, 0.5], true);
    // Means −2 and 2; W − P(W) is 3, 3 and 4.
    assert_eq!(Vec::<f64>::try_from(sum).unwrap(), [0.0, -0.5, 0.0, 2.0, 3.5, 0.0, 2.0]);
    assert_eq!(value, (4.0 + 4.0 + 4.0) / 2.0 + 0.5 * (9.0 + 9.0 + 16.0) / 2.0);
}

#[test]
fn a_mask_keeps_and_drops() {
    let mask = FlatProjector::Mask(Tensor::from_slice(&[1.0, 0.0, 1.0]));
    let sum = Tensor::zeros([3], (Kind::Double, Device::Cpu));
    let weights = Tensor::from_slice(&[1.0, 2.0, 3.0]);
    let value = OnProcessor::new(&mask, 3, Kind::Double).launch(1, &weights, Some(&sum), [1.0, 0.5], true);
    assert_eq!(Vec::<f64>::try_from(sum).unwrap(), [1.0, 1.0, 3.0]);
    assert_eq!(value, 5.0 + 1.0);
}

#[test]
fn long_orbits_orbits_of_many_sizes_and_other_devices_have_none() {
    let none = |len: usize, orbits: &[Vec<i32>]| {
        let projector = gather(len, orbits, Kind::Float);
        Table::new(&projector, len, |numbers| Ok(numbers.shallow_clone())).unwrap().is_none()
    };
    assert!(!none(128, &[(0..128).collect()]));
    assert!(none(129, &[(0..129).collect()]));
    let (len, orbits) = mixed(&(1..17).collect::<Vec<_>>(), false);
    assert!(none(len, &orbits));
    let nothing = FlatProjector::Mask(Tensor::zeros([0], (Kind::Float, Device::Cpu)));
    assert!(Table::new(&nothing, 3, |numbers| Ok(numbers.shallow_clone())).unwrap().is_none());
    let short = gather(2, &[vec![0, 1]], Kind::Float);
    let fused = Fused::new(&short, (Kind::Float, Device::Cpu), 2, |numbers| Ok(numbers.shallow_clone()));
    assert!(fused.unwrap().is_none());
}

#[test]
#[should_panic(expected = "no number in two orbits")]
fn a_number_in_two_orbits_is_a_bug_that_is_seen() {
    let place = Tensor::from_slice(&[0_i32, 1, 1]);
    let projector = gather(3, &[vec![0, 1], vec![2]], Kind::Float);
    let _ = Table::new(&projector, 3, |numbers| Ok(place.index_select(0, numbers)));
}

#[test]
#[should_panic(expected = "members are numbers of the flat tensor")]
fn a_number_beyond_the_flat_tensor_is_a_bug_that_is_seen() {
    let _ = Table::new(&gather(3, &[vec![0, 1, 2]], Kind::Float), 2, |numbers| Ok(numbers.shallow_clone()));
}
