//! Young's orthogonal form: the irreducible representations of S_n, one for each partition of n.
//!
//! The basis vectors are the standard tableaux t of the partition. With r = c(i+1) − c(i) the difference of the contents
//! (column − row) of the cells that hold i+1 and i, the adjacent transposition sᵢ = (i i+1) acts by
//!
//! ```text
//! sᵢ e_t = (1/r) e_t + √(1 − 1/r²) e_{sᵢ t}
//! ```
//!
//! where sᵢ t swaps i and i+1 (it is no standard tableau exactly when r = ±1, and then has coefficient 0). Any other permutation is a
//! product of these, found by bubble sort. Characters come from the Murnaghan–Nakayama rule, in integers:
//!
//! ```text
//! χ_λ(ρ) = Σ over rim hooks h of λ with |h| = ρ₁ of (−1)^{height h} χ_{λ∖h}(ρ₂, ρ₃, …)
//! ```

use std::collections::HashMap;

use faer::Mat;

use super::cycles::disjoint_cycles;
use crate::group::{Element, GroupRef};
use crate::rep::{Formula, Rep};

/// All partitions of n in reverse lexicographic order, `[n]` first.
pub(super) fn partitions(n: usize) -> Vec<Vec<usize>> {
    fn extend(rest: usize, prefix: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
        if rest == 0 {
            out.push(prefix.clone());
            return;
        }
        let largest = prefix.last().map_or(rest, |&part| part.min(rest));
        for part in (1..=largest).rev() {
            prefix.push(part);
            extend(rest - part, prefix, out);
            prefix.pop();
        }
    }
    let mut out = Vec::new();
    extend(n, &mut Vec::new(), &mut out);
    out
}

/// "[3,1]".
pub(super) fn partition_label(partition: &[usize]) -> String {
    let parts: Vec<String> = partition.iter().map(usize::to_string).collect();
    format!("[{}]", parts.join(","))
}

/// The standard tableaux of a partition, each as the row in which 0, 1, …, n−1 stand.
fn standard_tableaux(partition: &[usize]) -> Vec<Vec<usize>> {
    fn extend(partition: &[usize], filled: &mut [usize], rows: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
        if rows.len() == partition.iter().sum::<usize>() {
            out.push(rows.clone());
            return;
        }
        for row in 0..partition.len() {
            if filled[row] < partition[row] && (row == 0 || filled[row - 1] > filled[row]) {
                filled[row] += 1;
                rows.push(row);
                extend(partition, filled, rows, out);
                rows.pop();
                filled[row] -= 1;
            }
        }
    }
    let mut out = Vec::new();
    extend(partition, &mut vec![0; partition.len()], &mut Vec::new(), &mut out);
    out
}

/// How an adjacent transposition moves one basis vector: sᵢ e_t = `diagonal` e_t + `off_diagonal` e_`partner`.
#[derive(Debug, Clone, Copy)]
struct Step {
    partner: usize,
    diagonal: f64,
    off_diagonal: f64,
}

/// The irreducible representation of `group`, S_n, that belongs to a partition of n.
pub(super) fn young_orthogonal(group: &GroupRef, partition: Vec<usize>) -> Rep {
    let (acting, label, steps) = (group.clone(), partition_label(&partition), steps(&partition));
    let dim = standard_tableaux(&partition).len();
    let word = move |g: &Element| acting.point_permutation(g).expect("the symmetric group is given as permutations");
    let matrix = {
        let word = word.clone();
        move |g: &Element| {
            let mut word = word(g);
            let mut matrix = Mat::identity(dim, dim);
            // g·s_{i₁}·…·s_{i_k} = e, as swapping neighbours in the word multiplies from the right; so g = s_{i_k}·…·s_{i₁}.
            for end in (1..word.len()).rev() {
                for i in 0..end {
                    if word[i] > word[i + 1] {
                        word.swap(i, i + 1);
                        multiply_by_step(&steps[i], &mut matrix);
                    }
                }
            }
            matrix
        }
    };
    let character = move |g: &Element| murnaghan_nakayama(&partition, &cycle_type(&word(g))) as f64;
    // The trivial and the sign representation are signed permutations; no other is in this basis.
    Formula::new(group, label, dim, matrix).character(character).signed_if(dim == 1).shared()
}

/// The action of the adjacent transpositions: `[i][t]` for sᵢ and the tableau t.
fn steps(partition: &[usize]) -> Vec<Vec<Step>> {
    let tableaux = standard_tableaux(partition);
    let position: HashMap<&[usize], usize> = tableaux.iter().enumerate().map(|(t, rows)| (&rows[..], t)).collect();
    let n: usize = partition.iter().sum();
    let step = |i: usize, t: usize| {
        let rows = &tableaux[t];
        let content = |entry: usize| {
            let column = rows[..entry].iter().filter(|&&row| row == rows[entry]).count();
            column as f64 - rows[entry] as f64
        };
        let diagonal = 1.0 / (content(i + 1) - content(i));
        let mut swapped = rows.clone();
        swapped.swap(i, i + 1);
        // Entries in one row or one column are neighbours there: r = ±1, and the swapped tableau is not standard.
        match position.get(&swapped[..]) {
            Some(&partner) if partner != t => {
                Step { partner, diagonal, off_diagonal: (1.0 - diagonal * diagonal).sqrt() }
            }
            _ => Step { partner: t, diagonal, off_diagonal: 0.0 },
        }
    };
    (1..n).map(|i| (0..tableaux.len()).map(|t| step(i - 1, t)).collect()).collect()
}

