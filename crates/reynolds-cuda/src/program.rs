//! The kernels for orbits of one size, or for tiles, compiled for the GPU of this machine, and their launch.
//!
//! NVRTC compiles them when they are first needed: a tenth of a second, once in a process for each device, number type and size.

#![allow(unsafe_code, reason = "libraries are opened at run time, and a kernel takes addresses that nothing checks")]

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::{CUfunction, CUstream};
use cudarc::driver::{CudaContext, DriverError, result};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};

use crate::layout::Unit;
use crate::{Error, Result};

/// Threads of a block on a GPU.
pub(crate) const fn threads(unit: Unit) -> u32 {
    match unit {
        Unit::Orbit(_) => 512,
        Unit::Tile { .. } => 128,
    }
}

impl Unit {
    /// As macros of kernel.cu.
    pub(crate) fn defined(self) -> Vec<String> {
        match self {
            Self::Orbit(size) => vec![format!("-DSIZE={size}")],
            Self::Tile { numbers, columns } => vec![format!("-DTILE={numbers}"), format!("-DCOLUMNS={columns}")],
        }
    }
}

/// The type of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Number {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Number {
    /// Its name in C.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }
}

/// Where work goes.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Number of the device.
    pub device: usize,
    /// The driver's handle of a stream; 0 is the default one.
    pub stream: u64,
}

/// What kernel.cu compiles to for one unit.
#[derive(Debug)]
pub(crate) enum Program {
    Compiled {
        context: Arc<CudaContext>,
        threads: u32,
        /// In the order of [`Kernel`]. Never unloaded.
        functions: Vec<Function>,
    },
    #[cfg(feature = "emulation")]
    Emulated(&'static libloading::Library),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Function(CUfunction);

// SAFETY: a handle that the driver takes from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// A kernel of kernel.cu.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kernel {
    Added,
    Measured,
    Rescaled,
    Summed,
    Plain,
    Target,
    Dual,
    AddedApart,
    RescaledApart,
}

const NAMES: [&str; 9] = [
    "added",
    "measured",
    "rescaled",
    "summed",
    "plain_factors",
    "target_factors",
    "dual_factors",
    "added_apart",
    "rescaled_apart",
];

/// Layers that lie apart in one launch, at most, as in kernel.cu.
pub const APART: usize = 128;

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// By value: addresses of weights, and of what is added to.
    Places(&'a [[u64; APART]; 2]),
    Address(u64),
    Int(i32),
    Double(f64),
}

impl From<u32> for Argument<'_> {
    fn from(number: u32) -> Self {
        Self::Int(number.cast_signed())
    }
}

impl Argument<'_> {
    /// Where its value lies, as a launch takes it.
    pub(crate) fn address(&self) -> *mut c_void {
        match self {
            Self::Places(places) => (&raw const **places).cast_mut().cast(),
            Self::Address(address) => (&raw const *address).cast_mut().cast(),
            Self::Int(number) => (&raw const *number).cast_mut().cast(),
            Self::Double(number) => (&raw const *number).cast_mut().cast(),
        }
    }
}

thread_local! {
    static LAUNCHES: Cell<u64> = const { Cell::new(0) };
}

/// How many kernels the calling thread has launched so far; those of replayed graphs are not counted.
pub fn launches() -> u64 {
    LAUNCHES.get()
}

impl Program {
    /// `None` without a GPU, its driver or a compiler.
    pub(crate) fn new(device: usize, number: Number, unit: Unit) -> Option<Arc<Self>> {
        type Known = HashMap<(usize, Number, Unit), Option<Arc<Program>>>;
        static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
        let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let program = known.entry((device, number, unit));
        program.or_insert_with(|| Self::compiled(device, number, unit).map(Arc::new)).clone()
    }

    fn compiled(device: usize, number: Number, unit: Unit) -> Option<Self> {
        // SAFETY: the libraries are NVIDIA's; opening them runs their initialisers and nothing else.
        if !unsafe { cudarc::driver::sys::is_culib_present() && cudarc::nvrtc::sys::is_culib_present() } {
            return None;
        }
        let threads = threads(unit);
        let mut options = vec![format!("-DNUMBER={}", number.name()), format!("-DBLOCK={threads}")];
        options.extend(unit.defined());
        let ptx = compile_ptx_with_opts(include_str!("kernel.cu"), CompileOptions { options, ..Default::default() });
        let context = context(device).ok()?;
        let text = CString::new(ptx.ok()?.to_src()).ok()?;
        // SAFETY: the text is a program that NVRTC has just made, and ends with a 0.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) }.ok()?;
        let function = |name: &&str| {
            // SAFETY: the module is loaded and stays so.
            let function = unsafe { result::module::get_function(module, CString::new(*name).ok()?) };
            function.ok().map(Function)
        };
        Some(Self::Compiled { context, threads, functions: NAMES.iter().map(function).collect::<Option<_>>()? })
    }

    /// Launches a kernel.
    ///
    /// # Errors
    /// [`Error`] if the launch is refused.
    ///
    /// # Safety
    /// The arguments are those of the kernel in number, type and order, and their addresses are of memory of this program's device that the
    /// kernel may use as kernel.cu says: vectors of the program's number type, members that are places of them, none twice. Only operations
    /// on this stream use any of it.
    pub(crate) unsafe fn launch(
        &self,
        place: Place,
        kernel: Kernel,
        blocks: u32,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        LAUNCHES.set(LAUNCHES.get() + 1);
        let (context, threads, function) = match self {
            Self::Compiled { context, threads, functions } => (context, *threads, functions[kernel as usize].0),
            #[cfg(feature = "emulation")]
            Self::Emulated(library) => {
                crate::emulated::launch(library, kernel, blocks, arguments);
                return Ok(());
            }
        };
        let mut addresses: Vec<*mut c_void> = arguments.iter().map(Argument::address).collect();
        let (stream, block) = (place.stream as CUstream, (threads, 1, 1));
        let launched = context.bind_to_thread().and_then(|()| {
            // SAFETY: the caller's.
            unsafe { result::launch_kernel(function, (blocks, 1, 1), block, 0, stream, &mut addresses) }
        });
        launched.map_err(|cause| refused(place, "launch a kernel", &cause))
    }
}

/// Writes numbers to the device's memory at `address`, in the order of the stream; does not synchronise.
///
/// # Errors
/// [`Error`] if the driver refuses.
///
/// # Safety
/// The address is of so many bytes of memory of the device, which only operations on this stream use.
pub unsafe fn write<T: Copy>(place: Place, address: u64, values: &[T]) -> Result<()> {
    let written = context(place.device).and_then(|context| {
        context.bind_to_thread()?;
        // SAFETY: the caller's. The driver takes the few bytes before it returns, for they are in pageable memory.
        unsafe { result::memcpy_htod_async(address, values, place.stream as CUstream) }
    });
    written.map_err(|cause| refused(place, "write to its memory", &cause))
}

/// The primary context of a device, which the CUDA runtime uses too.
fn context(device: usize) -> Result<Arc<CudaContext>, DriverError> {
    static KNOWN: Mutex<BTreeMap<usize, Arc<CudaContext>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(context) = known.get(&device) {
        return Ok(Arc::clone(context));
    }
    let context = CudaContext::new(device)?;
    known.insert(device, Arc::clone(&context));
    Ok(context)
}

fn refused(place: Place, what: &'static str, found: &dyn ToString) -> Error {
    Error { device: place.device, what, found: found.to_string() }
}
