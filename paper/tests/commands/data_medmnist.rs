//! `reynolds data medmnist`, against a server in this process.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::{fs, thread};

use super::support::Folder;

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
    let folder = Folder::new();
    let line = format!("data medmnist --set organ --size 64 --out a --url {}", server(b"abc"));
    let needle = "expected a file with the MD5 58a2205adf14a9d0a189cb06dc78bf10, found one with 900150983cd24fb0d6963f7d28e17f72";
    fs::create_dir(folder.path("a")).unwrap();
    folder.refused(&line, &[needle]);
    // What is there is not touched, neither by force nor without it.
    folder.write("a/organmnist3d_64.npz", b"mine");
    folder.refused(&line, &["not replaced without --force"]);
    folder.refused(&format!("{line} --force"), &[needle]);
}

#[test]
fn what_cannot_be_fetched_says_why_and_keeps_what_has_arrived() {
    let folder = Folder::new();
    folder.write("organmnist3d.npz.part", b"begun");
    for (base, needles) in [
        (server(b"abc"), &["organmnist3d.npz: cannot fetch", "404"][..]),
        ("nowhere".into(), &["nowhere/organmnist3d.npz: cannot fetch"]),
    ] {
        folder.refused(&format!("data medmnist --set organ --out . --url {base}"), needles);
    }
}

#[test]
fn facts_are_printed_without_a_file_and_other_files_are_told() {
    let folder = Folder::new();
    let expected = "FractureMNIST3D, 28³: 1027 train, 103 validation, 240 test (no file out/fracturemnist3d.npz)\n\
                    classes: buckle rib fracture, nondisplaced rib fracture, displaced rib fracture\n";
    assert_eq!(folder.done("data medmnist --set FractureMNIST3D --show --out out"), expected);
    folder.refused("data medmnist --verify --out .", &["expected files of MedMNIST to check, found none"]);
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/medmnist");
    let needles = [
        "expected the publisher's files, found other contents in 2 of 2 files",
        "expected the MD5 6aa7b0143a6b42da40027a9dda61302f",
    ];
    folder.refused(&format!("data medmnist --verify --out '{golden}'"), &needles);
    let preview = "data medmnist --set organ --out . --show --preview x.png";
    folder.refused(preview, &["expected the file to show, found none"]);
}

#[test]
fn published_files_are_found_whole_and_shown() {
    let data = std::env::var_os("REYNOLDS_DATA").map(|data| PathBuf::from(data).join("medmnist"));
    let Some(data) = data.filter(|data| data.join("vesselmnist3d.npz").exists()) else {
        eprintln!("skipped: there is no $REYNOLDS_DATA/medmnist/vesselmnist3d.npz");
        return;
    };
    let folder = Folder::new();
    let vessel = format!("data medmnist --set vessel --out '{}'", data.display());
    let text = folder.done(&format!("{vessel} --preview vessel.png"));
    assert!(text.contains("is there, and as published") && text.contains("row 2: aneurysm"), "{text}");
    assert!(folder.read("vessel.png").starts_with(b"\x89PNG"));
    let text = folder.done(&format!("data medmnist --verify --out '{}'", data.display()));
    assert!(text.contains("vesselmnist3d.npz: as published (1335 train, 191 validation, 382 test)"), "{text}");
    let text = folder.done(&format!("{vessel} --show"));
    assert!(text.lines().last().unwrap().split_whitespace().eq(["all", "1335", "191", "382"]), "{text}");
}
