//! Where tensors live: `cpu`, or a CUDA device if the libraries for it are there.
//!
//! The linker drops libtorch_cuda, to which nothing refers; it is opened at run time, before the first question about devices, so that one
//! program serves machines with and without a GPU.

use std::path::Path;
use std::sync::OnceLock;

use reynolds_cuda::Place;
use tch::kind::Element;
use tch::{Device, Kind, Tensor};

use crate::error::{Error, Result};
use crate::graph;

/// The device a user names: `cpu` or `cuda:N`.
///
/// ```
/// use reynolds_torch::{device, tch::Device};
/// assert_eq!(device::parse("cpu")?, Device::Cpu);
/// assert!(device::parse("tpu").is_err());
/// # Ok::<(), reynolds_torch::Error>(())
/// ```
///
/// # Errors
/// [`Error::Device`] if the text is neither, the CUDA libraries are not there, or there is no such device.
pub fn parse(text: &str) -> Result<Device> {
    if text == "cpu" {
        return Ok(Device::Cpu);
    }
    let error = |expected: &str, found: String| Error::Device { device: text.into(), expected: expected.into(), found };
    let number = text.strip_prefix("cuda:").and_then(|number| number.parse::<usize>().ok());
    let Some(number) = number else { return Err(error("cpu or cuda:N", text.into())) };
    cuda_libraries().map_err(|cause| error("CUDA libraries beside libtorch", cause))?;
    let count = tch::Cuda::device_count().max(0) as usize;
    if !tch::Cuda::is_available() || number >= count {
        return Err(error("a CUDA device of this machine", format!("{count} of them")));
    }
    Ok(Device::Cuda(number))
}

/// `cpu` or `cuda:N`.
pub fn name(device: Device) -> String {
    match device {
        Device::Cuda(number) => format!("cuda:{number}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// How many kernels of [`reynolds_cuda`] the calling thread has launched so far.
///
/// Operations of libtorch are not counted: P where it has no kernel takes [`Binding::operations`](crate::Binding::operations), a squared
/// decoupled step with a strength for each layer six beside its kernels, and a step of a form without a kernel some dozens. None of them
/// loops over layers.
pub fn launches() -> u64 {
    reynolds_cuda::launches()
}

/// The device and its current stream in this thread, for kernels; on a processor, where they are emulated, it means nothing.
pub(crate) fn place(device: Device) -> Result<Place> {
    let Device::Cuda(number) = device else { return Ok(Place { device: 0, stream: 0 }) };
    Ok(Place { device: number, stream: graph::current_stream(number)? })
}

/// Values of the host on a device, as numbers of `kind`.
pub(crate) fn upload<T: Element>(values: &[T], kind: Kind, device: Device) -> Result<Tensor> {
    Ok(Tensor::f_from_slice(values)?.f_to_device(device)?.f_to_kind(kind)?)
}

/// A permutation of the numbers of flat tensors and its inverse, as indices (int32) on a device.
pub(crate) fn upload_order(from: &[i32], device: Device) -> Result<[Tensor; 2]> {
    let mut back = vec![0; from.len()];
    from.iter().zip(0..).for_each(|(&at, to)| back[at as usize] = to);
    Ok([upload(from, Kind::Int, device)?, upload(&back, Kind::Int, device)?])
}

/// Opens libtorch_cuda once.
fn cuda_libraries() -> Result<(), String> {
    static OPENED: OnceLock<Result<(), String>> = OnceLock::new();
    let hint = |cause| format!("no CUDA libraries here: make libtorch-cuda ({cause})");
    OPENED.get_or_init(|| open("libtorch_cuda.so").map_err(hint)).clone()
}

/// Opens NVIDIA's compiler for kernels, if it is there, by the library of PyTorch that knows where.
pub(crate) fn open_compiler() {
    let _ = open("libcaffe2_nvrtc.so");
    // NVRTC opens a library of its own by name, but not from its own folder.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let compiler = paths.find(|path| is_named(path, "libnvrtc.so"));
    let files = compiler.and_then(Path::parent).and_then(|folder| folder.read_dir().ok());
    for file in files.into_iter().flatten().flatten() {
        if is_named(&file.path(), "libnvrtc-builtins.so") {
            let _ = open(&file.path().to_string_lossy());
        }
    }
}

fn is_named(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
}

#[cfg(target_os = "linux")]
fn open(name: &str) -> Result<(), String> {
    use std::error::Error as _;

    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // Safety: the library is PyTorch's own and of the version this program is linked with; its initialisers register kernels and
    // nothing else. It stays open until the end of the process.
    #[allow(unsafe_code, reason = "a library can be opened at run time in no safe way")]
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) };
    // The system's message is the source of libloading's error.
    let said = |error: libloading::Error| error.source().map_or_else(|| error.to_string(), ToString::to_string);
    library.map(std::mem::forget).map_err(said)
}

#[cfg(not(target_os = "linux"))]
fn open(_: &str) -> Result<(), String> {
    Err("CUDA is supported on Linux only".into())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_device_that_is_not_there_is_an_error_that_names_it() {
        for bad in ["cuda", "cuda:x", "gpu", "", "cuda:-1", "cuda:99"] {
            let message = parse(bad).unwrap_err().to_string();
            assert!(message.starts_with(&format!("device \"{bad}\": expected ")), "{message}");
        }
    }
}
