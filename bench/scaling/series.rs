//! Measurements: points, series with their fit, panels and plots.

use serde::Serialize;

use super::extent::Extent;
use super::fit::PowerLaw;
use crate::Times;
use reynolds_train::environment::Environment;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// The size; its panel says which.
    pub x: f64,
    /// N, the number of weights.
    pub weights: usize,
    pub seconds: f64,
    pub quartiles: [f64; 2],
}

impl Point {
    pub(super) fn new(x: f64, weights: usize, times: &Times) -> Self {
        Self { x, weights, seconds: times.median(), quartiles: times.quartiles() }
    }

    /// With all times multiplied by `factor`.
    pub(super) fn times(self, factor: f64) -> Self {
        Self { seconds: factor * self.seconds, quartiles: self.quartiles.map(|seconds| factor * seconds), ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    pub name: String,
    /// The claimed exponent; null if no power law is claimed.
    pub claimed: Option<f64>,
    pub claim: String,
    /// Whether it is the cost of moving the bytes, a lower bound for all ways.
    pub floor: bool,
    pub points: Vec<Point>,
    /// The power law through the upper half of the points; null if there are too few.
    pub fit: Option<PowerLaw>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    pub title: String,
    pub across: String,
    /// Whether y is seconds per weight, else seconds.
    pub per_weight: bool,
    /// Ticks of the x axis; round numbers if empty.
    pub ticks: Vec<(f64, String)>,
    pub series: Vec<Series>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plot {
    /// "weights", "group", …, as in the name of its file.
    pub name: String,
    pub panels: Vec<Panel>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingReport {
    pub environment: Environment,
    pub threads: usize,
    pub extent: Extent,
    pub plots: Vec<Plot>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExponentRow {
    pub row: &'static str,
    pub plot: String,
    pub panel: String,
    pub series: String,
    pub exponent: f64,
    pub standard_error: Option<f64>,
    pub claimed: Option<f64>,
    pub claim: String,
    pub seconds: f64,
    pub largest: f64,
}

impl Panel {
    pub(super) fn new(title: &str, across: &str) -> Self {
        let (title, across) = (title.into(), across.into());
        Self { title, across, per_weight: false, ticks: Vec::new(), series: Vec::new() }
    }

    pub(super) fn per_weight(mut self) -> Self {
        self.per_weight = true;
        self
    }

    pub(super) fn ticks(mut self, ticks: impl Iterator<Item = (f64, String)>) -> Self {
        self.ticks = ticks.collect();
        self
    }

    pub(super) fn series(mut self, name: &str, claimed: Option<f64>, claim: &str) -> Self {
        let (name, claim) = (name.into(), claim.into());
        self.series.push(Series { name, claimed, claim, floor: false, points: Vec::new(), fit: None });
        self
    }

    pub(super) fn floor(mut self, name: &str) -> Self {
        self = self.series(name, None, "bytes moved at the bandwidth of a copy of that size");
        if let Some(last) = self.series.last_mut() {
            last.floor = true;
        }
        self
    }

    pub(super) fn add(&mut self, name: &str, point: Point) {
        let series = self.series.iter_mut().find(|series| series.name == name);
        series.expect("a series of the panel").points.push(point);
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

    /// Fits every series but the floors, which come last, and drops empty ones.
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
            let times = Times::new(vec![0.5, 0.5, 1.0, 2.0, 2.0]);
            let point = Point::new(weights as f64, weights, &times).times(1e-9 * weights as f64);
            panel.add("a", point);
            panel.add("copy", point);
        }
        let panel = panel.fitted();
        assert_eq!(panel.series.len(), 2);
        assert!(panel.series[0].fit.unwrap().exponent.abs() < 1e-12);
        assert!(panel.series[1].fit.is_none() && panel.has("copy", 1e4) && !panel.has("copy", 1e5));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12 * b;
        let bars = panel.bars(&panel.series[0]);
        assert!(bars.iter().all(|&[_, low, high]| close(low, 0.5e-9) && close(high, 2e-9)), "{bars:?}");
    }
}
