//! The page itself.

use std::fmt::Write;

use super::chart::Chart;
use super::check::Check;
use super::escape::escape;
use super::table::Table;

const STYLE: &str = include_str!("style.css");

/// Sorts tables by a click on a head; only pages with such tables have it.
const SCRIPT: &str = include_str!("sort.js");

/// A page that grows from top to bottom; facts and checks stand above all else.
#[derive(Debug, Clone)]
pub struct Report {
    title: String,
    facts: Vec<(String, String)>,
    checks: Vec<Check>,
    body: String,
    sortable: bool,
}

impl Report {
    /// An empty page of this title.
    pub fn new(title: impl Into<String>) -> Self {
        let (facts, checks) = (Vec::new(), Vec::new());
        Self { title: title.into(), facts, checks, body: String::new(), sortable: false }
    }

    /// Adds what, when or how: the command, the commit, the device, the budget.
    pub fn fact(&mut self, key: impl Into<String>, value: impl ToString) -> &mut Self {
        self.facts.push((key.into(), value.to_string()));
        self
    }

    /// Adds a claim and its verdict.
    pub fn check(&mut self, check: Check) -> &mut Self {
        self.checks.push(check);
        self
    }

    /// Adds what it all comes to, in large letters: for the top of a page.
    pub fn verdict(&mut self, lines: &[String]) -> &mut Self {
        let lines: String = lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
        self.push(&format!("<div class=\"verdict\">\n{lines}</div>\n"))
    }

    /// Adds markup of this crate's own.
    pub(super) fn html_block(&mut self, html: &str) -> &mut Self {
        self.push(html)
    }

    /// Begins a section.
    pub fn section(&mut self, title: impl AsRef<str>) -> &mut Self {
        self.push(&format!("<h2>{}</h2>\n", escape(title.as_ref())))
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.push(&format!("<p>{}</p>\n", escape(text.as_ref())))
    }

    /// Adds a remark: a paragraph that stands back.
    pub fn note(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.push(&format!("<p class=\"note\">{}</p>\n", escape(text.as_ref())))
    }

    /// Adds text as it stands, in a box that opens: a configuration, say.
    pub fn verbatim(&mut self, title: impl AsRef<str>, text: impl AsRef<str>) -> &mut Self {
        let (title, text) = (escape(title.as_ref()), escape(text.as_ref()));
        self.push(&format!("<details><summary>{title}</summary><pre>{text}</pre></details>\n"))
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.sortable |= table.is_sortable();
        self.push(&table.html())
    }

    /// Adds a figure over its caption: an SVG file, shown as an image, so that nothing in it runs.
    pub fn figure(&mut self, svg: impl AsRef<str>, caption: impl AsRef<str>) -> &mut Self {
        let (source, caption) = (image(svg.as_ref()), escape(caption.as_ref()));
        self.push(&format!(
            "<figure>\n<img src=\"{source}\" alt=\"{caption}\">\n<figcaption>{caption}</figcaption></figure>\n"
        ))
    }

    /// Adds curves, side by side where the page is wide.
    pub fn charts(&mut self, charts: &[Chart]) -> &mut Self {
        let drawn: Vec<String> = charts
            .iter()
            .filter_map(|chart| Some(format!("<div><h3>{}</h3>\n{}</div>\n", escape(&chart.title), chart.svg()?)))
            .collect();
        if drawn.is_empty() { self } else { self.push(&format!("<div class=\"charts\">\n{}</div>\n", drawn.concat())) }
    }

    fn push(&mut self, html: &str) -> &mut Self {
        self.body += html;
        self
    }

    /// The whole page.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        );
        if !self.facts.is_empty() {
            let facts =
                self.facts.iter().map(|(key, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(key), escape(value)));
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(page, "<dl>\n{}</dl>", facts.collect::<String>());
        }
        if !self.checks.is_empty() {
            let held = self.checks.iter().filter(|check| check.is_held()).count();
            let _ = writeln!(page, "<h2>Checks: {held} of {} held</h2>\n<ul class=\"checks\">", self.checks.len());
            for check in &self.checks {
                let [claim, details] = [&check.claim, &check.details()].map(|text| escape(text));
                let verdict = check.verdict.name();
                let _ = writeln!(page, "<li class=\"{verdict}\"><b>{verdict}</b> {claim} <span>{details}</span></li>");
            }
            page += "</ul>\n";
        }
        let script = if self.sortable { format!("<script>\n{SCRIPT}</script>") } else { String::new() };
        page + &self.body + &script + "</body></html>\n"
    }
}

/// An SVG as the address of an image, where scripts in it do not run and its identifiers are its own.
fn image(svg: &str) -> String {
    let mut address = String::from("data:image/svg+xml,");
    for character in svg.trim_end().chars() {
        match character {
            '%' | '#' | '"' | '\'' | '<' | '>' | '&' | '\n' | '\r' | '\t' => {
                // Writing to a string cannot fail.
                let _ = write!(address, "%{:02X}", u32::from(character));
            }
            _ => address.push(character),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_text_is_escaped_and_nothing_comes_from_outside() {
        let evil = "<script>alert('x')</script>";
        let mut table = Table::new([evil]);
        table.row([evil]).caption(evil);
        let mut report = Report::new(evil);
        report
            .fact(evil, evil)
            .check(Check::new(evil, true, evil))
            .section(evil)
            .text(evil)
            .note(evil)
            .verbatim(evil, evil);
        report.table(table).figure("<svg viewBox=\"0 0 1 1\"/>", evil);
        let html = report.html();
        assert!(!html.contains("<script") && !html.contains("http"), "{html}");
        assert_eq!(html.matches("&lt;script&gt;").count(), 16, "the title and the caption twice");
    }

    #[test]
    fn figures_are_images_in_which_nothing_runs_and_checks_are_counted() {
        let mut report = Report::new("two");
        report.figure("<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert('#1')</script></svg>\n", "one & only");
        report.check(Check::new("a", true, "1")).check(Check::new("b", false, "2"));
        let html = report.html();
        assert!(html.contains("Checks: 1 of 2 held") && html.ends_with("</html>\n"));
        let image = "<img src=\"data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22%3E%3Cscript%3Ealert(%27%231%27)\
                     %3C/script%3E%3C/svg%3E\" alt=\"one &amp; only\">";
        assert!(html.contains(image) && !html.contains("<script"), "{html}");
    }

    #[test]
    fn only_a_page_with_a_sortable_table_has_a_script() {
        let mut table = Table::new(["a"]);
        let mut report = Report::new("t");
        assert!(!report.table(table.clone()).html().contains("<script"));
        table.sortable();
        assert!(report.table(table).html().ends_with("</script></body></html>\n"));
    }
}
