//! What was measured: points, series of them with their fit, panels and plots.

use serde::Serialize;

use super::clock::{Clock, Work};
use super::extent::Extent;
use super::fit::PowerLaw;
use crate::Quartiles;
use reynolds_train::environment::Environment;
use reynolds_train::error::Result;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// The size: what its panel says.
    pub x: f64,
    /// N, the number of weights.
    pub weights: usize,
    /// Median of a call.
    pub seconds: f64,
    /// The quartiles that half of the calls lie between.
    pub quartiles: [f64; 2],
}

impl Point {
    /// One size, and how long its calls took.
    pub(super) fn new(x: f64, weights: usize, seconds: Quartiles) -> Self {
        Self { x, weights, seconds: seconds.middle, quartiles: [seconds.low, seconds.high] }
    }
}

/// One way to do the work of a panel, over sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// The exponent that is claimed of it; null where no power is.
    pub claimed: Option<f64>,
    /// Who claims what.
    pub claim: String,
    /// Whether it is no way to do the work, but what the bytes that any of them moves cost.
    pub floor: bool,
    /// By size.
    pub points: Vec<Point>,
    /// The power law through the upper half of the points; null where there are too few.
    pub fit: Option<PowerLaw>,
}

/// Series over one axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// What is measured.
    pub title: String,
    /// What x is.
    pub across: String,
    /// Whether y is seconds a weight, else seconds.
    pub per_weight: bool,
    /// Names of places on the x axis; round numbers if empty.
    pub ticks: Vec<(f64, String)>,
    /// What is compared.
    pub series: Vec<Series>,
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plot {
    /// "weights", "group", …: of the file.
    pub name: String,
    /// Beside each other.
    pub panels: Vec<Panel>,
}

/// All that was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingReport {
    /// With what, where and when.
    pub environment: Environment,
    /// Threads of our projectors and of libtorch.
    pub threads: usize,
    /// How much was measured.
    pub extent: Extent,
    /// One a figure.
    pub plots: Vec<Plot>,
}

/// One line of the table of exponents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExponentRow {
    /// "scaling".
    pub row: &'static str,
    /// Of which figure.
    pub plot: String,
    /// Of which panel.
    pub panel: String,
    /// Of what.
    pub series: String,
    /// As measured.
    pub exponent: f64,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// As claimed.
    pub claimed: Option<f64>,
    /// By whom.
    pub claim: String,
    /// Seconds at the largest size.
    pub seconds: f64,
    /// That size.
    pub largest: f64,
}

impl Panel {
    /// Without series.
    pub(super) fn new(title: &str, across: &str) -> Self {
        let (title, across) = (title.into(), across.into());
        Self { title, across, per_weight: false, ticks: Vec::new(), series: Vec::new() }
    }

    /// With y per weight.
    pub(super) fn per_weight(mut self) -> Self {
        self.per_weight = true;
        self
    }

    /// With names on its x axis.
    pub(super) fn ticks(mut self, ticks: impl Iterator<Item = (f64, String)>) -> Self {
        self.ticks = ticks.collect();
        self
    }

    /// With one more series.
    pub(super) fn series(mut self, name: &str, claimed: Option<f64>, claim: &str) -> Self {
        let (name, claim) = (name.into(), claim.into());
        self.series.push(Series { name, claimed, claim, floor: false, points: Vec::new(), fit: None });
        self
    }

    /// With a floor.
    pub(super) fn floor(mut self, name: &str) -> Self {
        self = self.series(name, None, "bytes moved at the bandwidth of a copy of that size");
        if let Some(last) = self.series.last_mut() {
            last.floor = true;
        }
        self
    }

