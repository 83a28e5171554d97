//! The program in a folder of its own, a small experiment, and folders compared byte by byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// So few points that an epoch takes a few milliseconds, one thread so that sums are the same to the last bit, and best weights.
pub(crate) const SMALL: &str = "--set data.points=24 --set data.turns=4 --set model.so2.hidden_channels=2 --set train.threads=1 \
                                --set train.early_stopping.metric=loss";

/// Settings as options: "a=1 b=2" is "--set a=1 --set b=2".
pub(crate) fn set(settings: &str) -> String {
    settings.split_whitespace().map(|setting| format!("--set {setting} ")).collect()
}

/// A temporary folder in which the program runs.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// A path in this folder as a command line names it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.0.path()).unwrap().to_str().unwrap().into()
    }

    /// The program, with nothing of the environment that would colour or lengthen what it says. Arguments with spaces stand in single
    /// quotes.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("reynolds-paper"));
        for (number, part) in line.split('\'').enumerate() {
            if number % 2 == 0 {
                command.args(part.split_whitespace())
            } else {
                command.arg(part)
            };
        }
        command.current_dir(self.0.path()).stdin(Stdio::null());
        let proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
        for name in proxies.into_iter().chain(["RUST_BACKTRACE", "REYNOLDS_DATA"]) {
            command.env_remove(name);
        }
        command
    }

    /// Exit code, standard output, standard error.
    pub(crate) fn reynolds(&self, line: &str) -> (i32, String, String) {
        let output = self.command(line).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Standard output of a command that succeeds.
    pub(crate) fn done(&self, line: &str) -> String {
        let (code, out, error) = self.reynolds(line);
        assert_eq!(code, 0, "{line}: {out}{error}");
        out
    }

    /// Lines of JSON that a command prints.
    pub(crate) fn rows(&self, line: &str) -> Vec<Value> {
        self.done(line).lines().map(|row| serde_json::from_str(row).unwrap()).collect()
    }

    /// The one line of JSON that a command prints.
    pub(crate) fn row(&self, line: &str) -> Value {
        let [row] = self.rows(line).try_into().unwrap();
        row
    }

    /// Demands exit code 2, a message that holds every needle, and that no file changed.
    pub(crate) fn refused(&self, line: &str, needles: &[&str]) {
        let before = self.contents();
        let (code, out, error) = self.reynolds(line);
        assert_eq!(code, 2, "{line}: {out}{error}");
        for needle in needles {
            assert!(error.contains(needle), "{line}: no \"{needle}\" in: {error}");
        }
        assert!(!error.contains("panicked") && !error.contains("fault of reynolds"), "{error}");
        assert!(!error.contains("Exception raised from"), "libtorch's stack: {error}");
        let after = self.contents();
        let keys = before.keys().chain(after.keys());
        let changed: Vec<_> = keys.filter(|key| before.get(*key) != after.get(*key)).collect();
        assert!(changed.is_empty(), "{line} changed {changed:?}");
    }

    /// A child whose output nobody reads.
    pub(crate) fn started(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Every file below this folder.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        contents(self.0.path())
    }

    /// What lies directly in a folder here; nothing if there is no such folder.
    pub(crate) fn listed(&self, name: &str) -> Vec<PathBuf> {
        fs::read_dir(self.path(name)).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }

    /// The only folder in a folder here.
    pub(crate) fn only(&self, name: &str) -> PathBuf {
        let [only] = self.listed(name).try_into().unwrap();
        only
    }
}

/// Waits until something holds, for as long as the child lives.
pub(crate) fn wait_until(child: &mut Child, holds: impl Fn() -> bool) {
    loop {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
        if holds() {
            return;
        }
        sleep(Duration::from_millis(2));
    }
}

/// Waits until something holds, and kills the child.
pub(crate) fn killed_when(mut child: Child, holds: impl Fn() -> bool) {
    wait_until(&mut child, holds);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Every file below a folder, by its path there.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// What two finished runs of the same settings must have in common to the last byte.
pub(crate) fn assert_same_run(one: &Path, other: &Path) {
    let checkpoints = ["checkpoints/last.safetensors", "checkpoints/best.safetensors"];
    for name in ["config.toml", "metrics.jsonl", "summary.json"].into_iter().chain(checkpoints) {
        let [a, b] = [one, other].map(|folder| fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}")));
        assert!(a == b, "{name} differs between {} and {}", one.display(), other.display());
    }
}
