//! From fields and a shape to a projector.

use std::sync::Arc;

use super::{ExactAction, Role, SymmetryPlan, TypedTensor};
use crate::defect::Displacements;
use crate::error::{Error, Result};
use crate::group::{self, Homomorphism, PermutationGroup};
use crate::projection::{Basis, Fields, KernelSpace, Lowered, derive};
use crate::rep::{self, Grid, Rep, SignedPermutation};
use crate::steerable::RingsConfig;

/// Groups that map a grid to itself, the largest first.
const GRID_GROUPS: [&str; 9] = ["Oh", "O", "Th", "Td", "T", "D4", "C4", "D2", "C2"];

/// A projector and, if there is an exact one, its action.
type Made = (Arc<Lowered>, Option<ExactAction>);

/// Makes the layers of a plan. Layers that differ in their names only share one projector.
#[derive(Debug)]
pub(super) struct Builder<'a> {
    plan: &'a SymmetryPlan,
    made: Vec<(Kind, Made)>,
}

/// What a projector depends on; representations are compared by value.
#[derive(Debug)]
struct Kind {
    role: Role,
    shape: Vec<usize>,
    /// For biases and scales the codomain.
    domain: Rep,
    codomain: Rep,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        (self.role, &self.shape) == (other.role, &other.shape)
            && rep::same(&self.domain, &other.domain)
            && rep::same(&self.codomain, &other.codomain)
    }
}

impl<'a> Builder<'a> {
    pub(super) fn new(plan: &'a SymmetryPlan) -> Self {
        Self { plan, made: Vec::new() }
    }

    /// A linear map or kernel of this shape between fields of the plan's group.
    pub(super) fn weight(
        &mut self,
        name: &str,
        shape: &[usize],
        (domain, codomain): (&Rep, &Rep),
    ) -> Result<TypedTensor> {
        let (domain, codomain) = (domain.clone(), codomain.clone());
        self.typed(name, Kind { role: Role::Weight, shape: shape.to_vec(), domain, codomain })
    }

    /// A tensor of one number per channel.
    pub(super) fn channels(&mut self, name: &str, shape: &[usize], fields: &Rep, role: Role) -> Result<TypedTensor> {
        let (domain, codomain) = (fields.clone(), fields.clone());
        self.typed(name, Kind { role, shape: shape.to_vec(), domain, codomain })
    }

    fn typed(&mut self, name: &str, kind: Kind) -> Result<TypedTensor> {
        let known = self.made.iter().find(|(known, _)| *known == kind).map(|(_, made)| made.clone());
        let is_new = known.is_none();
        let (projector, exact) = match (known, kind.role) {
            (Some(made), _) => made,
            (None, Role::Weight) => weight(self.plan, &kind)?,
            (None, role) => (channels(self.plan, &kind.shape, &kind.codomain, role)?, None),
        };
        let tensor = TypedTensor {
            name: name.into(),
            shape: kind.shape.clone(),
            role: kind.role,
            domain: if kind.role == Role::Weight { kind.domain.label() } else { String::new() },
            codomain: kind.codomain.label(),
            projector: projector.clone(),
            exact: exact.clone(),
            warnings: vec![],
            sampling: None,
        };
        if is_new {
            self.made.push((kind, (projector, exact)));
        }
        Ok(tensor)
    }
}

/// Fields restricted to the subgroup the plan projects onto, kind by kind, so that equal fields stay recognisable.
fn restrict(plan: &SymmetryPlan, fields: &Rep) -> Result<Rep> {
    plan.restriction.as_ref().map_or_else(|| Ok(fields.clone()), |inclusion| pull_back(inclusion, fields))
}

fn pull_back(inclusion: &Homomorphism, fields: &Rep) -> Result<Rep> {
    let whole = [(1, fields.clone())];
    let parts = fields.summands().unwrap_or(&whole);
    let parts: Vec<(usize, Rep)> =
        parts.iter().map(|(copies, part)| Ok((*copies, inclusion.pull_back(part)?))).collect::<Result<_>>()?;
    rep::sum(inclusion.source(), &parts)
}

