//! The training example of the README is the example file, and does what it says.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

#[allow(dead_code, reason = "its main is for people")]
#[path = "../examples/penalty.rs"]
mod penalty;

#[test]
fn the_readme_shows_the_example() {
    let source = include_str!("../examples/penalty.rs");
    let readme = include_str!("../../../README.md");
    let shown = source.split("    // README: begin\n").nth(1).unwrap().split("    // README: end").next().unwrap();
    let shown: String = shown.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect();
    assert!(readme.contains(&shown), "the README should show:\n{shown}");
}

#[test]
fn a_larger_penalty_gives_a_more_equivariant_layer() {
    let [none, some, much] = [0.0, 0.1, 10.0].map(|lambda_perp| penalty::train(lambda_perp).unwrap());
    assert!((0.1..0.4).contains(&none), "a random kernel has about a quarter of its energy there: {none}");
    assert!(none + 0.1 < some && some + 0.1 < much && much > 0.99, "{none} {some} {much}");
}
