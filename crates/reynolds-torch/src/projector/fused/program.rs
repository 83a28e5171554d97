//! The kernel for orbits of one size, compiled for the GPU that is there, and its launch.
//!
//! NVRTC, which PyTorch's CUDA libraries bring along, compiles it when it is first asked for: a tenth of a second, once in a process for
//! each device, number type and size.

#![allow(unsafe_code, reason = "libraries are opened at run time, and a kernel takes addresses that nothing checks")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use tch::{Device, Kind};

use crate::device;
use crate::error::{Error, Result};

/// Threads of a block.
const BLOCK: u32 = 512;
/// Blocks of a launch that adds up energies, at most: enough for any GPU, few to add up.
const MEASURING: u32 = 1024;

/// What kernel.cu compiles to for orbits of one size.
#[derive(Debug)]
pub(super) struct Program {
    stream: Arc<CudaStream>,
    added: CudaFunction,
    measured: CudaFunction,
}

/// Addresses of the numbers and of the members of orbits, how many of these there are, and the factors.
pub(super) struct Orbits {
    pub(super) weights: u64,
    /// 0 if nothing is added to.
    pub(super) sum: u64,
    pub(super) members: u64,
    pub(super) count: i32,
    pub(super) slopes: [f64; 2],
}

/// Where energies are added up: addresses, the blocks of launches before this one and those of all.
pub(super) struct Total {
    pub(super) value: u64,
    pub(super) partial: u64,
    pub(super) done: u64,
    pub(super) first: u32,
    pub(super) blocks: u32,
}

impl Program {
    /// For orbits of `size` numbers of `kind` on `device`, 0 for numbers that P makes 0 of; `None` without a GPU, its driver or a compiler for it.
    pub(super) fn new(device: Device, kind: Kind, size: i64) -> Option<Arc<Self>> {
        type Known = HashMap<(usize, bool, i64), Option<Arc<Program>>>;
        static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
        let Device::Cuda(number) = device else { return None };
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let program = known.entry((number, kind == Kind::Double, size));
        program.or_insert_with(|| Self::compiled(number, kind, size).map(Arc::new)).clone()
    }

    fn compiled(number: usize, kind: Kind, size: i64) -> Option<Self> {
        if !has_compiler() {
            return None;
        }
        let number_type = if kind == Kind::Double { "double" } else { "float" };
        let options = vec![format!("-DNUMBER={number_type}"), format!("-DBLOCK={BLOCK}"), format!("-DSIZE={size}")];
        let ptx = compile_ptx_with_opts(include_str!("kernel.cu"), CompileOptions { options, ..Default::default() });
        let context = CudaContext::new(number).ok()?;
        let module = context.load_module(ptx.ok()?).ok()?;
        let (added, measured) = (module.load_function("added").ok()?, module.load_function("measured").ok()?);
        Some(Self { stream: context.default_stream(), added, measured })
    }

    /// Blocks of a launch for so many orbits that adds up energies.
    pub(super) fn blocks(count: i32) -> u32 {
        count.unsigned_abs().div_ceil(BLOCK).min(MEASURING)
    }

    /// Adds slopes and, if there is a total, energies: on libtorch's stream, the default one (tch knows no other).
    ///
    /// # Errors
    /// [`Error::Device`] if the launch is refused.
    ///
    /// # Safety
    /// `members` are `count · max(size, 1)` members, no number among them twice, that are places of the device's vectors `weights` and, if it is
    /// not 0, `sum`, which share no byte; all of the kind and on the device of this program. A total has a number, `2 · blocks` doubles and a
    /// counter there that is 0 before the first of the launches. Nobody but operations on libtorch's stream uses any of it.
    pub(super) unsafe fn launch(&self, orbits: &Orbits, total: Option<&Total>) -> Result<()> {
        let [a, b] = orbits.slopes;
        let blocks = total.map_or(orbits.count.unsigned_abs().div_ceil(BLOCK), |_| Self::blocks(orbits.count));
        let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let function = if total.is_some() { &self.measured } else { &self.added };
        let mut launch = self.stream.launch_builder(function);
        launch.arg(&orbits.weights).arg(&orbits.sum).arg(&orbits.members).arg(&orbits.count).arg(&a).arg(&b);
        if let Some(total) = total {
            launch.arg(&total.value).arg(&total.partial).arg(&total.done).arg(&total.first).arg(&total.blocks);
        }
        // SAFETY: the arguments are those of kernel.cu in number, type and order; the rest is the caller's.
        let launched = unsafe { launch.launch(config) };
        launched.map(drop).map_err(|cause| Error::Device {
            device: format!("cuda:{}", self.stream.context().ordinal()),
            expected: "a kernel that runs".into(),
            found: cause.to_string(),
        })
    }
}

/// Whether the driver of a GPU and a compiler for it are there.
fn has_compiler() -> bool {
    device::open_compiler();
    // SAFETY: the libraries are NVIDIA's; opening them runs their initialisers and nothing else.
    unsafe { cudarc::driver::sys::is_culib_present() && cudarc::nvrtc::sys::is_culib_present() }
}
