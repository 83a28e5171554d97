//! What a process takes of a device's memory, as the driver counts it.
//!
//! libtorch keeps what it has once taken, and so does this count: what is read at the end of some work is its peak, context, libraries
//! and workspaces included. The driver numbers devices without regard to `CUDA_VISIBLE_DEVICES`.

use std::ffi::OsStr;

use nvml_wrapper::Nvml;

/// The driver's library, by the name that machines have which only run programs.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// The memory of one device, from a moment on.
pub struct DeviceMemory {
    nvml: Nvml,
    device: u32,
    before: u64,
}

impl DeviceMemory {
    /// From now on, which should be before the process touches the device; `None` if the driver cannot be asked.
    pub fn begin(device: usize) -> Option<Self> {
        let nvml = Nvml::builder().lib_path(OsStr::new(LIBRARY)).init().ok()?;
        let mut memory = Self { nvml, device: u32::try_from(device).ok()?, before: 0 };
        memory.before = memory.used()?;
        Some(memory)
    }

    /// MiB more in use than in the beginning, by whomever.
    pub fn added_mib(&self) -> Option<f64> {
        Some(self.used()?.saturating_sub(self.before) as f64 / f64::from(1 << 20))
    }

    fn used(&self) -> Option<u64> {
        Some(self.nvml.device_by_index(self.device).ok()?.memory_info().ok()?.used)
    }
}
