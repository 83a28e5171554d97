//! The page that `--html` writes: complete in itself, and drawn by a real browser where one is installed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed set-up should fail the test, a skipped one say so"
)]

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use safetensors::{Dtype, tensor::TensorView};

/// Saves tensors of one shape with these weights, audits them, and gives the page.
fn page(folder: &Path, shape: &[usize], tensors: &[(&str, &dyn Fn(usize) -> f32)], typing: &[&str]) -> String {
    let (model, page) = (folder.join("model.safetensors"), folder.join("audit.html"));
    let bytes =
        |weight: &dyn Fn(usize) -> f32| (0..shape.iter().product()).flat_map(|n| weight(n).to_le_bytes()).collect();
    let stored: Vec<(&str, Vec<u8>)> = tensors.iter().map(|&(name, weight)| (name, bytes(weight))).collect();
    let view = |bytes| TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap();
    let views: HashMap<&str, TensorView<'_>> = stored.iter().map(|(name, bytes)| (*name, view(bytes))).collect();
    safetensors::serialize_to_file(&views, None, &model).unwrap();
    let done = assert_cmd::Command::cargo_bin("reynolds")
        .unwrap()
        .args(["audit", model.to_str().unwrap(), "--html", page.to_str().unwrap()])
        .args(typing)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::read_to_string(&page).unwrap()
}

#[test]
fn a_band_limited_layer_names_the_subgroup_of_its_defect_and_its_chance() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let fields = "domain = \"8x0\"\ncodomain = \"8x0\"";
    let parity = "stride = 2\npadding = 1\ninput = 32";
    fs::write(&plan, format!("group = \"SO2\"\n[[layer]]\nname = \"*\"\n{fields}\n{parity}\n")).unwrap();
    let text =
        page(folder.path(), &[8, 8, 3, 3], &[("a.weight", &|n| (n as f32).sin())], &["--plan", plan.to_str().unwrap()]);
    let row = text.lines().find(|line| line.starts_with("<tr><td>a.weight")).unwrap();
    assert!(row.contains(" over C4</td>"), "the grid has quarter turns only: {row}");
    assert!(row.contains("class=\"dim\" title=\"dim Hom_G/dim Hom: ") && !row.contains("random signs"), "{row}");
    assert!(row.contains("<td>8 irrep(0) -&gt; 8 irrep(0)</td>"), "{row}");
    for note in ["a.weight: band-limited", "a.weight: stride 2"] {
        assert!(text.contains(note), "no \"{note}\" in: {text}");
    }
}

#[test]
fn a_bracket_shows_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    fs::write(&plan, "group = \"SO2\"\n[[layer]]\nname = \"*\"\ndomain = \"2x(0..1)\"\ncodomain = \"2x(0..1)\"\n")
        .unwrap();
    let weights: &[(&str, &dyn Fn(usize) -> f32)] = &[("a.weight", &|n| (n as f32).sin())];
    let text = page(folder.path(), &[6, 6], weights, &["--plan", plan.to_str().unwrap()]);
    let row = text.lines().find(|line| line.starts_with("<tr><td>a.weight")).unwrap();
    let ends = row.split("</td>").find_map(|cell| cell.rsplit_once('>')?.1.split_once("..")).unwrap();
    let [lower, upper] = [ends.0, ends.1].map(|end| end.parse::<f64>().unwrap());
    assert!(0.0 < lower && lower <= upper, "{row}");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let name = "a\u{1b}]0;title\u{7}\n.weight";
    let text = page(folder.path(), &[8, 6, 3, 3], &[(name, &|n| (n as f32).sin())], &["--group", "C4"]);
    assert!(text.contains("a\\u{1b}]0;title\\u{7}\\n.weight"), "{text}");
    let model = folder.path().join("model.safetensors");
    for (fields, code) in [("trivial", 0), ("regular", 2)] {
        let done = assert_cmd::Command::cargo_bin("reynolds")
            .unwrap()
            .args(["audit", model.to_str().unwrap(), "--group", "C4", "--fields", fields])
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(code), "6 channels are no regular fields of C4");
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        assert!(said.contains("a\\u{1b}]0;title\\u{7}"), "{said}");
        assert!(!said.contains(['\u{1b}', '\u{7}']), "{said:?}");
    }
}

