//! Whether a penalty with λ_G = λ_⊥ is weight decay.
//!
//! ```text
//! squared:  2λ P(W) + 2λ (W − P(W)) = 2λ W          plain, whole:  λ W/‖W‖ + λ (W − P(W))/‖W − P(W)‖, parallel to W only by chance
//! ```

use reynolds::penalty::PenaltyConfig;
use reynolds_torch::parameters::{Entry, Parameters};
use reynolds_torch::tch::{self, Kind, Tensor};

use crate::so2::PlaneTask;
use reynolds_train::error::Result;
use reynolds_train::regulariser::Regulariser;
use reynolds_train::task::{Captured, Metrics, Moment, Split, Task};

/// A task with λ_G ‖W‖² on the same weights in place of its penalty, without a projector.
pub(super) struct Decayed(pub(super) PlaneTask);

impl Task for Decayed {
    fn parameters(&self) -> &Parameters {
        self.0.parameters()
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        self.0.parameters_mut()
    }

    fn steps_per_epoch(&self) -> usize {
        self.0.steps_per_epoch()
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        self.0.loss(moment)
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        self.0.captured()
    }

    fn evaluate(&self, split: Split) -> Result<Metrics> {
        self.0.evaluate(split)
    }

    fn regulariser(&self, penalty: PenaltyConfig) -> Result<Option<Box<dyn Regulariser>>> {
        let mask = self.parameters().flat().f_zeros_like()?;
        for entry in regularised(self.parameters()) {
            let _ = mask.f_narrow(0, entry.start as i64, entry.len() as i64)?.f_fill_(1.0)?;
        }
        Ok(Some(Box::new(Decay { lambda: penalty.lambda_g, mask })))
    }
}

/// The weights that the penalty regularises towards SO(2): the complex ones.
fn regularised(parameters: &Parameters) -> impl Iterator<Item = &Entry> {
    parameters.entries().iter().filter(|entry| entry.complex)
}

struct Decay {
    lambda: f64,
    /// 1 for the regularised weights, else 0, `[len]`.
    mask: Tensor,
}

impl Regulariser for Decay {
    fn add_gradient(&self, parameters: &Parameters, gradient: &mut Tensor) -> Result<()> {
        let _ = gradient.f_add_(&parameters.flat().f_mul(&self.mask)?.f_mul_scalar_(2.0 * self.lambda)?)?;
        Ok(())
    }

    fn value(&self, parameters: &Parameters) -> Result<Tensor> {
        let flat = parameters.flat();
        Ok(flat.f_mul(&self.mask)?.f_square()?.f_sum(flat.kind())?.f_mul_scalar(self.lambda)?)
    }

    fn set_lambda_perp(&mut self, _: f64) -> Result<()> {
        Ok(())
    }
}

/// "decay/difference": the largest |w − w′| over the largest |w′|, w trained with the penalty and w′ with weight decay.
/// "decay/cosine": the smallest cosine between a trained weight and the penalty's gradient there; 1 iff that is weight decay of some
/// strength.
pub(super) fn compare(task: &PlaneTask, other: &Decayed, penalty: PenaltyConfig) -> Result<Metrics> {
    let _guard = tch::no_grad_guard();
    let (ours, theirs) = (task.parameters().flat(), other.parameters().flat());
    let largest = |tensor: &Tensor| -> Result<f64> { Ok(tensor.f_abs()?.f_max()?.f_double_value(&[])?) };
    let difference = largest(&ours.f_sub(theirs)?)? / largest(theirs)?;
    let mut gradient = ours.f_zeros_like()?;
    if let Some(regulariser) = task.regulariser(penalty)? {
        regulariser.add_gradient(task.parameters(), &mut gradient)?;
    }
    let mut cosine = 1.0_f64;
    for entry in regularised(task.parameters()) {
        let part = |flat: &Tensor| -> Result<Tensor> {
            Ok(flat.f_narrow(0, entry.start as i64, entry.len() as i64)?.f_to_kind(Kind::Double)?)
        };
        let (weight, slope) = (part(ours)?, part(&gradient)?);
        let dot = |a: &Tensor, b: &Tensor| -> Result<f64> { Ok(a.f_dot(b)?.f_double_value(&[])?) };
        cosine = cosine.min(dot(&weight, &slope)? / (dot(&weight, &weight)? * dot(&slope, &slope)?).sqrt());
    }
    Ok(Metrics::from([("decay/difference".into(), difference), ("decay/cosine".into(), cosine)]))
}

#[cfg(test)]
mod tests {
    use reynolds::penalty::Form;

    use crate::so2::{DiskAndArc, FigureSettings, Spec};
    use crate::targets::Budget;
    use crate::targets::synthetic::train_point;

    fn measured(form: Form) -> (f64, f64) {
        reynolds_train::threads::set(1);
        let mut settings = FigureSettings::<DiskAndArc>::of_budget(Budget::Quick);
        settings.run.train.epochs = 25;
        let spec = Spec { drawn: false, decay: true, ..Spec::penalised(&settings, form, 0.01, 0.01, 0) };
        let metrics = train_point(&spec).unwrap().unwrap().metrics;
        (metrics["decay/difference"], metrics["decay/cosine"])
    }

    #[test]
    fn equal_strengths_are_weight_decay_to_the_last_bit_in_the_squared_form_and_not_in_the_plain_one() {
        let (difference, cosine) = measured(Form::Squared);
        assert_eq!(difference, 0.0);
        assert!((cosine - 1.0).abs() < 1e-12, "{cosine}");
        let (difference, cosine) = measured(Form::Plain);
        assert!(difference > 1e-3 && cosine < 0.9999, "{difference} {cosine}");
    }
}
