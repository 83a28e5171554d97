//! Files written again: what changed, what did not, and what is refused.
#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use reynolds_checkpoint::Error;
use reynolds_checkpoint::{Checkpoint, Dtype, Values};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FILES: [&str; 10] = [
    "plain.safetensors",
    "stored.npz",
    "deflated.npz",
    "state_dict.pt",
    "nested.pth",
    "dtypes.pt",
    "views.pt",
    "tied.pt",
    "tensor.pt",
    "protocol4.pt",
];

fn golden(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/checkpoints")).join(name)
}

fn singles(values: &[f32]) -> Values<'static> {
    Values::F32(values.to_vec().into())
}

fn doubled(values: Values<'_>) -> Values<'static> {
    match values {
        Values::F32(values) => Values::F32(values.iter().map(|x| 2.0 * x).collect()),
        Values::F64(values) => Values::F64(values.iter().map(|x| 2.0 * x).collect()),
    }
}

/// The names in a folder, so that nothing is left behind unseen.
fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn no_change_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        let out = folder.path().join(file);
        Checkpoint::open(golden(file)).unwrap().write(&out, &BTreeMap::new()).unwrap();
        assert_eq!(std::fs::read(out).unwrap(), std::fs::read(golden(file)).unwrap(), "{file}");
    }
}

#[test]
fn writing_the_values_that_were_read_gives_the_same_bytes_where_nothing_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        let checkpoint = Checkpoint::open(golden(file)).unwrap();
        let floats = checkpoint.entries().iter().filter(|entry| entry.is_float());
        let same = floats.map(|entry| (entry.name.clone(), checkpoint.read(entry).unwrap())).collect();
        let out = folder.path().join(file);
        checkpoint.write(&out, &same).unwrap();
        let equal = std::fs::read(&out).unwrap() == std::fs::read(golden(file)).unwrap();
        assert!(equal || file == "deflated.npz", "{file}");
        let again = Checkpoint::open(&out).unwrap();
        for (name, values) in &same {
            assert_eq!(&again.read(again.entry(name).unwrap()).unwrap(), values, "{file} {name}");
        }
    }
}

#[test]
fn changed_tensors_change_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        let checkpoint = Checkpoint::open(golden(file)).unwrap();
        let floats: Vec<_> = checkpoint.entries().iter().filter(|entry| entry.is_float()).collect();
        // Every second storage.
        let changed: BTreeMap<_, _> = floats
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
            let new = again.read(again.entry(&entry.name).unwrap()).unwrap();
            let expected = changed.get(&entry.name).map_or(old, Values::borrowed);
            assert_eq!(new, expected, "{file} {}", entry.name);
        }
        if file != "deflated.npz" {
            assert_eq!(
                std::fs::metadata(&out).unwrap().len(),
                std::fs::metadata(golden(file)).unwrap().len(),
                "{file}"
            );
        }
    }
    assert_eq!(listing(folder.path()).len(), FILES.len(), "no temporary file is left");
}

#[test]
fn in_an_uncompressed_file_only_the_tensor_and_its_checksum_change() {
    for (file, name, checksums) in
        [("plain.safetensors", "single", 0), ("stored.npz", "single", 8), ("dtypes.pt", "single", 8)]
    {
        let before = std::fs::read(golden(file)).unwrap();
        let checkpoint = Checkpoint::open(golden(file)).unwrap();
        let mut after = Vec::new();
        checkpoint.write_to(&mut after, &BTreeMap::from([(name.into(), singles(&[-9.0; 6]))])).unwrap();
        assert_eq!(before.len(), after.len());
        let differing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        assert!((6..=24 + checksums).contains(&differing), "{file}: {differing} bytes");
    }
}

#[test]
fn narrow_tensors_are_rounded_and_wide_values_accepted() {
    let checkpoint = Checkpoint::open(golden("plain.safetensors")).unwrap();
    let half = checkpoint.entry("half").unwrap();
    assert_eq!(half.dtype, Dtype::F16);
    let mut out = Vec::new();
    let third = Values::F64(vec![1.0 / 3.0; 5].into());
    checkpoint.write_to(&mut out, &BTreeMap::from([("half".into(), third)])).unwrap();
    let again = Checkpoint::from_bytes("again.safetensors", out).unwrap();
    // 1/3 in half precision is 1365 · 2⁻¹².
    assert_eq!(again.read(again.entry("half").unwrap()).unwrap(), singles(&[1365.0 / 4096.0; 5]));
}

