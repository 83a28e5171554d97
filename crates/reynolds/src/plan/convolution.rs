//! Strides, paddings and sizes of convolutions, and whether they commute with symmetries of their input.
//!
//! ```text
//! samples symmetric about the centre of H points:   (n − 1)·stride = H + 2·before − k,   n = ⌊(H + before + after − k)/stride⌋ + 1
//! ```

use super::{Rule, RuleKind, Sampling};
use crate::group::GroupRef;

/// What a file with a network's operations says of a convolution, besides its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convolution {
    /// Whether it is transposed: its weight is `[in, out, k…]`.
    pub transposed: bool,
    /// Groups: each sees as many of the input channels as the weight has.
    pub groups: usize,
    /// Its axes, in the order of the kernel's.
    pub axes: Vec<Axis>,
}

/// One axis of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Stride.
    pub stride: usize,
    /// Padding before and after the input.
    pub padding: [usize; 2],
    /// Dilation of the kernel.
    pub dilation: usize,
    /// Points that a transposed convolution adds behind its output.
    pub output_padding: usize,
    /// Length of the input, where it is known.
    pub input: Option<usize>,
}

impl Convolution {
    /// The number that all axes have.
    fn common<T: PartialEq>(&self, of: impl Fn(&Axis) -> T) -> Option<T> {
        let first = self.axes.first().map(&of)?;
        self.axes.iter().all(|axis| of(axis) == first).then_some(first)
    }

    /// Keys of a plan that say the same, as far as one number an axis can.
    pub(super) fn keys(&self) -> Vec<(&'static str, usize)> {
        let mut keys = vec![];
        keys.extend((self.groups > 1).then_some(("groups", self.groups)));
        let [even, tight] = [|axis: &Axis| axis.padding[0] == axis.padding[1], |axis: &Axis| axis.dilation == 1];
        let said = [
            self.common(|axis| axis.stride),
            self.common(|axis| axis.padding[0]),
            self.common(|axis| axis.input).flatten(),
        ];
        // A rule knows neither uneven paddings nor dilations: then the file speaks for itself.
        if let ([Some(stride), Some(padding), input], true) =
            (said, self.axes.iter().all(|axis| even(axis) && tight(axis)))
        {
            keys.extend([("stride", stride), ("padding", padding)]);
            keys.extend(input.map(|input| ("input", input)));
            let added = self.common(|axis| axis.output_padding).filter(|_| self.transposed);
            keys.extend(added.map(|added| ("output_padding", added)));
        }
        keys
    }

    /// Whether it commutes with symmetries of its input under a kernel of these sides, and why not.
    pub(super) fn sampling(&self, group: &GroupRef, sides: &[usize]) -> (Sampling, Vec<String>) {
        let mut breaks = vec![];
        let mut known = true;
        for (axis, &side) in self.axes.iter().zip(sides) {
            let Axis { stride, padding: [before, after], dilation, output_padding, input } = *axis;
            let reach = (side - 1) * dilation + 1;
            match input {
                _ if self.transposed && before + output_padding == after => {}
                _ if self.transposed && output_padding > 0 => breaks.push(format!(
                    "output padding {output_padding}: the output has more points on one side of its centre"
                )),
                _ if before != after && (stride == 1 || self.transposed) => {
                    breaks.push(format!("padding {before} on one side and {after} on the other"));
                }
                _ if stride == 1 => {}
                None => known = false,
                Some(input) => match (input + before + after).checked_sub(reach) {
                    None => breaks.push(format!("kernel of side {reach} is larger than its padded input {input}")),
                    Some(span) if input + 2 * before != reach + span / stride * stride => breaks.push(format!(
                        "stride {stride} on an input of {input}, padding {before} and {after}, kernel {reach}: the samples are off centre"
                    )),
                    Some(_) => {}
                },
            }
        }
        let uneven = self.common(|axis| (axis.stride, axis.padding, axis.dilation)).is_none();
        if uneven && group.generators().iter().any(|g| exchanges_axes(group, g)) {
            breaks.push("strides, paddings or dilations differ between axes that the group exchanges".into());
        }
        breaks.dedup();
        match (breaks.is_empty(), known) {
            (false, _) => (Sampling::Breaks, breaks),
            (true, true) => (Sampling::Commutes, vec![]),
            (true, false) => (Sampling::Unknown, vec![]),
        }
    }
}

fn exchanges_axes(group: &GroupRef, g: &crate::group::Element) -> bool {
    group.point_matrix(g).is_some_and(|matrix| {
        let n = matrix.nrows();
        (0..n * n).any(|at| at / n != at % n && matrix[(at / n, at % n)].abs() > 1e-9)
    })
}

/// Whether a convolution with a kernel of these sides commutes with symmetries of its input, and why not: by the keys of its rule, else by what
/// the file says.
pub(super) fn sampling(
    rule: &Rule,
    file: Option<&Convolution>,
    group: &GroupRef,
    sides: &[usize],
) -> (Sampling, Vec<String>) {
    let said = [rule.stride, rule.padding, rule.input, rule.output_padding].iter().any(Option::is_some);
    match file {
        Some(file) if !said && file.axes.len() == sides.len() => file.sampling(group, sides),
        _ => of_rule(rule, sides),
    }
}

