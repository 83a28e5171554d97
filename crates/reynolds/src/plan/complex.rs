//! Complex tensors, whose fields are characters of SO(2).

use std::sync::Arc;

use faer::c64;

use super::{Rule, RuleKind, SymmetryPlan};
use crate::error::{Error, Result};
use crate::irreps::Irreps;
use crate::projection::{KernelSpace, Lowered, derive};
use crate::rep::Rep;

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
    use crate::plan::SymmetryPlan;
    use crate::projection::Projector;

    #[test]
    fn real_and_complex_tensors_stand_in_one_plan_and_equal_ones_share_a_projector() {
        let mix = "[[layer]]\nname = \"mix.*\"\ndomain = \"1x(-1..1)\"\ncodomain = \"1x(-1..1)\"\n";
        let head = "[[layer]]\nname = \"head\"\ndomain = \"1x0 + 1x1\"\ncodomain = \"1x0\"\n";
        let plan = SymmetryPlan::from_toml(&format!("group = \"SO2\"\n{mix}{head}")).unwrap();
        let [head, free] = ["head", "free"].map(|name| (name.to_string(), vec![1, 3]));
        let complex = ["mix.0", "mix.1", "rest"].map(|name| (name.to_string(), vec![3, 3]));
        let resolved = plan.resolve_with_complex(&[head, free], &complex).unwrap();
        assert_eq!((resolved.layers.len(), resolved.layers[0].rank()), (1, 1));
        let [first, second] = &resolved.complex[..] else { panic!("two tensors match") };
        assert!(std::sync::Arc::ptr_eq(&first.projector, &second.projector));
        let ones = vec![faer::c64::new(1.0, 0.0); 9];
        let kept: Vec<f64> = first.projector.project(&ones).unwrap().iter().map(|number| number.re).collect();
        assert_eq!(kept, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(resolved.untyped.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(), ["free", "rest"]);
    }
}
