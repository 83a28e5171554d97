//! Every file and test that docs/math.md names exists.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            rust_sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The words in backticks of a text.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_test_named_in_the_claims_exists() {
    let mut sources = String::new();
    for folder in ["crates", "paper"] {
        rust_sources(&root().join(folder), &mut sources);
    }
    let math = std::fs::read_to_string(root().join("docs/math.md")).unwrap();
    let claims = math.split("## 2. Claims").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut checked = 0;
    for row in claims.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| label")) {
        let tests = row.trim_end_matches('|').rsplit(" | ").next().unwrap();
        for name in quoted(tests).filter(|name| name.contains('_')) {
            assert!(sources.contains(&format!("fn {name}(")), "docs/math.md names {name}, which is no test");
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} tests found in the table of claims");
}

#[test]
fn every_file_named_in_the_symbols_exists() {
    let math = std::fs::read_to_string(root().join("docs/math.md")).unwrap();
    let symbols = math.split("## 1. Symbols").nth(1).unwrap().split("\n## ").next().unwrap();
    for row in symbols.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| paper")) {
        let files = row.trim_end_matches('|').rsplit(" | ").next().unwrap();
        for file in quoted(files) {
            assert!(root().join("crates/reynolds/src").join(file).exists(), "docs/math.md names {file}");
        }
    }
}