#[test]
fn tied_tensors_change_together_or_not_at_all() {
    let checkpoint = Checkpoint::open(golden("tied.pt")).unwrap();
    let mut out = Vec::new();
    let (ones, twos) = (singles(&[1.0; 6]), singles(&[2.0; 6]));
    let one_only = BTreeMap::from([("decoder.weight".to_owned(), ones.clone())]);
    let message = checkpoint.write_to(&mut out, &one_only).unwrap_err().to_string();
    assert!(message.contains("decoder.weight") && message.contains("embedding.weight"), "{message}");
    let different =
        BTreeMap::from([("decoder.weight".to_owned(), ones.clone()), ("embedding.weight".to_owned(), twos)]);
    assert!(matches!(checkpoint.write_to(&mut out, &different), Err(Error::Tied { .. })));
    out.clear();
    let equal =
        BTreeMap::from([("decoder.weight".to_owned(), ones.clone()), ("embedding.weight".to_owned(), ones.clone())]);
    checkpoint.write_to(&mut out, &equal).unwrap();
    let again = Checkpoint::from_bytes("tied.pt", out).unwrap();
    assert_eq!(again.read(again.entry("embedding.weight").unwrap()).unwrap(), ones);
}

#[test]
fn disjoint_views_of_one_storage_change_alone_and_others_do_not() {
    let checkpoint = Checkpoint::open(golden("columns.pt")).unwrap();
    let right = checkpoint.read(checkpoint.entry("right").unwrap()).unwrap();
    let changed = BTreeMap::from([("left".to_owned(), singles(&[7.0; 12]))]);
    let mut out = Vec::new();
    checkpoint.write_to(&mut out, &changed).unwrap();
    let again = Checkpoint::from_bytes("columns.pt", out).unwrap();
    assert_eq!(again.read(again.entry("left").unwrap()).unwrap(), singles(&[7.0; 12]));
    assert_eq!(again.read(again.entry("right").unwrap()).unwrap(), right);
    // In this file the transposed whole matrix is a tensor too.
    let views = Checkpoint::open(golden("views.pt")).unwrap();
    assert!(matches!(views.write_to(&mut Vec::new(), &changed), Err(Error::Tied { .. })));
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
        assert!(
            matches!(checkpoint.write(&out, &BTreeMap::new()), Err(Error::OutputIsInput { .. })),
            "{}",
            out.display()
        );
    }
    assert_eq!(std::fs::read(&input).unwrap(), before);
    assert_eq!(listing(folder.path()), names);
}

#[test]
fn an_output_of_another_format_is_refused_and_a_failure_leaves_the_old_output() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::open(golden("state_dict.pt")).unwrap();
    for name in ["out.npz", "out.safetensors", "out.NPZ"] {
        let message = checkpoint.write(folder.path().join(name), &BTreeMap::new()).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains(".pt or .pth"), "{message}");
    }
    let out = folder.path().join("out.pth");
    std::fs::write(&out, "old").unwrap();
    let refused = |changed: &BTreeMap<String, Values<'_>>, word: &str| {
        let message = checkpoint.write(&out, changed).unwrap_err().to_string();
        assert!(message.contains(word), "{message}");
    };
    refused(&BTreeMap::from([("absent".into(), singles(&[]))]), "absent");
    refused(&BTreeMap::from([("conv.bias".into(), singles(&[1.0]))]), "conv.bias");
    refused(&BTreeMap::from([("norm.num_batches_tracked".into(), singles(&[1.0]))]), "int64");
    assert_eq!(std::fs::read(&out).unwrap(), b"old");
    assert_eq!(listing(folder.path()), ["out.pth"]);
    checkpoint.write(&out, &BTreeMap::new()).unwrap();
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(golden("state_dict.pt")).unwrap());
    assert!(checkpoint.write(folder.path().join("no/such/folder/out.pt"), &BTreeMap::new()).is_err());
    assert!(checkpoint.write(folder.path(), &BTreeMap::new()).is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mount = |arguments: &[&str]| {
        std::process::Command::new(arguments[0])
            .args(&arguments[1..])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let path = folder.path().to_str().unwrap();
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path]) {
        eprintln!("skipped: a tmpfs cannot be mounted here");
        return;
    }
    let model = tempfile::tempdir().unwrap();
    let input = model.path().join("large.safetensors");
    let header = br#"{"w":{"dtype":"F32","shape":[65536],"data_offsets":[0,262144]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.resize(file.len() + 262_144, 0);
    std::fs::write(&input, &file).unwrap();
    let written = Checkpoint::open(&input).unwrap().write(folder.path().join("out.safetensors"), &BTreeMap::new());
    let left = listing(folder.path());
    let unmounted = mount(&["umount", path]);
    let message = written.unwrap_err().to_string();
    assert!(message.contains("out.safetensors") && message.contains("space"), "{message}");
    assert!(left.is_empty(), "{left:?}");
    assert!(unmounted);
    assert_eq!(std::fs::read(&input).unwrap(), file);
}
