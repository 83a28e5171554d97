//! Files written again: what changed, what did not, and what is refused.

use reynolds_checkpoint::{Checkpoint, Result, Values};
use reynolds_testkit::files::singles;
use std::collections::BTreeMap;
use std::path::Path;

use crate::{golden, open};

const FILES: &str = "plain.safetensors stored.npz deflated.npz state_dict.pt nested.pth dtypes.pt views.pt tied.pt tensor.pt protocol4.pt \
                     legacy.pt surrounded.pt surrounded_legacy.pt module.pt module_legacy.pt network.onnx";

type Changes<'a> = BTreeMap<String, Values<'a>>;

/// Single-precision values for tensors of these names: so many, all equal.
fn changes<const N: usize>(changed: [(&str, usize, f32); N]) -> Changes<'static> {
    changed.map(|(name, count, value)| (name.to_owned(), vec![value; count].into())).into()
}

/// The bytes of a golden file with these tensors changed.
fn written(file: &str, changed: &Changes<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    open(file).write_to(&mut out, changed).map(|()| out)
}

fn rewritten(file: &str, changed: &Changes<'_>) -> Checkpoint {
    Checkpoint::from_bytes(file, written(file, changed).unwrap()).unwrap()
}

fn values<'a>(checkpoint: &'a Checkpoint, name: &str) -> Values<'a> {
    checkpoint.read(checkpoint.entry(name).unwrap()).unwrap()
}

fn doubled(values: Values<'_>) -> Values<'static> {
    match values {
        Values::F32(values) => values.iter().map(|x| 2.0 * x).collect::<Vec<_>>().into(),
        Values::F64(values) => values.iter().map(|x| 2.0 * x).collect::<Vec<_>>().into(),
    }
}

/// The names in a folder, so that nothing is left behind unseen.
fn listing(folder: &Path) -> Vec<String> {
    let items = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn writing_the_values_that_were_read_gives_the_same_bytes_where_nothing_is_compressed() {
    for file in FILES.split(' ') {
        let checkpoint = open(file);
        let floats = checkpoint.entries().iter().filter(|entry| entry.is_float());
        let same: Changes<'_> = floats.map(|entry| (entry.name.clone(), checkpoint.read(entry).unwrap())).collect();
        let before = std::fs::read(golden(file)).unwrap();
        assert_eq!(written(file, &Changes::new()).unwrap(), before, "{file} without a change");
        assert!(written(file, &same).unwrap() == before || file == "deflated.npz", "{file}");
        let again = rewritten(file, &same);
        for (name, expected) in &same {
            assert_eq!(&values(&again, name), expected, "{file} {name}");
        }
    }
}

#[test]
fn changed_tensors_change_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES.split(' ') {
        let checkpoint = open(file);
        let floats: Vec<_> = checkpoint.entries().iter().filter(|entry| entry.is_float()).collect();
        // Every second storage.
        let changed: Changes<'_> = floats
            .iter()
            .filter(|entry| floats.iter().position(|other| other.storage == entry.storage).unwrap() % 2 == 0)
            .map(|entry| (entry.name.clone(), doubled(checkpoint.read(entry).unwrap())))
            .collect();
        let out = folder.path().join(file);
        checkpoint.write(&out, &changed).unwrap();
        let again = Checkpoint::open(&out).unwrap();
        assert_eq!(again.entries().len(), checkpoint.entries().len());
        for entry in floats {
            let old = checkpoint.read(entry).unwrap();
            let expected = changed.get(&entry.name).map_or(old, Values::borrowed);
            assert_eq!(values(&again, &entry.name), expected, "{file} {}", entry.name);
        }
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(file == "deflated.npz" || size(&out) == size(&golden(file)), "{file}");
    }
    assert_eq!(listing(folder.path()).len(), FILES.split(' ').count(), "no temporary file is left");
}

#[test]
fn in_an_uncompressed_file_only_the_tensor_and_its_checksum_change() {
    for (file, checksums) in [("plain.safetensors", 0), ("stored.npz", 8), ("dtypes.pt", 8)] {
        let (before, after) = (std::fs::read(golden(file)).unwrap(), written(file, &changes([("single", 6, -9.0)])));
        let after = after.unwrap();
        assert_eq!(before.len(), after.len());
        let differing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        assert!((6..=24 + checksums).contains(&differing), "{file}: {differing} bytes");
    }
}

#[test]
fn tied_tensors_change_together_or_not_at_all() {
    let (decoder, embedding) = ("decoder.weight", "embedding.weight");
    for refused in [changes([(decoder, 6, 1.0)]), changes([(decoder, 6, 1.0), (embedding, 6, 2.0)])] {
        let message = written("tied.pt", &refused).unwrap_err().to_string();
        assert!([decoder, embedding, "shares its storage"].iter().all(|word| message.contains(word)), "{message}");
    }
    let again = rewritten("tied.pt", &changes([(decoder, 6, 1.0), (embedding, 6, 1.0)]));
    assert_eq!(values(&again, embedding), vec![1.0_f32; 6].into());
}

#[test]
fn disjoint_views_of_one_storage_change_alone_and_others_do_not() {
    let left = changes([("left", 12, 7.0)]);
    let again = rewritten("columns.pt", &left);
    assert_eq!(values(&again, "left"), left["left"]);
    assert_eq!(values(&again, "right"), values(&open("columns.pt"), "right"));
    // In this file the transposed whole matrix is a tensor too.
    let message = written("views.pt", &left).unwrap_err().to_string();
    assert!(message.contains("shares its storage"), "{message}");
}

#[test]
fn the_input_is_never_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("model.pt");
    std::fs::copy(golden("state_dict.pt"), &input).unwrap();
    let before = std::fs::read(&input).unwrap();
    let checkpoint = Checkpoint::open(&input).unwrap();
    let mut outputs = vec![input.clone(), folder.path().join(".").join("model.pt")];
    #[cfg(unix)]
    {
        outputs.extend([folder.path().join("symbolic.pt"), folder.path().join("hard.pt")]);
        std::os::unix::fs::symlink(&input, &outputs[2]).unwrap();
        std::fs::hard_link(&input, &outputs[3]).unwrap();
    }
    let names = listing(folder.path());
    for out in outputs {
        let message = checkpoint.write(&out, &Changes::new()).unwrap_err().to_string();
        assert!(message.contains("found the input itself"), "{}: {message}", out.display());
    }
    assert_eq!(std::fs::read(&input).unwrap(), before);
    assert_eq!(listing(folder.path()), names);
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_is_in_the_folder_before_the_output_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = open("state_dict.pt");
    let out = folder.path().join("out.pt");
    let written = checkpoint.write_with(&out, &["conv.bias"], |entry| {
        // What a kill would leave now.
        assert_eq!(listing(folder.path()), [""; 0]);
        Ok(doubled(checkpoint.read(entry)?))
    });
    written.unwrap();
    assert_eq!(listing(folder.path()), ["out.pt"]);
}

