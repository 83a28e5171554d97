//! The kernel on a processor against the operations of libtorch: a C++ compiler takes the same source as NVRTC.

#![allow(unsafe_code, reason = "what a compiler made is opened and called with addresses of tensors")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::process::Command;

use libloading::Library;

use super::*;
use crate::projector::gather::Gather;
use crate::projector::upload;

/// `emulated` of emulated.cpp.
type Emulated = unsafe extern "C" fn(
    u32,
    *const c_void,
    *mut c_void,
    *const c_void,
    *const c_void,
    i32,
    f64,
    f64,
    *mut c_void,
    *mut c_void,
    *mut c_void,
);

/// The kernel for one number type, in a library that a compiler has just made.
fn library(kind: Kind) -> Library {
    let name = if kind == Kind::Double { "double" } else { "float" };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/projector/fused/emulated.cpp");
    let thread = std::thread::current().id();
    let path = format!("{}/fused-{name}-{}-{thread:?}.so", env!("OUT_DIR"), std::process::id());
    let options = ["-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", "-Wall", "-Werror", "-Wno-unknown-pragmas"];
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let made =
        Command::new(compiler).args(options).arg(format!("-DNUMBER={name}")).args([source, "-o", &path]).status();
    assert!(made.unwrap().success());
    // SAFETY: the library has no initialisers but those of C++.
    let library = unsafe { Library::new(&path) }.unwrap();
    std::fs::remove_file(path).unwrap();
    library
}

