//! Memory of a device that a process takes, as the driver counts it.
//!
//! libtorch never gives memory back, so the count after some work is its peak, including context, libraries and workspaces. The driver
//! numbers devices without regard to `CUDA_VISIBLE_DEVICES`.

use std::process::Command;

/// Growth of the memory in use on a device.
pub struct DeviceMemory {
    device: usize,
    before: u64,
}

impl DeviceMemory {
    /// Call it before the process uses the device; `None` if nvidia-smi does not answer.
    pub fn begin(device: usize) -> Option<Self> {
        Some(Self { device, before: used_of_mib(device)?[0] })
    }

    /// Growth since the beginning in MiB, by all processes.
    pub fn added_mib(&self) -> Option<f64> {
        Some(used_of_mib(self.device)?[0].saturating_sub(self.before) as f64)
    }
}

/// What all processes use of a device's memory, and all of it, in MiB; `None` if nvidia-smi does not answer.
pub fn used_of_mib(device: usize) -> Option<[u64; 2]> {
    let id = format!("--id={device}");
    let asked = ["--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"];
    let output = Command::new("nvidia-smi").arg(id).args(asked).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    let numbers = text.trim().split(',').map(|number| number.trim().parse().ok()).collect::<Option<Vec<_>>>()?;
    numbers.try_into().ok()
}
