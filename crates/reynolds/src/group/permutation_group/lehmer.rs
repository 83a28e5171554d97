//! The numbering of S_n by Lehmer codes.
//!
//! ```text
//! number of g = Σ_i c_i (n−1−i)!,   c_i = #{ j > i : g(j) < g(i) }
//! ```

/// The number of a permutation, by Horner's rule on the digits c_i.
pub(super) fn rank(word: &[u32]) -> u128 {
    let digit = |i: usize| word[i + 1..].iter().filter(|&&later| later < word[i]).count() as u128;
    (0..word.len()).fold(0, |rank, i| rank * (word.len() - i) as u128 + digit(i))
}

/// The permutation of `n` points with this number.
pub(super) fn unrank(n: usize, mut rank: u128) -> Vec<u32> {
    let mut digits = vec![0; n];
    for i in (0..n).rev() {
        let radix = (n - i) as u128;
        digits[i] = (rank % radix) as usize;
        rank /= radix;
    }
    let mut free: Vec<u32> = (0..n as u32).collect();
    digits.into_iter().map(|digit| free.remove(digit)).collect()
}

/// T_i for the stabiliser of the last points: the identity and the transpositions (j k), j < k, for k = n − 1, …, 1.
pub(super) fn transversals(n: usize) -> Vec<Vec<Vec<u32>>> {
    let transposition = |j: usize, k: usize| {
        let mut word: Vec<u32> = (0..n as u32).collect();
        word.swap(j, k);
        word
    };
    (1..n).rev().map(|k| (0..=k).rev().map(|j| transposition(j, k)).collect()).collect()
}