#[test]
#[cfg(unix)]
fn an_output_keeps_the_permissions_of_the_file_it_replaces_else_has_those_of_the_input() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("model.pt"), folder.path().join("out.pt"));
    std::fs::copy(golden("state_dict.pt"), &input).unwrap();
    let set = |path: &Path, mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    set(&input, 0o600);
    let checkpoint = Checkpoint::open(&input).unwrap();
    checkpoint.write(&out, &Changes::new()).unwrap();
    assert_eq!(mode(&out), 0o600);
    set(&out, 0o640);
    checkpoint.write(&out, &Changes::new()).unwrap();
    assert_eq!(mode(&out), 0o640);
    let dangling = folder.path().join("dangling.pt");
    std::os::unix::fs::symlink(folder.path().join("absent.pt"), &dangling).unwrap();
    let message = checkpoint.write(&dangling, &Changes::new()).unwrap_err().to_string();
    assert!(message.contains("dangling.pt") && message.contains("a link to a file that does not exist"), "{message}");
}

#[test]
fn an_output_of_another_format_is_refused_and_a_failure_leaves_the_old_output() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = open("state_dict.pt");
    for name in ["out.npz", "out.onnx", "out.NPZ"] {
        let message = checkpoint.write(folder.path().join(name), &Changes::new()).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains(".pt or .pth"), "{message}");
    }
    let out = folder.path().join("out.pth");
    std::fs::write(&out, "old").unwrap();
    for (name, count, word) in
        [("absent", 0, "absent"), ("conv.bias", 1, "conv.bias"), ("norm.num_batches_tracked", 1, "int64")]
    {
        let message = checkpoint.write(&out, &changes([(name, count, 1.0)])).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    }
    assert_eq!(std::fs::read(&out).unwrap(), b"old");
    assert_eq!(listing(folder.path()), ["out.pth"]);
    checkpoint.write(&out, &Changes::new()).unwrap();
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(golden("state_dict.pt")).unwrap());
    for out in [&folder.path().join("no/such/folder/out.pt"), folder.path()] {
        assert!(checkpoint.write(out, &Changes::new()).is_err());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).arg(path).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !run("mount", &["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        eprintln!("skipped: a tmpfs cannot be mounted here");
        return;
    }
    let large = Checkpoint::from_bytes("large.safetensors", singles(&[("w", &[65536], vec![0.0; 65536])])).unwrap();
    let written = large.write(folder.path().join("out.safetensors"), &Changes::new());
    let left = listing(folder.path());
    let unmounted = run("umount", &[]);
    let message = written.unwrap_err().to_string();
    assert!(message.contains("out.safetensors") && message.contains("space"), "{message}");
    assert!(left.is_empty() && unmounted, "{left:?}");
}

