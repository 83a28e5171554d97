//! The kernels for orbits of one size, compiled for the GPU of this machine, and their launch.
//!
//! NVRTC, which comes with PyTorch's CUDA libraries, compiles them when they are first needed: a tenth of a second, once in a process for
//! each device, number type and size.

#![allow(unsafe_code, reason = "libraries are opened at run time, and a kernel takes addresses that nothing checks")]

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use tch::{Device, Kind, Tensor};

use crate::device;
use crate::error::{Error, Result};

/// Threads of a block on a GPU.
pub(super) const BLOCK: u32 = 512;

/// What kernel.cu compiles to for orbits of one size.
#[derive(Debug)]
pub(super) enum Program {
    Compiled {
        stream: Arc<CudaStream>,
        /// In the order of [`Kernel`].
        functions: Vec<CudaFunction>,
    },
    #[cfg(test)]
    Emulated(&'static libloading::Library),
}

/// A kernel of kernel.cu.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kernel {
    Added,
    Measured,
    Rescaled,
    Summed,
    Plain,
    Target,
    Dual,
}

const NAMES: [&str; 7] = ["added", "measured", "rescaled", "summed", "plain_factors", "target_factors", "dual_factors"];

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) enum Argument {
    Address(u64),
    Int(i32),
    Long(i64),
    Double(f64),
}

impl From<&Tensor> for Argument {
    /// Where its numbers begin.
    fn from(tensor: &Tensor) -> Self {
        Self::Address(tensor.data_ptr() as u64)
    }
}

impl From<i32> for Argument {
    fn from(number: i32) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Argument {
    fn from(number: u32) -> Self {
        Self::Int(number.cast_signed())
    }
}

impl From<bool> for Argument {
    fn from(yes: bool) -> Self {
        Self::Int(yes.into())
    }
}

impl From<f64> for Argument {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

thread_local! {
    static LAUNCHES: Cell<u64> = const { Cell::new(0) };
}

/// Launches by this thread so far.
pub(crate) fn launches() -> u64 {
    LAUNCHES.get()
}

impl Program {
    /// For orbits of `size` numbers of `kind` on `device`, 0 for numbers that P sets to 0; `None` without a GPU, its driver or a compiler.
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
        let functions = NAMES.iter().map(|name| module.load_function(name).ok()).collect::<Option<_>>()?;
        Some(Self::Compiled { stream: context.default_stream(), functions })
    }

    /// Launches a kernel on libtorch's stream, the default one (tch knows no other).
    ///
    /// # Errors
    /// [`Error::Device`] if the launch is refused.
    ///
    /// # Safety
    /// The arguments are those of the kernel in number, type and order, and their addresses are of memory of this program's device that the
    /// kernel may use as kernel.cu says: tensors of the program's number type, members that are places of them, none twice. Only operations
    /// on libtorch's stream use any of it.
    pub(super) unsafe fn launch(&self, kernel: Kernel, blocks: u32, arguments: &[Argument]) -> Result<()> {
        LAUNCHES.set(LAUNCHES.get() + 1);
        let (stream, function) = match self {
            Self::Compiled { stream, functions } => (stream, &functions[kernel as usize]),
            #[cfg(test)]
            Self::Emulated(library) => {
                super::tests::emulate(library, kernel, blocks, arguments);
                return Ok(());
            }
        };
        let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(function);
        for argument in arguments {
            match argument {
                Argument::Address(address) => launch.arg(address),
                Argument::Int(number) => launch.arg(number),
                Argument::Long(number) => launch.arg(number),
                Argument::Double(number) => launch.arg(number),
            };
        }
        // SAFETY: the caller's.
        let launched = unsafe { launch.launch(config) };
        launched.map(drop).map_err(|cause| Error::Device {
            device: format!("cuda:{}", stream.context().ordinal()),
            expected: "a kernel that runs".into(),
            found: cause.to_string(),
        })
    }
}

/// Whether the driver of a GPU and a compiler for it are installed.
fn has_compiler() -> bool {
    device::open_compiler();
    // SAFETY: the libraries are NVIDIA's; opening them runs their initialisers and nothing else.
    unsafe { cudarc::driver::sys::is_culib_present() && cudarc::nvrtc::sys::is_culib_present() }
}
