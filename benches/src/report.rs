//! The tables of medians and ratios, as text and as JSON.
mod growth;
mod page;
mod reasons;

use std::io::{self, Write};

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use serde::Serialize;

pub use growth::growth_sizes;

use crate::{
    contest::{Entry, Missing},
    measure::{Measurement, as_float},
    workload::{Goal, Measure, Workload},
};

/// The name of the system that the others are compared with.
pub const FUGATO: &str = "fugato";
/// The name of the hand-written programs.
pub const LIMIT: &str = "limit";

/// Everything that was measured.
#[derive(Debug)]
pub struct Report {
    entries: Vec<Entry>,
    peers: Vec<String>,
    /// True if goals are judged: not on a busy machine.
    judges: bool,
}

/// A row of a table: a workload, its size, and a measure of it.
type Row = (Workload, u64, Measure, Goal);

#[derive(Serialize)]
struct Line<'a> {
    workload: &'a str,
    size: u64,
    system: &'a str,
    unit: &'a str,
    median_us_cpu: f64,
    median_us_wall: f64,
    peak_rss_mb: Option<f64>,
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_us: Option<f64>,
}

impl Report {
    /// A report on these entries.
    pub fn new(entries: Vec<Entry>, judges: bool) -> Self {
        let mut peers: Vec<String> = vec![];
        for entry in &entries {
            let is_peer = entry.system != LIMIT && entry.system != FUGATO;
            if is_peer && !peers.contains(&entry.system) {
                peers.push(entry.system.clone());
            }
        }
        Self {
            entries,
            peers,
            judges,
        }
    }

