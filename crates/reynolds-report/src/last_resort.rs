//! Errors and panics of a program: one line on standard error and exit code 2. Bad input never panics; a panic is a bug.

use std::panic::{self, PanicHookInfo, UnwindSafe};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow};

use crate::terminal;

/// Message and place of the first panic.
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// Runs the command of a program: prints its error, or its panic, and turns it into exit code 2. With `RUST_BACKTRACE` set a panic is also
/// printed as Rust prints it. `T` is an exit code: `u8` or `ExitCode`.
pub fn exit_code<T: From<u8>>(command: impl FnOnce() -> Result<T> + UnwindSafe) -> T {
    catch(command).unwrap_or_else(|error| {
        terminal::error(&error);
        T::from(2)
    })
}

fn catch<T>(command: impl FnOnce() -> Result<T> + UnwindSafe) -> Result<T> {
    let default = panic::take_hook();
    let verbose = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    panic::set_hook(Box::new(move |info| {
        if verbose {
            default(info);
        }
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        // The first is the cause: threads that wait for the one that failed panic after it.
        said.get_or_insert_with(|| line(info));
    }));
    panic::catch_unwind(command).unwrap_or_else(|_| {
        let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).take();
        let said = said.unwrap_or_else(|| "no message".into());
        Err(anyhow!("a fault of reynolds itself, please report it: {said}"))
    })
}

/// The first line of the message, and the place.
fn line(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    // libtorch's stack follows on further lines, which are spelt out (\\n) in an error that was shown for debugging.
    let text = text.unwrap_or("no message").split(['\n']).next().unwrap_or_default();
    let text = text.split("\\n").next().unwrap_or_default();
    let place = info.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
    format!("{text}{place}")
}

#[cfg(test)]
mod tests {
    use super::catch;

    #[test]
    fn a_panic_becomes_an_error_of_one_line() {
        let error = catch::<()>(|| panic!("the tensor\nstack\nstack")).unwrap_err().to_string();
        assert!(error.contains("please report it: the tensor (") && !error.contains("stack"), "{error}");
        let error = catch::<()>(|| Err(anyhow::anyhow!("plain"))).unwrap_err().to_string();
        assert_eq!(error, "plain");
    }
}
