//! The three networks: stages that move the image X, the maps M and, in ACDNet, the kernels C towards what the scan is made of.
//!
//! ```text
//! P = C_p ⋆ L,  [X; P] = Xnet([L; P]);      R = I⊙(Y − X − A)
//! first stage     M = Mnet(Cᵀ⋆ ReLU(I⊙(Y − X) − τ))
//! each other      M ← Mnet(Q M + (η^M/10) Cᵀ⋆ R)
//! each            A = Σ_n C_n ⋆ M_n,   X ← X + (η^X/10) I⊙(Y − X − A),   [X; P] ← Xnet([X; P])
//! end             X of Xnet([X; P])
//!
//! DICDNet, OSCNet      C = F/10, in the first equation for M F₀/10.      DICDNet: Q = Q₂Q₁ from the third stage on
//! ACDNet, first two    C = D₀/10;    Q = Q₂Q₁ in the third alone
//! ACDNet, others       K ← Knet(G), then Knet(K + η^K/(50 h w) G),      G[n, j] = ⟨(D_j/10) ⋆ M_n, R⟩, with A = 0 in the first of them
//!                      C_n = Σ_j K[n, j] D_j/10,  and A anew
//! ```
//!
//! Q₂ and Q₁ are 1 × 1 convolutions. F is free in DICDNet and consists of turned copies in OSCNet. The responses D_j ⋆ M_n, 256 images a
//! sample, are never made: G is the correlation of M_n and R on 9 × 9 shifts, times the atoms ([`bands`]). In ACDNet the first entries of
//! `step.m` and `step.k` and the thresholds of the K-nets are in no equation, as published; the count of parameters has them.
//!
//! After Wang et al. (ACDNet: IJCAI 2022; DICDNet: IEEE Transactions on Medical Imaging 2022; OSCNet: MICCAI 2022, with the kernels of Xie
//! et al., IEEE Transactions on Pattern Analysis and Machine Intelligence 2023, in four orientations), with the mixing of Bai et al. (CVPR
//! 2025).

use super::k_net::KNet;
use super::nets::{Nets, Running, auxiliary};
use super::rotated_kernels::TURNS;
use super::{Architecture, Corrupted, MarNetConfig, Pass, Reduction, RotatedKernels, bands, dictionary, regular_plan};
use crate::network::{Network, Seen};
use reynolds::plan::SymmetryPlan;
use reynolds::random::Random;
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};
use tch::Tensor;

/// Maps of DICDNet and OSCNet, 9 · 4.
const MAPS: usize = 36;
/// Maps of ACDNet, 2 · 4, and atoms that its kernels are mixed of.
const ADAPTIVE_MAPS: usize = 8;
const ATOMS: usize = 32;
/// Stages of ACDNet before the kernels adapt.
const EARLY: usize = 2;
/// The side of all kernels.
const SIDE: usize = 9;
/// Frequencies of the functions of OSCNet's kernels along an axis.
const FREQUENCIES: usize = 9;
/// What kernels of dictionaries and sizes of steps are divided by.
const DIVISOR: f64 = 10.0;

#[derive(Debug)]
pub(super) struct Stages {
    nets: Nets,
    dictionary: Dictionary,
}

#[derive(Debug)]
enum Dictionary {
    Free,
    Turned(RotatedKernels),
    Adaptive(Vec<KNet>),
}

impl Stages {
    /// Adds the parameters; free dictionaries begin as blobs, mixing as the identity.
    pub(super) fn new(config: &MarNetConfig, builder: &mut Builder, random: &mut Random) -> Result<Self> {
        let adapts = config.architecture == Architecture::Acdnet;
        let (stages, maps) = if adapts { (config.stages + EARLY, ADAPTIVE_MAPS) } else { (config.stages, MAPS) };
        let mut dictionary = Dictionary::Free;
        if config.architecture == Architecture::Oscnet {
            let (turned, atoms) = (RotatedKernels::new(SIDE, FREQUENCIES)?, MAPS / TURNS);
            for name in ["dictionary.start", "dictionary"] {
                builder.real(name, &[atoms, turned.functions()], &turned.initial(atoms, random))?;
            }
            dictionary = Dictionary::Turned(turned);
        }
        let nets = Nets::new(config, stages, maps, builder, random)?;
        if adapts {
            let k = (0..config.stages).map(|number| KNet::new(builder, number, maps * ATOMS, random));
            dictionary = Dictionary::Adaptive(k.collect::<Result<_>>()?);
        }
        let mut steps = |name: &str, count: usize, step: f64| builder.real(name, &[count], &vec![step; count]);
        steps("step.x", stages, 5.0)?;
        steps("step.m", if adapts { stages } else { stages - 1 }, 1.0)?;
        if adapts {
            steps("step.k", config.stages, 5.0)?;
        }
        if !matches!(dictionary, Dictionary::Turned(_)) {
            let atoms = if adapts { [ATOMS, 1] } else { [1, maps] };
            for (name, [outputs, inputs]) in [("dictionary.start", [1, maps]), ("dictionary", atoms)] {
                builder.real(name, &[outputs, inputs, SIDE, SIDE], &dictionary::atoms(outputs * inputs, SIDE))?;
            }
            let identity: Vec<f64> = (0..maps * maps).map(|at| f64::from(u8::from(at % (maps + 1) == 0))).collect();
            ["mix.0", "mix.1"].iter().try_for_each(|name| builder.real(name, &[maps, maps, 1, 1], &identity))?;
        }
        Ok(Self { nets, dictionary })
    }

