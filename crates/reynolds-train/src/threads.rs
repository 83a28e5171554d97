//! Number of processor threads that libtorch uses inside an operation.
//!
//! Threads between operations are not used, and libtorch lets a process set their number only once.

use reynolds_torch::tch;

/// Sets it; 0 = all processors.
pub fn set(threads: usize) {
    tch::set_num_threads(i32::try_from(resolve(threads)).unwrap_or(i32::MAX));
}

/// The number itself; for 0 that of the processors.
pub fn resolve(threads: usize) -> usize {
    match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_taken_and_zero_means_all() {
        set(3);
        assert_eq!(tch::get_num_threads(), 3);
        set(0);
        assert_eq!(tch::get_num_threads() as usize, resolve(0));
        assert!(resolve(0) >= 1);
    }
}
