//! Complex tensors, whose fields are characters of SO(2).

use std::sync::Arc;

use faer::c64;

use super::{ExactAction, Role, Rule, RuleKind, SymmetryPlan, TypedTensor};
use crate::error::{Error, Result};
use crate::irreps::Irreps;
use crate::projection::{KernelSpace, Lowered, derive};
use crate::rep::{self, Rep};

/// A complex tensor with fields and the projector onto its equivariant values.
#[derive(Debug, Clone)]
pub struct ComplexTensor {
    /// Name of the tensor.
    pub name: String,
    /// `[out, in]`.
    pub shape: Vec<usize>,
    /// Fields of the input channels.
    pub domain: String,
    /// Fields of the output channels.
    pub codomain: String,
    /// The projector onto the equivariant tensors.
    pub projector: Arc<Lowered<c64>>,
}

impl SymmetryPlan {
    /// A complex tensor of this plan as real numbers, `[out, in]` pairs of real and imaginary part: the entry between channels of orders m
    /// and m′ is a plane that turns m′ − m times as fast as the group, so that the defect is the same.
    pub fn pairs(&self, tensor: &ComplexTensor) -> Result<TypedTensor> {
        let orders = |text: &str| text.parse::<Irreps>().map(|irreps| irreps.orders());
        let (out, into) = (orders(&tensor.codomain)?, orders(&tensor.domain)?);
        let turns = || out.iter().flat_map(|m| into.iter().map(move |n| m.abs_diff(*n) as usize));
        let degree = turns().max().unwrap_or(0);
        let real: Irreps = format!("1x(0..{degree})").parse()?;
        let real = real.real_rep(&self.group)?;
        let planes = real.summands().unwrap_or_default().iter().map(|(_, plane)| {
            let moved = self.restriction.as_ref().map_or(Ok(plane.clone()), |inclusion| inclusion.pull_back(plane))?;
            // The real and the imaginary part of an entry that does not turn.
            Ok((if plane.dim() == 1 { 2 } else { 1 }, moved))
        });
        let planes = planes.collect::<Result<Vec<_>>>()?;
        let entries: Vec<(usize, Rep)> = turns().map(|turns| planes[turns].clone()).collect();
        let space = KernelSpace::features(&rep::sum(planes[0].1.group(), &entries)?, None)?;
        let projector = Arc::new(derive(&space)?);
        Ok(TypedTensor {
            name: tensor.name.clone(),
            shape: tensor.shape.clone(),
            role: Role::Weight,
            domain: tensor.domain.clone(),
            codomain: tensor.codomain.clone(),
            projector: projector.clone(),
            exact: Some(ExactAction { space, projector, displacements: None }),
            warnings: vec![],
            sampling: None,
        })
    }
}

/// A tensor with the fields of its rule; shares the projector of an equal one among `known`.
pub(super) fn typed(
    plan: &SymmetryPlan,
    rule: &Rule,
    (name, shape): (&str, &[usize]),
    known: &[ComplexTensor],
) -> Result<ComplexTensor> {
    if let Some(kind) = rule.kind.filter(|&kind| kind != RuleKind::Weight) {
        return Err(rule.error("kind", "weight, for complex numbers", format!("{kind:?}").to_lowercase()));
    }
    let domain = rule.domain.clone().ok_or_else(|| rule.error("domain", "a domain for a weight", "none"))?;
    let codomain = rule.codomain.clone();
    let same = |known: &&ComplexTensor| (&known.domain, &known.codomain) == (&domain, &codomain);
    let (expected, projector) = match known.iter().find(same) {
        Some(known) => (known.shape.clone(), known.projector.clone()),
        None => {
            let space = KernelSpace::dense(&fields(plan, &domain)?, &fields(plan, &codomain)?)?;
            (space.shape(), Arc::new(derive(&space)?))
        }
    };
    if shape != expected {
        return Err(Error::shape("complex weights", format!("{expected:?}"), format!("{shape:?}")));
    }
    Ok(ComplexTensor { name: name.into(), shape: shape.to_vec(), domain, codomain, projector })
}

