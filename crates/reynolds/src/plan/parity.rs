//! Where sampling breaks the symmetry of a convolution, whatever its kernel.

use super::Rule;

/// Warnings for a kernel of `side` points. A strided convolution samples positions that are symmetric about the centre of its input only
/// if (H + 2·padding − k) is divisible by the stride.
pub(super) fn warnings(rule: &Rule, side: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    let (stride, padding) = (rule.stride.unwrap_or(1), rule.padding.unwrap_or(0));
    if let (Some(input), true) = (rule.input, stride > 1) {
        let span = (input + 2 * padding).checked_sub(side);
        match span {
            None => warnings.push(format!("kernel of side {side} is larger than its input {input} + 2·{padding}")),
            Some(span) if !span.is_multiple_of(stride) => warnings.push(format!(
                "stride {stride}: ({input} + 2·{padding} − {side}) = {span} is not divisible by it, so the samples are off centre"
            )),
            Some(_) => {}
        }
    }
    if side.is_multiple_of(2) {
        warnings.push(format!("even kernel of side {side}: exact only with equal padding on all sides"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strided_layer_is_exact_only_on_inputs_of_the_right_parity() {
        let rule = |input| Rule { stride: Some(2), padding: Some(1), input: Some(input), ..Rule::default() };
        assert!(warnings(&rule(33), 3).is_empty());
        assert!(warnings(&rule(32), 3)[0].contains("31 is not divisible"));
        assert!(warnings(&rule(0), 3)[0].contains("larger"));
        assert!(warnings(&Rule::default(), 2)[0].contains("even"));
    }
}