    /// Writes one JSON object a line: one for each system, workload and size that was measured.
    pub fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        for entry in &self.entries {
            let Ok(measured) = &entry.result else {
                continue;
            };
            let line = Line {
                workload: entry.workload.spec().name,
                size: entry.size,
                system: &entry.system,
                unit: entry.workload.spec().unit,
                median_us_cpu: measured.us_cpu,
                median_us_wall: measured.us_wall,
                peak_rss_mb: measured.peak_rss_mb,
                bytes: measured.bytes,
                p50_us: measured.p50_us,
                p95_us: measured.p95_us,
                p99_us: measured.p99_us,
            };
            serde_json::to_writer(&mut out, &line)?;
            writeln!(out)?;
        }
        out.flush()
    }

    /// The table for a screen: of the other engines, only the best of each row.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(UTF8_FULL_CONDENSED);
        table.set_header([
            "workload",
            "size",
            "measure",
            LIMIT,
            FUGATO,
            "spread",
            "/limit",
            "",
            "best other (/fugato)",
        ]);
        for row in self.rows() {
            let mut cells = self.own_cells(row);
            let best = self.best(row).map(|(peer, cost)| {
                let ratio = self.value(row, FUGATO).map(|own| cost / own);
                let ratio = ratio.map_or(String::new(), |ratio| format!(" ({}×)", number(ratio)));
                format!("{peer} {}{ratio}", number(cost))
            });
            cells.push(best.unwrap_or_default());
            table.add_row(cells);
        }
        table
    }

    /// The table with a column for each other engine, whose cells end with how many times fugato's
    /// figure they are.
    pub fn whole_table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(UTF8_FULL_CONDENSED);
        table.set_header(self.whole_header());
        for row in self.rows() {
            table.add_row(self.whole_row(row));
        }
        table
    }

    fn whole_header(&self) -> Vec<String> {
        let own = [
            "workload", "size", "measure", LIMIT, FUGATO, "spread", "/limit", "",
        ];
        let own = own.into_iter().map(str::to_owned);
        own.chain(self.peers.iter().cloned()).collect()
    }

    fn whole_row(&self, row: Row) -> Vec<String> {
        let mut cells = self.own_cells(row);
        for peer in &self.peers {
            let both = self.value(row, peer).zip(self.value(row, FUGATO));
            let ratio = both.map(|(peer, own)| format!(" ({}×)", number(peer / own)));
            cells.push(self.cell(row, peer) + &ratio.unwrap_or_default());
        }
        cells
    }

    /// Returns the best other engine of a row.
    fn best(&self, row: Row) -> Option<(&str, f64)> {
        let costs = self.peers.iter();
        let costs = costs.filter_map(|peer| Some((peer.as_str(), self.value(row, peer)?)));
        costs.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Returns the rows, in the order of the measurements.
    fn rows(&self) -> impl Iterator<Item = Row> {
        let mut seen = vec![];
        let entries = self.entries.iter().filter(move |entry| {
            let run = (entry.workload, entry.size);
            let is_new = !seen.contains(&run);
            seen.push(run);
            is_new
        });
        entries.flat_map(|entry| {
            let shown = entry.workload.spec().shown.iter();
            shown.map(|(measure, goal)| (entry.workload, entry.size, *measure, *goal))
        })
    }

    /// Why figures are missing, one line each.
    pub fn remarks(&self) -> Vec<String> {
        let remark = |entry: &Entry| {
            let (Missing::Unsupported(why) | Missing::Failed(why)) = entry.result.as_ref().err()?;
            let name = entry.workload.spec().name;
            Some(format!("{} {name} {}: {why}", entry.system, entry.size))
        };
        self.entries.iter().filter_map(remark).collect()
    }

    /// Returns the cells of the workload, of the limit and of fugato.
    fn own_cells(&self, row: Row) -> Vec<String> {
        let (workload, size, measure, goal) = row;
        let spec = workload.spec();
        let (limit, fugato) = (self.value(row, LIMIT), self.value(row, FUGATO));
        let ratio = fugato.zip(limit);
        let ratio = ratio.map(|(fugato, limit)| format!("{:.2}", fugato / limit));
        let spread = self.find(row, FUGATO).and_then(|entry| entry.spread);
        let spread = spread.map(|spread| format!("{:.0} %", 100.0 * spread));
        vec![
            spec.name.to_owned(),
            size.to_string(),
            measure.label(spec.unit),
            self.cell(row, LIMIT),
            self.cell(row, FUGATO),
            spread.unwrap_or_default(),
            ratio.unwrap_or_default(),
            match self.verdict(row) {
                Some(true) => "✓".to_owned(),
                Some(false) => format!("✗ {}", goal.label()),
                None => String::new(),
            },
        ]
    }

    /// Judges whether the goal of a row is reached; none if it is not judged, or what it is compared
    /// with was not measured.
    fn verdict(&self, row: Row) -> Option<bool> {
        let (workload, size, measure, goal) = row;
        let fugato = self.value(row, FUGATO).filter(|_| self.judges)?;
        let sizes = workload.spec().sizes.iter();
        let smaller = sizes.filter(|smaller| **smaller < size);
        let mut smaller =
            smaller.filter_map(|size| self.value((workload, *size, measure, goal), FUGATO));
        let best = self.best(row).map(|(_, cost)| cost);
        let limit = self.value(row, LIMIT);
        is_reached(goal, fugato, limit, smaller.next(), best)
    }

    fn cell(&self, row: Row, system: &str) -> String {
        match self.find(row, system).map(|entry| &entry.result) {
            Some(Ok(measured)) => quantity(measured, row.2).map_or(String::new(), number),
            Some(Err(Missing::Failed(_))) => "failed".into(),
            Some(Err(Missing::Unsupported(_))) | None => String::new(),
        }
    }

    fn value(&self, row: Row, system: &str) -> Option<f64> {
        quantity(self.find(row, system)?.result.as_ref().ok()?, row.2)
    }

    fn find(&self, (workload, size, ..): Row, system: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|e| (e.workload, e.size) == (workload, size) && e.system == system)
    }
}

fn quantity(measured: &Measurement, measure: Measure) -> Option<f64> {
    match measure {
        Measure::Cpu => Some(measured.us_cpu),
        Measure::Wall => Some(measured.us_wall),
        Measure::Disk => measured.bytes.map(|bytes| as_float(bytes) / 1e6),
        Measure::Memory => measured.peak_rss_mb,
        Measure::P50 => measured.p50_us,
        Measure::P95 => measured.p95_us,
        Measure::P99 => measured.p99_us,
    }
}

