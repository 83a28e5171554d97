//! RGroup for shifts: convolutions mixed by weights that depend on the pixel.
//!
//! ```text
//! y(p) = Σ_r w_r(p) (ψ_r ⋆ x + b_r)(p)        w_r(p) = 1/R to begin with; ReLU between the layers, no normalisation
//! ‖W‖² = Σ_p w(p)ᵀ G w(p)                     G_rs = ⟨ψ_r, ψ_s⟩ + ⟨b_r, b_s⟩
//! ```
//!
//! W is the affine map of an image on a torus, P(W) its mean over all shifts: the same map with the mean of w(p) in place of w. The network's
//! border of zeros, in place of a torus, is ignored. This is the only relaxed network for shifts, with which the plain convolution commutes.
//!
//! The banks of a layer are one convolution with R · out channels. Σ_r w_r(p) b_r is assembled once for a rollout, and the products with w are
//! added to it bank by bank, so that only the convolution writes a tensor of R · out channels. With 128 channels, five layers and two banks
//! there are 977,412 parameters.
//!
//! All filters are rows of one length, hidden · k², bank beside bank: in the first layer one for each input, in all others one for each
//! output. So they are one matrix in the flat storage, and the biases another.

use super::clcnn::variation;
use super::conv::{KERNEL, count};
use super::*;

/// The name of w, `[layers, R, H, W]`.
pub(crate) const MIXING: &str = "mixing";
/// The names of ψ: `[1, in, R, hidden, k, k]`, `[layers − 2, hidden, R, hidden, k, k]` if there are such, and `[1, 2, R, hidden, k, k]`.
pub(crate) const FILTERS: [&str; 3] = ["first.weight", "hidden.weight", "last.weight"];
/// The names of b: `[layers − 1, hidden, R]` and `[1, 2, R]`.
pub(crate) const BIASES: [&str; 2] = ["bias", "last.bias"];
/// Channels of a forecast.
pub(crate) const OUTPUTS: usize = 2;

#[derive(Debug)]
pub(crate) struct Rgroup {
    inputs: usize,
    hidden: usize,
    layers: usize,
    banks: usize,
    side: usize,
    regularised: Regularised,
}

impl Rgroup {
    /// Adds [`FILTERS`], [`BIASES`] and [`MIXING`]; filters and biases begin as PyTorch's do.
    pub(crate) fn new(new: &mut Construction<'_>) -> Result<Self> {
        let SmokeNetConfig { hidden, layers, banks, regularised, .. } = *new.config;
        let (inputs, side) = (2 * new.frames.count, new.frames.side);
        let numbers = layers * banks * side * side;
        new.config.at_most(banks * count(&new.pairs(), false) + numbers)?;
        let taps = [inputs, hidden].map(|inputs| inputs * KERNEL * KERNEL);
        let network = Self { inputs, hidden, layers, banks, side, regularised };
        for (name, [layers, rows]) in network.filters() {
            let taps = taps[usize::from(name != FILTERS[0])];
            new.uniform(name, &[layers, rows, banks, hidden, KERNEL, KERNEL], taps)?;
        }
        let (builder, random) = (&mut *new.builder, &mut *new.random);
        let bounds = taps.map(|taps| 1.0 / (taps as f64).sqrt());
        let mut biases = uniform(hidden * banks, bounds[0], random);
        biases.extend(uniform((layers - 2) * hidden * banks, bounds[1], random));
        builder.real(BIASES[0], &[layers - 1, hidden, banks], &biases)?;
        builder.real(BIASES[1], &[1, OUTPUTS, banks], &uniform(OUTPUTS * banks, bounds[1], random))?;
        builder.real(MIXING, &[layers, banks, side, side], &vec![1.0 / banks as f64; numbers])?;
        Ok(network)
    }

    /// The names of ψ, with layers and rows of each.
    fn filters(&self) -> impl Iterator<Item = (&'static str, [usize; 2])> {
        let sides = [[1, self.inputs], [self.layers - 2, self.hidden], [1, OUTPUTS]];
        FILTERS.into_iter().zip(sides).filter(|(_, [layers, _])| *layers > 0)
    }

