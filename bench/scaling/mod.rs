//! Growth of cost with the number of weights, the order of the group, the side of a kernel, the band limit, the size of a network.
//!
//! ```text
//! time ≈ factor · size^exponent       fitted on logarithms over the upper half of the sizes
//! ```
//!
//! Times are medians of works that take turns; every result is compared with the Haar average before. The floor is a copy of W.
//!
//! Paper: `sec:asymp_cost`.

mod agreement;
mod draw;
mod extent;
mod fit;
mod haar_sum;
mod host;
mod penalty;
mod series;
mod ways;

use std::fs;
use std::path::{Path, PathBuf};

pub use extent::Extent;
pub use fit::PowerLaw;
use reynolds_torch::tch::Device;
pub use series::{ExponentRow, Panel, Plot, Point, ScalingReport, Series};

use reynolds_checkpoint::whole_file;
use reynolds_train::environment::Environment;
use reynolds_train::error::{Error, Result};
use reynolds_train::progress;
use reynolds_train::threads;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaling {
    pub extent: Extent,
    /// Device of the penalty, which is not measured without one.
    pub device: Option<Device>,
    /// Threads of our projectors and of libtorch; 0 = all.
    pub threads: usize,
}

impl Scaling {
    pub fn measure(&self) -> Result<ScalingReport> {
        let count = threads::resolve(self.threads);
        threads::set(count);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let pool = pool.map_err(|cause| Error::config("threads", "threads that the system gives", cause))?;
        let sizes = self.extent.sizes(self.device);
        let (figures, effort) = (host::figures(&sizes)?, self.extent.effort());
        let layers = if self.device.is_some() { sizes.layers.len() } else { 0 };
        let progress = progress::WorkProgress::begin("scaling", (host::sizes_in(&figures) + layers) as u64);
        let host = || -> Result<Vec<Plot>> {
            figures.into_iter().map(|(name, plans)| host::plot(name, plans, effort, &progress)).collect()
        };
        let mut plots = pool.install(host)?;
        if let Some(device) = self.device {
            plots.push(penalty::plot(&sizes.layers, device, effort, &progress)?);
        }
        Ok(ScalingReport {
            environment: Environment::now(self.device.unwrap_or(Device::Cpu)),
            threads: count,
            extent: self.extent,
            plots,
        })
    }
}

impl ScalingReport {
    /// Writes `scaling.json` and a figure `scaling-NAME.svg` for each plot into `folder`, which is created; returns the files.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        fs::create_dir_all(folder).map_err(Error::io(folder, "make the folder"))?;
        let mut files = Vec::new();
        for plot in &self.plots {
            let file = folder.join(format!("scaling-{}.svg", plot.name));
            whole_file::write(&file, draw::svg(plot).as_bytes())?;
            files.push(file);
        }
        let file = folder.join("scaling.json");
        let text = serde_json::to_string_pretty(self).expect("a report is numbers and texts") + "\n";
        whole_file::write(&file, text.as_bytes())?;
        files.push(file);
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn without_a_device_there_is_no_penalty() {
        let report = Scaling { extent: Extent::Tiny, device: None, threads: 1 }.measure().unwrap();
        let names: Vec<&str> = report.plots.iter().map(|plot| plot.name.as_str()).collect();
        assert_eq!(names, ["weights", "group", "kernel", "band"]);
        let panels: Vec<&Panel> = report.plots.iter().flat_map(|plot| &plot.panels).collect();
        for panel in &panels {
            for series in &panel.series {
                assert!(series.points.windows(2).all(|pair| pair[0].x < pair[1].x), "{}", series.name);
                let good = |point: &Point| point.seconds.is_finite() && point.seconds > 0.0 && point.weights > 0;
                assert!(!series.points.is_empty() && series.points.iter().all(good), "{}", series.name);
                assert_eq!(series.fit.is_none(), series.floor || series.points.len() < 2, "{}", series.name);
            }
        }
        // No curve hides another: one family of groups a panel.
        let families = |panel: &Panel| panel.series.iter().filter(|series| series.name.starts_with("orbits")).count();
        assert_eq!(report.plots[1].panels.iter().map(families).collect::<Vec<_>>(), [1, 1, 1]);
        // The floor is under every point, whatever the group or the side.
        let places = |series: &Series| series.points.iter().map(|point| point.x as u64).collect::<BTreeSet<_>>();
        for panel in report.plots[1..3].iter().flat_map(|plot| &plot.panels) {
            if let Some(floor) = panel.series.iter().find(|series| series.floor) {
                assert!(panel.series.iter().all(|series| places(series).is_subset(&places(floor))), "{}", panel.title);
            }
        }
        // Ours, the paper's and the floor stand beside each other on the same weights.
        let sizes = |name: &str| {
            let series = panels[0].series.iter().find(|series| series.name.starts_with(name)).unwrap();
            series.points.iter().map(|point| point.weights).collect::<Vec<_>>()
        };
        assert!(
            ["dense Haar sum", "HaarProjector", "Fourier", "floor"].iter().all(|name| sizes(name) == sizes("orbits"))
        );
    }
}
