//! Broken groups and representations do not pass the laws: each fault below trips one of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use faer::Mat;
use reynolds::group::{self, Element, Group, GroupRef};
use reynolds::haar::Quadrature;
use reynolds::irrep::Irrep;
use reynolds::rep::{self, Rep, Representation, SignedPermutation};
use reynolds_testkit::laws::{assert_group_laws, assert_representation_laws};

/// S3 with a fault.
#[derive(Debug)]
struct Broken {
    inner: GroupRef,
    fault: &'static str,
}

impl Group for Broken {
    fn name(&self) -> String {
        format!("S3 with a fault: {}", self.fault)
    }
    fn order(&self) -> Option<u128> {
        self.inner.order()
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        let product = self.inner.multiply(g, h);
        // Exchange two products of elements that are not the identity.
        match (self.fault, g.index(), h.index()) {
            ("product", 1, 2) => self.inner.multiply(g, &Element::Finite(3)),
            ("product", 1, 3) => self.inner.multiply(g, &Element::Finite(2)),
            _ => product,
        }
    }
    fn inverse(&self, g: &Element) -> Element {
        if self.fault == "inverse" { g.clone() } else { self.inner.inverse(g) }
    }
    fn generators(&self) -> Vec<Element> {
        let mut generators = self.inner.generators();
        if self.fault == "generators" {
            generators.pop();
        }
        generators
    }
    fn transversals(&self) -> reynolds::Result<Vec<Vec<Element>>> {
        let mut transversals = self.inner.transversals()?;
        if self.fault == "transversals" {
            transversals.reverse();
        }
        Ok(transversals)
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        let standard = rep::permutation(&self.inner).ok()?.matrix(g);
        let scale = if self.fault == "point matrix" && g.index() == 4 { f64::NAN } else { 1.0 };
        Some(faer::Scale(scale) * standard)
    }
    fn point_permutation(&self, g: &Element) -> Option<Vec<u32>> {
        let g = if self.fault == "point permutation" { self.inner.inverse(g) } else { g.clone() };
        self.inner.point_permutation(&g)
    }
    fn quadrature(&self, degree: usize) -> reynolds::Result<Quadrature> {
        let mut rule = self.inner.quadrature(degree)?;
        if self.fault == "weights" {
            rule.weights[0] += 0.1;
            rule.weights[1] -= 0.1;
        }
        Ok(rule)
    }
    fn irreps(self: Arc<Self>, max_degree: usize) -> reynolds::Result<Vec<Irrep>> {
        let mut irreps = self.inner.clone().irreps(max_degree)?;
        match self.fault {
            "missing irrep" => drop(irreps.pop()),
            // Two copies of one character in place of the trivial one and the sign: dimensions still add up.
            "repeated irrep" => irreps[2] = Irrep::of_real_type("sign", irreps[0].rep().clone()),
            _ => {}
        }
        Ok(irreps)
    }
}

fn breaks(check: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

#[test]
fn every_fault_of_a_group_is_found() {
    let group = |fault| -> GroupRef { Arc::new(Broken { inner: group::parse("S3").unwrap(), fault }) };
    assert_group_laws(&group("none"));
    let elements = ["product", "inverse", "generators", "transversals", "point matrix", "point permutation"];
    for fault in elements.into_iter().chain(["weights", "missing irrep", "repeated irrep"]) {
        assert!(breaks(|| assert_group_laws(&group(fault))), "{fault} went unnoticed");
    }
}

/// The matrices, characters and signed permutations of up to three different representations.
#[derive(Debug)]
struct Patchwork {
    matrix: Rep,
    character: Rep,
    signed: Rep,
    scale: f64,
}

impl Representation for Patchwork {
    fn group(&self) -> &GroupRef {
        self.matrix.group()
    }
    fn dim(&self) -> usize {
        self.matrix.dim()
    }
    fn label(&self) -> String {
        "patchwork".into()
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        faer::Scale(self.scale) * self.matrix.matrix(g)
    }
    fn character(&self, g: &Element) -> f64 {
        self.character.character(g)
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        self.signed.signed_permutation(g)
    }
    /// Lower than that of its matrix elements, if G is continuous.
    fn degree(&self) -> usize {
        self.matrix.degree().saturating_sub(2)
    }
}

#[test]
fn every_fault_of_a_representation_is_found() {
    let c4 = group::parse("C4").unwrap();
    let irrep: Rep = c4.clone().irreps(0).unwrap()[1].clone().into();
    let two = rep::sum(&c4, &[(2, rep::trivial(&c4))]).unwrap();
    let patchwork = |matrix: &Rep, character: &Rep, signed: &Rep, scale| -> Rep {
        Arc::new(Patchwork { matrix: matrix.clone(), character: character.clone(), signed: signed.clone(), scale })
    };
    assert_representation_laws(&patchwork(&irrep, &irrep, &irrep, 1.0));
    for (fault, broken) in [
        ("character", patchwork(&irrep, &two, &irrep, 1.0)),
        ("signed permutation", patchwork(&irrep, &irrep, &two, 1.0)),
        ("unitarity", patchwork(&irrep, &irrep, &irrep, 2.0)),
        ("sign of the identity", patchwork(&irrep, &irrep, &irrep, -1.0)),
        ("NaN", patchwork(&irrep, &irrep, &irrep, f64::NAN)),
    ] {
        assert!(breaks(|| assert_representation_laws(&broken)), "{fault} went unnoticed");
    }
    let so3 = group::parse("SO3").unwrap();
    let tensor: Rep = so3.irreps(2).unwrap()[2].clone().into();
    assert!(breaks(|| assert_representation_laws(&patchwork(&tensor, &tensor, &tensor, 1.0))), "degree went unnoticed");
}
