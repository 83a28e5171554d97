//! ACDNet: kernels of its own for each slice, mixed from a dictionary of atoms.
//!
//! ```text
//! P = C_p ⋆ L,  [X₀; P] = Xnet₀([L; P]);   R = I⊙(Y − X − A)
//! two early stages with C = D₀/10:
//!   first   M = Mnet(Cᵀ⋆ ReLU(I⊙(Y − X₀) − τ));      second   M ← Mnet(M + (η^M/10) Cᵀ⋆ R), and after it M ← Q₂Q₁M
//! T stages with the d atoms of D:
//!   K ← Knet(G), then Knet(K + η^K/(50 h w) G),      G[n, j] = ⟨(D_j/10) ⋆ M_n, R⟩, with A = 0 in the first of them
//!   C_n = Σ_j K[n, j] D_j/10,  A = Σ_n C_n ⋆ M_n,    M ← Mnet(M + (η^M/10) Cᵀ⋆ R)
//! each:  A = Σ_n C_n ⋆ M_n,  X ← X + (η^X/10) I⊙(Y − X − A),  [X; P] ← Xnet([X; P]);     end: X of Xnet([X; P])
//! ```
//!
//! The responses D_j ⋆ M_n, 256 images a sample, are never made: G is the correlation of M_n and R on 9 × 9 shifts, times the atoms
//! ([`bands`]). A ReLU before Q₁ would change nothing: maps that leave an M-net are not negative. The first entries of
//! `step.m` and `step.k` and the thresholds of the K-nets are in no equation, as published; the count of parameters has them.
//!
//! After Wang et al. (IJCAI 2022), with the mixing of Bai et al. (CVPR 2025).

use reynolds::random::Random;
use tch::Tensor;

use super::k_net::KNet;
use super::nets::{self, Nets};
use super::stages::{DIVISOR, SIDE, mix};
use super::{Corrupted, Held, MarNetConfig, Pass, Reducer, Reduction, Seen, bands, dictionary};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// N, maps and kernels of a sample, 2 · 4.
const MAPS: usize = 8;
/// d, atoms of the dictionary.
const ATOMS: usize = 32;
/// Stages before the kernels adapt.
const EARLY: usize = 2;
/// What steps of the coefficients are divided by, beside the number of pixels.
const COEFFICIENTS_DIVISOR: f64 = 50.0;

#[derive(Debug)]
pub(super) struct Acdnet {
    nets: Nets,
    k: Vec<KNet>,
}

impl Acdnet {
    /// Adds its parameters; dictionaries begin as blobs, and mixing as none.
    pub(super) fn new(config: &MarNetConfig, builder: &mut Builder, random: &mut Random) -> Result<Self> {
        let (adaptive, stages) = (config.stages, config.stages + EARLY);
        let nets = Nets::new(config, stages, MAPS, builder, random)?;
        let k = (0..adaptive).map(|number| KNet::new(builder, number, MAPS * ATOMS, random));
        let k = k.collect::<Result<_>>()?;
        for (name, count, step) in [("step.x", stages, 5.0), ("step.m", stages, 1.0), ("step.k", adaptive, 5.0)] {
            builder.real(name, &[count], &vec![step; count])?;
        }
        builder.real("dictionary.start", &[1, MAPS, SIDE, SIDE], &dictionary::atoms(MAPS, SIDE))?;
        builder.real("dictionary", &[ATOMS, 1, SIDE, SIDE], &dictionary::atoms(ATOMS, SIDE))?;
        nets::add_mixing(builder, MAPS)?;
        Ok(Self { nets, k })
    }
}

impl Reducer for Acdnet {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let kernels =
            |name: &str| -> Result<Tensor> { Ok(dictionary::matrix(&parameters.get(name)?)?.f_div_scalar(DIVISOR)?) };
        let (auxiliary, mixing) = (nets::auxiliary(parameters, pass)?, nets::mixing(parameters, MAPS)?);
        let mut assembled = vec![kernels("dictionary.start")?, kernels("dictionary")?, auxiliary, mixing];
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
        let (fixed, mut rest) = assembled.split_at(4);
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(count);
            rest = left;
            taken
        };
        let steps_x = parameters.get("step.x")?.f_div_scalar(DIVISOR)?.f_unbind(0)?;
        let mut kernels = Kernels::new(parameters, [&fixed[0], &fixed[1]], input)?;

        let others = pass.precision.cast(&bands::analyse(&fixed[2], &input.interpolated)?)?;
        let (net, first) = (&self.nets.x[0], (&input.interpolated, &others));
        let part = take(net.assembled(pass.mode));
        let (start, mut others) = net.forward(parameters, part, first, pass, seen.as_deref_mut())?;
        let (mut images, mut artefacts) = (Vec::new(), Vec::<Tensor>::new());
        let mut image = start.shallow_clone();
        let mut maps: Option<Tensor> = None;
        for (stage, (m, x)) in self.nets.stages().enumerate() {
            let missing = input.image.f_sub(&image)?;
            let guess = match (&maps, artefacts.last()) {
                (Some(maps), Some(artefact)) => {
                    let net = stage.checked_sub(EARLY).map(|number| &self.k[number]);
                    kernels.next_maps(net, stage, maps, (&missing, artefact))?
                }
                _ => kernels.first_maps(&missing)?,
            };
            let seen_m = seen.as_deref_mut().filter(|_| self.nets.held == Held::Xm);
            let made = m.forward(parameters, take(m.assembled(pass.mode)), &guess, pass, seen_m)?;
            let artefact = bands::compose(&kernels.current, &made)?;
            let step = missing.f_sub(&artefact)?.f_mul(&input.keep)?.f_mul(&steps_x[stage])?;
            let (moved, part) = (image.f_add(&step)?, take(x.assembled(pass.mode)));
            (image, others) = x.forward(parameters, part, (&moved, &others), pass, seen.as_deref_mut())?;
            images.push(image.shallow_clone());
            artefacts.push(artefact);
            maps = Some(if stage + 1 == EARLY { mix(&fixed[3], &made)? } else { made });
        }
        let net = self.nets.last();
        let part = take(net.assembled(pass.mode));
        images.push(net.forward(parameters, part, (&image, &others), pass, seen)?.0);
        let (late_images, late_artefacts) = (images.split_off(EARLY), artefacts.split_off(EARLY));
        Ok(Reduction {
            start,
            images: late_images,
            artefacts: late_artefacts,
            early_images: images,
            early_artefacts: artefacts,
        })
    }

    fn held(&self) -> Vec<String> {
        self.nets.kernels()
    }
}