/// Whether the goal is reached; none if what it is compared with was not measured.
fn is_reached(
    goal: Goal,
    fugato: f64,
    limit: Option<f64>,
    smallest: Option<f64>,
    best_peer: Option<f64>,
) -> Option<bool> {
    match goal {
        Goal::AtMost(most) => Some(fugato <= most),
        Goal::TimesLimit(times) => Some(fugato <= times * limit?),
        Goal::Flat(most, times) => {
            Some(smallest.map_or(fugato <= most, |smallest| fugato <= times * smallest))
        }
        Goal::Ahead => Some(fugato <= best_peer?),
        Goal::FarAhead(most, times) => {
            Some(fugato <= most && best_peer.is_none_or(|peer| times * fugato <= peer))
        }
    }
}

/// Three digits that count.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v < 1.0 => 3,
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn entry(system: &str, size: u64, us_cpu: f64) -> Entry {
        let measured = Measurement {
            us_cpu,
            us_wall: 9.0,
            peak_rss_mb: Some(4.5),
            bytes: None,
            p50_us: None,
            p95_us: None,
            p99_us: None,
        };
        Entry {
            workload: Workload::Loop,
            size,
            system: system.into(),
            result: Ok(measured),
            spread: None,
        }
    }

    pub(super) fn cells(table: &Table) -> Vec<Vec<String>> {
        let row =
            |row: &comfy_table::Row| row.cell_iter().map(comfy_table::Cell::content).collect();
        table.row_iter().map(row).collect()
    }

    pub(super) fn compared(judges: bool) -> Report {
        let mut entries = vec![
            entry(LIMIT, 1000, 0.25),
            entry(FUGATO, 1000, 0.3),
            entry("other", 1000, 600.0),
            entry("quick", 1000, 0.15),
            entry(FUGATO, 10_000, 0.395),
        ];
        for entry in &mut entries {
            entry.spread = Some(0.04);
        }
        Report::new(entries, judges)
    }

    #[test]
    fn the_table_compares_fugato_with_the_limit_and_with_the_best_peer() {
        let rows = cells(&compared(true).table());
        let missed = "✗ ≤ 0.4, ≤ 1.3 × smallest";
        assert_eq!(
            rows,
            [
                [
                    "loop",
                    "1000",
                    "CPU µs/step",
                    "0.250",
                    "0.300",
                    "4 %",
                    "1.20",
                    "✓",
                    "quick 0.150 (0.500×)"
                ],
                [
                    "loop",
                    "10000",
                    "CPU µs/step",
                    "",
                    "0.395",
                    "4 %",
                    "",
                    missed,
                    ""
                ],
            ]
        );
        let whole = cells(&compared(true).whole_table());
        assert_eq!(whole[0][8..], ["600 (2000×)", "0.150 (0.500×)"]);
        // On a busy machine no goal is judged.
        let busy = cells(&compared(false).table());
        assert!(busy.iter().all(|row| row[7].is_empty()), "{busy:?}");
    }

    #[test]
    fn what_is_missing_is_remarked_and_not_in_the_json() {
        let mut missing = entry("other", 1000, 0.0);
        missing.result = Err(Missing::Unsupported("has no loops".into()));
        let report = Report::new(vec![entry(FUGATO, 1000, 0.5), missing], true);
        assert_eq!(report.remarks(), ["other loop 1000: has no loops"]);
        let mut json = vec![];
        report.write_json(&mut json).unwrap();
        let expected = concat!(
            r#"{"workload":"loop","size":1000,"system":"fugato","unit":"step","#,
            r#""median_us_cpu":0.5,"median_us_wall":9.0,"peak_rss_mb":4.5,"bytes":null}"#,
            "\n",
        );
        assert_eq!(String::from_utf8(json).unwrap(), expected);
    }
}
