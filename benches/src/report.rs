//! The table of medians and ratios, and the same as JSON.
use std::io::{self, Write};

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use serde::Serialize;

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
}

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
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut peers: Vec<String> = vec![];
        for entry in &entries {
            let is_peer = entry.system != LIMIT && entry.system != FUGATO;
            if is_peer && !peers.contains(&entry.system) {
                peers.push(entry.system.clone());
            }
        }
        Self { entries, peers }
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

    /// The table. A peer's cell ends with how many times fugato's figure it is.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        let fixed = [
            "workload",
            "size",
            "measure",
            LIMIT,
            FUGATO,
            "fugato/limit",
            "goal",
            "",
        ];
        let columns = fixed.into_iter().map(str::to_owned);
        table.set_header(columns.chain(self.peers.iter().map(|peer| format!("{peer} (/fugato)"))));
        let mut seen = vec![];
        for entry in &self.entries {
            let run = (entry.workload, entry.size);
            if !seen.contains(&run) {
                seen.push(run);
                for &(measure, goal) in entry.workload.spec().shown {
                    table.add_row(self.row(run, measure, goal));
                }
            }
        }
        table
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

    fn row(&self, run: (Workload, u64), measure: Measure, goal: Goal) -> Vec<String> {
        let (workload, size) = run;
        let value = |system: &str, size| self.value((workload, size), system, measure);
        let (limit, fugato) = (value(LIMIT, size), value(FUGATO, size));
        let verdict = fugato.and_then(|fugato| {
            let smallest = workload
                .spec()
                .sizes
                .iter()
                .find_map(|size| value(FUGATO, *size));
            let peers = self.peers.iter().filter_map(|peer| value(peer, size));
            is_reached(
                goal,
                fugato,
                limit,
                smallest.filter(|_| size != workload.spec().sizes.first().copied().unwrap_or(size)),
                peers.min_by(f64::total_cmp),
            )
        });
        let verdict = verdict.map_or("", |reached| if reached { "✓" } else { "✗" });
        let ratio = fugato
            .zip(limit)
            .map(|(fugato, limit)| format!("{:.2}", fugato / limit));
        let mut row = vec![
            workload.spec().name.to_owned(),
            size.to_string(),
            measure.label(workload.spec().unit),
            self.cell(run, LIMIT, measure),
            self.cell(run, FUGATO, measure),
            ratio.unwrap_or_default(),
            goal.label(),
            verdict.to_owned(),
        ];
        for peer in &self.peers {
            let cell = self.cell(run, peer, measure);
            let ratio = value(peer, size).zip(fugato);
            let ratio = ratio.map(|(peer, fugato)| format!(" ({}×)", number(peer / fugato)));
            row.push(cell + &ratio.unwrap_or_default());
        }
        row
    }

    fn cell(&self, run: (Workload, u64), system: &str, measure: Measure) -> String {
        match self.find(run, system).map(|entry| &entry.result) {
            Some(Ok(measured)) => quantity(measured, measure).map_or("–".into(), number),
            Some(Err(Missing::Failed(_))) => "failed".into(),
            Some(Err(Missing::Unsupported(_))) | None => "–".into(),
        }
    }

    fn value(&self, run: (Workload, u64), system: &str, measure: Measure) -> Option<f64> {
        let entry = self.find(run, system)?;
        quantity(entry.result.as_ref().ok()?, measure)
    }

    fn find(&self, run: (Workload, u64), system: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|e| (e.workload, e.size) == run && e.system == system)
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

    fn entry(system: &str, size: u64, us_cpu: f64) -> Entry {
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
        }
    }

    #[test]
    fn the_table_compares_fugato_with_the_limit_and_peers_with_fugato() {
        let report = Report::new(vec![
            entry(LIMIT, 1000, 0.25),
            entry(FUGATO, 1000, 0.3),
            entry("other", 1000, 600.0),
            entry(FUGATO, 10_000, 0.395),
        ]);
        let rows: Vec<Vec<String>> = report
            .table()
            .row_iter()
            .map(|row| row.cell_iter().map(comfy_table::Cell::content).collect())
            .collect();
        let goal = "≤ 0.4, ≤ 1.3 × smallest";
        assert_eq!(
            rows,
            vec![
                vec![
                    "loop",
                    "1000",
                    "CPU µs/step",
                    "0.250",
                    "0.300",
                    "1.20",
                    goal,
                    "✓",
                    "600 (2000×)"
                ],
                vec![
                    "loop",
                    "10000",
                    "CPU µs/step",
                    "–",
                    "0.395",
                    "",
                    goal,
                    "✗",
                    "–"
                ],
            ]
        );
    }

    #[test]
    fn what_is_missing_is_remarked_and_not_in_the_json() {
        let mut missing = entry("other", 1000, 0.0);
        missing.result = Err(Missing::Unsupported("has no loops".into()));
        let report = Report::new(vec![entry(FUGATO, 1000, 0.5), missing]);
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