/// Characters, restricted to the subgroup the plan projects onto.
fn fields(plan: &SymmetryPlan, text: &str) -> Result<Rep<c64>> {
    let fields = text.parse::<Irreps>()?.complex_rep(plan.group())?;
    plan.restriction.as_ref().map_or(Ok(fields.clone()), |inclusion| inclusion.pull_back(&fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit;
    use crate::defect;
    use crate::plan::Network;
    use crate::projection::Projector;
    use crate::random::Random;

    #[test]
    fn real_and_complex_tensors_stand_in_one_plan_and_equal_ones_share_a_projector() {
        let mix = "[[layer]]\nname = \"mix.*\"\ndomain = \"1x(-1..1)\"\ncodomain = \"1x(-1..1)\"\n";
        let head = "[[layer]]\nname = \"head\"\ndomain = \"1x0 + 1x1\"\ncodomain = \"1x0\"\n";
        let plan = SymmetryPlan::from_toml(&format!("group = \"SO2\"\n{mix}{head}")).unwrap();
        let [head, free] = ["head", "free"].map(|name| (name.to_string(), vec![1, 3]));
        let complex = ["mix.0", "mix.1", "rest"].map(|name| (name.to_string(), vec![3, 3]));
        let network = Network { tensors: vec![head, free], complex: complex.to_vec(), ..Network::default() };
        let resolved = plan.resolve_network(&network).unwrap();
        assert_eq!((resolved.layers.len(), resolved.layers[0].rank()), (1, 1));
        let [first, second] = &resolved.complex[..] else { panic!("two tensors match") };
        assert!(std::sync::Arc::ptr_eq(&first.projector, &second.projector));
        let ones = vec![faer::c64::new(1.0, 0.0); 9];
        let kept: Vec<f64> = first.projector.project(&ones).unwrap().iter().map(|number| number.re).collect();
        assert_eq!(kept, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(resolved.untyped.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(), ["free", "rest"]);
    }

    #[test]
    fn the_pairs_of_a_complex_tensor_have_its_projection_and_its_defect() {
        for (restriction, shape) in [(None, vec![6, 5]), (Some("C4"), vec![6, 5]), (None, vec![6, 5, 2])] {
            let layer = "[[layer]]\nname = \"w\"\ndomain = \"1x(-2..2)\"\ncodomain = \"2x(-1..1)\"";
            let plan = SymmetryPlan::from_toml(&format!("group = \"SO2\"\n{layer}")).unwrap();
            let plan = restriction.map_or(plan.clone(), |name| plan.restricted_to(name).unwrap());
            let (tensors, complex) = match shape.len() {
                2 => (vec![], vec![("w".to_string(), shape)]),
                _ => (vec![("w".to_string(), shape)], vec![]),
            };
            let resolved = plan.resolve_network(&Network { tensors, complex, ..Network::default() }).unwrap();
            let tensor = &resolved.complex[0];
            let mut random = Random::new(3);
            let parts: Vec<f64> = (0..60).map(|_| random.normal()).collect();
            let whole: Vec<c64> = parts.chunks_exact(2).map(|pair| c64::new(pair[0], pair[1])).collect();
            let pairs = plan.pairs(tensor).unwrap();
            let expected: Vec<f64> =
                tensor.projector.project(&whole).unwrap().iter().flat_map(|number| [number.re, number.im]).collect();
            let found = pairs.projector.project(&parts).unwrap();
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
            let space =
                KernelSpace::dense(&fields(&plan, &tensor.domain).unwrap(), &fields(&plan, &tensor.codomain).unwrap());
            let bracket = defect::worst(&space.unwrap(), tensor.projector.as_ref(), &whole).unwrap();
            let audit = audit::layer(&pairs, &parts[..]).unwrap();
            let worst = audit.worst.unwrap().bracket;
            assert!((worst.lower / bracket.lower - 1.0).abs() < 1e-3, "{worst:?} {bracket:?}");
            assert!((worst.upper / bracket.upper - 1.0).abs() < 1e-2, "{worst:?} {bracket:?}");
        }
    }
}
