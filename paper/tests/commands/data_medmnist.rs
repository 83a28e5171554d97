//! `reynolds data medmnist` as a user meets it; nothing here asks anyone but a server in this process.

use assert_cmd::Command;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

fn reynolds(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("reynolds-paper").unwrap();
    for variable in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(variable);
    }
    let output = command.env_remove("REYNOLDS_DATA").args(["data", "medmnist"]).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/medmnist")
}

/// A server that answers every request for `/base/organmnist3d_64.npz` with these bytes.
fn server(body: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/base/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            let found = head.starts_with(b"GET /base/organmnist3d_64.npz HTTP/1.1\r\n");
            let status = if found { "200 OK" } else { "404 Not Found" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(&[answer.as_bytes(), body].concat()).unwrap();
        }
    });
    base
}

#[test]
fn a_wrong_file_is_refused_with_both_checksums_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (out, base) = (folder.path().join("a").join("b"), server(b"abc"));
    let arguments = ["--set", "organ", "--size", "64", "--out", out.to_str().unwrap(), "--url", &base];
    let (code, text, error) = reynolds(&arguments);
    let needle = "expected a file with the MD5 58a2205adf14a9d0a189cb06dc78bf10, found one with 900150983cd24fb0d6963f7d28e17f72";
    assert!(code == 2 && text.is_empty() && error.contains(needle), "{code} {error}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
    // What is there is not touched, neither by force nor without it.
    let file = out.join("organmnist3d_64.npz");
    fs::write(&file, b"mine").unwrap();
    let (code, _, error) = reynolds(&arguments);
    assert!(code == 2 && error.contains("not replaced without --force"), "{code} {error}");
    let (code, _, error) = reynolds(&[&arguments[..], &["--force"]].concat());
    assert!(code == 2 && error.contains(needle), "{code} {error}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn what_cannot_be_fetched_says_why_and_keeps_what_has_arrived() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("organmnist3d.npz.part");
    fs::write(&part, b"begun").unwrap();
    let fetch = |base: &str| reynolds(&["--set", "organ", "--out", folder.path().to_str().unwrap(), "--url", base]);
    let base = server(b"abc");
    let (code, _, error) = fetch(&base);
    assert!(code == 2 && error.contains("organmnist3d.npz: cannot fetch") && error.contains("404"), "{error}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (code, _, error) = fetch(&base);
    assert!(
        code == 2 && error.contains("organmnist3d.npz: cannot fetch") && error.contains("Failed to connect"),
        "{error}"
    );
    let (code, _, error) = fetch("nowhere");
    assert!(code == 2 && error.contains("nowhere/organmnist3d.npz: cannot fetch"), "{error}");
    assert_eq!(fs::read(&part).unwrap(), b"begun");
}

#[test]
fn facts_are_printed_without_a_file_and_other_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let (code, text, error) = reynolds(&["--set", "FractureMNIST3D", "--show", "--out", out]);
    let place = folder.path().join("fracturemnist3d.npz");
    let expected = format!(
        "FractureMNIST3D, 28³: 1027 train, 103 validation, 240 test (no file {})\n\
         classes: buckle rib fracture, nondisplaced rib fracture, displaced rib fracture\n",
        place.display()
    );
    assert_eq!((code, text.as_str()), (0, expected.as_str()), "{error}");
    let (code, _, error) = reynolds(&["--verify", "--out", out]);
    assert!(code == 2 && error.contains("expected files of MedMNIST to check, found none"), "{error}");
    let (code, text, error) = reynolds(&["--verify", "--out", golden().to_str().unwrap()]);
    assert!(
        code == 2 && text.is_empty() && error.contains("expected files as published, found 2 of 2 that are not"),
        "{error}"
    );
    assert!(error.contains("expected the MD5 6aa7b0143a6b42da40027a9dda61302f"), "{error}");
    let image = folder.path().join("x.png");
    let preview = ["--show", "--preview", image.to_str().unwrap()];
    let (code, _, error) = reynolds(&[&["--set", "organ", "--out", out][..], &preview].concat());
    assert!(code == 2 && error.contains("expected the file to show, found none"), "{error}");
    assert!(!image.exists());
}

#[test]
fn bad_options_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("none");
    let refused = |more: &[&str], needle: &str| {
        let (code, _, error) = reynolds(&[&["--out", out.to_str().unwrap()][..], more].concat());
        assert!(code == 2 && error.contains(needle), "{more:?}: {code} {error}");
        assert!(!out.exists());
    };
    refused(&[], "--set");
    refused(&["--set", "brain"], "expected organ, nodule, adrenal, fracture, vessel or synapse, found brain");
    refused(&["--set", "organ", "--size", "32"], "expected 28 or 64, found 32");
    refused(&["--verify", "--force"], "cannot be used with");
    refused(&["--set", "organ", "--show", "--url", "http://x"], "cannot be used with");
    let nowhere = folder.path().join("nowhere").join("x.png");
    refused(&["--set", "organ", "--preview", nowhere.to_str().unwrap()], "to write to, found nothing");
}

#[test]
fn published_files_are_found_whole_and_shown() {
    let Some(data) = std::env::var_os("REYNOLDS_DATA").map(|data| PathBuf::from(data).join("medmnist")) else {
        eprintln!("skipped: $REYNOLDS_DATA is not set");
        return;
    };
    if !data.join("vesselmnist3d.npz").exists() {
        eprintln!("skipped: $REYNOLDS_DATA/medmnist/vesselmnist3d.npz is not there");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (image, data) = (folder.path().join("vessel.png"), data.to_str().unwrap());
    let arguments = ["--set", "vessel", "--out", data, "--preview", image.to_str().unwrap()];
    let (code, text, error) = reynolds(&arguments);
    assert!(
        code == 0 && text.contains("is there, and as published") && text.contains("row 2: aneurysm"),
        "{text}{error}"
    );
    assert!(fs::read(&image).unwrap().starts_with(b"\x89PNG"));
    let (code, text, error) = reynolds(&["--set", "vessel", "--out", data, "--show"]);
    assert!(
        code == 0 && text.lines().last().unwrap().split_whitespace().eq(["all", "1335", "191", "382"]),
        "{text}{error}"
    );
}
