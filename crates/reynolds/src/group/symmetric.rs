//! The symmetric group S_n of all permutations of n points.
//!
//! ```text
//! (gh)(j) = g(h(j)),      |S_n| = n!,      number of g = Σ_i c_i (n−1−i)!,   c_i = #{ j > i : g(j) < g(i) }
//! ```
//!
//! Elements are numbered in lexicographic order of their words g(0) g(1) … g(n−1), so the identity is 0 and the order reversal is last;
//! the digits c_i are the Lehmer code. No operation enumerates the group: S₃₄, the largest whose order fits 128 bits, is as cheap to
//! hold as S₃.
//!
//! ```
//! use reynolds::group::{Group, Symmetric};
//! let s3 = Symmetric::new(3)?;
//! let cycle = s3.element(&[1, 2, 0])?; // words in order: 012 021 102 120 201 210
//! assert_eq!(cycle.index(), 3);
//! assert_eq!(s3.point_permutation(&s3.multiply(&cycle, &cycle)), Some(vec![2, 0, 1]));
//! # Ok::<(), reynolds::Error>(())
//! ```

mod young;

use std::sync::Arc;

use super::{ENUMERATION_LIMIT, Element, Family, Group, GroupRef};
use crate::error::{Error, Result};
use crate::irrep::Irrep;
use young::{YoungOrthogonal, partition_label, partitions};

/// S_n on the points 0, …, n−1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symmetric {
    n: usize,
}

impl Symmetric {
    /// The largest n: 34! is below 2¹²⁸, 35! is not.
    pub const MAX_POINTS: usize = 34;

    /// The group of all permutations of `n` points.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 1 ≤ n ≤ [`Self::MAX_POINTS`].
    pub fn new(n: usize) -> Result<Self> {
        if (1..=Self::MAX_POINTS).contains(&n) {
            Ok(Self { n })
        } else {
            Err(Error::range("n of the symmetric group S_n", format!("1 to {}", Self::MAX_POINTS), n))
        }
    }

    /// n, the number of points.
    pub fn points(&self) -> usize {
        self.n
    }

    /// The element with the given word `g(0), …, g(n−1)`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if the word is no permutation of 0, …, n−1.
    pub fn element(&self, word: &[u32]) -> Result<Element> {
        let mut sorted = word.to_vec();
        sorted.sort_unstable();
        if sorted.len() == self.n && sorted.iter().enumerate().all(|(i, &point)| point as usize == i) {
            Ok(self.rank(word))
        } else {
            let expected = format!("a permutation of 0 to {}", self.n - 1);
            Err(Error::range(format!("word of {}", self.name()), expected, format!("{word:?}")))
        }
    }

    /// The number of a word that is known to be a permutation, by Horner's rule on its Lehmer code.
    fn rank(&self, word: &[u32]) -> Element {
        let digit = |i: usize| word[i + 1..].iter().filter(|&&later| later < word[i]).count() as u128;
        Element::Finite((0..self.n).fold(0, |rank, i| rank * (self.n - i) as u128 + digit(i)))
    }

    /// The word of an element.
    fn word(&self, g: &Element) -> Vec<u32> {
        let mut rank = g.index();
        let mut digits = vec![0; self.n];
        for i in (0..self.n).rev() {
            let radix = (self.n - i) as u128;
            digits[i] = (rank % radix) as usize;
            rank /= radix;
        }
        assert!(rank == 0, "expected an element of {}, got number {}", self.name(), g.index());
        let mut free: Vec<u32> = (0..self.n as u32).collect();
        digits.into_iter().map(|digit| free.remove(digit)).collect()
    }
}

impl Group for Symmetric {
    fn name(&self) -> String {
        format!("S{}", self.n)
    }

    fn family(&self) -> Family {
        Family::Symmetric(self.n)
    }

    fn order(&self) -> Option<u128> {
        Some((1..=self.n as u128).product())
    }

    fn identity(&self) -> Element {
        Element::Finite(0)
    }

    fn multiply(&self, g: &Element, h: &Element) -> Element {
        let g = self.word(g);
        let product: Vec<u32> = self.word(h).into_iter().map(|j| g[j as usize]).collect();
        self.rank(&product)
    }

    fn inverse(&self, g: &Element) -> Element {
        let mut inverse = vec![0; self.n];
        for (j, image) in self.word(g).into_iter().enumerate() {
            inverse[image as usize] = j as u32;
        }
        self.rank(&inverse)
    }

    /// The transposition (0 1) and the cycle (0 1 … n−1); the latter is left out for n = 2, both for n = 1.
    fn generators(&self) -> Vec<Element> {
        let n = self.n as u32;
        let mut generators = Vec::new();
        if n >= 2 {
            let mut swap: Vec<u32> = (0..n).collect();
            swap.swap(0, 1);
            generators.push(self.rank(&swap));
        }
        if n >= 3 {
            let cycle: Vec<u32> = (0..n).map(|j| (j + 1) % n).collect();
            generators.push(self.rank(&cycle));
        }
        generators
    }

