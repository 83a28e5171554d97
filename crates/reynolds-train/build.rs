//! Puts the folder of libtorch on the run path of this crate's tests, tells it to the crates that depend on this one, and notes the versions
//! for environment.json.

use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var("DEP_REYNOLDS_TORCH_LIBTORCH_LIB").ok();
    if let Some(folder) = &folder {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo::metadata=libtorch_lib={folder}");
    }
    let libtorch = folder.and_then(|folder| libtorch_version(Path::new(&folder)));
    let versions = [("RUSTC", rustc_version()), ("TCH", locked_version("tch")), ("LIBTORCH", libtorch)];
    for (name, version) in versions {
        println!("cargo::rustc-env=REYNOLDS_{name}_VERSION={}", version.unwrap_or_else(|| "unknown".into()));
    }
}

fn rustc_version() -> Option<String> {
    let output = Command::new(std::env::var_os("RUSTC")?).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_string())
}

/// Of a dependency, from the workspace's Cargo.lock.
fn locked_version(package: &str) -> Option<String> {
    let file = Path::new("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", file.display());
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines().skip_while(|line| *line != format!("name = \"{package}\""));
    Some(lines.nth(1)?.strip_prefix("version = \"")?.trim_end_matches('"').to_string())
}

/// From PyTorch's version.py beside `lib`, or the build-version of a plain libtorch.
fn libtorch_version(lib: &Path) -> Option<String> {
    let folder = lib.parent()?;
    if let Ok(text) = fs::read_to_string(folder.join("version.py")) {
        let line = text.lines().find_map(|line| line.strip_prefix("__version__ = '"))?;
        return Some(line.trim_end_matches('\'').to_string());
    }
    fs::read_to_string(folder.join("build-version")).ok().map(|text| text.trim().to_string())
}
