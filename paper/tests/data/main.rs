//! Data of every problem: simulators beside physics and other programs, files as their publishers write them.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod ct_formats;
mod ct_pair;
mod ct_scan;
mod ct_set;
mod disks;
mod medmnist;
mod smoke;
mod smoke_parity;