    /// Times works of one size, each for the series of its name.
    ///
    /// # Panics
    /// If there is no such series.
    pub(super) fn measure(
        &mut self,
        clock: &Clock,
        x: f64,
        weights: usize,
        works: Vec<(&str, Work<'_>)>,
    ) -> Result<()> {
        let (names, mut works): (Vec<&str>, Vec<Work<'_>>) = works.into_iter().unzip();
        for (name, seconds) in names.iter().zip(clock.quartiles(&mut works)?) {
            self.add(name, Point::new(x, weights, seconds));
        }
        Ok(())
    }

    /// Adds what was measured elsewhere.
    pub(super) fn add(&mut self, name: &str, point: Point) {
        let series = self.series.iter_mut().find(|series| series.name == name);
        series.expect("a series of the panel").points.push(point);
    }

    /// Seconds of the last point of a series.
    pub(super) fn last(&self, name: &str) -> Option<f64> {
        let series = self.series.iter().find(|series| series.name == name)?;
        series.points.last().map(|point| point.seconds)
    }

    /// Whether a series has a point at x.
    pub(super) fn has(&self, name: &str, x: f64) -> bool {
        self.series.iter().any(|series| series.name == name && series.points.iter().any(|point| point.x == x))
    }

    /// What is drawn of a series: x, and seconds or seconds a weight.
    pub fn drawn(&self, series: &Series) -> Vec<[f64; 2]> {
        series.points.iter().map(|point| [point.x, point.seconds / self.share(point)]).collect()
    }

    /// The bars at its points: x, and both quartiles.
    pub fn bars(&self, series: &Series) -> Vec<[f64; 3]> {
        let bar = |point: &Point| {
            let [low, high] = point.quartiles.map(|seconds| seconds / self.share(point));
            [point.x, low, high]
        };
        series.points.iter().map(bar).collect()
    }

    fn share(&self, point: &Point) -> f64 {
        if self.per_weight { point.weights as f64 } else { 1.0 }
    }

    /// Fits every series but the floors, which come last, and drops those that nothing was measured of.
    pub(super) fn fitted(mut self) -> Self {
        self.series.retain(|series| !series.points.is_empty());
        self.series.sort_by_key(|series| series.floor);
        for number in 0..self.series.len() {
            let fit = PowerLaw::of_upper_half(&self.drawn(&self.series[number]));
            let series = &mut self.series[number];
            series.fit = fit.filter(|_| !series.floor);
        }
        self
    }
}

impl ScalingReport {
    /// All exponents, figure by figure.
    pub fn exponents(&self) -> Vec<ExponentRow> {
        let panels = self.plots.iter().flat_map(|plot| plot.panels.iter().map(move |panel| (plot, panel)));
        let series = panels.flat_map(|(plot, panel)| panel.series.iter().map(move |series| (plot, panel, series)));
        let row = |(plot, panel, series): (&Plot, &Panel, &Series)| {
            let (fit, last) = (series.fit?, series.points.last()?);
            Some(ExponentRow {
                row: "scaling",
                plot: plot.name.clone(),
                panel: panel.title.clone(),
                series: series.name.clone(),
                exponent: fit.exponent,
                standard_error: fit.standard_error,
                claimed: series.claimed,
                claim: series.claim.clone(),
                seconds: last.seconds,
                largest: last.x,
            })
        };
        series.filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_is_of_what_is_drawn_and_floors_have_none() {
        let mut panel =
            Panel::new("P", "N").per_weight().series("a", Some(0.0), "ours").series("none", None, "").floor("copy");
        for weights in [10, 100, 1000, 10_000] {
            let seconds = Quartiles { low: 0.5, middle: 1.0, high: 2.0 }.times(1e-9 * weights as f64);
            let point = Point::new(weights as f64, weights, seconds);
            panel.add("a", point);
            panel.add("copy", point);
        }
        let panel = panel.fitted();
        assert_eq!(panel.series.len(), 2);
        assert!(panel.series[0].fit.unwrap().exponent.abs() < 1e-12);
        assert!(panel.series[1].fit.is_none() && panel.last("copy") == Some(1e-5));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12 * b;
        let bars = panel.bars(&panel.series[0]);
        assert!(bars.iter().all(|&[_, low, high]| close(low, 0.5e-9) && close(high, 2e-9)), "{bars:?}");
    }
}
