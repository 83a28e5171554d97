//! The nets of a network in the order of their use: x.0, then m.N and x.N + 1 of every stage, then the last X-net.
//!
//! ```text
//! X-nets   [X; P] ← R([X; P])        X [N, 1, H, W],  P [N, 35, H, W],  R residual blocks
//! M-nets   M ← ReLU(R(M) − τ)        maps of a dictionary, kept sparse: τ is one number a map, initially 1.5
//! ```

use super::channels::{first, join, pad, parts};
use super::residual_net::ResidualNet;
use super::{MarNetConfig, Pass, Precision, Regularised};
use crate::network::Seen;
use reynolds::random::Random;
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};
use tch::Tensor;

/// N_p, the channels that travel with the image.
const AUXILIARY: usize = 35;

#[derive(Debug)]
pub(super) struct Nets {
    x: Vec<ResidualNet>,
    m: Vec<ResidualNet>,
    maps: i64,
    regularised: Regularised,
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
        let mut net = |builder: &mut Builder, name: &str, channels: usize| {
            ResidualNet::new(builder, name, channels, config.blocks, random)
        };
        let x = (0..stages + 2).map(|number| net(builder, &format!("x.{number}"), AUXILIARY + 1));
        let x = x.collect::<Result<_>>()?;
        let mut m = Vec::new();
        for number in 0..stages {
            m.push(net(builder, &format!("m.{number}"), maps)?);
            builder.real(&format!("m.{number}.threshold"), &[maps], &vec![1.5; maps])?;
        }
        builder.real("threshold", &[1], &[1.0])?;
        Ok(Self { x, m, maps: maps as i64, regularised: config.regularised })
    }

    pub(super) fn stages(&self) -> usize {
        self.m.len()
    }

    /// Each with whether it is an X-net.
    fn in_order(&self) -> impl Iterator<Item = (&ResidualNet, bool)> {
        let stages = self.m.iter().zip(&self.x[1..]).flat_map(|(m, x)| [(m, false), (x, true)]);
        [(&self.x[0], true)].into_iter().chain(stages).chain(self.x.last().map(|net| (net, true)))
    }

    /// What the nets need of the parameters, in the order of their use.
    pub(super) fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let parts = self.in_order().map(|(net, _)| net.assemble(parameters, pass));
        Ok(parts.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Names of the regularised kernels, in the order of their use.
    pub(super) fn kernels(&self) -> Vec<String> {
        self.in_order()
            .filter(|(_, x)| *x || self.regularised == Regularised::Xm)
            .flat_map(|(net, _)| net.kernels())
            .collect()
    }
}

/// C_p as a matrix `[channels of P, 9]`: 35, and zeros for the channels that bf16 pads by.
pub(super) fn auxiliary(parameters: &Parameters, pass: Pass) -> Result<Tensor> {
    let channels = match pass.precision {
        Precision::F32 => AUXILIARY,
        Precision::Bf16 => (AUXILIARY + 1).next_multiple_of(8) - 1,
    };
    let padding = (channels - AUXILIARY) as i64;
    let auxiliary = parameters.get("auxiliary")?.f_view([-1, 9])?;
    Ok(if padding > 0 { auxiliary.f_constant_pad_nd([0, 0, 0, padding])? } else { auxiliary })
}

/// The nets in a forward pass, each called when it is its turn.
pub(super) struct Running<'r, 's> {
    pub(super) nets: &'r Nets,
    pub(super) parameters: &'r Parameters,
    /// What [`Nets::assemble`] made, of those that have not been called.
    pub(super) assembled: &'r [Tensor],
    pub(super) pass: Pass,
    pub(super) seen: Option<&'r mut Seen<'s>>,
}

impl<'r> Running<'r, '_> {
    fn take(&mut self, net: &ResidualNet) -> &'r [Tensor] {
        let (taken, left) = self.assembled.split_at(net.assembled(self.pass.mode));
        self.assembled = left;
        taken
    }

    /// X in the type of the parameters and P in the precision of the pass, with as many channels as that of [`auxiliary`]: the same of the
    /// next.
    pub(super) fn x(&mut self, number: usize, image: &Tensor, others: &Tensor) -> Result<(Tensor, Tensor)> {
        let (net, Pass { precision, .. }) = (&self.nets.x[number], self.pass);
        let part = self.take(net);
        let stream = join(&precision.cast(image)?, others)?;
        let exact = (precision == Precision::Bf16).then(|| image.shallow_clone());
        let (stream, exact) =
            net.forward(self.parameters, part, (stream, exact), self.pass, self.seen.as_deref_mut())?;
        let (image, others) = parts(&stream, 1)?;
        // A copy: images are kept, and none should keep a whole stream.
        Ok((exact.map_or_else(|| image.f_contiguous(), Ok)?, others))
    }

    /// Maps `[N, C, H, W]` → the same, both in the type of the parameters. They are not negative.
    pub(super) fn m(&mut self, number: usize, maps: &Tensor) -> Result<Tensor> {
        let (net, Pass { precision, .. }) = (&self.nets.m[number], self.pass);
        let part = self.take(net);
        let seen = self.seen.as_deref_mut().filter(|_| self.nets.regularised == Regularised::Xm);
        let stream = pad(&precision.cast(maps)?, net.width(precision) - self.nets.maps)?;
        let (stream, _) = net.forward(self.parameters, part, (stream, None), self.pass, seen)?;
        // τ has the type of the parameters, and with it the difference.
        let threshold = self.parameters.get(&format!("m.{number}.threshold"))?.f_view([-1, 1, 1])?;
        Ok(first(&stream, self.nets.maps)?.f_sub(&threshold)?.f_relu_()?)
    }
}
