//! Damaged and hostile files are refused with a message that names the file and what is wrong; nothing panics.

use reynolds_checkpoint::{Checkpoint, Error};
use reynolds_testkit::files::{Member, deflated, dictionary, npy, safetensors, stored, tensor, text, torch, zip};

use crate::golden;

/// Demands a refusal that names the file and says all these words.
fn assert_refused(label: &str, bytes: Vec<u8>, words: &[&str]) {
    let message = Checkpoint::from_bytes(label, bytes).unwrap_err().to_string();
    assert!(message.contains(label), "{message}");
    words.iter().for_each(|word| assert!(message.contains(word), "{message:?} does not say {word:?}"));
}

#[test]
fn every_truncation_is_refused() {
    for name in [
        "plain.safetensors",
        "deflated.npz",
        "tensor.pt",
        "legacy.pt",
        "module_legacy.pt",
        "network.onnx",
        "weights.h5",
    ] {
        let whole = std::fs::read(golden(name)).unwrap();
        for length in 0..whole.len() {
            assert!(Checkpoint::from_bytes(name, whole[..length].to_vec()).is_err(), "{name} cut to {length}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pt");
    std::fs::write(&empty, []).unwrap();
    assert!(Checkpoint::open(&empty).unwrap_err().to_string().contains("0 bytes"));
    assert!(Checkpoint::open(folder.path()).unwrap_err().to_string().contains("directory"));
    assert!(matches!(Checkpoint::open(folder.path().join("absent.pt")), Err(Error::Io { .. })));
}

#[test]
fn wrong_magic_is_refused() {
    assert_refused("model.pt", b"\x47HUF\x03\x00\x00\x00\x00\x00\x00\x00".to_vec(), &["begins with the bytes", "47"]);
    assert_refused("model.pt", b"GGUF\x03\x00\x00\x00\x00\x00\x00\x00".to_vec(), &["a GGUF file"]);
    assert_refused("model.npz", npy("<f4", "(1,)", &[0; 4]), &["single .npy"]);
    assert_refused("model.pt", b"\x80\x02}q\x00.....".to_vec(), &["bare pickle"]);
    assert_refused("model.pt", [&[0; 257][..], b"ustar  "].concat(), &["tar archive"]);
    assert_refused("model.tflite", b"\x1c\0\0\0TFL3".to_vec(), &["TensorFlow Lite"]);
    assert_refused("model.zip", zip(&[stored("readme.txt", b"hello")]), &["without data.pkl"]);
}

#[test]
fn a_safetensors_header_must_fit_the_file() {
    let mut long = safetensors("{}", &[]);
    long[0] = 200;
    assert_refused("long.safetensors", long, &["at most 2 bytes", "200"]);
    let mut huge = safetensors("{}", &[]);
    huge[..8].fill(0xFF);
    assert_refused("huge.safetensors", huge, &["claims 18446744073709551615"]);
    assert_refused("bad.safetensors", safetensors("{\"w\":", &[]), &["JSON"]);
    assert_refused("deep.safetensors", safetensors(&"[".repeat(100_000), &[]), &["JSON"]);
}

#[test]
fn safetensors_ranges_must_tile_the_buffer() {
    let two = |a: &str, b: &str, length: usize| {
        let one = |name: &str, range: &str| format!(r#""{name}":{{"dtype":"F32","shape":[2],"data_offsets":{range}}}"#);
        safetensors(&format!("{{{},{}}}", one("a", a), one("b", b)), &vec![0; length])
    };
    assert!(Checkpoint::from_bytes("good.safetensors", two("[8,16]", "[0,8]", 16)).is_ok());
    assert_refused("overlap.safetensors", two("[0,8]", "[4,12]", 12), &["\"a\"", "\"b\"", "overlapping"]);
    assert_refused("hole.safetensors", two("[0,8]", "[12,20]", 20), &["\"b\"", "begins at 8", "hole"]);
    assert_refused("tail.safetensors", two("[0,8]", "[8,16]", 17), &["16 bytes", "17"]);
    assert_refused("beyond.safetensors", two("[0,8]", "[8,16]", 12), &["\"b\"", "12 bytes", "8..16"]);
    assert_refused("backwards.safetensors", two("[0,8]", "[16,8]", 16), &["\"b\"", "16..8"]);
    let one = |info: &str| safetensors(&format!(r#"{{"w":{info}}}"#), &[0; 8]);
    assert_refused(
        "size.safetensors",
        one(r#"{"dtype":"F32","shape":[3],"data_offsets":[0,8]}"#),
        &["\"w\"", "96 bits", "8 bytes"],
    );
    assert_refused("type.safetensors", one(r#"{"dtype":"F31","shape":[2],"data_offsets":[0,8]}"#), &["\"w\"", "F31"]);
    let enormous = r#"{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}"#;
    assert_refused("enormous.safetensors", one(enormous), &["\"w\"", "fits in memory"]);
}

#[test]
fn names_come_once() {
    let one = r#""w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    let other = r#""w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}"#;
    assert_refused("twice.safetensors", safetensors(&format!("{{{one},{other}}}"), &[0; 8]), &["\"w\" twice"]);
    let array = npy("<f4", "()", &[0; 4]);
    assert_refused("twice.npz", zip(&[stored("w.npy", &array), stored("w.npy", &array)]), &["\"w.npy\" twice"]);
    let view = || tensor("0", 1, 0, &[1], &[1]);
    let same = dictionary(&[("a.b", view()), ("a", dictionary(&[("b", view())]))]);
    assert_refused("twice.pt", torch(&same, &[("0", vec![0; 4])]), &["\"a.b\" twice"]);
}

#[test]
fn bombs_are_bounded_by_the_array_they_claim_to_be() {
    // A compression of 1000:1 is fine as long as it is what the header says.
    let zeros = npy("<f4", "(1000000,)", &vec![0; 4_000_000]);
    let honest = Checkpoint::from_bytes("honest.npz", zip(&[deflated("w.npy", &zeros)])).unwrap();
    assert_eq!(honest.read(&honest.entries()[0]).unwrap().len(), 1_000_000);
    // More in the member than in the array.
    let more = npy("<f4", "(2,)", &vec![0; 4_000_000]);
    assert_refused("more.npz", zip(&[deflated("w.npy", &more)]), &["\"w\"", "(8 bytes)", "4000000 bytes"]);
    // A directory that agrees with the header, and data that goes on.
    let claimed = Some((more.len() - 4_000_000 + 8) as u32);
    let lying = Checkpoint::from_bytes("lying.npz", zip(&[Member { claimed, ..deflated("w.npy", &more) }])).unwrap();
    let message = lying.read(&lying.entries()[0]).unwrap_err().to_string();
    assert!(message.contains("w.npy") && message.contains("more"), "{message}");
    // An array of 4 GB in a few bytes is found out without room being made for it.
    let few = npy("<f4", "(500000000,2)", &[0; 8]);
    let claimed = Some((few.len() - 8) as u32 + 4_000_000_000);
    let vast = Checkpoint::from_bytes("vast.npz", zip(&[Member { claimed, ..deflated("w.npy", &few) }])).unwrap();
    assert!(vast.read(&vast.entries()[0]).unwrap_err().to_string().contains("fewer"));
    assert_refused("cut.npz", zip(&[stored("w.npy", &few)]), &["\"w\"", "4000000000 bytes", "8 bytes"]);
}

#[test]
fn a_pickle_that_was_compressed_beyond_reason_is_refused_unread() {
    let marks = vec![b'('; 3 << 20];
    let file = zip(&[deflated("model/data.pkl", &marks), stored("model/byteorder", b"little")]);
    assert_refused("marks.pt", file, &["model/data.pkl", "a pickle of at most 1", "3145728"]);
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.pt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let message = Checkpoint::open(&pipe).unwrap_err().to_string();
    assert!(message.contains("pipe.pt") && message.contains("a special file"), "{message}");
}

/// Runs itself in a process of its own, which reads beyond the end of a file that became shorter.
#[test]
#[cfg(unix)]
fn a_file_that_is_shortened_while_it_is_read_ends_the_program_with_one_line() {
    const FILE: &str = "REYNOLDS_TEST_SHORTENED";
    let test = "bad_input::a_file_that_is_shortened_while_it_is_read_ends_the_program_with_one_line";
    if let Some(path) = std::env::var_os(FILE) {
        reynolds_checkpoint::say_when_shortened();
        let checkpoint = Checkpoint::open(&path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
        let read = checkpoint.read(&checkpoint.entries()[0]).map(|values| values.to_f64().iter().sum::<f64>());
        panic!("read {read:?} from a file that was shortened");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, reynolds_testkit::files::singles(&[("w", &[1 << 16], vec![1.0; 1 << 16])])).unwrap();
    let program = std::env::current_exe().unwrap();
    let ended = std::process::Command::new(program).args(["--exact", test]).env(FILE, file.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("shortened by another process"), "{said}");
}

#[test]
fn members_that_lead_out_are_refused() {
    let array = npy("<f4", "()", &[0; 4]);
    for name in ["../w.npy", "/etc/w.npy", "a/../../w.npy", "..\\w.npy", "C:\\w.npy", "\\w.npy", "w\0.npy"] {
        assert_refused("out.npz", zip(&[stored(name, &array)]), &["inside the archive", name]);
    }
    let escaping = zip(&[stored("model/data.pkl", b"\x80\x02}."), stored("model/../../data/0", &[0; 4])]);
    assert_refused("out.pt", escaping, &["inside the archive"]);
    assert!(Checkpoint::from_bytes("in.npz", zip(&[stored("a..b/w.npy", &array)])).is_ok());
}

#[test]
fn archives_that_contradict_themselves_are_refused() {
    let array = npy("<f4", "()", &[0; 4]);
    let good = zip(&[stored("a.npy", &array), stored("b.npy", &array)]);
    let second = 30 + 5 + array.len();
    let at = |pattern: &[u8], nth: usize| {
        good.windows(pattern.len()).enumerate().filter(|(_, w)| w == &pattern).nth(nth).unwrap().0
    };
    let changed = |place: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[place] = value;
        bytes
    };
    assert_refused("local.npz", changed(second + 30, b'c'), &["b.npy", "another name"]);
    assert_refused("overlap.npz", changed(at(b"PK\x01\x02", 1) + 42, 0), &["b.npy"]);
    assert_refused("encrypted.npz", changed(at(b"PK\x01\x02", 0) + 8, 1), &["a.npy", "encrypted"]);
    assert_refused("method.npz", changed(at(b"PK\x01\x02", 0) + 10, 14), &["a.npy", "method 14"]);
    assert_refused("count.npz", changed(at(b"PK\x05\x06", 0) + 10, 3), &["3 members", "2"]);
    let damaged = Checkpoint::from_bytes("damaged.npz", changed(second - 1, 1)).unwrap();
    assert!(damaged.read(&damaged.entries()[0]).unwrap_err().to_string().contains("checksum"));
    assert_refused("header.npz", zip(&[stored("w.npy", b"not an array")]), &["\"w\"", "no .npy magic"]);
    assert_refused(
        "order.npz",
        zip(&[stored("w.npy", &npy(">f4", "()", &[0; 4]))]),
        &["\"w\"", "little-endian", "newbyteorder"],
    );
}

#[test]
fn pickles_that_call_commands_are_refused_by_name() {
    let system = [b"cposix\nsystem\n".as_slice(), &text("touch /tmp/owned"), b"\x85R"].concat();
    assert_refused("evil.pt", torch(&system, &[]), &["posix.system", "state_dict()"]);
    let named = [b"cos\nsystem\n".as_slice(), &text("true"), b"\x85R"].concat();
    assert_refused(
        "evil.pt",
        torch(&dictionary(&[("w", tensor("0", 1, 0, &[1], &[1])), ("x", named)]), &[]),
        &["os.system"],
    );
    let stacked = [text("builtins"), text("eval"), b"\x93".to_vec(), text("1"), b"\x85R".to_vec()].concat();
    assert_refused("evil.pt", torch(&stacked, &[]), &["builtins.eval"]);
    let unread = dictionary(&[("w", b"ctorch._utils\n_rebuild_sparse_tensor\n)R".to_vec())]);
    assert_refused("sparse.pt", torch(&unread, &[]), &["torch._utils._rebuild_sparse_tensor"]);
    // INST, OBJ, REDUCE on what is no class, extension codes, BUILD on a tensor.
    assert_refused("inst.pt", torch(b"(ios\nsystem\n", &[]), &["opcode 0x69"]);
    assert_refused("obj.pt", torch(b"(ccollections\nOrderedDict\no", &[]), &["opcode 0x6f"]);
    assert_refused("ext.pt", torch(b"\x82\x01", &[]), &["opcode 0x82"]);
    assert_refused("call.pt", torch(&[text("x"), b")R".to_vec()].concat(), &[]), &["no class"]);
    let built = [tensor("0", 1, 0, &[1], &[1]), b"}b".to_vec()].concat();
    assert_refused("build.pt", torch(&built, &[("0", vec![0; 4])]), &["BUILD"]);
}

/// Objects of unknown classes are values with parts: called, filled and given attributes, also by each other.
#[test]
fn unknown_classes_are_inert_and_what_they_hold_is_found() {
    let view = || tensor("0", 1, 0, &[1], &[1]);
    let object = |arguments: &[u8], state: &[u8]| [b"cmine\nThing\n", arguments, b"\x81", state, b"b"].concat();
    let held = dictionary(&[("w", view())]);
    let method = [b"cbuiltins\ngetattr\n(cmine\nThing\n".as_slice(), &text("of"), b"tR)R"].concat();
    let itself = b"cmine\nThing\n)\x81q\x05}(X\x02\x00\x00\x00meh\x05ub".to_vec();
    let filled = [b"cmine\nMap\n)\x81(".as_slice(), &text("v"), &view(), b"u"].concat();
    let nested = (0..200).fold(b"}".to_vec(), |inner, _| object(b")", &dictionary(&[("in", inner)])));
    let file = dictionary(&[
        ("a", object(b")", &held)),
        ("b", object(&[b"(".as_slice(), &view(), b"t"].concat(), b"}")),
        ("method", method),
        ("itself", itself),
        ("filled", filled),
        ("nested", nested),
        ("kept", view()),
    ]);
    let opened = Checkpoint::from_bytes("objects.pt", torch(&file, &[("0", vec![0; 4])])).unwrap();
    let names: Vec<&str> = opened.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["a.w", "b.0", "filled.v", "kept"]);
}

#[test]
fn legacy_files_that_contradict_themselves_are_refused() {
    let good = std::fs::read(golden("legacy.pt")).unwrap();
    let at = |pattern: &[u8]| good.windows(pattern.len()).position(|window| window == pattern).unwrap();
    let changed = |place: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[place] = value;
        bytes
    };
    assert_refused("old.pt", changed(at(b"M\xe9\x03") + 1, 0xe8), &["version 1001"]);
    let little = at(b"little_endian");
    let truth = little + good[little..].iter().position(|&byte| byte == 0x88).unwrap();
    assert_refused("big.pt", changed(truth, 0x89), &["big-endian"]);
    // The first storage begins with its number of elements.
    let first = good.len() - (8 + 24) - (8 + 6) - (8 + 48);
    assert_refused("count.pt", changed(first, 7), &["storage", "elements", "7"]);
}

#[test]
fn pickles_that_make_no_sense_are_refused() {
    for (pickle, word) in [
        (&b"R"[..], "empty stack"),
        (b"t", "no mark"),
        (b"h\x07", "memo 7"),
        (b"(}u", "empty stack"),
        (b"}(K\x01u", "no dictionary"),
        (b"\x80\x09", "version 9"),
        (b"X\xff\xff\xff\xff", "truncated"),
        (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "truncated"),
        (b"K\x01Q", "names no storage"),
        (&[b'('; 5000], "open marks"),
    ] {
        assert_refused("odd.pt", torch(pickle, &[]), &["model/data.pkl", word]);
    }
    // A dictionary that holds itself, and one whose shared parts multiply.
    assert_refused("cycle.pt", torch(b"}q\x00X\x01\x00\x00\x00ah\x00s", &[]), &["cycle"]);
    let mut laughs = b"]".to_vec();
    for level in 0..40 {
        // Remember the top, fetch it again, and make a pair of the two.
        laughs.extend([b'q', level, b'h', level, 0x86]);
    }
    assert_refused("laughs.pt", torch(&laughs, &[]), &["shared containers"]);
    // Sixty-four indices, a thousand times, through two levels of sharing.
    let many = |key: u8| [vec![b'('], [b'h', key].repeat(1000), b"t".to_vec()].concat();
    let shared =
        [tensor("0", 1, 0, &[1; 64], &[1; 64]), b"q\x00".to_vec(), many(0), b"q\x01".to_vec(), many(1)].concat();
    assert_refused("bomb.pt", torch(&shared, &[("0", vec![0; 4])]), &["shared containers"]);
    let nested = [vec![b'('; 100], b"]".to_vec(), vec![b't'; 100]].concat();
    assert_refused("deep.pt", torch(&nested, &[]), &["64 deep"]);
}

#[test]
fn views_must_lie_within_their_storage() {
    let file = |view: Vec<u8>| torch(&dictionary(&[("w", view)]), &[("0", vec![0; 16])]);
    assert!(Checkpoint::from_bytes("good.pt", file(tensor("0", 4, 0, &[2, 2], &[1, 2]))).is_ok());
    assert_refused("shape.pt", file(tensor("0", 4, 0, &[2, 3], &[3, 1])), &["\"w\"", "4 elements", "[2, 3]"]);
    assert_refused("offset.pt", file(tensor("0", 4, 1, &[2, 2], &[2, 1])), &["\"w\"", "offset 1"]);
    assert_refused("stride.pt", file(tensor("0", 4, 0, &[2, 2], &[200, 1])), &["\"w\"", "200"]);
    assert_refused("size.pt", file(tensor("0", 5, 0, &[2], &[1])), &["\"w\"", "5 × 4 bytes", "16 bytes"]);
    assert_refused("absent.pt", file(tensor("1", 4, 0, &[2], &[1])), &["\"w\"", "model/data/1", "no such member"]);
    assert_refused("rank.pt", file(tensor("0", 4, 0, &[2], &[1, 1])), &["strides"]);
    // 2⁴⁰ elements in four stored numbers, or in forty-one: listed, and never gathered.
    for (elements, strides) in [(4, [0; 40]), (41, [1; 40])] {
        let view = dictionary(&[("w", tensor("0", elements, 0, &[2; 40], &strides))]);
        let file = torch(&view, &[("0", vec![0; 4 * usize::from(elements)])]);
        let expanded = Checkpoint::from_bytes("expanded.pt", file).unwrap();
        let entry = &expanded.entries()[0];
        assert!(expanded.read(entry).unwrap_err().to_string().contains("expanded"));
        let changed =
            std::collections::BTreeMap::from([("w".to_owned(), reynolds_checkpoint::Values::F32(vec![].into()))]);
        assert!(expanded.write_to(&mut Vec::new(), &changed).unwrap_err().to_string().contains("expanded"));
    }
}

#[test]
fn torch_files_of_another_kind_say_what_to_do() {
    let with = |name: &str, contents: &[u8]| zip(&[stored("m/data.pkl", b"\x80\x02}."), stored(name, contents)]);
    assert!(Checkpoint::from_bytes("good.pt", with("m/byteorder", b"little")).is_ok());
    assert_refused("big.pt", with("m/byteorder", b"big"), &["little-endian"]);
    assert_refused("script.pt", with("m/constants.pkl", b"\x80\x02)."), &["TorchScript"]);
}

#[test]
fn onnx_files_that_lie_are_refused() {
    // Length-delimited fields: tag, length, contents.
    let field = |number: u8, contents: &[u8]| [&[number << 3 | 2, contents.len() as u8], contents].concat();
    let model = |tensor: &[u8]| [vec![8, 8], field(7, &field(5, tensor)), field(8, &[16, 17])].concat();
    let tensor = |dims: &[u8], data: &[u8]| [dims, &[0x10, 1], &field(8, b"w"), data].concat();
    let good = tensor(&[8, 2], &field(9, &[0; 8]));
    assert_eq!(Checkpoint::from_bytes("model.onnx", model(&good)).unwrap().entries()[0].shape, [2]);
    assert_refused("size.onnx", model(&tensor(&[8, 3], &field(9, &[0; 8]))), &["\"w\"", "12 bytes", "8"]);
    assert_refused("none.onnx", model(&tensor(&[8, 3], &[])), &["\"w\"", "12 bytes", "none"]);
    let negative = [&[8][..], &[0xff; 9], &[1]].concat();
    assert_refused("negative.onnx", model(&tensor(&negative, &[])), &["at least 0", "-1"]);
    let vast = [8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f].repeat(2);
    assert_refused("vast.onnx", model(&tensor(&vast, &[])), &["fits in memory"]);
    assert_refused("deep.onnx", model(&tensor(&field(1, &[1; 65]), &[])), &["64 dimensions"]);
    let without_version = model(&good)[..model(&good).len() - 4].to_vec();
    assert_refused("version.onnx", without_version, &["version of its operations"]);
    assert_refused("cut.onnx", model(&good)[..20].to_vec(), &["cut.onnx"]);
    assert_refused("text.onnx", b"hello there, no model".to_vec(), &["text.onnx"]);
    let outside = |location: &str| {
        let place = field(13, &[field(1, b"location"), field(2, location.as_bytes())].concat());
        model(&tensor(&[8, 2], &[place, vec![0x70, 1]].concat()))
    };
    for location in ["../w.bin", "/etc/passwd", "a/b.bin", "..", "", "C:w.bin", "a\\b"] {
        assert_refused("outside.onnx", outside(location), &["\"w\"", "beside the model"]);
    }
    assert_refused("outside.onnx", outside("w.bin"), &["one file with all tensors"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("outside.onnx");
    std::fs::write(&path, outside("w.bin")).unwrap();
    assert!(Checkpoint::open(&path).unwrap_err().to_string().contains("w.bin"));
    std::fs::write(folder.path().join("w.bin"), [0; 7]).unwrap();
    assert!(Checkpoint::open(&path).unwrap_err().to_string().contains("7 bytes in"));
    std::fs::write(folder.path().join("w.bin"), [0; 8]).unwrap();
    assert_eq!(Checkpoint::open(&path).unwrap().entries()[0].shape, [2]);
}