    /// ψ of every layer, `[R · out, in, k, k]`.
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut kernels = Vec::with_capacity(self.layers);
        for (name, _) in self.filters() {
            let order = if name == FILTERS[0] { [0, 2, 3, 1, 4, 5] } else { [0, 2, 1, 3, 4, 5] };
            kernels.extend(layers_of(&parameters.get(name)?.f_permute(order)?.f_unsqueeze(4)?)?);
        }
        Ok(kernels)
    }

    /// G of every layer, `[layers, R, R]`, on the tape.
    fn gram(&self, parameters: &Parameters) -> Result<Tensor> {
        let rows = |name: &str| -> Result<Tensor> {
            let filters = parameters.get(name)?.f_flatten(3, -1)?;
            Ok(filters.f_matmul(&filters.f_transpose(2, 3)?)?.f_sum_dim_intlist(1, false, filters.kind())?)
        };
        let columns = |name: &str| -> Result<Tensor> {
            let biases = parameters.get(name)?;
            Ok(biases.f_transpose(1, 2)?.f_bmm(&biases)?)
        };
        let filters = self.filters().map(|(name, _)| rows(name)).collect::<Result<Vec<_>>>()?;
        let biases = BIASES.into_iter().map(columns).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::f_cat(&filters, 0)?.f_add(&Tensor::f_cat(&biases, 0)?)?)
    }

    /// Σ_r w_r b_r of every layer, `[1, out, H, W]`.
    fn mixed_biases(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let (last, side) = (self.layers as i64 - 1, self.side as i64);
        let mixing = parameters.get(MIXING)?.f_flatten(2, 3)?.f_split_with_sizes([last, 1], 0)?;
        let mut mixed = Vec::with_capacity(self.layers);
        for (name, mixing) in BIASES.into_iter().zip(mixing) {
            let fields = parameters.get(name)?.f_bmm(&mixing)?.f_unflatten(2, [side, side])?;
            mixed.extend(kernel_layout(fields)?.f_split(1, 0)?);
        }
        Ok(mixed)
    }
}

impl Network for Rgroup {
    /// Of each layer: the kernel of all banks, `[R · out, in, k, k]`, Σ_r w_r b_r, `[1, out, H, W]`, and w_r for each bank, `[H, W]`.
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        let mut assembled = Vec::with_capacity(self.layers * (2 + self.banks));
        let mut mixing = parameters.get(MIXING)?.f_flatten(0, 1)?.f_unbind(0)?.into_iter();
        for (kernel, bias) in self.kernels(parameters)?.into_iter().zip(self.mixed_biases(parameters)?) {
            assembled.extend([kernel, bias]);
            assembled.extend(mixing.by_ref().take(self.banks));
        }
        Ok(assembled)
    }

    fn forward(&self, _: &Parameters, assembled: &[Tensor], frames: &Tensor, _: Pass) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        for (number, layer) in assembled.chunks(2 + self.banks).enumerate() {
            let banks = convolve(&features, &layer[0], None, 1)?.f_chunk(self.banks as i64, 1)?;
            features = layer[1].shallow_clone();
            for (bank, mixing) in banks.iter().zip(&layer[2..]) {
                features = features.f_addcmul(bank, mixing)?;
            }
            if number + 1 < self.layers {
                features = features.f_relu_()?;
            }
        }
        Ok(features)
    }

    /// Over all layers together, mean |w(y + 1, x) − w(y, x)| + mean |w(y, x + 1) − w(y, x)|.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        Ok(Some(variation(&parameters.get(MIXING)?, [2, 3])?))
    }

    fn energy(&self, parameters: &Parameters, component: Component) -> Result<Option<Tensor>> {
        let mixing = component_of(&parameters.get(MIXING)?, &[2, 3], component)?;
        Ok(Some(match self.regularised {
            Regularised::Operator => {
                let mixing = mixing.f_flatten(2, 3)?;
                self.gram(parameters)?.f_bmm(&mixing)?.f_mul(&mixing)?.f_sum(mixing.kind())?
            }
            Regularised::Mixing => squares(&mixing)?,
        }))
    }

    fn project(&self, parameters: &mut Parameters) -> Result<()> {
        project(&parameters.get(MIXING)?, &[2, 3])
    }
}
