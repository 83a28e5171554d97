//! Characters of finite groups: complex character tables, multiplicities, Frobenius–Schur indicators.
//!
//! ```text
//! ⟨χ, ψ⟩ = (1/|G|) Σ_g χ(g) ψ(g)‾,      ⟨χ_π, χ_σ⟩ = δ_πσ,      dim Hom_G(V, W) = ⟨χ_W, χ_V⟩
//! ```
//!
//! Characters are constant on conjugacy classes, so all of this takes one evaluation per class.
//!
//! ```
//! use reynolds::{character::CharacterTable, group, rep};
//! let s3 = group::parse("S3")?;
//! let table = CharacterTable::new(&s3)?;
//! assert_eq!(table.to_string(), "\
//! S3       1a  2a  3a
//! size      1   3   2
//! [3]       1   1   1
//! [2,1]     2   0  -1
//! [1,1,1]   1  -1   1
//! ");
//! assert_eq!(table.multiplicities(&rep::regular(&s3)?)?, [1, 2, 1]);
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::fmt;

use faer::c64;

use crate::error::{Error, Result};
use crate::group::{self, ConjugacyClasses, Element, GroupRef, conjugacy_classes};
use crate::irrep::unitary_dual;
use crate::rep::{Rep, Representation};
use crate::scalar::Scalar;

/// The irreducible complex characters of a finite group, one row each, one column for each conjugacy class.
#[derive(Debug, Clone)]
pub struct CharacterTable {
    /// The group.
    pub group: GroupRef,
    /// The columns.
    pub classes: ConjugacyClasses,
    /// The names of the irreps, row by row.
    pub labels: Vec<String>,
    /// The irreducible characters, `[irreps, classes]`.
    pub rows: Vec<Vec<c64>>,
}

impl CharacterTable {
    /// The table of a group that can be enumerated; rows as in [`unitary_dual`], columns as in [`conjugacy_classes`].
    pub fn new(group: &GroupRef) -> Result<Self> {
        let classes = conjugacy_classes(&**group)?;
        let dual = unitary_dual(group, 0)?;
        if dual.len() != classes.sizes.len() {
            let reason = format!("{} irreps for {} classes of {}", dual.len(), classes.sizes.len(), group.name());
            return Err(Error::numerical("character table", reason));
        }
        let labels = dual.iter().map(Representation::label).collect();
        let row = |irrep| classes.representatives.iter().map(|g| Representation::character(irrep, g)).collect();
        let rows = dual.iter().map(row).collect();
        Ok(Self { group: group.clone(), classes, labels, rows })
    }

    /// ⟨χ, ψ⟩ of two class functions, `[classes]` each.
    pub fn inner_product(&self, chi: &[c64], psi: &[c64]) -> c64 {
        let mut sum = c64::new(0.0, 0.0);
        for ((&a, &b), &size) in chi.iter().zip(psi).zip(&self.classes.sizes) {
            sum += a * b.conjugate() * c64::new(size as f64, 0.0);
        }
        sum * c64::new(1.0 / self.order(), 0.0)
    }

    /// The character of a representation, `[classes]`.
    pub fn character<F: Scalar>(&self, representation: &Rep<F>) -> Result<Vec<c64>> {
        group::expect_same(&self.group, representation.group())?;
        Ok(self.classes.representatives.iter().map(|g| representation.character(g).to_c64()).collect())
    }

    /// How often every irrep of the table occurs in a representation (in its complexification, if it is real).
    pub fn multiplicities<F: Scalar>(&self, representation: &Rep<F>) -> Result<Vec<usize>> {
        let character = self.character(representation)?;
        Ok(self.rows.iter().map(|row| self.inner_product(&character, row).re.round() as usize).collect())
    }

    /// dim Hom_G(V, W) over the field of the representations.
    pub fn hom_dim<F: Scalar>(&self, domain: &Rep<F>, codomain: &Rep<F>) -> Result<usize> {
        let (chi, psi) = (self.character(codomain)?, self.character(domain)?);
        Ok(self.inner_product(&chi, &psi).re.round() as usize)
    }