/// A strided convolution samples positions that are symmetric about the centre of its input only if (H + 2·padding − k) is divisible by the
/// stride. A transposed one has an output that is symmetric about its centre unless points are added on one side.
fn of_rule(rule: &Rule, sides: &[usize]) -> (Sampling, Vec<String>) {
    let (mut breaks, mut open) = (Vec::new(), Vec::new());
    let mut sides = sides.to_vec();
    sides.dedup();
    if rule.kind == Some(RuleKind::Transposed) {
        return match (rule.output_padding, rule.stride) {
            (Some(0), _) | (None, Some(1)) => (Sampling::Commutes, vec![]),
            (Some(added), _) => {
                let reason = format!("output padding {added}: the output has more points on one side of its centre");
                (Sampling::Breaks, vec![reason])
            }
            (None, _) => (Sampling::Unknown, vec![]),
        };
    }
    let (stride, padding) = (rule.stride.unwrap_or(1), rule.padding.unwrap_or(0));
    for side in sides {
        match rule.input.map(|input| (input, (input + 2 * padding).checked_sub(side))) {
            Some((input, None)) => {
                breaks.push(format!("kernel of side {side} is larger than its input {input} + 2·{padding}"));
            }
            Some((input, Some(span))) if !span.is_multiple_of(stride) => breaks.push(format!(
                "stride {stride}: ({input} + 2·{padding} − {side}) = {span} is not divisible by it, so the samples are off centre"
            )),
            _ => {}
        }
        if side.is_multiple_of(2) && rule.padding.is_none() {
            open.push(format!("even kernel of side {side}: exact only with equal padding on all sides"));
        }
    }
    let is_known = rule.stride == Some(1) || (rule.stride.is_some() && rule.input.is_some());
    let sampling = match (breaks.is_empty(), is_known && open.is_empty()) {
        (false, _) => Sampling::Breaks,
        (true, true) => Sampling::Commutes,
        (true, false) => Sampling::Unknown,
    };
    (sampling, [breaks, open].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strided_layer_is_exact_only_on_inputs_of_the_right_parity() {
        let of = |sides: &[usize], rule: &Rule| of_rule(rule, sides);
        let rule = |input| Rule { stride: Some(2), padding: Some(1), input, ..Rule::default() };
        assert_eq!(of(&[3, 3], &rule(Some(33))), (Sampling::Commutes, vec![]));
        let (found, why) = of(&[3], &rule(Some(32)));
        assert!(found == Sampling::Breaks && why[0].contains("31 is not divisible"), "{why:?}");
        assert!(of(&[3], &rule(Some(0))).1[0].contains("larger"));
        assert_eq!(of(&[3], &rule(None)).0, Sampling::Unknown);
        let (found, why) = of(&[2], &Rule::default());
        assert!(found == Sampling::Unknown && why[0].contains("even"), "{why:?}");
        assert_eq!(
            of(&[2], &Rule { stride: Some(1), padding: Some(1), ..Rule::default() }),
            (Sampling::Commutes, vec![])
        );
        let transposed = |output_padding| Rule { kind: Some(RuleKind::Transposed), output_padding, ..rule(Some(8)) };
        let found = [None, Some(0), Some(1)].map(|added| of(&[4, 4], &transposed(added)).0);
        assert_eq!(found, [Sampling::Unknown, Sampling::Commutes, Sampling::Breaks]);
    }

    /// Every statement against the positions themselves: n windows of k points, from −before on, `stride` apart.
    #[test]
    fn the_files_word_is_that_of_the_positions() {
        let group = crate::group::parse("flip-0").unwrap();
        for case in 0..3 * 3 * 3 * 2 * 12 {
            let (stride, before, after) = (1 + case % 3, case / 3 % 3, case / 9 % 3);
            let (dilation, input, side) = (1 + case / 27 % 2, 5 + case / 54, 3);
            let axis = Axis { stride, padding: [before, after], dilation, output_padding: 0, input: Some(input) };
            let file = Convolution { transposed: false, groups: 1, axes: vec![axis] };
            let reach = (side - 1) * dilation + 1;
            let last = (input + before + after - reach) / stride * stride;
            // The first window begins `before` points before the input, the last ends so many behind it.
            let behind = (last + reach) as i64 - before as i64 - input as i64;
            let found = file.sampling(&group, &[side]).0;
            assert_eq!(found == Sampling::Commutes, behind == before as i64, "{axis:?}");
            let unknown = Convolution { axes: vec![Axis { input: None, ..axis }], ..file.clone() };
            let expected = if stride > 1 { Sampling::Unknown } else { found };
            assert_eq!(unknown.sampling(&group, &[side]).0, expected, "{axis:?}");
        }
    }

    #[test]
    fn axes_that_the_group_exchanges_must_be_alike() {
        let axis = |stride| Axis { stride, padding: [1, 1], dilation: 1, output_padding: 0, input: Some(9) };
        let file = Convolution { transposed: false, groups: 1, axes: vec![axis(2), axis(1)] };
        let under = |name: &str| file.sampling(&crate::group::parse(name).unwrap(), &[3, 3]).0;
        assert_eq!(
            [under("flip"), under("D2"), under("C4")],
            [Sampling::Commutes, Sampling::Commutes, Sampling::Breaks]
        );
        let up = |padding, output_padding| Convolution {
            transposed: true,
            groups: 1,
            axes: vec![Axis { padding, output_padding, ..axis(2) }; 2],
        };
        let under = |file: Convolution| file.sampling(&crate::group::parse("C4").unwrap(), &[4, 4]).0;
        assert_eq!(
            [up([1, 1], 0), up([1, 1], 1), up([0, 1], 1), up([0, 1], 0)].map(under),
            [Sampling::Commutes, Sampling::Breaks, Sampling::Commutes, Sampling::Breaks]
        );
    }
}
