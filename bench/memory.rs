//! What a process takes of a device's memory, as the driver counts it.
//!
//! libtorch keeps what it has once taken, and so does this count: what is read at the end of some work is its peak, context, libraries
//! and workspaces included. The driver numbers devices without regard to `CUDA_VISIBLE_DEVICES`.

use std::process::Command;

/// The memory of one device, from a moment on.
pub struct DeviceMemory {
    device: usize,
    before: u64,
}

impl DeviceMemory {
    /// From now on, which should be before the process touches the device; `None` if the driver cannot be asked.
    pub fn begin(device: usize) -> Option<Self> {
        Some(Self { device, before: used_mib(device)? })
    }

    /// MiB more in use than in the beginning, by whomever.
    pub fn added_mib(&self) -> Option<f64> {
        Some(used_mib(self.device)?.saturating_sub(self.before) as f64)
    }
}

/// Asks nvidia-smi, which comes with the driver.
fn used_mib(device: usize) -> Option<u64> {
    let id = format!("--id={device}");
    let asked = ["--query-gpu=memory.used", "--format=csv,noheader,nounits"];
    let output = Command::new("nvidia-smi").arg(id).args(asked).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    text.trim().parse().ok()
}