    fn point_permutation(&self, g: &Element) -> Option<Vec<u32>> {
        Some(self.word(g))
    }

    /// T_i for the stabiliser of the last points: the identity and the transpositions (j k), j < k, for k = n − 1, …, 1.
    fn transversals(&self) -> Result<Vec<Vec<Element>>> {
        let transposition = |j: usize, k: usize| {
            let mut word: Vec<u32> = (0..self.n as u32).collect();
            word.swap(j, k);
            self.element(&word)
        };
        let factor = |k: usize| (0..=k).rev().map(|j| transposition(j, k)).collect();
        (1..self.n).rev().map(factor).collect()
    }

    fn permuting(&self, image: &[u32]) -> Option<Element> {
        self.element(image).ok()
    }

    /// One for each partition of n, in reverse lexicographic order: the trivial `[n]` first, the sign `[1,…,1]` last. All are of real
    /// type, in Young's orthogonal form. They are served while n! ≤ [`ENUMERATION_LIMIT`], that is n ≤ 8.
    fn irreps(self: Arc<Self>, _max_degree: usize) -> Result<Vec<Irrep>> {
        let order = (1..=self.n as u128).product::<u128>();
        if order > ENUMERATION_LIMIT {
            return Err(Error::TooLarge {
                group: self.name(),
                operation: "listing all irreps",
                limit: ENUMERATION_LIMIT,
                got: order.to_string(),
            });
        }
        let n = self.n;
        let group: GroupRef = self;
        let irrep = |partition: Vec<usize>| {
            let label = partition_label(&partition);
            Irrep::of_real_type(label, Arc::new(YoungOrthogonal::new(Arc::clone(&group), partition)))
        };
        Ok(partitions(n).into_iter().map(irrep).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbering_is_lexicographic() {
        let s4 = Symmetric::new(4).unwrap();
        let words: Vec<Vec<u32>> = (0..24).map(|i| s4.point_permutation(&Element::Finite(i)).unwrap()).collect();
        assert_eq!(words[0], [0, 1, 2, 3]);
        assert_eq!(words[1], [0, 1, 3, 2]);
        assert_eq!(words[6], [1, 0, 2, 3]);
        assert_eq!(words[23], [3, 2, 1, 0]);
        assert!(words.is_sorted_by(|a, b| a < b));
        for (i, word) in words.iter().enumerate() {
            assert_eq!(s4.element(word).unwrap().index(), i as u128);
        }
    }

    #[test]
    fn product_applies_the_right_factor_first() {
        let s3 = Symmetric::new(3).unwrap();
        let swap = s3.element(&[1, 0, 2]).unwrap();
        let cycle = s3.element(&[1, 2, 0]).unwrap();
        // 0 ↦ 1 ↦ 0, 1 ↦ 2 ↦ 2, 2 ↦ 0 ↦ 1
        assert_eq!(s3.point_permutation(&s3.multiply(&swap, &cycle)), Some(vec![0, 2, 1]));
        assert_eq!(s3.point_permutation(&s3.inverse(&cycle)), Some(vec![2, 0, 1]));
    }

    #[test]
    fn largest_symmetric_group_counts_in_128_bits() {
        let s34 = Symmetric::new(34).unwrap();
        let order = s34.order().unwrap();
        assert_eq!(order, 295_232_799_039_604_140_847_618_609_643_520_000_000);
        let reversal: Vec<u32> = (0..34).rev().collect();
        let last = s34.element(&reversal).unwrap();
        assert_eq!(last.index(), order - 1);
        assert_eq!(s34.multiply(&last, &last), s34.identity());
        let cycle = &s34.generators()[1];
        let power = (0..34).fold(s34.identity(), |g, _| s34.multiply(&g, cycle));
        assert_eq!(power, s34.identity());
    }

    #[test]
    fn small_groups_have_fewer_generators() {
        let count = |n| Symmetric::new(n).unwrap().generators().len();
        assert_eq!([count(1), count(2), count(3), count(7)], [0, 1, 2, 2]);
        assert_eq!(Symmetric::new(1).unwrap().order(), Some(1));
    }

    #[test]
    fn bad_input_is_an_error() {
        for n in [0, 35, usize::MAX] {
            assert!(matches!(Symmetric::new(n), Err(Error::OutOfRange { .. })), "n = {n}");
        }
        let s3 = Symmetric::new(3).unwrap();
        for word in [&[0, 1][..], &[0, 1, 1], &[1, 2, 3], &[]] {
            assert!(matches!(s3.element(word), Err(Error::OutOfRange { .. })), "{word:?}");
        }
        assert!(matches!(Arc::new(Symmetric::new(9).unwrap()).irreps(0), Err(Error::TooLarge { .. })));
    }
}
