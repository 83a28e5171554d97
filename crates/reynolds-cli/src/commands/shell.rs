//! `reynolds man` and `reynolds completions SHELL`: what packagers install.

use anyhow::Result;
use clap::CommandFactory;

use crate::args::Args;
use reynolds_report::terminal;

/// The page of the program, then those of its commands.
pub(crate) fn man() -> Result<u8> {
    let mut command = Args::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        clap_mangen::Man::new(inner.clone()).render_synopsis_section(&mut page)?;
        clap_mangen::Man::new(inner.clone()).render_description_section(&mut page)?;
        clap_mangen::Man::new(inner.clone()).render_options_section(&mut page)?;
    }
    terminal::print_prepared(&String::from_utf8(page)?)?;
    Ok(0)
}

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "reynolds", &mut script);
    terminal::print_prepared(&String::from_utf8(script)?)?;
    Ok(0)
}