    /// Whether the maps of a stage, from 0, are mixed for the next.
    fn mixes_after(&self, stage: usize) -> bool {
        match self.dictionary {
            Dictionary::Free => stage > 0 && stage + 1 < self.nets.stages(),
            Dictionary::Turned(_) => false,
            Dictionary::Adaptive(_) => stage + 1 == EARLY,
        }
    }

    /// Names of the regularised kernels, in the order in which they are seen.
    pub(super) fn regularised(&self) -> Vec<String> {
        self.nets.kernels()
    }

    fn reduce(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        input: &Corrupted,
        pass: Pass,
        seen: Option<&mut Seen<'_>>,
    ) -> Result<Reduction> {
        let fixed = if matches!(self.dictionary, Dictionary::Turned(_)) { 3 } else { 4 };
        let (fixed, of_nets) = assembled.split_at(fixed);
        let mut nets = Running { nets: &self.nets, parameters, assembled: of_nets, pass, seen };
        let mut kernels = Kernels::new(&self.dictionary, parameters, fixed, input)?;
        let steps = parameters.get("step.x")?.f_div_scalar(DIVISOR)?.f_unbind(0)?;

        let others = pass.precision.cast(&bands::analyse(&fixed[2], &input.interpolated)?)?;
        let (start, mut others) = nets.x(0, &input.interpolated, &others)?;
        let (mut images, mut artefacts) = (Vec::new(), Vec::<Tensor>::new());
        let mut image = start.shallow_clone();
        let mut maps: Option<Tensor> = None;
        for stage in 0..self.nets.stages() {
            let missing = input.image.f_sub(&image)?;
            let guess = match (&maps, artefacts.last()) {
                (Some(maps), Some(artefact)) => kernels.next_maps(stage, maps, &missing, artefact)?,
                _ => kernels.first_maps(&missing)?,
            };
            let made = nets.m(stage, &guess)?;
            let artefact = bands::compose(&kernels.current, &made)?;
            let step = missing.f_sub(&artefact)?.f_mul(&input.keep)?.f_mul(&steps[stage])?;
            (image, others) = nets.x(stage + 1, &image.f_add(&step)?, &others)?;
            images.push(image.shallow_clone());
            artefacts.push(artefact);
            maps = Some(if self.mixes_after(stage) { mix(&fixed[3], &made)? } else { made });
        }
        images.push(nets.x(self.nets.stages() + 1, &image, &others)?.0);
        let early = if matches!(self.dictionary, Dictionary::Adaptive(_)) { EARLY } else { 0 };
        Ok(Reduction { start, images, artefacts, early })
    }

    /// The kernels of a dictionary as a matrix, divided.
    fn matrix(&self, parameters: &Parameters, name: &str) -> Result<Tensor> {
        let weights = parameters.get(name)?;
        let kernels = match &self.dictionary {
            Dictionary::Turned(turned) => turned.kernels(&weights)?,
            _ => weights,
        };
        Ok(dictionary::matrix(&kernels)?.f_div_scalar(DIVISOR)?)
    }
}

impl Network<Corrupted, Reduction> for Stages {
    /// F₀ or D₀, F or D, C_p, what the nets need and, where there is mixing, Q₂Q₁.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let dictionary = |name: &str| self.matrix(parameters, name);
        let mut assembled =
            vec![dictionary("dictionary.start")?, dictionary("dictionary")?, auxiliary(parameters, pass)?];
        if !matches!(self.dictionary, Dictionary::Turned(_)) {
            let matrix = |name: &str| -> Result<Tensor> { Ok(parameters.get(name)?.f_flatten(1, 3)?) };
            assembled.push(matrix("mix.1")?.f_matmul(&matrix("mix.0")?)?);
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
    ) -> Result<Reduction> {
        self.reduce(parameters, assembled, input, pass, None)
    }

