//! Where tensors live: `cpu`, or a CUDA device if the libraries for it are there.
//!
//! The linker drops libtorch_cuda, to which nothing refers; it is opened at run time, before the first question about devices, so that one
//! program serves machines with and without a GPU.

use std::sync::OnceLock;

use tch::Device;

use crate::error::{Error, Result};

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

/// Opens libtorch_cuda once.
fn cuda_libraries() -> Result<(), String> {
    static OPENED: OnceLock<Result<(), String>> = OnceLock::new();
    OPENED.get_or_init(open_cuda_libraries).clone()
}

#[cfg(target_os = "linux")]
fn open_cuda_libraries() -> Result<(), String> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // Safety: the library is PyTorch's own and of the version this program is linked with; its initialisers register kernels and
    // nothing else. It stays open until the end of the process.
    #[allow(unsafe_code, reason = "a library can be opened at run time in no safe way")]
    let library = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) };
    match library {
        Ok(library) => {
            std::mem::forget(library);
            Ok(())
        }
        Err(cause) => Err(format!("no CUDA libraries here: make libtorch-cuda ({cause})")),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_cuda_libraries() -> Result<(), String> {
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