    /// The Frobenius–Schur indicators ν(χ) = (1/|G|) Σ_g χ(g²), row by row: 1 where the irrep is real, 0 where it differs from its conjugate,
    /// −1 where it is quaternionic.
    pub fn frobenius_schur(&self) -> Vec<i32> {
        let square = |g| self.classes.class_of(&self.group.multiply(g, g));
        let squares: Vec<usize> = self.classes.representatives.iter().map(square).collect();
        let indicator = |row: &Vec<c64>| {
            let terms = squares.iter().zip(&self.classes.sizes).map(|(&class, &size)| row[class].re * size as f64);
            (terms.sum::<f64>() / self.order()).round() as i32
        };
        self.rows.iter().map(indicator).collect()
    }

    /// The names of the classes: the order of the elements, then a letter, as in "1a 2a 2b".
    pub fn class_names(&self) -> Vec<String> {
        let mut seen = std::collections::BTreeMap::<usize, usize>::new();
        let name = |g: &Element| {
            let powers = std::iter::successors(Some(g.clone()), |power| Some(self.group.multiply(power, g)));
            let order = 1 + powers.take_while(|power| *power != self.group.identity()).count();
            let count = seen.entry(order).or_default();
            *count += 1;
            format!("{order}{}", letters(*count - 1))
        };
        self.classes.representatives.iter().map(name).collect()
    }

    fn order(&self) -> f64 {
        self.classes.sizes.iter().sum::<usize>() as f64
    }
}

/// a, b, …, z, aa, ab, ….
fn letters(mut number: usize) -> String {
    let mut text = String::new();
    loop {
        text.insert(0, char::from(b'a' + (number % 26) as u8));
        if number < 26 {
            return text;
        }
        number = number / 26 - 1;
    }
}

/// Whole numbers as such, anything else to three decimals.
fn print_value(value: c64) -> String {
    let real = |x: f64| {
        if (x - x.round()).abs() < 1e-9 { format!("{}", x.round() as i64) } else { format!("{x:.3}") }
    };
    if value.im.abs() < 1e-9 {
        return real(value.re);
    }
    let start = if value.re.abs() < 1e-9 { String::new() } else { real(value.re) };
    let sign = if value.im < 0.0 { "-" } else { ["+", ""][usize::from(start.is_empty())] };
    let size = if (value.im.abs() - 1.0).abs() < 1e-9 { String::new() } else { real(value.im.abs()) };
    format!("{start}{sign}{size}i")
}

/// An aligned table: the classes, their sizes, then one line for each irrep.
impl fmt::Display for CharacterTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.classes.sizes.iter().map(usize::to_string).collect();
        let mut lines =
            vec![[vec![self.group.name()], self.class_names()].concat(), [vec!["size".into()], sizes].concat()];
        for (label, row) in self.labels.iter().zip(&self.rows) {
            lines.push(std::iter::once(label.clone()).chain(row.iter().map(|&value| print_value(value))).collect());
        }
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..=self.classes.sizes.len()).map(width).collect();
        for line in &lines {
            write!(f, "{:<width$}", line[0], width = widths[0])?;
            for (cell, &width) in line.iter().zip(&widths).skip(1) {
                write!(f, "  {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_print_as_in_textbooks() {
        let print = |re, im| print_value(c64::new(re, im));
        assert_eq!(print(-1.0, 1e-15), "-1");
        assert_eq!(print(-1e-16, 0.0), "0");
        assert_eq!(print(1e-16, -1.0), "-i");
        assert_eq!(print(0.0, 2.0), "2i");
        assert_eq!(print(-0.5, 0.75_f64.sqrt()), "-0.500+0.866i");
        assert_eq!(print(-0.5, -0.75_f64.sqrt()), "-0.500-0.866i");
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([letters(0), letters(25), letters(26), letters(53)], ["a", "z", "aa", "bb"]);
    }

    #[test]
    fn other_groups_are_refused() {
        let table = CharacterTable::new(&group::parse("C3").unwrap()).unwrap();
        let other = crate::rep::trivial(&group::parse("C4").unwrap());
        assert!(matches!(table.character(&other), Err(Error::GroupMismatch { .. })));
        assert!(matches!(CharacterTable::new(&group::parse("SO2").unwrap()), Err(Error::TooLarge { .. })));
    }
}
