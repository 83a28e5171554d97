//! Versions and machine of a run: environment.json.

use std::fs;
use std::path::{Path, PathBuf};

use reynolds_torch::device;
use reynolds_torch::tch::{self, Device};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::progress::say;
use crate::run_folder::RunFolder;
use crate::utc;

/// Versions and machine of a run, without names of hosts or users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// When the run started or was resumed.
    pub time: String,
    /// Version of reynolds.
    pub reynolds: String,
    /// Version of tch.
    pub tch: String,
    /// Version of libtorch at build time.
    pub libtorch: String,
    /// The compiler.
    pub rustc: String,
    /// "cpu", "cuda:0", …
    pub device: String,
    /// Processor threads inside an operation.
    pub threads: i32,
    /// [`current_commit`].
    pub commit: String,
    /// Operating system and architecture.
    pub system: String,
    /// The processor's name; "" if unknown.
    pub processor: String,
    /// The environment of each resumption.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Environment>,
}

const FILE: &str = "environment.json";

impl Environment {
    /// The environment of this process.
    pub fn now(device: Device) -> Self {
        Self {
            time: utc::stamp(),
            reynolds: env!("CARGO_PKG_VERSION").into(),
            tch: env!("REYNOLDS_TCH_VERSION").into(),
            libtorch: env!("REYNOLDS_LIBTORCH_VERSION").into(),
            rustc: env!("REYNOLDS_RUSTC_VERSION").into(),
            device: device::name(device),
            threads: tch::get_num_threads(),
            commit: current_commit(),
            system: system(),
            processor: processor().unwrap_or_default(),
            resumed: Vec::new(),
        }
    }

    /// Writes it to a run folder, or adds it to `resumed` there.
    pub(crate) fn add_to(self, folder: &RunFolder) -> Result<()> {
        let all = match Self::of(folder)? {
            Some(mut first) => {
                first.resumed.push(self);
                first
            }
            None => self,
        };
        let text = serde_json::to_string_pretty(&all).expect("an environment is plain texts");
        folder.write(FILE, text.as_bytes())
    }

    /// Refuses a folder of another version.
    pub(crate) fn check_version(folder: &RunFolder) -> Result<()> {
        match Self::of(folder)? {
            Some(found) if found.reynolds != env!("CARGO_PKG_VERSION") => {
                let expected = format!("a run of version {}", env!("CARGO_PKG_VERSION"));
                Err(Error::file(&folder.file(FILE), expected, found.reynolds))
            }
            _ => Ok(()),
        }
    }

    fn of(folder: &RunFolder) -> Result<Option<Self>> {
        let file = folder.file(FILE);
        let Ok(bytes) = fs::read(&file) else { return Ok(None) };
        let found = serde_json::from_slice(&bytes);
        if let Err(error) = &found {
            // It only informs, so that it never keeps a run from going on.
            let file = file.display();
            say(&format!("warning: {file}: expected the environment of a run, found {error}; written anew"));
        }
        Ok(found.ok())
    }
}

fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {} {}", std::env::consts::OS, release.trim(), std::env::consts::ARCH).replace("  ", " ")
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().into())
}

/// `$REYNOLDS_COMMIT` if set, else the commit of the git checkout that this process runs in, else "".
pub fn current_commit() -> String {
    let here = || commit(&std::env::current_dir().ok()?);
    std::env::var("REYNOLDS_COMMIT").ok().or_else(here).unwrap_or_default()
}

/// The commit of the checkout that contains a folder, from its `.git`, without running git.
fn commit(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = match git.is_dir() {
        true => git,
        // A linked worktree has a file with the path of its folder.
        false => git.parent()?.join(fs::read_to_string(&git).ok()?.strip_prefix("gitdir:")?.trim()),
    };
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(reference) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().into()) };
    let shared = match fs::read_to_string(git.join("commondir")) {
        Ok(text) => git.join(text.trim()),
        Err(_) => git.clone(),
    };
    let loose = |folder: &PathBuf| fs::read_to_string(folder.join(reference)).ok().map(|text| text.trim().to_string());
    let packed = || {
        let text = fs::read_to_string(shared.join("packed-refs")).ok()?;
        let line = text.lines().find(|line| line.ends_with(&format!(" {reference}")))?;
        Some(line.split_once(' ')?.0.to_string())
    };
    loose(&git).or_else(|| loose(&shared)).or_else(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_read_from_loose_packed_and_linked_references() {
        let root = tempfile::tempdir().unwrap();
        let (git, inner) = (root.path().join(".git"), root.path().join("a/b"));
        fs::create_dir_all(git.join("refs/heads")).unwrap();
        fs::create_dir_all(&inner).unwrap();
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("packed-refs"), "# pack-refs\naaaa refs/heads/other\nbbbb refs/heads/main\n").unwrap();
        assert_eq!(commit(&inner).unwrap(), "bbbb");
        fs::write(git.join("refs/heads/main"), "cccc\n").unwrap();
        assert_eq!(commit(&inner).unwrap(), "cccc");
        let linked = git.join("worktrees/w");
        fs::create_dir_all(&linked).unwrap();
        fs::write(linked.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(linked.join("commondir"), "../..\n").unwrap();
        fs::write(inner.join(".git"), format!("gitdir: {}\n", linked.display())).unwrap();
        assert_eq!(commit(&inner).unwrap(), "cccc");
        fs::write(linked.join("HEAD"), "dddd\n").unwrap();
        assert_eq!(commit(&inner).unwrap(), "dddd");
    }

    #[test]
    fn sessions_that_go_on_are_added_and_another_version_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(root.path()).unwrap();
        Environment::now(Device::Cpu).add_to(&folder).unwrap();
        Environment::now(Device::Cpu).add_to(&folder).unwrap();
        let mut all = Environment::of(&folder).unwrap().unwrap();
        assert_eq!((all.resumed.len(), all.device.as_str()), (1, "cpu"));
        assert!(Environment::check_version(&folder).is_ok());
        all.reynolds = "0.0.1".into();
        folder.write(FILE, serde_json::to_string(&all).unwrap().as_bytes()).unwrap();
        let message = Environment::check_version(&folder).unwrap_err().to_string();
        assert!(message.ends_with("expected a run of version 0.1.0, found 0.0.1"), "{message}");
    }
}
