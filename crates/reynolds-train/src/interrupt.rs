//! Cancellation by Ctrl-C, after the current step, or inside an evaluation, and a checkpoint.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, Result};

/// Exit code after a second Ctrl-C, as a shell reports SIGINT.
const QUIT: i32 = 130;

/// Cancellation flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
}

impl Interrupt {
    /// Set by [`Interrupt::request`] only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Set by Ctrl-C and SIGTERM, one for the whole process; a second signal ends the process at once. SIGHUP is not handled, for nohup.
    pub fn on_signal() -> Self {
        static SIGNAL: OnceLock<Interrupt> = OnceLock::new();
        let interrupt = SIGNAL.get_or_init(|| {
            let interrupt = Interrupt::new();
            for signal in [SIGINT, SIGTERM] {
                // In this order: the first signal must not see its own flag.
                let quits = flag::register_conditional_shutdown(signal, QUIT, interrupt.requested.clone());
                let _ = quits.and_then(|_| flag::register(signal, interrupt.requested.clone()));
            }
            interrupt
        });
        interrupt.clone()
    }

    /// Requests cancellation.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Whether cancellation was requested.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// For what takes long and can be done again.
    ///
    /// # Errors
    /// [`Error::Interrupted`] once cancellation was requested.
    pub fn check(&self) -> Result<()> {
        if self.requested() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
