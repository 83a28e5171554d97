//! The program `reynolds`.

use std::process::ExitCode;

fn main() -> ExitCode {
    reynolds_checkpoint::say_when_shortened();
    ExitCode::from(reynolds_cli::main(std::env::args_os()))
}
