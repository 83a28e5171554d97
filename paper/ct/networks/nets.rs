//! The X-nets and M-nets of a network in the order of their use: x.0, then m.N and x.N + 1 of every stage, then the last X-net.

use reynolds::random::Random;
use tch::Tensor;

use super::m_net::MNet;
use super::x_net::{self, AUXILIARY, XNet};
use super::{Held, MarNetConfig, Pass};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// One X-net before the stages, one M-net and one X-net a stage, one X-net after them.
#[derive(Debug)]
pub(super) struct Nets {
    pub(super) x: Vec<XNet>,
    pub(super) m: Vec<MNet>,
    pub(super) held: Held,
}

impl Nets {
    /// Adds `auxiliary`, the X-nets and M-nets of `stages` stages with `maps` maps, and `threshold`.
    pub(super) fn new(
        config: &MarNetConfig,
        stages: usize,
        maps: usize,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        builder.real("auxiliary", &[AUXILIARY, 1, 3, 3], &[1.0 / 9.0; AUXILIARY * 9])?;
        let x = (0..stages + 2).map(|number| XNet::new(builder, number, config.blocks, random));
        let x = x.collect::<Result<_>>()?;
        let m = (0..stages).map(|number| MNet::new(builder, number, maps, config.blocks, random));
        let m = m.collect::<Result<_>>()?;
        builder.real("threshold", &[1], &[1.0])?;
        Ok(Self { x, m, held: config.held })
    }

    /// M-net and X-net of every stage.
    pub(super) fn stages(&self) -> impl Iterator<Item = (&MNet, &XNet)> {
        self.m.iter().zip(&self.x[1..])
    }

    /// The X-net after the stages.
    pub(super) fn last(&self) -> &XNet {
        &self.x[self.m.len() + 1]
    }

    /// What the nets need of the parameters, in the order of their use.
    pub(super) fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let mut assembled = self.x[0].assemble(parameters, pass)?;
        for (m, x) in self.stages() {
            assembled.extend(m.assemble(parameters, pass)?);
            assembled.extend(x.assemble(parameters, pass)?);
        }
        assembled.extend(self.last().assemble(parameters, pass)?);
        Ok(assembled)
    }

    /// Names of the held kernels, in the order of their use.
    pub(super) fn kernels(&self) -> Vec<String> {
        let mut names = self.x[0].kernels();
        for (m, x) in self.stages() {
            if self.held == Held::Xm {
                names.extend(m.kernels());
            }
            names.extend(x.kernels());
        }
        names.extend(self.last().kernels());
        names
    }
}

/// C_p as a matrix `[channels, 9]`, with zeros for the channels that a precision pads by.
pub(super) fn auxiliary(parameters: &Parameters, pass: Pass) -> Result<Tensor> {
    let padding = (x_net::channels(pass.precision) - AUXILIARY) as i64;
    let auxiliary = parameters.get("auxiliary")?.f_view([-1, 9])?;
    Ok(if padding > 0 { auxiliary.f_constant_pad_nd([0, 0, 0, padding])? } else { auxiliary })
}

/// Q₂Q₁, `[maps, maps]`.
pub(super) fn mixing(parameters: &Parameters, maps: usize) -> Result<Tensor> {
    let matrix = |name: &str| -> Result<Tensor> { Ok(parameters.get(name)?.f_view([maps as i64, maps as i64])?) };
    Ok(matrix("mix.1")?.f_matmul(&matrix("mix.0")?)?)
}

/// Adds `mix.0` and `mix.1`, the identity.
pub(super) fn add_mixing(builder: &mut Builder, maps: usize) -> Result<()> {
    let identity: Vec<f64> = (0..maps * maps).map(|at| if at % (maps + 1) == 0 { 1.0 } else { 0.0 }).collect();
    ["mix.0", "mix.1"].into_iter().try_for_each(|name| builder.real(name, &[maps, maps, 1, 1], &identity))
}
