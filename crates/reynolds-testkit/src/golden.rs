//! Golden tensors: numbers that independent programs computed, one file each under `golden/`.
//!
//! ```text
//! golden/<script>.py   →   golden/<name>.safetensors   →   Golden::open("<name>")
//! ```
//!
//! The script beside a file says which program made it and asserts our conventions before it writes; `golden/README.md` lists every
//! tensor and what a test should assert with it. Our own code never writes these files. Errors are panics that name file and tensor.
//!
//! ```
//! use reynolds_testkit::golden::Golden;
//! let so3 = Golden::open("e3nn_so3");
//! let (shape, d) = so3.tensor("wigner.1");
//! assert_eq!(shape, [6, 3, 3]);
//! assert_eq!(d.len(), 54);
//! assert!(so3.metadata()["packages"].contains("e3nn"));
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use safetensors::{Dtype, SafeTensors};

/// One golden file, read whole.
#[derive(Debug, Clone)]
pub struct Golden {
    path: PathBuf,
    tensors: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
    metadata: BTreeMap<String, String>,
}

impl Golden {
    /// Reads `golden/<name>.safetensors` of this repository.
    pub fn open(name: &str) -> Self {
        let path = folder().join(format!("{name}.safetensors"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("golden file {}: {error}", path.display()));
        let parsed =
            SafeTensors::deserialize(&bytes).and_then(|file| Ok((file, SafeTensors::read_metadata(&bytes)?.1)));
        let (file, header) = parsed.unwrap_or_else(|error| panic!("golden file {}: {error}", path.display()));
        let metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        let mut tensors = BTreeMap::new();
        for (key, view) in file.tensors() {
            let dtype = view.dtype();
            assert!(dtype == Dtype::F64, "golden file {}: tensor {key} is {dtype:?}, expected F64", path.display());
            let (words, _) = view.data().as_chunks::<8>();
            let values = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
            tensors.insert(key, (view.shape().to_vec(), values));
        }
        Self { path, tensors, metadata }
    }

    /// A tensor: its shape, and its entries in row-major order.
    pub fn tensor(&self, name: &str) -> (Vec<usize>, Vec<f64>) {
        match self.tensors.get(name) {
            Some(found) => found.clone(),
            None => panic!("golden file {}: no tensor {name}; it has {:?}", self.path.display(), self.names()),
        }
    }

    /// The entry of a tensor that holds one number.
    pub fn number(&self, name: &str) -> f64 {
        let (shape, values) = self.tensor(name);
        assert!(values.len() == 1, "golden file {}: tensor {name} is {shape:?}, expected [1]", self.path.display());
        values[0]
    }

    /// The names of all tensors, in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        self.tensors.keys().map(String::as_str).collect()
    }

    /// What made the file: `script`, `python`, `packages`, `seed` and `convention`.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_finite_and_says_where_it_comes_from() {
        let mut seen = 0;
        for entry in fs::read_dir(folder()).expect("the golden folder is in the repository") {
            let path = entry.expect("readable").path();
            if path.extension().is_none_or(|extension| extension != "safetensors") {
                continue;
            }
            let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
            let golden = Golden::open(name);
            for key in ["script", "python", "packages", "seed", "convention"] {
                assert!(golden.metadata().contains_key(key), "{name} has no {key}");
            }
            let script = golden.metadata()["script"].trim_start_matches("golden/");
            assert!(folder().join(script).is_file(), "{name} was written by {script}, which is not there");
            for tensor in golden.names() {
                let (shape, values) = golden.tensor(tensor);
                assert_eq!(shape.iter().product::<usize>(), values.len(), "{name}: {tensor}");
                assert!(values.iter().all(|value| value.is_finite()), "{name}: {tensor}");
            }
            seen += 1;
        }
        assert!(seen >= 4, "only {seen} golden files");
    }

    #[test]
    fn entries_are_read_in_row_major_order() {
        // S4: the sign of a 4-cycle is −1; row 4 is the partition 1+1+1+1, column 0 the cycle type 4.
        let (shape, table) = Golden::open("characters").tensor("S4.re");
        assert_eq!(shape, [5, 5]);
        assert_eq!(table[4 * 5], -1.0);
        assert_eq!(table[4], 1.0);
    }

    #[test]
    #[should_panic(expected = "no tensor absent")]
    fn an_absent_tensor_is_named() {
        Golden::open("characters").tensor("absent");
    }
}