fn weight(plan: &SymmetryPlan, Kind { shape, domain, codomain, .. }: &Kind) -> Result<Made> {
    if !matches!(shape.len(), 2..=5) {
        return Err(Error::shape(
            "a weight",
            "[out, in] or [out, in, k…] with one to three axes",
            format!("{shape:?}"),
        ));
    }
    for (side, fields, channels) in [("output", codomain, shape[0]), ("input", domain, shape[1])] {
        if fields.dim() != channels {
            let what = format!("{side} fields \"{}\"", fields.label());
            return Err(Error::shape(what, format!("{} {side} channels", fields.dim()), format!("{channels}")));
        }
    }
    let (domain, codomain) = (restrict(plan, domain)?, restrict(plan, codomain)?);
    let sides = &shape[2..];
    if sides.is_empty() {
        return exact(KernelSpace::dense(&domain, &codomain)?);
    }
    match Grid::of_shape(domain.group(), sides) {
        Ok(grid) => exact(KernelSpace::kernel(&domain, &codomain, &grid)?),
        Err(_) if has_band(domain.group(), sides) => {
            let basis = Basis::derive(&domain, &codomain, sides[0], sides.len(), &RingsConfig::default())?;
            Ok((Arc::new(Lowered::Basis(Box::new(basis))), grid_action(&domain, &codomain, sides)?))
        }
        Err(error) => Err(error),
    }
}

/// Whether smooth kernels of a point group stand in where the grid has no such symmetry.
fn has_band(group: &group::GroupRef, sides: &[usize]) -> bool {
    let space = group.point_matrix(&group.identity()).map(|matrix| matrix.nrows());
    sides.len() >= 2 && space.is_some_and(|space| space <= sides.len()) && sides.iter().all(|side| *side == sides[0])
}

fn exact(space: KernelSpace) -> Result<Made> {
    let projector = Arc::new(derive(&space)?);
    let displacements = Displacements::derive(&space).map(Arc::new);
    Ok((projector.clone(), Some(ExactAction { space, projector, displacements })))
}

/// The action of the largest subgroup that maps the grid to itself, for a group that does not.
fn grid_action(domain: &Rep, codomain: &Rep, sides: &[usize]) -> Result<Option<ExactAction>> {
    for name in GRID_GROUPS {
        let Ok(inclusion) = group::subgroup(domain.group(), name) else { continue };
        let Ok(grid) = Grid::of_shape(inclusion.source(), sides) else { continue };
        let space = KernelSpace::kernel(&pull_back(&inclusion, domain)?, &pull_back(&inclusion, codomain)?, &grid)?;
        return Ok(exact(space)?.1);
    }
    Ok(None)
}

fn channels(plan: &SymmetryPlan, shape: &[usize], fields: &Rep, role: Role) -> Result<Arc<Lowered>> {
    if shape != [fields.dim()] {
        let what = format!("fields \"{}\" of a {}", fields.label(), role.name());
        return Err(Error::shape(what, format!("[{}]", fields.dim()), format!("{shape:?}")));
    }
    let fields = restrict(plan, fields)?;
    let space = match role {
        Role::Scale => constant_inside(&fields)?,
        _ => KernelSpace::features(&fields, None)?,
    };
    Ok(Arc::new(derive(&space)?))
}

/// Diagonals that commute with the fields: equal entries wherever some π(g) mixes two channels. They are the fixed vectors of the group that
/// permutes the channels of each such block cyclically.
fn constant_inside(fields: &Rep) -> Result<KernelSpace> {
    let dim = fields.dim();
    let fields = Fields::of(fields);
    let blocks: Vec<_> = fields.kinds.iter().map(mixed_channels).collect();
    let mut image = vec![0; dim];
    for &(kind, start) in &fields.placed {
        for block in &blocks[kind] {
            for (at, &channel) in block.iter().enumerate() {
                image[start + channel] = (start + block[(at + 1) % block.len()]) as u32;
            }
        }
    }
    let group: group::GroupRef = Arc::new(PermutationGroup::new(&[image])?);
    KernelSpace::features(&rep::permutation(&group)?, None)
}

