//! Ctrl-C that lets the step finish and a checkpoint be saved.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

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

    /// The one that Ctrl-C, SIGTERM and SIGHUP set; at the second of them the process quits at once. The same for the whole process;
    /// where the system lets nobody listen it is never set.
    pub fn on_signal() -> Self {
        static SIGNAL: OnceLock<Interrupt> = OnceLock::new();
        let interrupt = SIGNAL.get_or_init(|| {
            let interrupt = Interrupt::new();
            let heard = interrupt.clone();
            let listening = ctrlc::set_handler(move || {
                if heard.requested.swap(true, Ordering::SeqCst) {
                    std::process::exit(QUIT);
                }
            });
            match listening {
                Ok(()) => interrupt,
                Err(_) => Interrupt::new(),
            }
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

#[cfg(test)]
mod tests {
    use super::Interrupt;

    #[test]
    fn a_request_is_seen_by_every_clone() {
        let interrupt = Interrupt::new();
        let seen = interrupt.clone();
        assert!(!seen.requested());
        interrupt.request();
        assert!(seen.requested());
    }
}
