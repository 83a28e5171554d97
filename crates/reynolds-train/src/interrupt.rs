//! Ctrl-C that lets the step finish and a checkpoint be saved.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What the process exits with at the second Ctrl-C, as a shell reports a program that SIGINT ended.
const QUIT: i32 = 130;

/// Whether someone asked the loop to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    requested: Arc<AtomicBool>,
}

impl Interrupt {
    /// One that only [`Interrupt::request`] sets.
    pub fn new() -> Self {
        Self::default()
    }

    /// The one that Ctrl-C and SIGTERM set; at the second of them the process quits at once. The same for the whole process; where the
    /// system lets nobody listen it is never set. SIGHUP is left alone, so that nohup keeps its meaning.
    pub fn on_signal() -> Self {
        static SIGNAL: OnceLock<Interrupt> = OnceLock::new();
        let interrupt = SIGNAL.get_or_init(|| {
            let interrupt = Interrupt::new();
            for signal in [SIGINT, SIGTERM] {
                // In this order: a signal first looks whether there was one before, and is then noted.
                let quits = flag::register_conditional_shutdown(signal, QUIT, interrupt.requested.clone());
                let _ = quits.and_then(|_| flag::register(signal, interrupt.requested.clone()));
            }
            interrupt
        });
        interrupt.clone()
    }

    /// Asks for a stop.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Whether a stop was asked for.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }
}
