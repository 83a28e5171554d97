//! How far our smoke is from PhiFlow's, frame by frame: `cargo run --release -p reynolds-paper --example smoke_parity -- FILE.npz`
//!
//! FILE holds `velocity` f32 [frames, 2, 64, 64], the first frames of the rotation simulation k = 5.

use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_paper::smoke::data::{FRAME, Setting, Symmetry, simulate};
use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args()
        .nth(1)
        .ok_or_else(|| "expected a file, found no argument".to_owned())
        .and_then(|file| curve(&file))
    {
        Ok(text) => {
            eprint!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// One line a frame.
fn curve(file: &str) -> Result<String, String> {
    let checkpoint = Checkpoint::open(file).map_err(|error| error.to_string())?;
    let entry = checkpoint.entry("velocity").ok_or("expected an array velocity, found none")?;
    let Values::F32(theirs) = checkpoint.read(entry).map_err(|error| error.to_string())? else {
        return Err(format!("expected velocity in f32, found {}", entry.dtype));
    };
    let setting = Symmetry::Rotation.simulations()[4].clone();
    let setting = Setting { steps: setting.dropped + theirs.len() / FRAME, ..setting };
    let ours = simulate(&setting, &|| Ok(())).map_err(|error| error.to_string())?;
    let mut text = format!("{}: ‖ours − theirs‖ / ‖theirs‖\n", setting.name);
    for (n, (ours, theirs)) in ours.chunks_exact(FRAME).zip(theirs.chunks_exact(FRAME)).enumerate() {
        let square = |x: f32| f64::from(x) * f64::from(x);
        let error: f64 = ours.iter().zip(theirs).map(|(a, b)| square(a - b)).sum();
        let norm: f64 = theirs.iter().map(|&b| square(b)).sum();
        text += &format!("{:4}  {:.2e}\n", n + 1, (error / norm).sqrt());
    }
    Ok(text)
}
