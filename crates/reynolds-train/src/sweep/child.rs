//! One run in a process of its own.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use super::Status;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metrics::Summary;
use crate::run_folder;
use reynolds_checkpoint::whole_file;

/// Time between two checks of a child.
const PATIENCE: Duration = Duration::from_millis(20);

/// Ends this process when the sweep that started it is killed, so that the sweep can be resumed at once; only on Linux.
pub fn end_with_sweep(_sweep: u32) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        // If the system refuses, a child outlives its sweep.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        // The parent may have died before the call.
        let parent = getppid().map_or(0, |process| process.as_raw_nonzero().get() as u32);
        if parent != _sweep {
            let expected = format!("to be started by the process {_sweep}");
            return Err(Error::given("--sweep", "PID", expected, format!("the process {parent}: the sweep has ended")));
        }
    }
    Ok(())
}

/// How to start a process of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// Program that is started for each run.
    pub program: PathBuf,
    /// First arguments.
    pub before: Vec<OsString>,
}

impl Launcher {
    /// This program itself.
    pub fn this_program() -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::io(Path::new("this program"), "find"))?;
        Ok(Self { program, before: Vec::new() })
    }

    /// Runs a point and waits for it.
    pub(super) fn run(&self, experiment: &str, folder: &Path, device: &str, interrupt: &Interrupt) -> Status {
        let errors = folder.join("stderr.txt");
        let sweep = std::process::id().to_string();
        let arguments = ["run", experiment, "--sweep", &sweep, "--resume"].map(OsStr::new);
        let status = self.wait_for(&arguments, folder, device, &errors, interrupt);
        let finished = matches!(run_folder::summary::<Summary>(folder), Ok(Some(_)));
        let status = match status {
            Ok(status) if status.success() && finished => Status::Finished,
            Ok(_) if interrupt.requested() => Status::Interrupted,
            Ok(status) => Status::Failed(message(&errors, status)),
            Err(error) => Status::Failed(format!("{}: {error}", self.program.display())),
        };
        if !matches!(status, Status::Failed(_)) {
            let _ = fs::remove_file(&errors);
        }
        status
    }

    /// Runs `PROGRAM COMMAND… FOLDER --device DEVICE` and waits for it; `false` if it was cancelled, an error with its last message if it fails.
    pub fn on_folder(&self, command: &[&OsStr], folder: &Path, device: &str, interrupt: &Interrupt) -> Result<bool> {
        let errors = folder.join("stderr.txt");
        let status = self.wait_for(command, folder, device, &errors, interrupt);
        match status.map_err(Error::io(&self.program, "run"))? {
            status if status.success() => {
                let _ = fs::remove_file(&errors);
                Ok(true)
            }
            _ if interrupt.requested() => Ok(false),
            status => {
                let expected = format!("\"{}\" to succeed", command[0].display());
                Err(Error::file(&self.program, expected, message(&errors, status)))
            }
        }
    }

    /// Starts a child with its standard error in a file and waits for it. On cancellation it is asked once to stop, and saves.
    fn wait_for(
        &self,
        arguments: &[&OsStr],
        folder: &Path,
        device: &str,
        errors: &Path,
        interrupt: &Interrupt,
    ) -> io::Result<ExitStatus> {
        let mut command = Command::new(&self.program);
        command.args(&self.before).args(arguments).arg(folder).args(["--device", device]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(whole_file::create_anew(errors)?);
        // Ctrl-C goes to a whole process group: with a group of its own a child is signalled once, by its parent.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        wait(command.spawn()?, interrupt)
    }
}

fn wait(mut child: Child, interrupt: &Interrupt) -> io::Result<ExitStatus> {
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt.requested() && !asked {
            ask_to_stop(&mut child);
            asked = true;
        }
        std::thread::sleep(PATIENCE);
    }
}

#[cfg(unix)]
fn ask_to_stop(child: &mut Child) {
    let process = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        // The child may have ended already.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    }
}

#[cfg(not(unix))]
fn ask_to_stop(child: &mut Child) {
    // It will be resumed from its last checkpoint.
    let _ = child.kill();
}

/// The error in the last line of a child's standard error, or else its exit status.
fn message(errors: &Path, status: ExitStatus) -> String {
    let bytes = fs::read(errors).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let error = line.and_then(|line| line.strip_prefix("error: "));
    error.map_or_else(|| status.to_string(), str::to_string)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_child_that_a_signal_ended_is_reported_with_the_signal_and_one_that_failed_with_its_error() {
        let folder = tempfile::tempdir().unwrap();
        let errors = folder.path().join("stderr.txt");
        let (killed, failed) = (ExitStatus::from_raw(9), ExitStatus::from_raw(2 << 8));
        let said = |text: &str, status| {
            fs::write(&errors, text).unwrap();
            message(&errors, status)
        };
        assert_eq!(said("epoch 3/5  loss 0.1\n", killed), "signal: 9 (SIGKILL)");
        assert_eq!(said("epoch 3/5  loss 0.1\nerror: no room\n\n", failed), "no room");
        assert_eq!(said("epoch 3/5  loss 0.1\n", failed), "exit status: 2");
        assert_eq!(said("", killed), "signal: 9 (SIGKILL)");
    }

    #[test]
    fn a_command_on_a_folder_is_waited_for_and_why_it_fails_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let shell = |script: &str| Launcher { program: "/bin/sh".into(), before: vec!["-c".into(), script.into()] };
        let run = |script: &str, interrupt: &Interrupt| {
            shell(script).on_folder(&["it".as_ref()], folder.path(), "cpu", interrupt)
        };
        assert!(run("echo done > \"$1/out\"; test \"$0 $2 $3\" = 'it --device cpu'", &Interrupt::new()).unwrap());
        assert!(folder.path().join("out").is_file());
        let failed = run("echo 'error: no room' >&2; exit 3", &Interrupt::new()).unwrap_err().to_string();
        assert!(failed.starts_with("/bin/sh: expected") && failed.ends_with("found no room"), "{failed}");
        let interrupt = Interrupt::new();
        interrupt.request();
        assert!(!run("sleep 60", &interrupt).unwrap());
    }
}
