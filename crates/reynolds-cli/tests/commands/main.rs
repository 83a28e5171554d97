//! The program `reynolds`, from outside.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod cli;
mod html;
mod networks;

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use reynolds_testkit::files::singles;
use tempfile::TempDir;

/// Name, shape and values of tensors.
type Tensors<'a> = &'a [(&'a str, &'a [usize], Vec<f32>)];

/// A folder with a `model.safetensors`, in which the program runs.
struct Folder(TempDir);

impl Folder {
    fn with(tensors: Tensors<'_>) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("model.safetensors", singles(tensors));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Exit code, standard output and standard error of a command line without quotes.
    fn reynolds(&self, line: &str) -> (i32, String, String) {
        let mut command = Command::cargo_bin("reynolds").unwrap();
        let output = command.current_dir(self.0.path()).args(line.split_whitespace()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Standard output of a command that succeeds.
    fn succeeds(&self, line: &str) -> String {
        let (code, out, error) = self.reynolds(line);
        assert_eq!(code, 0, "{line}: {error}");
        out
    }

    fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.succeeds(line)).unwrap()
    }

    /// Demands exit code 2 and a message that holds every needle.
    fn refuses(&self, line: &str, needles: &[&str]) {
        let (code, out, error) = self.reynolds(line);
        assert_eq!(code, 2, "{line}: {out}{error}");
        for needle in needles {
            assert!(error.contains(needle), "{line}: no \"{needle}\" in: {error}");
        }
        assert!(!error.contains("panicked"), "{error}");
    }
}
