//! The stages that DICDNet and OSCNet share.
//!
//! ```text
//! P = C_p ⋆ L,  [X₀; P] = Xnet₀([L; P])
//! t = 1:      M = Mnet₁((F₀/10)ᵀ⋆ ReLU(I⊙(Y − X₀) − τ))
//! t = 2 … T:  M ← Mnet_t(Q M + (η^M/10) (F/10)ᵀ⋆ I⊙(Y − X − A))                Q = 1 for t = 2
//! each:       A = (F/10) ⋆ M,   X ← X + (η^X/10) I⊙(Y − X − A),   [X; P] ← Xnet_t([X; P])
//! end:        X of Xnet_{T+1}([X; P])
//! ```
//!
//! Q = Q₂Q₁ are 1 × 1 convolutions, in DICDNet alone. A ReLU before them would change nothing: maps that leave an M-net are not negative.

use reynolds::random::Random;
use tch::Tensor;

use super::nets::{self, Nets};
use super::{Corrupted, Held, MarNetConfig, Pass, Reducer, Reduction, Seen, bands, dictionary};
use crate::ct::networks::RotatedKernels;
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// Maps of the dictionary, 9 · 4.
pub(super) const MAPS: usize = 36;
/// The side of its kernels.
pub(super) const SIDE: usize = 9;
/// What kernels of dictionaries and sizes of steps are divided by.
pub(super) const DIVISOR: f64 = 10.0;

/// A network of stages.
#[derive(Debug)]
pub(super) struct Stages {
    nets: Nets,
    mixed: bool,
    /// What the kernels of the dictionaries are made with; `None` if they are free.
    turned: Option<RotatedKernels>,
}

impl Stages {
    /// Adds all parameters but those of the dictionaries and of the mixing.
    pub(super) fn new(
        config: &MarNetConfig,
        mixed: bool,
        turned: Option<RotatedKernels>,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let stages = config.stages;
        let nets = Nets::new(config, stages, MAPS, builder, random)?;
        builder.real("step.x", &[stages], &vec![5.0; stages])?;
        builder.real("step.m", &[stages - 1], &vec![1.0; stages - 1])?;
        Ok(Self { nets, mixed, turned })
    }

    /// The kernels of a dictionary as a matrix, divided.
    fn dictionary(&self, parameters: &Parameters, name: &str) -> Result<Tensor> {
        let weights = parameters.get(name)?;
        let kernels = match &self.turned {
            Some(turned) => turned.kernels(&weights)?,
            None => weights,
        };
        Ok(dictionary::matrix(&kernels)?.f_div_scalar(DIVISOR)?)
    }
}

impl Reducer for Stages {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let mut assembled =
            vec![self.dictionary(parameters, "dictionary.start")?, self.dictionary(parameters, "dictionary")?];
        assembled.push(nets::auxiliary(parameters, pass)?);
        if self.mixed {
            assembled.push(nets::mixing(parameters, MAPS)?);
        }
        assembled.extend(self.nets.assemble(parameters, pass)?);
        Ok(assembled)
    }

    fn forward(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        input: &Corrupted,
        pass: Pass,
        mut seen: Option<&mut Seen<'_>>,
    ) -> Result<Reduction> {
        let mut rest = assembled;
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(count);
            rest = left;
            taken
        };
        let (fixed, mixing) = (take(3), take(usize::from(self.mixed)).first());
        let steps =
            |name: &str| -> Result<Vec<Tensor>> { Ok(parameters.get(name)?.f_div_scalar(DIVISOR)?.f_unbind(0)?) };
        let (steps_x, steps_m) = (steps("step.x")?, steps("step.m")?);

        let others = pass.precision.cast(&bands::analyse(&fixed[2], &input.interpolated)?)?;
        let net = &self.nets.x[0];
        let (start, mut others) = net.forward(
            parameters,
            take(net.assembled(pass.mode)),
            (&input.interpolated, &others),
            pass,
            seen.as_deref_mut(),
        )?;
        let (mut images, mut artefacts) = (Vec::new(), Vec::<Tensor>::new());
        let mut image = start.shallow_clone();
        let mut maps: Option<Tensor> = None;
        for (stage, (m, x)) in self.nets.stages().enumerate() {
            let missing = input.image.f_sub(&image)?;
            let mut guess = match (maps.take(), artefacts.last()) {
                (Some(maps), Some(artefact)) => {
                    let step = missing.f_sub(artefact)?.f_mul(&input.keep)?.f_mul(&steps_m[stage - 1])?;
                    let maps = match mixing.filter(|_| stage > 1) {
                        Some(matrix) => mix(matrix, &maps)?,
                        None => maps,
                    };
                    // Not in place: the gradient of that, of a view, would be two copies, the last in the other layout.
                    bands::analyse(&fixed[1], &step)?.f_add(&maps)?
                }
                _ => {
                    let outside = missing.f_mul(&input.keep)?.f_sub(&parameters.get("threshold")?)?.f_relu_()?;
                    bands::analyse(&fixed[0], &outside)?
                }
            };
            let seen_m = seen.as_deref_mut().filter(|_| self.nets.held == Held::Xm);
            guess = m.forward(parameters, take(m.assembled(pass.mode)), &guess, pass, seen_m)?;
            let artefact = bands::compose(&fixed[1], &guess)?;
            let step = missing.f_sub(&artefact)?.f_mul(&input.keep)?.f_mul(&steps_x[stage])?;
            let moved = image.f_add(&step)?;
            let part = take(x.assembled(pass.mode));
            (image, others) = x.forward(parameters, part, (&moved, &others), pass, seen.as_deref_mut())?;
            images.push(image.shallow_clone());
            artefacts.push(artefact);
            maps = Some(guess);
        }
        let net = self.nets.last();
        let part = take(net.assembled(pass.mode));
        images.push(net.forward(parameters, part, (&image, &others), pass, seen)?.0);
        Ok(Reduction { start, images, artefacts, early_images: Vec::new(), early_artefacts: Vec::new() })
    }

    fn held(&self) -> Vec<String> {
        self.nets.kernels()
    }
}

/// Q M, Q `[C, C]`, M `[N, C, H, W]`.
pub(super) fn mix(matrix: &Tensor, maps: &Tensor) -> Result<Tensor> {
    let last = maps.f_permute([0, 2, 3, 1])?;
    if last.is_contiguous() {
        return Ok(last.f_matmul(&matrix.f_transpose(0, 1)?)?.f_permute([0, 3, 1, 2])?);
    }
    let size = maps.size();
    let matrix = matrix.f_expand([size[0], size[1], size[1]], false)?;
    Ok(matrix.f_bmm(&maps.f_flatten(2, 3)?)?.f_view(size.as_slice())?)
}
