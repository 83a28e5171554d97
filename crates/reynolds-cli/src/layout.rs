//! The order of a kernel's axes: `[out, in, k…]`, or `[k…, in, out]` as Keras and Flax write it.

use reynolds_checkpoint::{Checkpoint, Entry, Format, Values};

/// Longest side of a kernel in an array whose channels come last.
const LONGEST: usize = 31;

/// The order of the axes in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `[out, in, k…]`.
    ChannelsFirst,
    /// `[k…, in, out]`.
    ChannelsLast,
}

impl Layout {
    /// By name and shape: a tensor called `kernel`, or one whose leading sides are equal and short and whose last two are long. ONNX has the
    /// channels first.
    pub(crate) fn of(checkpoint: &Checkpoint, entry: &Entry) -> Self {
        match checkpoint.format() {
            Format::Onnx => Self::ChannelsFirst,
            _ => Self::guess(&entry.name, &entry.shape),
        }
    }

    fn guess(name: &str, shape: &[usize]) -> Self {
        let rank = shape.len();
        if !(3..=5).contains(&rank) {
            return Self::ChannelsFirst;
        }
        let (sides, channels) = shape.split_at(rank - 2);
        let own = name.rsplit(['.', '/']).next().unwrap_or(name);
        let own = own.strip_suffix(":0").unwrap_or(own);
        let is_kernel = matches!(own, "kernel" | "depthwise_kernel" | "pointwise_kernel")
            && sides.iter().all(|side| *side <= LONGEST);
        let equal = rank > 3 && sides.iter().all(|side| *side == sides[0] && *side <= LONGEST);
        let long = channels.iter().all(|channels| *channels >= 16 && *channels > sides[0]);
        if is_kernel || (equal && long) { Self::ChannelsLast } else { Self::ChannelsFirst }
    }

    /// `[out, in, k…]`, for a shape as it is in the file.
    pub(crate) fn shape(self, shape: &[usize]) -> Vec<usize> {
        match (self, shape) {
            (Self::ChannelsLast, [sides @ .., into, out]) => [&[*out, *into], sides].concat(),
            _ => shape.to_vec(),
        }
    }

    /// The values in the order `[out, in, k…]`.
    pub(crate) fn read<'a>(self, values: Values<'a>, shape: &[usize]) -> Values<'a> {
        self.turned(values, shape, false)
    }

    /// The values in the order of the file, whose tensor has this shape.
    pub(crate) fn write<'a>(self, values: Values<'a>, shape: &[usize]) -> Values<'a> {
        self.turned(values, shape, true)
    }

    fn turned<'a>(self, values: Values<'a>, shape: &[usize], back: bool) -> Values<'a> {
        let (Self::ChannelsLast, [sides @ .., into, out]) = (self, shape) else { return values };
        let (points, into, out) = (sides.iter().product::<usize>(), *into, *out);
        // Place in [out, in, points] and in [points, in, out].
        let places = (0..out * into * points).map(|first| {
            let (o, i, x) = (first / (into * points), first / points % into, first % points);
            (first, (x * into + i) * out + o)
        });
        macro_rules! turn {
            ($values:expr) => {{
                let mut turned = $values.to_vec();
                places.for_each(
                    |(first, last)| if back { turned[last] = $values[first] } else { turned[first] = $values[last] },
                );
                turned.into()
            }};
        }
        match values {
            Values::F32(values) => Values::F32(turn!(values)),
            Values::F64(values) => Values::F64(turn!(values)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_shapes_tell_keras_from_pytorch() {
        for (name, shape, expected) in [
            ("conv2d/kernel:0", &[3, 3, 1, 32][..], Layout::ChannelsLast),
            ("block/depthwise_kernel:0", &[3, 3, 64, 1], Layout::ChannelsLast),
            ("params.Conv_0.kernel", &[3, 3, 3, 64], Layout::ChannelsLast),
            ("block.w", &[3, 3, 128, 128], Layout::ChannelsLast),
            ("conv.weight", &[3, 3, 7, 7], Layout::ChannelsFirst),
            ("conv.weight", &[64, 64, 3, 3], Layout::ChannelsFirst),
            ("rgb.weight", &[3, 64, 1, 1], Layout::ChannelsFirst),
            ("line.kernel", &[9, 16, 32], Layout::ChannelsLast),
            ("conv1d.weight", &[3, 16, 32], Layout::ChannelsFirst),
            ("dense.kernel", &[64, 10], Layout::ChannelsFirst),
        ] {
            assert_eq!(Layout::guess(name, shape), expected, "{name} {shape:?}");
        }
    }

    #[test]
    fn axes_are_turned_and_turned_back() {
        // [k, in, out] = [2, 1, 3]: value = 10 k + out.
        let file = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
        let read = Layout::ChannelsLast.read(Values::from(&file[..]), &[2, 1, 3]);
        assert_eq!(read.to_f64()[..], [0.0, 10.0, 1.0, 11.0, 2.0, 12.0]);
        assert_eq!(Layout::ChannelsLast.write(read, &[2, 1, 3]).to_f64()[..], file);
        assert_eq!(Layout::ChannelsLast.shape(&[2, 2, 1, 3]), [3, 1, 2, 2]);
    }
}
