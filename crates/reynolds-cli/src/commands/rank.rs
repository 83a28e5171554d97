//! Which symmetry do the weights have?

use anyhow::{Context, Result};
use rayon::prelude::*;
use reynolds::audit::ranking::{Contest, Ranking};
use reynolds::plan::UniformFields;

use crate::model::Model;

/// Compares the candidate groups on kernels and on linear layers, where the model has such.
pub(super) fn rankings(model: &Model, fields: UniformFields) -> Result<Vec<Ranking>> {
    let judged = |contest: &Contest| -> Result<Ranking> {
        let names: Vec<&str> = contest.tensors().collect();
        let weigh = |(number, name): (usize, &&str)| {
            let weighed = contest.weigh(number, &model.read(name)?)?;
            model.release(name);
            Ok(weighed)
        };
        let weighed = names.par_iter().enumerate().map(weigh).collect::<Result<Vec<_>>>();
        Ok(contest.judge(&weighed.with_context(|| model.file())?))
    };
    // A tied tensor is evidence once.
    let once: Vec<_> =
        model.network.tensors.iter().filter(|(name, _)| !model.tied.contains_key(name)).cloned().collect();
    Contest::all(&once, fields)?.iter().map(judged).collect()
}