/// The kernels of the samples in a forward pass, and what they make of images.
struct Kernels<'a> {
    parameters: &'a Parameters,
    /// I.
    keep: &'a Tensor,
    /// D/10, `[d, 81]`.
    atoms: &'a Tensor,
    /// η^M/10 of every stage.
    steps_m: Vec<Tensor>,
    /// η^K/(50 h w) of the stages whose kernels adapt.
    steps_k: Vec<Tensor>,
    /// K, `[N, maps, d]`, once there is one.
    coefficients: Option<Tensor>,
    /// C, `[N, maps, 81]`; D₀/10, `[maps, 81]`, at first.
    current: Tensor,
}

impl<'a> Kernels<'a> {
    fn new(parameters: &'a Parameters, [start, atoms]: [&'a Tensor; 2], input: &'a Corrupted) -> Result<Self> {
        let steps = |name: &str, divisor: f64| -> Result<Vec<Tensor>> {
            Ok(parameters.get(name)?.f_div_scalar(divisor)?.f_unbind(0)?)
        };
        let size = input.image.size();
        let pixels = (size[2] * size[3]) as f64;
        let (steps_m, steps_k) = (steps("step.m", DIVISOR)?, steps("step.k", COEFFICIENTS_DIVISOR * pixels)?);
        let (keep, current) = (&input.keep, start.shallow_clone());
        Ok(Self { parameters, keep, atoms, steps_m, steps_k, coefficients: None, current })
    }

    /// Cᵀ⋆ ReLU(I⊙(Y − X) − τ), of Y − X.
    fn first_maps(&self, missing: &Tensor) -> Result<Tensor> {
        let outside = missing.f_mul(self.keep)?.f_sub(&self.parameters.get("threshold")?)?.f_relu()?;
        bands::analyse(&self.current, &outside)
    }

    /// M + (η^M/10) Cᵀ⋆ I⊙(Y − X − A), of Y − X and A; with a K-net the kernels, and A with them, are new ones.
    fn next_maps(
        &mut self,
        net: Option<&KNet>,
        stage: usize,
        maps: &Tensor,
        (missing, artefact): (&Tensor, &Tensor),
    ) -> Result<Tensor> {
        let mut residual = missing.f_sub(artefact)?.f_mul(self.keep)?;
        if let Some(net) = net {
            // The first kernels are sought for all that is missing.
            let sought = match self.coefficients {
                Some(_) => residual,
                None => missing.f_mul(self.keep)?,
            };
            self.adapt(net, stage - EARLY, maps, &sought)?;
            let artefact = bands::compose(&self.current, maps)?;
            residual = missing.f_sub(&artefact)?.f_mul(self.keep)?;
        }
        let step = residual.f_mul(&self.steps_m[stage])?;
        // Not in place: the gradient of that, of a view, would be two copies, the last in the other layout.
        Ok(bands::analyse(&self.current, &step)?.f_add(maps)?)
    }

    /// K and C from G, the correlations of what atoms make of the maps with `sought`.
    fn adapt(&mut self, net: &KNet, number: usize, maps: &Tensor, sought: &Tensor) -> Result<()> {
        let correlations = bands::correlate(maps, sought, self.atoms.size()[1])?;
        let slopes = correlations.f_matmul(&self.atoms.f_transpose(0, 1)?)?;
        let moved = match self.coefficients.take() {
            Some(coefficients) => slopes.f_mul(&self.steps_k[number])?.f_add(&coefficients)?,
            None => slopes,
        };
        let coefficients = net.forward(self.parameters, &moved)?;
        self.current = coefficients.f_matmul(self.atoms)?;
        self.coefficients = Some(coefficients);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
