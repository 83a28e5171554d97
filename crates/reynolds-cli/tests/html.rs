//! The page that `--html` writes: complete in itself, and drawn by a real browser where one is installed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed set-up should fail the test, a skipped one say so"
)]

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use safetensors::{Dtype, tensor::TensorView};

#[test]
fn the_page_is_self_contained_and_draws_a_bar_for_each_layer() {
    let folder = tempfile::tempdir().unwrap();
    let (model, page) = (folder.path().join("model.safetensors"), folder.path().join("audit.html"));
    let bytes: Vec<u8> = (0..8 * 8 * 9).flat_map(|n| (n as f32).sin().to_le_bytes()).collect();
    let view = || TensorView::new(Dtype::F32, vec![8, 8, 3, 3], &bytes).unwrap();
    let views: HashMap<&str, TensorView<'_>> = [("a<b>.weight", view()), ("c.weight", view())].into();
    safetensors::serialize_to_file(&views, None, &model).unwrap();
    let done = assert_cmd::Command::cargo_bin("reynolds")
        .unwrap()
        .args(["audit", model.to_str().unwrap(), "--group", "C4", "--rank", "--html", page.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(done.status.success());
    let text = fs::read_to_string(&page).unwrap();
    assert!(!text.contains("http") && !text.contains("src=") && !text.contains("@import"));
    assert_eq!(text.matches("class=\"bar\"").count(), 4, "two layers through two typings");
    assert!(text.contains("a&lt;b&gt;.weight") && !text.contains("a<b>"));
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let found = browsers.iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(browser) = found else {
        println!("skipped: no Chromium here");
        return;
    };
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"];
    let dumped = Command::new(browser).args(flags).arg(format!("file://{}", page.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&dumped.stdout).into_owned();
    assert!(dom.contains("data-ready=\"1\""), "the script ran to its end: {dom}");
}