/// The channels of a field, split into the blocks that its group mixes.
fn mixed_channels(field: &Rep) -> Vec<Vec<usize>> {
    let n = field.dim();
    let mut block: Vec<usize> = (0..n).collect();
    let mut join = |a: usize, b: usize| {
        let (from, to) = (block[a], block[b]);
        if from != to {
            block.iter_mut().filter(|other| **other == from).for_each(|other| *other = to);
        }
    };
    for g in field.group().generators() {
        match field.signed_permutation(&g) {
            Some(SignedPermutation { image, .. }) => {
                image.iter().enumerate().for_each(|(from, &to)| join(from, to as usize))
            }
            None => {
                let matrix = field.matrix(&g);
                let pairs = (0..n * n).map(|at| (at / n, at % n));
                pairs.filter(|&(i, j)| matrix[(i, j)].abs() > 1e-9).for_each(|(i, j)| join(i, j));
            }
        }
    }
    let mut blocks: Vec<Vec<usize>> = vec![Vec::new(); n];
    block.iter().enumerate().for_each(|(channel, &name)| blocks[name].push(channel));
    blocks.retain(|members| !members.is_empty());
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Rule;
    use crate::projection::Projector;

    fn fields(group: &str, text: &str) -> Rep {
        rep::parse_fields(&group::parse(group).unwrap(), text).unwrap()
    }

    fn plan(group: &str) -> SymmetryPlan {
        let rule = Rule { name: "*".into(), codomain: "1 trivial".into(), ..Rule::default() };
        SymmetryPlan::of_rules(&group::parse(group).unwrap(), vec![rule]).unwrap()
    }

    #[test]
    fn a_scale_is_constant_inside_fields_where_a_bias_must_vanish() {
        let (plan, fields) = (plan("SO3"), fields("SO3", "1x0 + 1x1"));
        let projected = |role| channels(&plan, &[4], &fields, role).unwrap().project(&[5.0, 1.0, 2.0, 6.0]).unwrap();
        assert_eq!(projected(Role::Scale), [5.0, 3.0, 3.0, 3.0]);
        assert_eq!(projected(Role::Bias), [5.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_band_limited_layer_knows_the_rotations_of_its_grid() {
        let (plan, fields) = (plan("SO2"), fields("SO2", "1x(0..1)"));
        let mut builder = Builder::new(&plan);
        let layer = builder.weight("w", &[3, 3, 5, 5], (&fields, &fields)).unwrap();
        assert!(layer.is_band_limited());
        assert_eq!(layer.exact.unwrap().space.group().name(), "C4");
        assert!(builder.weight("w", &[3, 3, 5, 3], (&fields, &fields)).is_err());
    }

    #[test]
    fn equal_layers_share_a_projector_and_others_do_not() {
        let (plan, read) = (plan("C4"), |text| fields("C4", text));
        let mut builder = Builder::new(&plan);
        let (mixed, apart) = ("regular + 4 trivial", "regular + irrep(0) + 3 trivial");
        let cases =
            [(3, mixed, mixed), (3, apart, apart), (5, mixed, mixed), (3, "8 trivial", mixed), (3, mixed, "8 trivial")];
        let made = cases.map(|(side, domain, codomain)| {
            builder.weight("w", &[8, 8, side, side], (&read(domain), &read(codomain))).unwrap()
        });
        for (i, j) in (0..made.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
            assert_eq!(Arc::ptr_eq(&made[i].projector, &made[j].projector), (i, j) == (1, 0), "{i} {j}");
        }
        // Each keeps the words it was typed with.
        assert_eq!(
            [&*made[0].codomain, &*made[1].codomain],
            ["1 regular + 4 trivial", "1 regular + 1 irrep(0) + 3 trivial"]
        );
        let [bias, scale] = [Role::Bias, Role::Scale].map(|role| builder.channels("c", &[8], &read(mixed), role));
        assert!(!Arc::ptr_eq(&bias.unwrap().projector, &scale.unwrap().projector));
        assert!(builder.channels("c", &[5], &read(mixed), Role::Bias).is_err());
    }

    #[test]
    fn a_smaller_group_keeps_more() {
        let (plan, fields) = (plan("D4"), fields("D4", "1 regular"));
        let rank =
            |plan: &SymmetryPlan| Builder::new(plan).weight("w", &[8, 8, 3, 3], (&fields, &fields)).unwrap().rank();
        assert_eq!(rank(&plan), 8 * 8 * 9 / 8);
        assert_eq!(rank(&plan.restricted_to("C4").unwrap()), 8 * 8 * 9 / 4);
        assert_eq!(rank(&plan.restricted_to("C1").unwrap()), 8 * 8 * 9);
    }
}
