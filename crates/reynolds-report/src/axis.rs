//! The one axis of all charts: data to the page, and round numbers along it.
//!
//! ```text
//! linear: x ↦ from + (x − low)/(high − low) · (to − from)        logarithmic: the same of log₁₀ x
//! ```

/// Number of decades beyond which only every second or third power of ten has a tick.
const MOST_DECADES: f64 = 8.0;

/// Number of decades below which twice and five times the powers of ten have ticks, too.
const FEW_DECADES: f64 = 2.0;

/// Rounding error of a logarithm, by which a tick may lie beyond an end.
const ROUNDING: f64 = 1e-9;

/// An axis from `from` to `to` on the page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    /// Ends of the data; their logarithms on a logarithmic axis.
    low: f64,
    high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

impl Axis {
    /// Over all values; `None` if there are none or one is not finite. A single value gets a margin.
    pub(crate) fn linear(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (mut low, mut high) = ends(values)?;
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            let room = if high == 0.0 { 1.0 } else { 0.1 * high.abs() };
            (low, high) = (low - room, high + room);
        }
        Some(Self { low, high, logarithmic: false, from, to })
    }

    /// Over values above 0. Values within a third of a decade get a margin of a quarter decade.
    pub(crate) fn logarithmic(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (low, high) = ends(values.into_iter().map(f64::log10))?;
        let room = if high - low < 0.3 { 0.25 } else { 0.0 };
        Some(Self { low: low - room, high: high + room, logarithmic: true, from, to })
    }

    /// Logarithmic where the values are positive and span more than three decades, else linear.
    pub(crate) fn fitting(values: impl IntoIterator<Item = f64> + Clone, from: f64, to: f64) -> Option<Self> {
        let (low, high) = ends(values.clone())?;
        let wide = low > 0.0 && high / low > 1e3;
        if wide { Self::logarithmic(values, from, to) } else { Self::linear(values, from, to) }
    }

    /// Position of a value on the page.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    pub(crate) fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Round numbers along the axis: value and text.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        if self.logarithmic {
            return self.powers();
        }
        // The largest of 1, 2 and 5 times a power of ten that leaves three steps at least.
        let most = (self.high - self.low) / 3.0;
        let decade = 10f64.powf(most.log10().floor());
        let step = [5.0, 2.0, 1.0].map(|factor| factor * decade).into_iter().find(|step| *step <= most);
        let step = step.unwrap_or(decade);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let text =
            |value: f64| if (1e-3..1e6).contains(&step) { format!("{value:.digits$}") } else { format!("{value:.1e}") };
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        // Adding 0 turns −0 into 0.
        (first..=last).map(|n| n as f64 * step + 0.0).map(|value| (value, text(value))).collect()
    }

    /// Powers of ten: every second, third, … of them if there are many; also twice and five times them if there are few.
    fn powers(&self) -> Vec<(f64, String)> {
        let span = self.high - self.low;
        let stride = (span / MOST_DECADES).ceil().max(1.0) as usize;
        let (factors, first) = match span < FEW_DECADES {
            true => (&[1, 2, 5][..], self.low.floor()),
            false => (&[1][..], (self.low - ROUNDING).ceil()),
        };
        let decades = (first as i32..=self.high.ceil() as i32).step_by(stride);
        let all = decades.flat_map(|decade| factors.iter().map(move |factor| (factor, decade)));
        all.map(|(factor, decade)| (f64::from(*factor) * 10f64.powi(decade), format!("{factor}e{decade}")))
            .filter(|(value, _)| (self.low - ROUNDING..=self.high + ROUNDING).contains(&value.log10()))
            .collect()
    }
}

/// The least and the greatest value; `None` where there are none, or one is not finite.
fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let wide = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values.into_iter().fold(wide, |(low, high), value| (low.min(value), high.max(value)));
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::Axis;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ends_map_to_ends_and_ticks_are_round() {
        let axis = Axis::linear([1.0, 3.0], 10.0, 110.0).unwrap();
        assert_eq!([1.0, 2.0, 3.0].map(|value| axis.place(value)), [10.0, 60.0, 110.0]);
        assert_eq!(texts(&axis), ["1.0", "1.5", "2.0", "2.5", "3.0"]);
        let axis = Axis::logarithmic([1e-2, 1e2], 100.0, 0.0).unwrap();
        assert_eq!([1e-2, 1.0, 1e2].map(|value| axis.place(value)), [100.0, 50.0, 0.0]);
        assert_eq!(texts(&axis), ["1e-2", "1e-1", "1e0", "1e1", "1e2"]);
    }

    #[test]
    fn number_of_ticks_follows_number_of_decades() {
        assert_eq!(texts(&Axis::logarithmic([1.0, 10.0], 0.0, 1.0).unwrap()), ["1e0", "2e0", "5e0", "1e1"]);
        let many = texts(&Axis::logarithmic([3e-2, 3e12], 0.0, 1.0).unwrap());
        assert_eq!(many, ["1e-1", "1e1", "1e3", "1e5", "1e7", "1e9", "1e11"]);
    }

    #[test]
    fn positive_values_over_three_decades_are_logarithmic() {
        let is_logarithmic = |values: [f64; 2]| Axis::fitting(values, 0.0, 1.0).unwrap().is_logarithmic();
        assert!(is_logarithmic([1e-4, 1.0]) && !is_logarithmic([1e-3, 1.0]) && !is_logarithmic([0.0, 1e9]));
    }

    #[test]
    fn a_single_value_has_a_margin_and_no_finite_value_no_axis() {
        for value in [0.0, 3.0, -1e-9, 1e12] {
            let axis = Axis::linear([value, value], 0.0, 1.0).unwrap();
            assert_eq!(axis.place(value), 0.5);
        }
        let axis = Axis::logarithmic([5.0], 0.0, 1.0).unwrap();
        assert_eq!((axis.place(5.0), texts(&axis)), (0.5, vec!["5e0".to_string()]));
        for values in [&[][..], &[f64::INFINITY]] {
            assert!(Axis::fitting(values.iter().copied(), 0.0, 1.0).is_none());
        }
    }
}