#[cfg(unix)]
#[test]
fn written_files_have_the_mode_of_ordinary_ones() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    page(folder.path(), &[8, 8, 3, 3], &[("a.weight", &|n| (n as f32).sin())], &["--group", "C4"]);
    let path = |name: &str| folder.path().join(name);
    fs::write(path("ordinary"), "").unwrap();
    let done = assert_cmd::Command::cargo_bin("reynolds")
        .unwrap()
        .args(["plan", path("model.safetensors").to_str().unwrap(), "--group", "C4"])
        .args(["--out", path("plan.toml").to_str().unwrap()])
        .output()
        .unwrap();
    assert!(done.status.success());
    let [ordinary, html, plan] =
        ["ordinary", "audit.html", "plan.toml"].map(|name| fs::metadata(path(name)).unwrap().permissions().mode());
    assert_eq!([html, plan], [ordinary; 2], "{html:o} and {plan:o}, not {ordinary:o}");
}

#[test]
fn tiny_weights_are_not_shown_as_nought() {
    let folder = tempfile::tempdir().unwrap();
    let typing = ["--group", "C4", "--fields", "trivial"];
    let text = page(folder.path(), &[8, 8, 3, 3], &[("a.weight", &|n| 1e-9 * (n as f32).sin())], &typing);
    let row = text.lines().find(|line| line.starts_with("<tr><td>a.weight")).unwrap();
    assert!(row.contains("e-8</td>") && !row.contains(">0.0000<"), "{row}");
    assert!(row.contains("class=\"signs\" title=\"random signs: ") && !row.contains(" over "), "{row}");
}

#[test]
fn the_page_is_self_contained_and_draws_a_bar_for_each_layer() {
    let folder = tempfile::tempdir().unwrap();
    let weight = |n: usize| (n as f32).sin();
    let text = page(
        folder.path(),
        &[8, 8, 3, 3],
        &[("a<b>.weight", &weight), ("c.weight", &weight)],
        &["--group", "C4", "--rank"],
    );
    assert!(!text.contains("http") && !text.contains("src=") && !text.contains("@import"));
    assert_eq!(text.matches("class=\"bar\"").count(), 4, "two layers through two typings");
    assert!(text.contains("a&lt;b&gt;.weight") && !text.contains("a<b>"));
    let Some(dom) = drawn(&folder.path().join("audit.html")) else { return };
    assert!(dom.contains("data-ready=\"1\""), "the script ran to its end: {dom}");
}

#[test]
fn a_click_on_a_head_sorts_and_a_second_one_turns_the_order() {
    let folder = tempfile::tempdir().unwrap();
    // ‖W‖ is 1.7e-8 for b, 2.4 for c and 17 for a, which as text would be b, a, c; d has none and comes last either way.
    let sine = |n: usize| (n as f32).sin();
    let tensors: [(&str, &dyn Fn(usize) -> f32); 4] = [
        ("a.weight", &sine),
        ("b.weight", &|n| 1e-9 * sine(n)),
        ("c.weight", &|n| 0.1 + 0.01 * sine(n)),
        ("d.weight", &|_| f32::NAN),
    ];
    let typing = ["--group", "C4", "--fields", "trivial"];
    let text = page(folder.path(), &[8, 8, 3, 3], &tensors, &typing);
    for (head, clicks, expected) in [
        ("‖W‖", 1, ["a", "c", "b", "d"]),
        ("‖W‖", 2, ["b", "c", "a", "d"]),
        ("layer", 1, ["d", "c", "b", "a"]),
        ("layer", 2, ["a", "b", "c", "d"]),
    ] {
        let click = format!("[...document.querySelectorAll('th')].find(h => h.textContent === '{head}').click();");
        let clicked = folder.path().join("clicked.html");
        fs::write(&clicked, format!("{text}<script>{}</script>", click.repeat(clicks))).unwrap();
        let Some(dom) = drawn(&clicked) else { return };
        let place = |name: &&str| dom.find(&format!("<td>{name}.weight</td>")).unwrap();
        let places: Vec<usize> = expected.iter().map(place).collect();
        assert!(places.is_sorted(), "{clicks} clicks on {head}: {places:?} for {expected:?}");
    }
}

/// What a browser makes of a page; nothing where no browser is installed.
fn drawn(page: &Path) -> Option<String> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = browsers.iter().find(|name| Command::new(name).arg("--version").output().is_ok()) else {
        println!("skipped: no Chromium here");
        return None;
    };
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"];
    let profile = tempfile::tempdir().unwrap();
    let done = Command::new(browser)
        .args(flags)
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}
