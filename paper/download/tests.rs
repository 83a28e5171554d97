//! Downloads from a server in this process, which says what each test wants to hear.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;

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

/// What a server does with a request, given its path and the first byte of its range.
enum Reply {
    /// Head and body; then the connection is closed.
    Say(String, Vec<u8>),
    /// Nothing, for as long as the client waits.
    Silence,
}

/// A server, and the heads of the requests it has had.
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
                    Reply::Say(head, body) => {
                        let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
                        stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
                    }
                    Reply::Silence => {
                        let _ = stream.read(&mut byte);
                    }
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

fn whole(body: &[u8]) -> Reply {
    Reply::Say(format!("200 OK\r\nContent-Length: {}", body.len()), body.into())
}

fn ranged(file: &[u8], first: Option<usize>) -> Reply {
    let total = file.len();
    match first {
        None => whole(file),
        Some(first) if first >= total => {
            Reply::Say("416 Range Not Satisfiable\r\nContent-Length: 0".into(), Vec::new())
        }
        Some(first) => {
            let head = format!(
                "206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {first}-{}/{total}",
                total - first,
                total - 1
            );
            Reply::Say(head, file[first..].into())
        }
    }
}

/// A folder to fetch to.
struct Place {
    _folder: TempDir,
    target: PathBuf,
    part: PathBuf,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set.npz");
        Place { part: folder.path().join("set.npz.part"), _folder: folder, target }
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
fn a_file_is_fetched_whole_and_not_asked_for_again() {
    let (server, place) = (Server::of_file(), Place::new());
    assert_eq!(place.fetch(&server.address), Ok(Outcome::Fetched { bytes: 200_000, received: 200_000 }));
    assert!(place.is_whole());
    assert_eq!(place.fetch(&server.address), Ok(Outcome::Kept));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_transfer_goes_on_where_it_stopped_and_tells_how_far_it_is() {
    let (server, place) = (Server::of_file(), Place::new());
    fs::write(&place.part, &file()[..123_456]).unwrap();
    let heard = Mutex::new(Vec::new());
    let wanted = Wanted { url: &server.address, target: &place.target, md5: &md5(&file()), force: false };
    let fetched = fetch(&client(60), &wanted, &|have, total| heard.lock().unwrap().push((have, total))).unwrap();
    assert_eq!(fetched, Outcome::Fetched { bytes: 200_000, received: 76_544 });
    let heard = heard.into_inner().unwrap();
    assert_eq!((heard[0].0, heard[heard.len() - 1]), (123_456, (200_000, Some(200_000))));
    assert!(place.is_whole());
    assert!(server.requests()[0].contains("range: bytes=123456-"), "{:?}", server.requests());
}

#[test]
fn a_body_that_ends_early_is_kept_and_gone_on_with() {
    let server = Server::start(|_, first| match first {
        None => Reply::Say("200 OK\r\nContent-Length: 200000".into(), file()[..50_000].into()),
        first => ranged(&file(), first),
    });
    let place = Place::new();
    let error = place.fetch(&server.address).unwrap_err();
    assert!(error.contains("cannot fetch") && error.contains("50000 bytes are kept"), "{error}");
    assert_eq!(fs::read(&place.part).unwrap(), file()[..50_000]);
    assert!(!place.target.exists());
    assert_eq!(place.fetch(&server.address), Ok(Outcome::Fetched { bytes: 200_000, received: 150_000 }));
    assert!(place.is_whole());
}

#[test]
fn another_file_is_removed_and_what_was_there_stays() {
    let (server, place) = (Server::start(|_, _| whole(b"not the file")), Place::new());
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
    let (server, place) = (Server::of_file(), Place::new());
    fs::write(&place.target, b"mine").unwrap();
    let error = place.fetch(&server.address).unwrap_err();
    assert!(error.starts_with("not replaced without --force") && error.contains("expected the MD5"), "{error}");
    assert!(fs::read(&place.target).unwrap() == b"mine" && server.requests().is_empty());
    assert!(place.fetch_by(&client(60), &server.address, true).is_ok());
    assert!(place.is_whole());
}

#[test]
fn a_refused_connection_keeps_what_has_arrived() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let place = Place::new();
    let error = place.fetch(&address).unwrap_err();
    assert!(error.contains("cannot fetch") && error.contains("Failed to connect"), "{error}");
    assert!(!place.part.exists(), "nothing arrived");
    fs::write(&place.part, &file()[..10]).unwrap();
    assert!(place.fetch(&address).is_err());
    assert_eq!(fs::read(&place.part).unwrap(), file()[..10]);
}

#[test]
fn silence_and_answers_without_the_file_keep_what_has_arrived() {
    let place = Place::new();
    fs::write(&place.part, &file()[..10]).unwrap();
    let missing = Server::start(|_, _| Reply::Say("404 Not Found\r\nContent-Length: 2".into(), b"no".into()));
    let error = place.fetch(&missing.address).unwrap_err();
    assert!(error.contains("error: 404"), "{error}");
    let silent = Server::start(|_, _| Reply::Silence);
    let error = place.fetch_by(&client(1), &silent.address, false).unwrap_err();
    assert!(error.contains("cannot fetch") && error.contains("too slow"), "{error}");
    let large = Server::start(|_, _| Reply::Say("200 OK\r\nContent-Length: 3000000000".into(), b"x".into()));
    let error = place.fetch(&large.address).unwrap_err();
    assert!(error.contains("aximum file size exceeded"), "{error}");
    assert_eq!(fs::read(&place.part).unwrap(), file()[..10]);
}

#[test]
fn redirects_are_followed_with_the_range() {
    let server = Server::start(|path, first| match path {
        "/old" => Reply::Say("302 Found\r\nLocation: /new\r\nContent-Length: 0".into(), Vec::new()),
        _ => ranged(&file(), first),
    });
    let place = Place::new();
    fs::write(&place.part, &file()[..7]).unwrap();
    let fetched = place.fetch(&format!("{}/old", server.address));
    assert_eq!(fetched, Ok(Outcome::Fetched { bytes: 200_000, received: 199_993 }));
    assert!(place.is_whole() && server.requests().len() == 2);
}

#[test]
fn what_arrived_whole_is_moved_and_what_is_too_long_is_fetched_again() {
    let (server, place) = (Server::of_file(), Place::new());
    fs::write(&place.part, file()).unwrap();
    assert_eq!(place.fetch(&server.address), Ok(Outcome::Fetched { bytes: 200_000, received: 0 }));
    assert!(place.is_whole() && server.requests().is_empty());
    let place = Place::new();
    fs::write(&place.part, [file(), vec![0]].concat()).unwrap();
    assert_eq!(place.fetch(&server.address), Ok(Outcome::Fetched { bytes: 200_000, received: 200_000 }));
    assert!(place.is_whole() && server.requests().len() == 2);
}

#[test]
fn what_cannot_be_resumed_is_fetched_again_from_the_start() {
    let elsewhere = Server::start(|_, first| ranged(&file(), first.map(|_| 5)));
    let no_ranges = Server::start(|_, _| whole(&file()));
    let prefix = file()[..10].to_vec();
    for (server, prefix) in [(elsewhere, prefix.clone()), (no_ranges, prefix), (Server::of_file(), vec![7; 10])] {
        let place = Place::new();
        fs::write(&place.part, prefix).unwrap();
        assert_eq!(place.fetch(&server.address), Ok(Outcome::Fetched { bytes: 200_000, received: 200_000 }));
        assert!(place.is_whole() && server.requests().len() == 2);
    }
}

#[test]
fn two_processes_do_not_write_one_file() {
    let (server, place) = (Server::of_file(), Place::new());
    let other = File::create(&place.part).unwrap();
    other.lock().unwrap();
    let error = place.fetch(&server.address).unwrap_err();
    assert!(error.contains("found another at it") && server.requests().is_empty(), "{error}");
}

#[test]
fn a_system_without_curl_is_told_so_and_keeps_what_has_arrived() {
    let (server, place) = (Server::of_file(), Place::new());
    fs::write(&place.part, &file()[..10]).unwrap();
    let without = Client { program: "curl-that-is-not-there", ..client(60) };
    let error = place.fetch_by(&without, &server.address, false).unwrap_err();
    assert!(error.ends_with(
        "expected the program curl-that-is-not-there, found none; install it, or put the file there yourself"
    ));
    assert!(server.requests().is_empty() && fs::read(&place.part).unwrap() == file()[..10]);
}