/// `matrix ← π(sᵢ) · matrix`.
fn multiply_by_step(steps: &[Step], matrix: &mut Mat<f64>) {
    for column in 0..matrix.ncols() {
        for (t, step) in steps.iter().enumerate() {
            if step.partner == t {
                matrix[(t, column)] *= step.diagonal;
            } else if step.partner > t {
                // The partner's own diagonal is the negative: its axial distance is −r.
                let (a, b) = (matrix[(t, column)], matrix[(step.partner, column)]);
                matrix[(t, column)] = step.diagonal * a + step.off_diagonal * b;
                matrix[(step.partner, column)] = step.off_diagonal * a - step.diagonal * b;
            }
        }
    }
}

/// The cycle lengths of a permutation, fixed points included, longest first.
fn cycle_type(word: &[u32]) -> Vec<usize> {
    let mut lengths: Vec<usize> = disjoint_cycles(word).iter().map(Vec::len).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths
}

/// χ of the partition on permutations with these cycle lengths.
///
/// On the beta numbers βᵢ = λᵢ + (k−1−i) of a partition with k parts, removing a rim hook of length h replaces some β ≥ h by β−h, which must
/// be free; its height is the number of beta numbers strictly between.
fn murnaghan_nakayama(partition: &[usize], cycles: &[usize]) -> i64 {
    fn remove_hooks(beta: &mut [usize], cycles: &[usize]) -> i64 {
        let Some((&hook, rest)) = cycles.split_first() else {
            return 1;
        };
        let mut sum = 0;
        for i in 0..beta.len() {
            let old = beta[i];
            if old < hook || beta.contains(&(old - hook)) {
                continue;
            }
            let height = beta.iter().filter(|&&other| other > old - hook && other < old).count();
            beta[i] = old - hook;
            let below = remove_hooks(beta, rest);
            beta[i] = old;
            sum += if height % 2 == 0 { below } else { -below };
        }
        sum
    }
    let k = partition.len();
    let mut beta: Vec<usize> = partition.iter().enumerate().map(|(i, part)| part + k - 1 - i).collect();
    remove_hooks(&mut beta, cycles)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::group::{Group, PermutationGroup};
    use crate::rep::Representation;

    fn symmetric(n: usize) -> Arc<PermutationGroup> {
        Arc::new(PermutationGroup::symmetric(n).unwrap())
    }

    /// n! / Π hook lengths.
    fn hook_length_formula(partition: &[usize]) -> usize {
        let n: usize = partition.iter().sum();
        let mut hooks = 1;
        for (row, &length) in partition.iter().enumerate() {
            for column in 0..length {
                let leg = partition[row + 1..].iter().filter(|&&below| below > column).count();
                hooks *= length - column + leg;
            }
        }
        (1..=n).product::<usize>() / hooks
    }

    #[test]
    fn partitions_come_in_reverse_lexicographic_order() {
        let labels: Vec<String> = partitions(4).iter().map(|p| partition_label(p)).collect();
        assert_eq!(labels, ["[4]", "[3,1]", "[2,2]", "[2,1,1]", "[1,1,1,1]"]);
        assert_eq!((1..=8).map(|n| partitions(n).len()).collect::<Vec<_>>(), [1, 2, 3, 5, 7, 11, 15, 22]);
    }

    #[test]
    fn dimensions_obey_the_hook_length_formula() {
        for n in 1..=8 {
            let irreps = symmetric(n).irreps(0).unwrap();
            for (irrep, partition) in irreps.iter().zip(partitions(n)) {
                assert_eq!(irrep.dim(), hook_length_formula(&partition), "{partition:?}");
            }
            let squares: usize = irreps.iter().map(|irrep| irrep.dim().pow(2)).sum();
            assert_eq!(squares as u128, symmetric(n).order().unwrap());
        }
    }

    #[test]
    fn first_is_trivial_and_last_is_the_sign() {
        let group = symmetric(6);
        let irreps = Arc::clone(&group).irreps(0).unwrap();
        let swap = &group.generators()[0];
        assert_eq!((irreps[0].label().as_str(), irreps[0].character(swap)), ("[6]", 1.0));
        assert_eq!((irreps[10].label().as_str(), irreps[10].character(swap)), ("[1,1,1,1,1,1]", -1.0));
    }
}
