//! Models in several files, as Hugging Face writes them: an index that says which file has which tensor, or a folder of files.
//!
//! ```text
//! model.safetensors.index.json   {"weight_map": {"conv.weight": "model-00001-of-00002.safetensors", …}}
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// Bytes of an index.
const LIMIT: u64 = 1 << 28;

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The files of a model in several, or nothing if the path is that of one checkpoint.
pub(crate) fn of(path: &Path) -> Result<Option<Vec<PathBuf>>> {
    if path.is_dir() {
        return match index_of(path)? {
            Some(index) => of_index(&index).map(Some),
            None => in_folder(path, ".safetensors").and_then(|files| match files.is_empty() {
                false => Ok(Some(files)),
                true => {
                    bail!("{}: expected a checkpoint, or a folder of .safetensors files, found neither", path.display())
                }
            }),
        };
    }
    let is_index = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    if is_index { of_index(path).map(Some) } else { Ok(None) }
}

/// The index of a model: of a folder the only one there, of safetensors files first.
pub(crate) fn index_of(path: &Path) -> Result<Option<PathBuf>> {
    if !path.is_dir() {
        return Ok(Some(path.into()));
    }
    for end in [".safetensors.index.json", ".index.json"] {
        match &in_folder(path, end)?[..] {
            [] => {}
            [one] => return Ok(Some(one.clone())),
            [first, ..] => {
                bail!("{}: expected one index, found several (name one of them: {})", path.display(), first.display())
            }
        }
    }
    Ok(None)
}

/// The files of a folder whose names end so, sorted.
fn in_folder(folder: &Path, end: &str) -> Result<Vec<PathBuf>> {
    let unreadable = || format!("{}: cannot list", folder.display());
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder).with_context(unreadable)? {
        let path = file.with_context(unreadable)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn of_index(path: &Path) -> Result<Vec<PathBuf>> {
    let file = || path.display();
    let metadata = std::fs::metadata(path).with_context(|| format!("{}: cannot open", file()))?;
    if !metadata.is_file() || metadata.len() > LIMIT {
        bail!(
            "{}: expected an index of at most {LIMIT} bytes, found {} bytes, or no ordinary file",
            file(),
            metadata.len()
        );
    }
    let text = std::fs::read(path).with_context(|| format!("{}: cannot read", file()))?;
    let index: Index = serde_json::from_slice(&text)
        .with_context(|| format!("{}: expected an index of shards with a weight_map", file()))?;
    let names: BTreeSet<&String> = index.weight_map.values().collect();
    // Names and nothing else: an index must not lead out of its folder.
    if let Some(name) =
        names.iter().find(|name| name.contains(['/', '\\', ':', '\0']) || matches!(&name[..], "" | "." | ".."))
    {
        bail!("{}: expected files beside the index, found {name:?}", file());
    }
    if names.is_empty() {
        bail!("{}: expected an index that names files, found none", file());
    }
    Ok(names.into_iter().map(|name| path.with_file_name(name)).collect())
}
