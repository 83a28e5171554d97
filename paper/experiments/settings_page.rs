//! docs/settings.md: every key of a run, its default, and the doc comment of its field.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// Experiments with the same keys, and the type of their settings; `D` stands for the last type.
const EXPERIMENTS: [(&[&str], &str, &str); 4] = [
    (&["so2", "rings"], "PlaneSettings", "WaveyRings"),
    (&["smoke"], "SmokeSettings", ""),
    (&["ct"], "CtSettings", ""),
    (&["medmnist"], "MedSettings", ""),
];

const HEAD: &str = "# Settings

`reynolds run EXPERIMENT --show` prints the values of a run; the [guide](experiments.md) says which to choose. An
experiment is named where its default differs. Made of doc comments: `UPDATE=1 cargo test -p reynolds-paper --lib
settings_page` writes this page.
";

/// Type and doc comment by the name of a field.
type Fields = HashMap<String, (String, String)>;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

/// The fields of every struct that can be written as TOML.
fn structs() -> HashMap<String, Fields> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["so2", "smoke", "ct", "medmnist", "../crates/reynolds-train/src", "../crates/reynolds-torch/src"] {
        sources(&root.join(folder), &mut files);
    }
    let mut structs = HashMap::new();
    for text in files.iter().map(|file| fs::read_to_string(file).unwrap()) {
        let (mut serialised, mut doc, mut name) = (false, Vec::new(), None);
        for line in text.lines() {
            let words = line.trim();
            match &name {
                _ if words.starts_with("///") => doc.push(words[3..].trim()),
                None if words.starts_with("#[derive") => serialised = words.contains("Serialize"),
                None => {
                    if let Some(rest) =
                        words.strip_prefix("pub struct ").filter(|rest| serialised && rest.ends_with('{'))
                    {
                        let of: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                        structs.insert(of.clone(), Fields::new());
                        name = Some(of);
                    }
                    if !words.starts_with('#') {
                        doc.clear();
                    }
                }
                Some(_) if words == "}" => (name, serialised) = (None, false),
                Some(of) => {
                    if let Some((field, kind)) = words.strip_prefix("pub ").and_then(|rest| rest.split_once(": ")) {
                        let kind = kind.trim_end_matches(',').to_string();
                        structs.get_mut(of).unwrap().insert(field.into(), (kind, doc.join(" ")));
                        doc.clear();
                    }
                }
            }
        }
    }
    structs
}

/// The doc comment of a dotted key.
fn meaning(structs: &HashMap<String, Fields>, settings: &str, data: &str, key: &str) -> String {
    let (mut of, mut doc) = ("RunConfig", "");
    for part in key.split('.') {
        let fields = &structs[if of == "D" { data } else { of }];
        let field = fields.get(part).or_else(|| structs[settings].get(part));
        (of, doc) = field.map(|(kind, doc)| (kind.as_str(), doc.as_str())).unwrap_or_else(|| panic!("{key}: no field"));
    }
    assert!(!doc.is_empty() && !doc.contains("[`"), "{key}: expected a doc comment without links, found \"{doc}\"");
    doc.replace('|', "\\|")
}

/// Keys and values of a config.toml, in its order.
fn keys(text: &str) -> Vec<(String, String)> {
    let (mut table, mut keys) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = name.replace(']', ".");
        } else if let Some((key, value)) = line.split_once(" = ") {
            keys.push((format!("{table}{key}"), value.to_string()));
        }
    }
    keys
}

/// The value that most experiments have, then the others.
fn default(values: &[(&str, String)]) -> String {
    let mut by_value: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    values.iter().for_each(|(name, value)| by_value.entry(value).or_default().push(name));
    let mut sorted: Vec<_> = by_value.into_iter().collect();
    sorted.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let others = sorted[1..].iter().map(|(value, names)| format!("; {}: `{value}`", names.join(", ")));
    format!("`{}`", sorted[0].0) + &others.collect::<String>()
}

fn page() -> String {
    let (experiments, structs) = (super::all(), structs());
    let texts: BTreeMap<&str, Vec<(String, String)>> =
        experiments.iter().map(|one| (one.name(), keys(&one.load(None, &[]).unwrap().text))).collect();
    let table = |names: &[&str], settings: &str, data: &str, is_meant: &dyn Fn(&str) -> bool| {
        let all = &texts[names.last().unwrap()];
        let rows = all.iter().filter(|(key, _)| is_meant(key)).map(|(key, _)| {
            let value =
                |name: &&'static str| Some((*name, texts[name].iter().find(|(other, _)| other == key)?.1.clone()));
            let values: Vec<_> = experiments.iter().map(|one| one.name()).filter(|name| names.contains(name)).collect();
            let values: Vec<_> = values.iter().filter_map(value).collect();
            format!("| `{key}` | {} | {} |\n", default(&values), meaning(&structs, settings, data, key))
        });
        format!("| key | default | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
    };
    let every: Vec<&str> = experiments.iter().map(|one| one.name()).collect();
    let mut page = HEAD.to_string();
    for (title, prefix) in [("penalty", "penalty."), ("train", "train.")] {
        let shared = table(&every, "MedSettings", "", &|key| key.starts_with(prefix));
        page += &format!("\n## All experiments: {title}\n{shared}");
    }
    for (names, settings, data) in EXPERIMENTS {
        let own = |key: &str| !["experiment", "penalty", "train"].contains(&key.split('.').next().unwrap());
        page += &format!("\n## {}\n{}", names.join(", "), table(names, settings, data, &own));
    }
    page
}

#[test]
fn every_key_is_explained() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, page()).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page(),
        "docs/settings.md is out of date: UPDATE=1 writes it"
    );
}
