//! How many processor threads libtorch uses inside an operation.
//!
//! Threads between operations are left alone: no operation of ours starts any, and libtorch lets a process set their number once only.

use reynolds_torch::tch;

/// Uses `threads` of them, all if 0.
pub fn set(threads: usize) {
    tch::set_num_threads(i32::try_from(resolve(threads)).unwrap_or(i32::MAX));
}

/// The number itself, or that of the machine if 0.
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
