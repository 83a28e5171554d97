//! Downloads from a server in this process, which says what each test wants to hear.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use md5::{Digest, Md5};
use tempfile::TempDir;

use super::{Client, Outcome, Wanted, fetch};

/// The file that is fetched.
fn file() -> Vec<u8> {
    (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn md5(bytes: &[u8]) -> String {
    format!("{:x}", Md5::digest(bytes))
}

/// The head and body of an answer, after which the connection is closed; `None`: silence for as long as the client waits.
type Reply = Option<(String, Vec<u8>)>;

/// A server that answers by the path and the first byte of the range, and the heads of its requests so far.
struct Server {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(reply: impl Fn(&str, Option<usize>) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap().to_lowercase();
                let path = head.split(' ').nth(1).unwrap().to_string();
                let range = head.lines().find_map(|line| line.strip_prefix("range: bytes="));
                let first = range.map(|range| range.trim_end_matches('-').parse().unwrap());
                heard.lock().unwrap().push(head.clone());
                match reply(&path, first) {
                    Some((head, body)) => {
                        let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
                        stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
                    }
                    None => drop(stream.read(&mut byte)),
                }
            }
        });
        Server { address, requests }
    }

    /// A server of [`file`] that knows ranges.
    fn of_file() -> Server {
        Server::start(|_, first| ranged(&file(), first))
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn say(head: &str, body: &[u8]) -> Reply {
    Some((head.into(), body.into()))
}

fn whole(body: &[u8]) -> Reply {
    say(&format!("200 OK\r\nContent-Length: {}", body.len()), body)
}

fn ranged(file: &[u8], first: Option<usize>) -> Reply {
    let total = file.len();
    match first {
        None => whole(file),
        Some(first) if first >= total => say("416 Range Not Satisfiable\r\nContent-Length: 0", b""),
        Some(first) => {
            let (length, last) = (total - first, total - 1);
            let range = format!("Content-Length: {length}\r\nContent-Range: bytes {first}-{last}/{total}");
            say(&format!("206 Partial Content\r\n{range}"), &file[first..])
        }
    }
}

/// An address at which nobody listens.
fn closed() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

/// A folder to fetch to.
struct DownloadFolder {
    _folder: TempDir,
    target: PathBuf,
    part: PathBuf,
}

impl DownloadFolder {
    fn new() -> DownloadFolder {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set.npz");
        DownloadFolder { part: folder.path().join("set.npz.part"), _folder: folder, target }
    }

    /// A folder in which these bytes have arrived before.
    fn with_part(bytes: &[u8]) -> DownloadFolder {
        let place = DownloadFolder::new();
        fs::write(&place.part, bytes).unwrap();
        place
    }

    fn fetch_by(&self, client: &Client, url: &str, force: bool) -> Result<Outcome, String> {
        let wanted = Wanted { url, target: &self.target, md5: &md5(&file()), force };
        fetch(client, &wanted, &|_, _| {}).map_err(|error| format!("{error:#}"))
    }

    fn fetch(&self, url: &str) -> Result<Outcome, String> {
        self.fetch_by(&client(60), url, false)
    }

    fn is_whole(&self) -> bool {
        fs::read(&self.target).unwrap() == file() && !self.part.exists()
    }
}

/// As the program's, but with no proxy between it and this machine.
fn client(patience: u32) -> Client {
    Client { patience, proxies: false, ..Client::new() }
}

#[test]
fn a_file_is_fetched_resumed_or_begun_anew_and_not_asked_for_again() {
    let redirected = |path: &str, first: Option<usize>| match path {
        "/" => say("302 Found\r\nLocation: /new\r\nContent-Length: 0", b""),
        _ => ranged(&file(), first),
    };
    // What has arrived before, what is received now, and the number of requests.
    for (server, part, received, requests) in [
        (Server::of_file(), Vec::new(), 200_000, 1),
        (Server::of_file(), file()[..123_456].to_vec(), 76_544, 1),
        (Server::of_file(), file(), 0, 0),
        (Server::of_file(), [file(), vec![0]].concat(), 200_000, 2),
        (Server::of_file(), vec![7; 10], 200_000, 2),
        // Servers that send another range, or none.
        (Server::start(|_, first| ranged(&file(), first.map(|_| 5))), file()[..10].to_vec(), 200_000, 2),
        (Server::start(|_, _| whole(&file())), file()[..10].to_vec(), 200_000, 2),
        (Server::start(redirected), file()[..7].to_vec(), 199_993, 2),
    ] {
        let place = if part.is_empty() { DownloadFolder::new() } else { DownloadFolder::with_part(&part) };
        assert_eq!(place.fetch(&server.address), Ok(Outcome::Fetched { bytes: 200_000, received }));
        assert!(place.is_whole());
        assert_eq!(place.fetch(&server.address), Ok(Outcome::Kept));
        assert_eq!(server.requests().len(), requests);
    }
}

#[test]
fn a_transfer_goes_on_where_it_stopped_and_tells_how_far_it_is() {
    let (server, place) = (Server::of_file(), DownloadFolder::with_part(&file()[..123_456]));
    let heard = Mutex::new(Vec::new());
    let wanted = Wanted { url: &server.address, target: &place.target, md5: &md5(&file()), force: false };
    fetch(&client(60), &wanted, &|have, total| heard.lock().unwrap().push((have, total))).unwrap();
    let heard = heard.into_inner().unwrap();
    assert_eq!((heard[0].0, heard[heard.len() - 1]), (123_456, (200_000, Some(200_000))));
    assert!(server.requests()[0].contains("range: bytes=123456-"), "{:?}", server.requests());
}

#[test]
fn a_body_that_ends_early_is_kept_and_resumed() {
    let server = Server::start(|_, first| match first {
        None => say("200 OK\r\nContent-Length: 200000", &file()[..50_000]),
        first => ranged(&file(), first),
    });
    let place = DownloadFolder::new();
    let error = place.fetch(&server.address).unwrap_err();
    assert!(error.contains("cannot fetch") && error.contains("50000 bytes are kept"), "{error}");
    assert_eq!(fs::read(&place.part).unwrap(), file()[..50_000]);
    assert!(!place.target.exists());
    assert_eq!(place.fetch(&server.address), Ok(Outcome::Fetched { bytes: 200_000, received: 150_000 }));
    assert!(place.is_whole());
}

#[test]
fn another_file_is_removed_and_what_was_there_stays() {
    let (server, place) = (Server::start(|_, _| whole(b"not the file")), DownloadFolder::new());
    let error = place.fetch(&server.address).unwrap_err();
    let (expected, found) = (md5(&file()), md5(b"not the file"));
    assert!(error.contains(&format!("expected a file with the MD5 {expected}, found one with {found}")), "{error}");
    assert!(!place.target.exists() && !place.part.exists());
    fs::write(&place.target, b"mine").unwrap();
    assert!(place.fetch_by(&client(60), &server.address, true).is_err());
    assert_eq!(fs::read(&place.target).unwrap(), b"mine");
}

#[test]
fn a_file_of_another_checksum_is_replaced_only_by_force() {
    let (server, place) = (Server::of_file(), DownloadFolder::new());
    fs::write(&place.target, b"mine").unwrap();
    let error = place.fetch(&server.address).unwrap_err();
    assert!(error.starts_with("not replaced without --force") && error.contains("expected the MD5"), "{error}");
    assert!(fs::read(&place.target).unwrap() == b"mine" && server.requests().is_empty());
    assert!(place.fetch_by(&client(60), &server.address, true).is_ok());
    assert!(place.is_whole());
}

#[test]
fn failed_transfers_keep_the_bytes_that_arrived() {
    let missing = Server::start(|_, _| say("404 Not Found\r\nContent-Length: 2", b"no"));
    let silent = Server::start(|_, _| None);
    let large = Server::start(|_, _| say("200 OK\r\nContent-Length: 3000000000", b"x"));
    let without = Client { program: "curl-that-is-not-there", ..client(60) };
    let install = "expected the program curl-that-is-not-there, found none; install it, or put the file there yourself";
    for (client, url, needle) in [
        (client(60), missing.address, "error: 404"),
        (client(1), silent.address, "too slow"),
        (client(60), large.address, "aximum file size exceeded"),
        (client(60), closed(), "Failed to connect"),
        (without, closed(), install),
    ] {
        let place = DownloadFolder::with_part(&file()[..10]);
        let error = place.fetch_by(&client, &url, false).unwrap_err();
        assert!(error.contains(needle), "{error}");
        assert_eq!(fs::read(&place.part).unwrap(), file()[..10]);
        let place = DownloadFolder::new();
        assert!(place.fetch_by(&client, &url, false).is_err() && !place.part.exists(), "nothing arrived");
    }
}

#[test]
fn a_transfer_of_a_few_bytes_a_second_is_given_up_and_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n").unwrap();
        // Until the client has gone.
        file().iter().all(|byte| {
            thread::sleep(Duration::from_millis(20));
            stream.write_all(&[*byte]).is_ok()
        });
    });
    let place = DownloadFolder::new();
    let error = place.fetch_by(&client(2), &address, false).unwrap_err();
    assert!(error.contains("too slow") && error.contains("bytes are kept for the next call"), "{error}");
    let part = fs::read(&place.part).unwrap();
    assert!(part.len() > 1 && file().starts_with(&part));
}

#[test]
fn two_processes_do_not_write_one_file() {
    let (server, place) = (Server::of_file(), DownloadFolder::new());
    let other = File::create(&place.part).unwrap();
    other.lock().unwrap();
    let error = place.fetch(&server.address).unwrap_err();
    assert!(error.contains("another process is downloading") && server.requests().is_empty(), "{error}");
}
