//! The training commands: handed over to `reynolds-train`, the program beside this one that is linked with libtorch. Loading libtorch
//! takes a quarter of a second and a hundred megabytes, which an audit should not pay, and needs it to be there.

use std::process::ExitCode;

use anyhow::{Result, bail};

/// What the program that trains finds in its environment unless the user has put something else there.
#[cfg(feature = "train")]
const ENVIRONMENT: [(&str, &str); 2] = [
    // The C library gives the memory of a large tensor back at once and asks for it again a moment later: on a CPU a step of Adam on ten
    // million numbers takes three times as long for it. So it is kept.
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "1099511627776"),
];

/// Carries out the arguments of this process.
#[cfg(not(feature = "train"))]
pub(crate) fn run() -> Result<ExitCode> {
    bail!("built without training: expected a build with the feature `train`, which is on by default")
}

/// Carries out the arguments of this process.
#[cfg(feature = "train")]
pub(crate) fn run() -> Result<ExitCode> {
    use anyhow::Context;
    let this = std::env::current_exe().context("cannot find this program")?;
    let that = this.with_file_name(format!("reynolds-train{}", std::env::consts::EXE_SUFFIX));
    if !that.is_file() {
        bail!("{}: expected the program that trains beside this one, found none", that.display());
    }
    let mut command = std::process::Command::new(&that);
    command.args(std::env::args_os().skip(1));
    command.envs(ENVIRONMENT.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()));
    // On Unix it takes the place of this process, so that signals and exit codes need no forwarding.
    #[cfg(unix)]
    let started = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let started = match command.status() {
        Ok(status) => return Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2))),
        Err(error) => error,
    };
    Err(started).with_context(|| format!("{}: cannot start", that.display()))
}
