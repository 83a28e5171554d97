//! The kernel compiled for the GPU that is there, and its launch.
//!
//! NVRTC, which PyTorch's CUDA libraries bring along, compiles it when it is first asked for, once for each device and number type.

#![allow(unsafe_code, reason = "libraries are opened at run time, and a kernel takes addresses that nothing checks")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use tch::{Device, Kind, Tensor};

use super::table::Table;
use crate::device;
use crate::error::{Error, Result};
use crate::projector::slices::plain;

/// Threads of a block.
const BLOCK: u32 = 512;
/// Blocks of a launch that adds up energies, at most: enough for any GPU, few to add up.
pub(super) const MEASURING: u32 = 1024;

/// The kernel on a device, for one number type.
#[derive(Debug)]
pub(super) struct Program {
    stream: Arc<CudaStream>,
    function: CudaFunction,
    device: Device,
    kind: Kind,
}

/// Programs by device and number type; `None` where there can be none.
type Programs = HashMap<(usize, bool), Option<Arc<Program>>>;

impl Program {
    /// For numbers of `kind` on `device`; `None` without a GPU, its driver or a compiler for it.
    pub(super) fn on(device: Device, kind: Kind) -> Option<Arc<Self>> {
        static KNOWN: OnceLock<Mutex<Programs>> = OnceLock::new();
        let Device::Cuda(number) = device else { return None };
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry((number, kind == Kind::Double))
            .or_insert_with(|| Self::compiled(number, kind).map(Arc::new))
            .clone()
    }

    fn compiled(number: usize, kind: Kind) -> Option<Self> {
        device::open_compiler();
        // SAFETY: the libraries are NVIDIA's; opening them runs their initialisers and nothing else.
        if !unsafe { cudarc::driver::sys::is_culib_present() && cudarc::nvrtc::sys::is_culib_present() } {
            return None;
        }
        let number_type = if kind == Kind::Double { "double" } else { "float" };
        let options = vec![format!("-DNUMBER={number_type}"), format!("-DBLOCK={BLOCK}")];
        let ptx = compile_ptx_with_opts(include_str!("kernel.cu"), CompileOptions { options, ..Default::default() });
        let context = CudaContext::new(number).ok()?;
        let function = context.load_module(ptx.ok()?).ok()?.load_function("fused").ok()?;
        Some(Self { stream: context.default_stream(), function, device: Device::Cuda(number), kind })
    }

    /// `sum ← sum + a P(w) + b (w − P(w))` if there is a `sum`, and `value ← (a ‖P(w)‖² + b ‖w − P(w)‖²) / 2` if there is a `value`, a single
    /// number; `weights` and `sum` are flat. Whether it was done: not if a tensor is no plain vector of this device and type, or the two overlap.
    ///
    /// Safety argument. The kernel reads `weights`, and reads and writes `sum`, at members of `table` alone: those are below its length, as
    /// [`Table::new`] sees to, and both tensors have that length. It reads members and runs, which are the table's own, where the runs say, and
    /// writes `value`, a counter and two numbers a block, for which there is room. No member belongs to two threads. All of it is on the stream
    /// that libtorch works on, the default one (tch knows no other): it comes after what made the tensors and before what reads them, and
    /// memory that is let go meanwhile is given only to operations that come later.
    ///
    /// # Errors
    /// [`Error::Device`] if the launch is refused.
    pub(super) fn launch(
        &self,
        table: &Table,
        weights: &Tensor,
        sum: Option<&Tensor>,
        value: Option<&Tensor>,
        [a, b]: [f64; 2],
    ) -> Result<bool> {
        let vector = |tensor: &Tensor| plain(tensor, self.kind, self.device) == Some(table.len);
        let address = |tensor: &Tensor| tensor.data_ptr() as u64;
        if !vector(weights) {
            return Ok(false);
        }
        if let Some(sum) = sum {
            let bytes = (table.len * self.kind.elt_size_in_bytes()) as u64;
            let apart = address(weights).abs_diff(address(sum)) >= bytes;
            if !vector(sum) || sum.requires_grad() || !apart {
                return Ok(false);
            }
        }
        let room = |value: &Tensor| (value.device(), value.kind(), value.numel()) == (self.device, self.kind, 1);
        if !value.is_none_or(room) {
            return Ok(false);
        }
        let (w, to) = (address(weights), sum.map_or(0, address));
        let (members, runs, orbits) = (address(&table.members), address(&table.runs), table.orbits);
        let value = value.map_or(0, address);
        let [partial, done] = if value == 0 { [0; 2] } else { [&table.partial, &table.done].map(address) };
        let blocks = orbits.unsigned_abs().div_ceil(BLOCK);
        let config = LaunchConfig {
            grid_dim: (if value == 0 { blocks } else { blocks.min(MEASURING) }, 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.stream.launch_builder(&self.function);
        launch
            .arg(&w)
            .arg(&to)
            .arg(&members)
            .arg(&runs)
            .arg(&orbits)
            .arg(&a)
            .arg(&b)
            .arg(&partial)
            .arg(&done)
            .arg(&value);
        // SAFETY: the arguments are those of `fused` in kernel.cu, in number, type and order; see above for the rest.
        let launched = unsafe { launch.launch(config) };
        launched.map(|_| true).map_err(|cause| Error::Device {
            device: format!("cuda:{}", self.stream.context().ordinal()),
            expected: "a kernel that runs".into(),
            found: cause.to_string(),
        })
    }
}
