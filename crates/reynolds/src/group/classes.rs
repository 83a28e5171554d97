//! Conjugacy classes of a finite group.
//!
//! ```text
//! cl(g) = { h g h⁻¹ : h ∈ G }
//! ```
//!
//! Classes are ordered by their least element, which represents them; the first is that of the identity.
//!
//! ```
//! use reynolds::group::{self, conjugacy_classes};
//! let classes = conjugacy_classes(&*group::parse("S4")?)?;
//! assert_eq!(classes.sizes, [1, 6, 8, 3, 6]);
//! # Ok::<(), reynolds::Error>(())
//! ```

use super::{Element, Group, elements};
use crate::error::Result;

const UNSEEN: u32 = u32::MAX;

/// The conjugacy classes of a finite group.
#[derive(Debug, Clone, PartialEq)]
pub struct ConjugacyClasses {
    /// The least element of every class.
    pub representatives: Vec<Element>,
    /// The number of elements of every class.
    pub sizes: Vec<usize>,
    class_of: Vec<u32>,
}

/// Finds the conjugacy classes of a group that can be enumerated, by conjugating with generators.
pub fn conjugacy_classes<G: Group + ?Sized>(group: &G) -> Result<ConjugacyClasses> {
    let elements = elements(group)?;
    let generators: Vec<(Element, Element)> =
        group.generators().into_iter().map(|h| (h.clone(), group.inverse(&h))).collect();
    let mut classes =
        ConjugacyClasses { representatives: Vec::new(), sizes: Vec::new(), class_of: vec![UNSEEN; elements.len()] };
    for representative in elements {
        if classes.class_of[representative.index() as usize] != UNSEEN {
            continue;
        }
        let class = classes.representatives.len() as u32;
        classes.class_of[representative.index() as usize] = class;
        let mut members = vec![representative.clone()];
        let mut next = 0;
        while next < members.len() {
            for (h, inverse) in &generators {
                let conjugate = group.multiply(&group.multiply(h, &members[next]), inverse);
                let mark = &mut classes.class_of[conjugate.index() as usize];
                if *mark == UNSEEN {
                    *mark = class;
                    members.push(conjugate);
                }
            }
            next += 1;
        }
        classes.representatives.push(representative);
        classes.sizes.push(members.len());
    }
    Ok(classes)
}

impl ConjugacyClasses {
    /// The number of the class that holds g, an element of the group.
    pub fn class_of(&self, g: &Element) -> usize {
        self.class_of[g.index() as usize] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::PermutationGroup;

    #[test]
    fn classes_of_s4_are_the_cycle_types() {
        let s4 = PermutationGroup::symmetric(4).unwrap();
        let classes = conjugacy_classes(&s4).unwrap();
        assert_eq!(classes.sizes, [1, 6, 8, 3, 6]);
        let class = |word: [u32; 4]| classes.class_of(&s4.element(&word).unwrap());
        assert_eq!(class([1, 2, 3, 0]), class([1, 3, 0, 2])); // both are 4-cycles
        assert_ne!(class([1, 0, 3, 2]), class([1, 0, 2, 3]));
        for (number, g) in classes.representatives.iter().enumerate() {
            assert_eq!(classes.class_of(g), number);
        }
    }
}