/// What the kernel makes of `sum` and of the value, with so many blocks.
fn launch(
    library: &Library,
    table: &Table,
    blocks: u32,
    weights: &Tensor,
    sum: Option<&Tensor>,
    [a, b]: [f64; 2],
) -> f64 {
    let value = weights.new_empty([1], (weights.kind(), Device::Cpu));
    // SAFETY: the signature is that of emulated.cpp; the tensors are contiguous, of the library's number type and as long as the table says.
    unsafe {
        let emulated = library.get::<Emulated>(b"emulated\0").unwrap();
        let sum = sum.map_or(std::ptr::null_mut(), Tensor::data_ptr);
        let (members, runs) = (table.members.data_ptr(), table.runs.data_ptr());
        let (partial, done) = (table.partial.data_ptr(), table.done.data_ptr());
        emulated(blocks, weights.data_ptr(), sum, members, runs, table.orbits, a, b, partial, done, value.data_ptr());
    }
    assert_eq!(table.done.int64_value(&[0]), 0, "ready for the next launch");
    value.double_value(&[0])
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

fn table(projector: &FlatProjector, len: usize) -> Table {
    Table::new(projector, len, |numbers| Ok(numbers.shallow_clone())).unwrap().unwrap()
}

#[test]
fn it_adds_and_measures_what_the_projection_makes() {
    let sizes: Vec<usize> = (0..40).map(|nth| [1, 2, 3, 4, 5, 8, 9, 48][nth % 8]).chain([128]).collect();
    for (kind, epsilon) in [(Kind::Float, f64::from(f32::EPSILON)), (Kind::Double, f64::EPSILON)] {
        let library = library(kind);
        for signed in [false, true] {
            let (len, orbits) = mixed(&sizes, signed);
            let projector = gather(len, &orbits, kind);
            let table = table(&projector, len);
            let weights = numbers(len, kind);
            let projected = projector.apply(&weights).unwrap();
            for [a, b] in [[0.3, 0.7], [2.0, 1e-3], [0.0, 0.5], [0.5, 0.0], [0.4, 0.4]] {
                let energy = |part: &Tensor| part.square().sum(Kind::Double).double_value(&[]);
                let penalty = (a * energy(&projected) + b * energy(&(&weights - &projected))) / 2.0;
                for blocks in [1, 3, 7] {
                    let sum = numbers(len, kind).cos();
                    let expected = &sum + a * &projected + b * (&weights - &projected);
                    let value = launch(&library, &table, blocks, &weights, Some(&sum), [a, b]);
                    let off = (&sum - expected).abs().max().double_value(&[]);
                    assert!(off < 64.0 * epsilon, "{kind:?}, signs {signed}, slopes {a} {b}, {blocks} blocks: {off}");
                    assert!((value / penalty - 1.0).abs() < 64.0 * epsilon, "{value} beside {penalty}");
                    assert_eq!(
                        launch(&library, &table, blocks, &weights, None, [a, b]),
                        value,
                        "the same without a sum"
                    );
                }
            }
        }
    }
}

#[test]
fn equal_slopes_are_weight_decay_to_the_last_bit() {
    let (len, orbits) = mixed(&[3, 7, 4, 1], true);
    let (weights, sum) = (numbers(len, Kind::Double), Tensor::zeros([len as i64], (Kind::Double, Device::Cpu)));
    launch(
        &library(Kind::Double),
        &table(&gather(len, &orbits, Kind::Double), len),
        1,
        &weights,
        Some(&sum),
        [0.3, 0.3],
    );
    assert_eq!(sum, weights * 0.3);
}

#[test]
fn numbers_that_are_equal_have_no_rest_to_the_last_bit() {
    let library = library(Kind::Float);
    for size in [3, 5, 6, 7, 24, 100] {
        let table = table(&gather(size, &[(0..size as i32).collect()], Kind::Float), size);
        let weights = Tensor::full([size as i64], 0.1, (Kind::Float, Device::Cpu));
        let sum = weights.zeros_like();
        assert_eq!(launch(&library, &table, 1, &weights, Some(&sum), [0.0, 0.5]), 0.0, "orbits of {size}");
        assert_eq!(sum.abs().max().double_value(&[]), 0.0, "orbits of {size}");
    }
}

#[test]
fn what_is_wrong_in_one_orbit_stays_there_and_what_is_not_asked_for_does_not_count() {
    let library = library(Kind::Double);
    let table = table(&gather(4, &[vec![0, 3], vec![1]], Kind::Double), 4);
    let weights = Tensor::from_slice(&[f64::INFINITY, 2.0, 1.0, 1.0]);
    let sum = Tensor::zeros([4], (Kind::Double, Device::Cpu));
    assert!(!launch(&library, &table, 2, &weights, Some(&sum), [0.3, 0.7]).is_finite());
    let wrong: Vec<bool> = Vec::<f64>::try_from(sum).unwrap().iter().map(|number| !number.is_finite()).collect();
    assert_eq!(wrong, [true, false, false, true]);
    // W − P(W) of one number in no orbit is that number, of one alone in its orbit 0; ‖P(W)‖² overflows.
    let weights = Tensor::from_slice(&[0.0, 1e200, 1.0, 0.0]);
    assert_eq!(launch(&library, &table, 1, &weights, None, [0.0, 0.5]), 0.25);
}

#[test]
fn parameters_that_are_not_bound_may_lie_in_between() {
    let projector = gather(4, &[vec![0, !2], vec![1]], Kind::Double);
    let place = Tensor::from_slice(&[1_i32, 3, 4, 6]);
    let table = Table::new(&projector, 7, |numbers| Ok(place.index_select(0, numbers))).unwrap().unwrap();
    let weights = Tensor::from_slice(&[9.0, 1.0, 9.0, 2.0, 5.0, 9.0, 4.0]);
    let sum = Tensor::zeros([7], (Kind::Double, Device::Cpu));
    let value = launch(&library(Kind::Double), &table, 1, &weights, Some(&sum), [1.0, 0.5]);
    // Means −2 and 2; W − P(W) is 3, 3 and 4.
    assert_eq!(Vec::<f64>::try_from(sum).unwrap(), [0.0, -0.5, 0.0, 2.0, 3.5, 0.0, 2.0]);
    assert_eq!(value, (4.0 + 4.0 + 4.0) / 2.0 + 0.5 * (9.0 + 9.0 + 16.0) / 2.0);
}

#[test]
fn a_mask_keeps_and_drops() {
    let table = table(&FlatProjector::Mask(Tensor::from_slice(&[1.0, 0.0, 1.0])), 3);
    let sum = Tensor::zeros([3], (Kind::Double, Device::Cpu));
    let value =
        launch(&library(Kind::Double), &table, 1, &Tensor::from_slice(&[1.0, 2.0, 3.0]), Some(&sum), [1.0, 0.5]);
    assert_eq!(Vec::<f64>::try_from(sum).unwrap(), [1.0, 1.0, 3.0]);
    assert_eq!(value, 5.0 + 1.0);
}

#[test]
fn long_orbits_and_other_tensors_than_a_gpus_have_none() {
    let long = gather(129, &[(0..129).collect()], Kind::Float);
    assert!(Table::new(&long, 129, |numbers| Ok(numbers.shallow_clone())).unwrap().is_none());
    let short = gather(2, &[vec![0, 1]], Kind::Float);
    let fused = Fused::new(&short, (Kind::Float, Device::Cpu), 2, |numbers| Ok(numbers.shallow_clone())).unwrap();
    assert!(fused.is_none());
}
