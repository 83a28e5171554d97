//! The program `reynolds`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(reynolds_cli::main(std::env::args_os()))
}
