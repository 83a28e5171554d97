//! The findings of a reproduction, on a terminal and in its folder.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::provenance::Provenance;
use super::{Budget, Entry, Frame, Target};
use reynolds_checkpoint::whole_file;
use reynolds_report::{Check, Report, Table, terminal::shell_word};
use reynolds_train::config;
use reynolds_train::error::{Error, Result};

#[derive(Debug, Clone)]
pub struct Figure {
    /// Of the file, without ".svg".
    pub name: &'static str,
    pub svg: String,
    pub caption: String,
}

/// What a target makes of its points.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// For people.
    pub tables: Vec<Table>,
    /// table.csv.
    pub csv: String,
    /// Further files of the folder: name and text.
    pub files: Vec<(&'static str, String)>,
    /// Further keys of results.json.
    pub more: serde_json::Map<String, serde_json::Value>,
    pub figures: Vec<Figure>,
    pub checks: Vec<Check>,
    /// How to read it, a paragraph each.
    pub notes: Vec<String>,
}

/// A finished reproduction.
#[derive(Debug, Clone)]
pub struct Reproduction {
    pub folder: PathBuf,
    /// Target and budget.
    pub title: String,
    /// "50 models in 9.1 s, 2 at a time: 5.5 models/s".
    pub speed: String,
    pub findings: Findings,
}

impl Reproduction {
    pub fn all_held(&self) -> bool {
        self.findings.checks.iter().all(Check::is_held)
    }
}

impl fmt::Display for Reproduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n", self.title, self.speed)?;
        for table in &self.findings.tables {
            writeln!(f, "{table}")?;
        }
        for check in &self.findings.checks {
            writeln!(f, "{check}")?;
        }
        writeln!(f, "\nreport: {}", self.folder.join("report.html").display())
    }
}

/// "seeds = 5, batch.rotation = 16".
pub(crate) fn spelt(settings: &[(String, String)]) -> String {
    settings.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
}

/// "standard", or "standard, but epochs = 12".
pub(crate) fn differing<T: Target>(target: &T, budget: Budget, settings: &T::Settings) -> String {
    let but = spelt(&config::changed(settings, &target.settings(budget)));
    if but.is_empty() { budget.name().into() } else { format!("{}, but {but}", budget.name()) }
}

/// The command that makes it again, with the settings that differ from the budget's.
pub(crate) fn command<T: Target>(target: &T, budget: Budget, settings: &T::Settings) -> String {
    let mut command = format!("reynolds reproduce {} --budget {}", target.name(), budget.name());
    for (key, value) in config::changed(settings, &target.settings(budget)) {
        command += &format!(" --set {}", shell_word(format!("{key}={value}").as_ref()));
    }
    command
}

/// How a reproduction was made.
pub(crate) struct Made<'a, T: Target> {
    pub(crate) target: &'a T,
    pub(crate) budget: Budget,
    pub(crate) settings: &'a T::Settings,
    pub(crate) provenance: Provenance,
    pub(crate) speed: &'a str,
    pub(crate) command: &'a str,
}

impl<T: Target> Made<'_, T> {
    /// Writes figures, table.csv, results.json and report.html.
    pub(crate) fn write(&self, folder: &Path, frame: &Frame, findings: &Findings) -> Result<()> {
        let figures = folder.join("figures");
        std::fs::create_dir_all(&figures).map_err(Error::io(&figures, "create"))?;
        for figure in &findings.figures {
            whole_file::write(&figures.join(format!("{}.svg", figure.name)), figure.svg.as_bytes())?;
        }
        whole_file::write(&folder.join("table.csv"), findings.csv.as_bytes())?;
        for (name, text) in &findings.files {
            whole_file::write(&folder.join(name), text.as_bytes())?;
        }
        let results = serde_json::to_string_pretty(&self.results(frame, findings)).expect("plain numbers and names");
        whole_file::write(&folder.join("results.json"), results.as_bytes())?;
        Ok(whole_file::write(&folder.join("report.html"), self.page(findings).html().as_bytes())?)
    }

    fn results(&self, frame: &Frame, findings: &Findings) -> serde_json::Value {
        let model =
            |entry: &Entry| json!({ "id": entry.id, "config": entry.settings, "metrics": entry.trained.metrics });
        let mut results = json!({
            "target": self.target.name(),
            "budget": self.budget.name(),
            "settings": self.settings,
            "environment": self.provenance.json(),
            "checks": findings.checks,
            "models": frame.iter().map(model).collect::<Vec<_>>(),
        });
        if let Some(object) = results.as_object_mut() {
            object.extend(findings.more.clone());
        }
        results
    }

    fn page(&self, findings: &Findings) -> Report {
        let mut report = Report::new(format!("{}: {}", self.target.name(), self.target.about()));
        report
            .fact("again with", self.command)
            .fact("budget", differing(self.target, self.budget, self.settings))
            .fact("settings", spelt(&self.target.shown(self.settings)))
            .fact("training", self.speed);
        if let Some(mixed) = self.provenance.mixed() {
            report.fact("origin", mixed);
        }
        for (name, value) in self.provenance.facts() {
            report.fact(name, value);
        }
        for check in &findings.checks {
            report.check(check.clone());
        }
        for figure in &findings.figures {
            // Inside a page the name space goes without saying, and the page refers to nothing outside.
            let svg = figure.svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
            report.figure(svg, &figure.caption);
        }
        if !findings.tables.is_empty() {
            report.section("Numbers");
        }
        for table in &findings.tables {
            report.table(table.clone());
        }
        report.section("How it was made");
        for note in &findings.notes {
            report.text(note);
        }
        report
    }
}