#[test]
fn external_data_are_written_beside_an_output_in_another_folder() {
    let checkpoint = open("outside.onnx");
    let changed = changes([("stem.weight", 216, 2.0), ("stem.bias", 8, 3.0)]);
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| std::fs::copy(golden(name), folder.path().join(name)).unwrap();
    let _ = ["outside.onnx", "outside.data"].map(copy);
    let own = Checkpoint::open(folder.path().join("outside.onnx")).unwrap();
    let message = own.write(folder.path().join("new.onnx"), &changed).unwrap_err().to_string();
    assert!(message.contains("another folder") && message.contains("outside.data"), "{message}");
    let other = tempfile::tempdir().unwrap();
    let out = other.path().join("new.onnx");
    std::fs::write(other.path().join("outside.data"), "mine").unwrap();
    assert!(checkpoint.write(&out, &changed).unwrap_err().to_string().contains("outside.data"));
    std::fs::remove_file(other.path().join("outside.data")).unwrap();
    checkpoint.write(&out, &changed).unwrap();
    let again = Checkpoint::open(&out).unwrap();
    for name in ["stem.weight", "stem.bias"] {
        assert_eq!(values(&again, name), changed[name]);
    }
    assert_eq!(values(&again, "321"), values(&checkpoint, "321"));
    assert_eq!(listing(other.path()), ["new.onnx", "outside.data"]);
}

#[test]
fn what_is_not_written_back_is_written_as_safetensors() {
    let folder = tempfile::tempdir().unwrap();
    let chunked = open("chunked.h5");
    let changed = changes([("model_weights/conv/conv/kernel:0", 72, 1.5)]);
    let message = chunked.write(folder.path().join("out.h5"), &changed).unwrap_err().to_string();
    assert!(message.contains("ending in .safetensors") && message.contains("HDF5"), "{message}");
    for file in [
        "chunked.h5",
        "weights.h5",
        "views.pt",
        "tied.pt",
        "deflated.npz",
        "outside.onnx",
        "dtypes.pt",
        "module_legacy.pt",
    ] {
        let (before, out) = (open(file), folder.path().join("out.safetensors"));
        let storage = before.entries().iter().find(|entry| entry.is_float() && !entry.is_empty()).unwrap().storage;
        let changed: Changes<'_> = (before.entries().iter().filter(|entry| entry.storage == storage))
            .map(|entry| (entry.name.clone(), doubled(before.read(entry).unwrap())))
            .collect();
        before.write(&out, &changed).unwrap();
        let after = Checkpoint::open(&out).unwrap();
        let left_out = before.left_out_of_safetensors();
        assert_eq!(after.entries().len() + left_out.len(), before.entries().len(), "{file} {left_out:?}");
        for entry in before.entries().iter().filter(|entry| !left_out.contains(&&*entry.name)) {
            let written = after.entry(&entry.name).unwrap();
            assert_eq!(written.shape, entry.shape);
            if entry.is_float() {
                let expected = changed.get(&entry.name).map_or_else(|| before.read(entry).unwrap(), Values::borrowed);
                assert_eq!(after.read(written).unwrap(), expected, "{file} {}", entry.name);
            }
        }
    }
}
