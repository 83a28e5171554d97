//! CUDA graphs: work of fixed shapes, captured once and replayed by one launch.
//!
//! ```text
//! warm up, capture      on one side stream, between two synchronisations: autograd remembers the stream of a leaf
//! replay                on the current stream
//! ```
//!
//! What a graph reads and writes lies where it lay when it was captured. Memory that the work takes for itself comes from the one pool of a
//! [`Recorder`].
//!
//! ```
//! use reynolds_torch::graph::{Graph, Recorder};
//! use reynolds_torch::tch::{Device, Tensor};
//! # use reynolds_torch::Result;
//! /// x ← 2x, which each replay does again.
//! fn doubling(x: &mut Tensor, recorder: &mut Recorder) -> Result<Graph> {
//!     recorder.aside(|| Ok::<_, reynolds_torch::Error>(drop(x.f_mul_scalar_(1.0)?)))?; // libraries load and choose here
//!     recorder.capture(|| Ok(drop(x.f_mul_scalar_(2.0)?)))
//! }
//! assert!(Recorder::new(Device::Cpu).unwrap_err().to_string().contains("a GPU"));
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

#![allow(unsafe_code, reason = "graph.cpp is called, which takes addresses")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tch::{Cuda, Device};

use crate::device;
use crate::error::{Error, Result};

/// c10::StreamData3.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    id: i64,
    device: [i8; 2],
}

unsafe extern "C" {
    fn reynolds_stream_of_pool(device: c_int, stream: *mut Stream) -> *mut c_char;
    fn reynolds_stream_set(stream: *const Stream, before: *mut Stream) -> *mut c_char;
    fn reynolds_stream_raw(device: c_int, raw: *mut *mut c_void) -> *mut c_char;
    fn reynolds_graph_pool(pool: *mut [u64; 2]) -> *mut c_char;
    fn reynolds_graph_begin(pool: *const [u64; 2], graph: *mut *mut c_void) -> *mut c_char;
    fn reynolds_graph_end(graph: *mut c_void) -> *mut c_char;
    fn reynolds_graph_replay(graph: *mut c_void) -> *mut c_char;
    fn reynolds_graph_delete(graph: *mut c_void);
    fn free(text: *mut c_char);
}

/// Captures work on one device.
#[derive(Debug)]
pub struct Recorder {
    number: usize,
    side: Stream,
    /// The pool that captured work shares while there is some; libtorch takes no pool again that nobody holds.
    pool: Weak<[u64; 2]>,
}

/// Captured work. It belongs to the thread that captured it.
#[derive(Debug)]
pub struct Graph {
    number: usize,
    graph: *mut c_void,
    _pool: Rc<[u64; 2]>,
}

impl Recorder {
    /// # Errors
    /// [`Error::Device`] on a device without CUDA graphs.
    pub fn new(device: Device) -> Result<Self> {
        let Device::Cuda(number) = device else {
            return Err(refused(device, "CUDA graphs run on a GPU only".into()));
        };
        device::parse(&device::name(device))?;
        let mut side = Stream::default();
        // SAFETY: the address is of a type that graph.cpp has in the same layout.
        check(number, unsafe { reynolds_stream_of_pool(number as c_int, &raw mut side) })?;
        Ok(Self { number, side, pool: Weak::new() })
    }

    /// Does `work` on the side stream; synchronises before and after.
    pub fn aside<T, E: From<Error>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let _aside = Aside::enter(self.number, self.side)?;
        work()
    }

    /// Captures `work`, which was done at least once by [`Recorder::aside`] with the same shapes; nothing is computed.
    ///
    /// # Errors
    /// That of the work, or [`Error::Device`] if what it does cannot be captured.
    pub fn capture<E: From<Error>>(&mut self, work: impl FnOnce() -> Result<(), E>) -> Result<Graph, E> {
        let _aside = Aside::enter(self.number, self.side)?;
        let pool = self.pool.upgrade().map_or_else(|| new_pool(self.number), Ok)?;
        self.pool = Rc::downgrade(&pool);
        let mut graph = Graph { number: self.number, graph: ptr::null_mut(), _pool: Rc::clone(&pool) };
        // SAFETY: both addresses are valid, and the current stream is the side stream.
        check(self.number, unsafe { reynolds_graph_begin(&raw const *pool, &raw mut graph.graph) })?;
        let mut capturing = Capturing(Some(&graph));
        let done = work();
        let ended = capturing.end();
        drop(capturing);
        done?;
        ended?;
        Ok(graph)
    }
}

/// A pool of memory of its own.
fn new_pool(number: usize) -> Result<Rc<[u64; 2]>> {
    let mut pool = [0; 2];
    // SAFETY: the address is of a type that graph.cpp has in the same layout.
    check(number, unsafe { reynolds_graph_pool(&raw mut pool) })?;
    Ok(Rc::new(pool))
}

/// A stream is captured; ends it when it goes, by a panic too.
struct Capturing<'a>(Option<&'a Graph>);

impl Capturing<'_> {
    fn end(&mut self) -> Result<()> {
        // SAFETY: the graph is there, and its capture has begun and not ended.
        self.0.take().map_or(Ok(()), |graph| check(graph.number, unsafe { reynolds_graph_end(graph.graph) }))
    }
}

impl Drop for Capturing<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Graph {
    /// Launches the work on the current stream; does not synchronise.
    pub fn replay(&self) -> Result<()> {
        // SAFETY: the graph is there; the work's memory is kept by its pool and by whoever captured it.
        check(self.number, unsafe { reynolds_graph_replay(self.graph) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.graph.is_null() {
            Cuda::synchronize(self.number as i64);
            // SAFETY: the graph is there and goes once.
            unsafe { reynolds_graph_delete(self.graph) }
        }
    }
}

/// The side stream is the current one while this lives. One thread at a time: another may not wait for the device while one captures.
struct Aside {
    number: usize,
    before: Stream,
    _alone: MutexGuard<'static, ()>,
}

impl Aside {
    fn enter(number: usize, side: Stream) -> Result<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Cuda::synchronize(number as i64);
        let mut before = Stream::default();
        // SAFETY: both addresses are of streams.
        check(number, unsafe { reynolds_stream_set(&raw const side, &raw mut before) })?;
        Ok(Self { number, before, _alone: alone })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        Cuda::synchronize(self.number as i64);
        let mut side = Stream::default();
        // SAFETY: as above.
        let failed = unsafe { reynolds_stream_set(&raw const self.before, &raw mut side) };
        let _ = check(self.number, failed);
    }
}

/// The stream that libtorch uses on a CUDA device in this thread, as the driver knows it.
pub(crate) fn current_stream(number: usize) -> Result<u64> {
    let mut raw = ptr::null_mut();
    // SAFETY: the address is of a pointer.
    check(number, unsafe { reynolds_stream_raw(number as c_int, &raw mut raw) })?;
    Ok(raw as u64)
}

/// What graph.cpp says, as an error.
fn check(number: usize, said: *mut c_char) -> Result<()> {
    if said.is_null() {
        return Ok(());
    }
    // SAFETY: it is a text that strdup has made, and is freed once.
    let text = unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned();
    // SAFETY: as above.
    unsafe { free(said) };
    Err(refused(Device::Cuda(number), text.lines().next().unwrap_or_default().into()))
}

fn refused(device: Device, found: String) -> Error {
    Error::Device { device: device::name(device), expected: "work that can be captured in a CUDA graph".into(), found }
}
