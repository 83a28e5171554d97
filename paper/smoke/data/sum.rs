//! Sums in the order in which NumPy adds, so that they round as its do.
//!
//! ```text
//! n ≤ 128:  eight sums side by side, ((0+1)+(2+3))+((4+5)+(6+7)), then what is left over        n > 128:  sum of one half + sum of the other
//! ```

/// Numbers that are summed without dividing.
const BLOCK: usize = 128;

/// ⟨a, b⟩ and ⟨a, c⟩, each product rounded before it is added. All are of one length.
pub(super) fn products(a: &[f32], b: &[f32], c: &[f32]) -> [f32; 2] {
    let n = a.len();
    if n > BLOCK {
        let half = n / 2 - (n / 2) % 8;
        let lower = products(&a[..half], &b[..half], &c[..half]);
        let upper = products(&a[half..], &b[half..], &c[half..]);
        return [lower[0] + upper[0], lower[1] + upper[1]];
    }
    let ((a, a_rest), (b, b_rest), (c, c_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>(), c.as_chunks::<8>());
    let (mut first, mut second) = ([0.0; 8], [0.0; 8]);
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        for l in 0..8 {
            first[l] += a[l] * b[l];
            second[l] += a[l] * c[l];
        }
    }
    let gather = |l: [f32; 8]| ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
    let mut sums = [gather(first), gather(second)];
    for ((a, b), c) in a_rest.iter().zip(b_rest).zip(c_rest) {
        sums[0] += a * b;
        sums[1] += a * c;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_that_of_eight_sums_side_by_side() {
        // 2²⁴ + 1 is no single: one running sum would lose all ones. Here the first lane loses one, and + 2 + (2 + 2) + … = 2²⁴ + 14.
        let mut numbers = [1.0; 16];
        numbers[0] = 16_777_216.0;
        assert_eq!(products(&numbers, &[1.0; 16], &[0.0; 16]), [16_777_230.0, 0.0]);
    }
}
