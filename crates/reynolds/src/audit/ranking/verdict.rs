//! What a contest comes to, and in words.

use super::super::Total;
use crate::plan::UniformFields;

/// What was found on some tensors or on one.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Name of the group; `None` if nothing is significant.
    pub group: Option<String>,
    /// Deviation from chance in standard deviations, at the weakest step of the climb, or of the best group that was refused.
    pub z: Option<f64>,
    /// Probability of that by chance, corrected for the number of groups tried.
    pub p: f64,
    /// Groups with the same orbits on every kernel.
    pub same_as: Vec<String>,
    /// Groups of prime order that are beyond chance by themselves, but not together with `group`.
    pub also: Vec<String>,
}

/// One candidate, against random signs of all weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Name of the group.
    pub group: String,
    /// Energy, chance and excess.
    pub total: Total,
    /// Deviation from chance in standard deviations; `None` where it has nothing to act on.
    pub z: Option<f64>,
    /// Probability of that by chance, corrected for the number of candidates.
    pub p: f64,
    /// Groups with the same orbits on every kernel.
    pub same_as: Vec<String>,
}

/// The symmetry of tensors of one kind.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The tensors.
    pub what: String,
    /// The fields that the channels of kernels were taken for; `None` for linear layers.
    pub fields: Option<UniformFields>,
    /// The group of all of them together.
    pub found: Found,
    /// The group of each tensor with numbers other than zero; its p is also corrected for the number of tensors.
    pub layers: Vec<(String, Found)>,
    /// All candidates, the largest z first.
    pub groups: Vec<Ranked>,
}

impl Ranking {
    /// The verdict in one line, with z and p as in the row of the group it names.
    pub fn verdict(&self) -> String {
        let row = |is_it: &dyn Fn(&Ranked) -> bool| self.groups.iter().find(|row| is_it(row));
        let numbers = |row: Option<&Ranked>| {
            let (z, p) = row.map_or((self.found.z, self.found.p), |row| (row.z, row.p));
            format!("z {:.1}, corrected p {}", z.unwrap_or_default(), probability(p))
        };
        match (&self.found.group, self.found.z) {
            (None, None) => "nothing to compare: the candidates move no weight that is not zero".into(),
            (None, Some(_)) => {
                let best = row(&|row| row.z == self.found.z);
                let name = best.map_or(String::new(), |row| format!("{}, ", row.group));
                format!("no symmetry beyond chance; nearest to one: {name}{}", numbers(best))
            }
            (Some(group), z) => {
                let names = [std::slice::from_ref(group), &self.found.same_as[..]].concat().join(" = ");
                let named = row(&|row| row.group == *group);
                let excess = named.and_then(|row| row.total.excess());
                let weakest = match named {
                    Some(row) if row.z != z => {
                        format!("; least certain step to it: {}", numbers(None))
                    }
                    _ => String::new(),
                };
                let meaning = meaning(group).map_or(String::new(), |words| format!(" ({words})"));
                let also = match &self.found.also[..] {
                    [] => String::new(),
                    also => format!("; beyond chance alone, but adding nothing to {group}: {}", also.join(", ")),
                };
                format!(
                    "{names}{meaning}: {}, excess {:.2} of 1{weakest}{also}",
                    numbers(named),
                    excess.unwrap_or_default()
                )
            }
        }
    }
}

/// A probability with two digits.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 1e-99 => "< 1e-99".into(),
        p if p < 0.01 => format!("{p:.1e}"),
        p => format!("{p:.2}"),
    }
}

/// What a group of the plane does to pixels, in words.
pub fn meaning(group: &str) -> Option<&'static str> {
    Some(match group {
        "flip" => "left-right mirror",
        "flip-ud" => "up-down mirror",
        "flip-diag" => "transpose",
        "flip-anti" => "mirror in the other diagonal",
        "C2" => "half turn",
        "C4" => "quarter turns",
        "D2" => "left-right and up-down mirrors",
        "D2-diag" => "both diagonal mirrors",
        "D4" => "quarter turns and mirrors",
        _ => return None,
    })
}
