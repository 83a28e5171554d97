//! The command `reynolds`: audits and projects checkpoints, and hands training over to `reynolds-paper`. Glue only; the mathematics is in
//! `reynolds`, the formats in `reynolds-checkpoint`, tables and pages in `reynolds-report`.
//!
//! A library besides a program, because the Python package has the same command and the same audits: [`main`] and [`audit()`].
//!
//! ```
//! use reynolds::{group, plan::{SymmetryPlan, UniformFields}};
//! use reynolds_checkpoint::Checkpoint;
//! use reynolds_cli::{Model, NamedPlan, audit};
//! let header = br#"{"conv.weight":{"dtype":"F32","shape":[1,1,3,3],"data_offsets":[0,36]}}"#;
//! let mut file = (header.len() as u64).to_le_bytes().to_vec();
//! file.extend_from_slice(header);
//! file.extend([1.0_f32; 9].iter().flat_map(|x| x.to_le_bytes()));
//! let model = Model::new(Checkpoint::from_bytes("model.safetensors", file)?);
//! let plan = SymmetryPlan::uniform(&group::parse("C4")?, UniformFields::Trivial)?;
//! let report = audit(&model, &[NamedPlan { fields: "trivial".into(), plan }], None)?;
//! assert_eq!(report.typed[0].total.energy(), Some(1.0)); // a constant kernel
//! # Ok::<(), anyhow::Error>(())
//! ```

mod args;
mod commands;
mod layout;
mod model;
mod shards;

use std::ffi::OsString;

use clap::Parser;

pub use commands::audit;
pub use model::{Model, NamedPlan};

/// Runs the command of these arguments, the first of them the program's name, and returns its exit code.
pub fn main<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> u8 {
    let args = match args::Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // A closed output leaves nobody to tell.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    reynolds_report::exit_code(|| commands::run(args))
}
