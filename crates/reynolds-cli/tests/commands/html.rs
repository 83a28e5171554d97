//! The page that `--html` writes: complete in itself, and drawn by a real browser where one is installed.

use std::path::Path;
use std::process::Command;

use crate::Folder;

const KERNEL: [usize; 4] = [8, 8, 3, 3];

/// Waves of this height about this mean, as many as a tensor of this shape has places.
fn waves(shape: &[usize], mean: f32, height: f32) -> Vec<f32> {
    (0..shape.iter().product()).map(|n| mean + height * (n as f32).sin()).collect()
}

/// A folder with one tensor of waves.
fn one(name: &str, shape: &[usize]) -> Folder {
    Folder::with(&[(name, shape, waves(shape, 0.0, 1.0))])
}

/// The page of an audit.
fn page(folder: &Folder, typing: &str) -> String {
    folder.succeeds(&format!("audit model.safetensors --html audit.html {typing}"));
    folder.text("audit.html")
}

/// The row of a tensor in the table.
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    page.lines().find(|line| line.starts_with(&format!("<tr><td>{name}"))).unwrap()
}

#[test]
fn a_band_limited_layer_names_the_subgroup_of_its_defect_and_its_chance() {
    let folder = one("a.weight", &KERNEL);
    let layer = "name = \"*\"\ndomain = \"8x0\"\ncodomain = \"8x0\"\nstride = 2\npadding = 1\ninput = 32";
    folder.write("plan.toml", format!("group = \"SO2\"\n[[layer]]\n{layer}\n"));
    let text = page(&folder, "--plan plan.toml");
    let row = row(&text, "a.weight");
    assert!(row.contains(" over C4</td>"), "the grid has quarter turns only: {row}");
    assert!(row.contains("class=\"dim\" title=\"dim Hom_G/dim Hom: ") && !row.contains("random signs"), "{row}");
    assert!(row.contains("<td>8 irrep(0) -&gt; 8 irrep(0)</td>"), "{row}");
    for note in ["a.weight: the grid of pixels allows only C4 exactly", "a.weight: stride 2"] {
        assert!(text.contains(note), "no \"{note}\" in: {text}");
    }
}

#[test]
fn a_bracket_shows_both_ends() {
    let folder = one("a.weight", &[6, 6]);
    folder.write(
        "plan.toml",
        "group = \"SO2\"\n[[layer]]\nname = \"*\"\ndomain = \"2x(0..1)\"\ncodomain = \"2x(0..1)\"\n",
    );
    let text = page(&folder, "--plan plan.toml");
    let row = row(&text, "a.weight");
    let ends = row.split("</td>").find_map(|cell| cell.rsplit_once('>')?.1.split_once("..")).unwrap();
    let [lower, upper] = [ends.0, ends.1].map(|end| end.parse::<f64>().unwrap());
    assert!(0.0 < lower && lower <= upper, "{row}");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let folder = one("a\u{1b}]0;title\u{7}\n.weight", &[8, 6, 3, 3]);
    let text = page(&folder, "--group C4");
    assert!(text.contains("a\\u{1b}]0;title\\u{7}\\n.weight"), "{text}");
    for (fields, expected) in [("trivial", 0), ("regular", 2)] {
        let (code, out, error) = folder.reynolds(&format!("audit model.safetensors --group C4 --fields {fields}"));
        assert_eq!(code, expected, "6 channels are no regular fields of C4");
        let said = out + &error;
        assert!(said.contains("a\\u{1b}]0;title\\u{7}"), "{said}");
        assert!(!said.contains(['\u{1b}', '\u{7}']), "{said:?}");
    }
}

#[cfg(unix)]
#[test]
fn written_files_have_the_mode_of_ordinary_ones() {
    use std::os::unix::fs::PermissionsExt;
    let folder = one("a.weight", &KERNEL);
    page(&folder, "--group C4");
    folder.write("ordinary", "");
    folder.succeeds("plan model.safetensors --group C4 --out plan.toml");
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode();
    assert_eq!([mode("audit.html"), mode("plan.toml")], [mode("ordinary"); 2]);
}

#[test]
fn tiny_weights_are_not_shown_as_zero() {
    let folder = Folder::with(&[("a.weight", &KERNEL, waves(&KERNEL, 0.0, 1e-9))]);
    let text = page(&folder, "--group C4 --fields trivial");
    let row = row(&text, "a.weight");
    assert!(row.contains("e-8</td>") && !row.contains(">0.0000<"), "{row}");
    assert!(row.contains("class=\"signs\" title=\"random signs: ") && !row.contains(" over "), "{row}");
}

#[test]
fn the_page_is_self_contained_and_draws_a_bar_for_each_layer() {
    let weights = waves(&KERNEL, 0.0, 1.0);
    let folder = Folder::with(&[("a<b>.weight", &KERNEL, weights.clone()), ("c.weight", &KERNEL, weights)]);
    let text = page(&folder, "--group C4 --rank");
    assert!(!text.contains("http") && !text.contains("src=") && !text.contains("@import"));
    assert_eq!(text.matches("class=\"bar\"").count(), 4, "two layers through two typings");
    assert!(text.contains("a&lt;b&gt;.weight") && !text.contains("a<b>"));
    let Some(dom) = drawn(&folder.path("audit.html")) else { return };
    assert!(dom.contains("data-ready=\"1\""), "the script ran to its end: {dom}");
}

#[test]
fn a_click_on_a_head_sorts_and_a_second_one_reverses_the_order() {
    // ‖W‖ is 1.7e-8 for b, 2.4 for c and 17 for a, which as text would be b, a, c; d has none and comes last either way.
    let tensors =
        [("a.weight", 0.0, 1.0), ("b.weight", 0.0, 1e-9), ("c.weight", 0.1, 0.01), ("d.weight", f32::NAN, 0.0)];
    let folder = Folder::with(&tensors.map(|(name, mean, height)| (name, &KERNEL[..], waves(&KERNEL, mean, height))));
    let text = page(&folder, "--group C4 --fields trivial");
    for (head, clicks, expected) in [
        ("‖W‖", 1, ["a", "c", "b", "d"]),
        ("‖W‖", 2, ["b", "c", "a", "d"]),
        ("layer", 1, ["d", "c", "b", "a"]),
        ("layer", 2, ["a", "b", "c", "d"]),
    ] {
        let click = format!("[...document.querySelectorAll('th')].find(h => h.textContent === '{head}').click();");
        folder.write("clicked.html", format!("{text}<script>{}</script>", click.repeat(clicks)));
        let Some(dom) = drawn(&folder.path("clicked.html")) else { return };
        let places = expected.map(|name| dom.find(&format!("<td>{name}.weight</td>")).unwrap());
        assert!(places.is_sorted(), "{clicks} clicks on {head}: {places:?} for {expected:?}");
    }
}

/// What a browser makes of a page; nothing where no browser is installed.
fn drawn(page: &Path) -> Option<String> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = browsers.iter().find(|name| Command::new(name).arg("--version").output().is_ok()) else {
        eprintln!("skipped: no Chromium here");
        return None;
    };
    let profile = tempfile::tempdir().unwrap();
    let done = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}
