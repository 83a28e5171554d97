//! Dense convolutions between fields, with the gates and the normalisation of the SCNN: equivariant as far as their kernels are.
//!
//! Channels of parameters are ordered by irrep, copy and component, then gates; those of layers by irrep, component and copy.

use super::gated::{BlockConvolution, FieldConvolution, gates};
use super::*;

pub(super) struct TypedConv {
    conv: Conv3d,
    layout: Layout,
    /// The channels of the parameters in the order of layers, of the output and of the input.
    rows: Constant,
    columns: Constant,
}

impl TypedConv {
    pub(super) fn new(
        builder: &mut Builder,
        convolution: &BlockConvolution,
        layout: Layout,
        random: &mut Random,
    ) -> Result<Self> {
        let BlockConvolution { name, domain, codomain, window, .. } = convolution;
        let channels = [domain.dim(), codomain.dim() + gates(codomain)];
        let conv = Conv3d::new(builder, name, channels, *window, random)?;
        Ok(Self { conv, layout, rows: order(codomain, gates(codomain))?, columns: order(domain, 0)? })
    }
}

fn order(fields: &Fields, gates: usize) -> Result<Constant> {
    let gates = fields.dim()..fields.dim() + gates;
    let channels: Vec<f64> = fields.by_components().into_iter().chain(gates).map(|at| at as f64).collect();
    Constant::new(&channels, &[channels.len() as i64])
}

impl FieldConvolution for TypedConv {
    const TENSORS: usize = 2;

    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let index = |order: &Constant| order.on(Kind::Int64, parameters.device());
        let (rows, columns) = (index(&self.rows)?, index(&self.columns)?);
        let kernel = parameters.get(self.conv.weight())?.f_index_select(0, &rows)?.f_index_select(1, &columns)?;
        let bias = parameters.get(self.conv.bias())?.f_index_select(0, &rows)?;
        Ok(vec![self.layout.kernel(&kernel, pass.precision)?, pass.precision.cast(&bias)?])
    }

    fn forward(&self, assembled: &[Tensor], input: &Tensor) -> Result<Tensor> {
        self.conv.forward(&assembled[0], Some(&assembled[1]), input)
    }

    /// The convolution adds its own, of every channel.
    fn bias(&self, _: &Parameters) -> Result<Option<Tensor>> {
        Ok(None)
    }
}
