//! What `--help` says: the contract of the names.

use super::support::Folder;

/// The options that a help text lists, in order.
fn options(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = line.trim_start().trim_start_matches("-h, ");
        line.starts_with("--").then(|| line.split("  ").next().unwrap_or_default().to_string())
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn every_training_command_has_the_options_of_the_contract() {
    let of = |command: &str| options(&Folder::new().done(&format!("{command} --help")));
    let place = ["--device <DEVICE>", "--resume <DIR>", "--runs <DIR>"];
    let run = ["--config <FILE>", "--set <KEY=VALUE>", "--seeds <N>"];
    assert_eq!(of("run"), [&run[..], &place, &["--show", "--help"]].concat());
    let grid = ["--grid <KEY=V1,V2,…>"];
    assert_eq!(of("sweep"), [&grid[..], &run, &["--jobs <N>"], &place, &["--help"]].concat());
    let reproduce = ["--budget <BUDGET>", "--strict", "--set <KEY=VALUE>", "--jobs <N>", "--processes"];
    let projection = ["--group <G>", "--domain <FIELDS>", "--codomain <FIELDS>"];
    assert_eq!(of("reproduce"), [&reproduce[..], &place, &["--help"], &projection].concat());
}

#[test]
fn experiments_are_listed_with_what_they_are() {
    let list = Folder::new().done("run list");
    for experiment in ["so2", "rings", "smoke"] {
        let line = list.lines().find(|line| line.starts_with(experiment)).unwrap_or_else(|| panic!("{list}"));
        assert!(line.len() > 20, "{line}");
    }
    Folder::new().refused("run", &["EXPERIMENT"]);
}
