//! Work on libtorch's own threads.
//!
//! Threads of OpenMP spin for some milliseconds after an operation, and threads of our own would wait for the processors that those hold: to
//! a step of Adam on a million weights a pool added 2.4 ms, these add 0.9 (`reynolds bench penalty --weights 1e6`, two cores, a noisy machine).
//! So work is given to the same threads, by the function that a C compiler calls for `#pragma omp parallel`.

#![allow(
    unsafe_code,
    reason = "a function of the OpenMP runtime is found by name and called with the address of what it passes on"
)]

use std::any::Any;
use std::ffi::{c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, OnceLock};

/// `GOMP_parallel(function, data, threads, flags)`: calls `function(data)` on every thread of a team, this one included, and returns when
/// all have.
type Parallel = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);

/// Shared by the threads of a team.
struct Call<'a> {
    work: &'a (dyn Fn() + Sync),
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Runs `work` on up to `count` threads, the caller among them; on the caller alone where libtorch does not use OpenMP.
pub(super) fn on_threads(count: usize, work: &(dyn Fn() + Sync)) {
    let (Some(parallel), 2..) = (parallel(), count) else { return work() };
    let call = Call { work, panic: Mutex::default() };
    // SAFETY: the signature is that of GCC's and LLVM's OpenMP. `run` gets the address of `call`, a `Call` that only its shared references
    // are made of and that outlives the team: the function returns when every thread is done.
    unsafe { parallel(run, (&raw const call).cast_mut().cast(), count as c_uint, 0) }
    if let Some(panic) = call.panic.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        resume_unwind(panic);
    }
}

/// A panic must not unwind through frames of C: it is kept for the thread that called.
extern "C" fn run(data: *mut c_void) {
    // SAFETY: the address of a `Call` that is alive, see `on_threads`; what it holds may be shared among threads.
    let call = unsafe { &*data.cast::<Call<'_>>() };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(call.work))
        && let Ok(mut kept) = call.panic.lock()
    {
        *kept = Some(panic);
    }
}

fn parallel() -> Option<Parallel> {
    static FOUND: OnceLock<Option<Parallel>> = OnceLock::new();
    *FOUND.get_or_init(find)
}

#[cfg(target_os = "linux")]
fn find() -> Option<Parallel> {
    let program = libloading::os::unix::Library::this();
    // SAFETY: a function of this name has this type. It is libtorch's, which this program is linked with: nothing unloads it.
    unsafe { program.get::<Parallel>(b"GOMP_parallel\0") }.ok().map(|found| *found)
}

#[cfg(not(target_os = "linux"))]
fn find() -> Option<Parallel> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn several_threads_take_what_there_is() {
        for threads in [1, 3] {
            let (left, done) = (AtomicUsize::new(100), AtomicUsize::new(0));
            on_threads(threads, &|| {
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(done.into_inner(), 100);
        }
    }

    /// The thread limit of the OpenMP runtime, at least 1, as `OMP_THREAD_LIMIT` sets it.
    #[cfg(target_os = "linux")]
    fn thread_limit() -> usize {
        let program = libloading::os::unix::Library::this();
        // SAFETY: a function of this name has this type.
        let limit = unsafe { program.get::<unsafe extern "C" fn() -> i32>(b"omp_get_thread_limit\0") }.unwrap();
        // SAFETY: it reads a setting.
        usize::try_from(unsafe { limit() }).unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn libtorch_has_a_team_of_as_many_as_it_may() {
        let threads = Mutex::new(Vec::new());
        on_threads(2, &|| threads.lock().unwrap().push(std::thread::current().id()));
        let threads = threads.into_inner().unwrap();
        assert!(threads.contains(&std::thread::current().id()), "this one is of the team");
        assert_eq!(threads.len(), thread_limit().min(2));
        assert!(threads.len() == 1 || threads[0] != threads[1], "{threads:?}");
    }

    #[test]
    fn a_panic_arrives_where_the_call_was_made() {
        let caught = catch_unwind(|| on_threads(2, &|| panic!("of a job")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"of a job"));
    }
}
