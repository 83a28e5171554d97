//! Doubles the named tensors of a checkpoint and writes it again: `rewrite MODEL OUT NAME…`. For golden/check_written.py.

use reynolds_checkpoint::{Checkpoint, Error, Values};
use std::process::ExitCode;

fn rewrite(model: &str, out: &str, names: &[String]) -> Result<(), Error> {
    let checkpoint = Checkpoint::open(model)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    checkpoint.write_with(out, &names, |entry| {
        Ok(match checkpoint.read(entry)? {
            Values::F32(values) => Values::F32(values.iter().map(|x| 2.0 * x).collect()),
            Values::F64(values) => Values::F64(values.iter().map(|x| 2.0 * x).collect()),
        })
    })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, out, names @ ..] = &arguments[..] else {
        eprintln!("usage: rewrite MODEL OUT NAME…");
        return ExitCode::from(2);
    };
    match rewrite(model, out, names) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