    fn forward_seen(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        input: &Corrupted,
        pass: Pass,
        seen: &mut Seen<'_>,
    ) -> Result<Reduction> {
        self.reduce(parameters, assembled, input, pass, Some(seen))
    }

    fn plan(&self, parameters: &Parameters) -> Result<Option<SymmetryPlan>> {
        regular_plan(parameters, &self.regularised())
    }
}

/// The kernels in a forward pass, those of ACDNet of each sample, and the maps that they make of images.
struct Kernels<'a> {
    dictionary: &'a Dictionary,
    parameters: &'a Parameters,
    /// I.
    keep: &'a Tensor,
    /// F₀/10 or D₀/10, `[maps, 81]`.
    start: &'a Tensor,
    /// D/10, `[atoms, 81]`.
    atoms: &'a Tensor,
    /// η^M/10 of the stages from the second on.
    steps_m: Vec<Tensor>,
    /// η^K/(50 h w) of the stages whose kernels adapt.
    steps_k: Vec<Tensor>,
    /// K, `[N, maps, atoms]`, once there is one.
    coefficients: Option<Tensor>,
    /// C, `[maps, 81]` or `[N, maps, 81]`.
    current: Tensor,
}

impl<'a> Kernels<'a> {
    fn new(
        dictionary: &'a Dictionary,
        parameters: &'a Parameters,
        fixed: &'a [Tensor],
        input: &'a Corrupted,
    ) -> Result<Self> {
        let steps = |name: &str, divisor: f64| -> Result<Vec<Tensor>> {
            Ok(parameters.get(name)?.f_div_scalar(divisor)?.f_unbind(0)?)
        };
        let mut steps_m = steps("step.m", DIVISOR)?;
        let (start, atoms) = (&fixed[0], &fixed[1]);
        let (mut steps_k, mut current) = (Vec::new(), atoms.shallow_clone());
        if matches!(dictionary, Dictionary::Adaptive(_)) {
            let size = input.image.size();
            steps_k = steps("step.k", 50.0 * (size[2] * size[3]) as f64)?;
            drop(steps_m.remove(0));
            current = start.shallow_clone();
        }
        let (keep, coefficients) = (&input.keep, None);
        Ok(Self { dictionary, parameters, keep, start, atoms, steps_m, steps_k, coefficients, current })
    }

    /// Cᵀ⋆ ReLU(I⊙(Y − X) − τ), of Y − X.
    fn first_maps(&self, missing: &Tensor) -> Result<Tensor> {
        let outside = missing.f_mul(self.keep)?.f_sub(&self.parameters.get("threshold")?)?.f_relu_()?;
        bands::analyse(self.start, &outside)
    }

    /// M + (η^M/10) Cᵀ⋆ I⊙(Y − X − A), of Y − X and A; where kernels adapt they, and A with them, are new ones.
    fn next_maps(&mut self, stage: usize, maps: &Tensor, missing: &Tensor, artefact: &Tensor) -> Result<Tensor> {
        let mut residual = missing.f_sub(artefact)?.f_mul(self.keep)?;
        if let (Dictionary::Adaptive(nets), Some(number)) = (self.dictionary, stage.checked_sub(EARLY)) {
            // The first kernels are sought for all that is missing.
            let sought = match self.coefficients {
                Some(_) => residual,
                None => missing.f_mul(self.keep)?,
            };
            self.adapt(&nets[number], number, maps, &sought)?;
            let artefact = bands::compose(&self.current, maps)?;
            residual = missing.f_sub(&artefact)?.f_mul(self.keep)?;
        }
        let step = residual.f_mul(&self.steps_m[stage - 1])?;
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

/// Q M, Q `[C, C]`, M `[N, C, H, W]`.
fn mix(matrix: &Tensor, maps: &Tensor) -> Result<Tensor> {
    let last = maps.f_permute([0, 2, 3, 1])?;
    if last.is_contiguous() {
        return Ok(last.f_matmul(&matrix.f_transpose(0, 1)?)?.f_permute([0, 3, 1, 2])?);
    }
    let size = maps.size();
    let matrix = matrix.f_expand([size[0], size[1], size[1]], false)?;
    Ok(matrix.f_bmm(&maps.f_flatten(2, 3)?)?.f_view(size.as_slice())?)
}
