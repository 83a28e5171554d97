//! The kernels on a processor, for tests: a C++ compiler takes the same source as NVRTC.

#![allow(unsafe_code, reason = "what a compiler made is opened and called with addresses")]
#![allow(clippy::unwrap_used, reason = "for tests")]

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::Library;

use crate::layout::{Grid, Layout, Run, Unit};
use crate::orbits::{Memory, Orbits};
use crate::program::{Argument, Kernel, Number, Program};

impl Layout {
    /// A grid with few threads, so that small tests fill several blocks, of which so many measure at most.
    pub fn small(runs: Vec<Run>, first_members: &[Vec<i32>], layer_ends: &[usize], measuring: u32) -> Self {
        Self::on(Grid { threads: 8, measuring, shares: 5 }, runs, first_members, layer_ends)
    }

    /// [`Layout::apart`] with such a grid.
    pub fn small_apart(runs: Vec<Run>, units: &[Vec<(usize, Range<usize>)>], layers: usize) -> Self {
        Self::shared(Grid { threads: 8, measuring: 3, shares: 5 }, runs, units, layers)
    }
}

impl Orbits {
    /// On this processor: addresses are of its memory, and streams mean nothing.
    pub fn emulated(number: Number, layout: Layout, memory: Memory) -> Self {
        let program = |run: &Run| Arc::new(Program::Emulated(library(number, run.unit)));
        let programs = layout.runs.iter().map(program).collect();
        Self::over(layout, memory, programs)
    }
}

/// A launch of a library that was compiled from emulated.cpp.
pub(crate) fn launch(library: &Library, kernel: Kernel, blocks: u32, arguments: &[Argument<'_>]) {
    // Blocks of a GPU have memory of their own; here all launches share one.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut addresses: Vec<*mut c_void> = arguments.iter().map(Argument::address).collect();
    // SAFETY: the signature is that of emulated.cpp; the arguments are those of a launch, and nobody else uses what they point to.
    unsafe {
        let emulated = library.get::<unsafe extern "C" fn(c_int, c_uint, *mut *mut c_void)>(b"emulated\0").unwrap();
        emulated(kernel as c_int, blocks, addresses.as_mut_ptr());
    }
}

/// The kernels for one number type and unit.
fn library(number: Number, unit: Unit) -> &'static Library {
    static KNOWN: Mutex<BTreeMap<(Number, Unit), &Library>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    known.entry((number, unit)).or_insert_with(|| Box::leak(Box::new(compiled(number, unit))))
}

/// A library that a compiler has just made.
fn compiled(number: Number, unit: Unit) -> Library {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/emulated.cpp");
    let defined = [vec![format!("-DNUMBER={}", number.name())], unit.defined()].concat();
    let name = format!("reynolds-{}{}.so", std::process::id(), defined.concat());
    let path = std::env::temp_dir().join(name);
    let options = ["-std=c++20", "-shared", "-fPIC", "-pthread", "-Wall", "-Werror", "-Wno-unknown-pragmas"];
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let made = Command::new(compiler).args(options).args(defined).arg(source).arg("-o").arg(&path).status();
    assert!(made.unwrap().success());
    // SAFETY: the library has no initialisers but those of C++.
    let library = unsafe { Library::new(&path) }.unwrap();
    std::fs::remove_file(path).unwrap();
    library
}
