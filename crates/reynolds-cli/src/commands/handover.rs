//! Commands of another program: `reynolds run …` starts `reynolds-paper run …`. That program is linked with libtorch, which takes a quarter
//! of a second and 100 MB to load; an audit needs none of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

const PROGRAM: &str = "reynolds-paper";

/// Environment variables of the other program, unless the user has set them.
const ENVIRONMENT: [(&str, &str); 2] = [
    // Keep freed memory: if the C library returns that of each large tensor to the system, a step of Adam on ten million numbers takes three
    // times as long on a CPU.
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "1099511627776"),
];

/// Runs a command of the other program with the arguments that follow it.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<u8> {
    let Some(program) = find()? else {
        bail!(
            "{name}: this command needs the program {PROGRAM}, which is neither in the folder of reynolds nor on PATH; `make demo` builds it"
        )
    };
    let mut command = Command::new(&program);
    command.arg(name).args(arguments);
    command.envs(ENVIRONMENT.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()));
    // On Unix it replaces this process, so that signals and exit codes need no forwarding.
    #[cfg(unix)]
    let started = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let started = match command.status() {
        Ok(status) => return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)),
        Err(error) => error,
    };
    Err(started).with_context(|| format!("{}: cannot start", program.display()))
}

/// The program beside this one, else the first on PATH.
fn find() -> Result<Option<PathBuf>> {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().context("cannot find this program")?.with_file_name(&name);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::iter::once(beside).chain(std::env::split_paths(&path).map(|folder| folder.join(&name)));
    Ok(places.find(|place| place.is_file()))
}
