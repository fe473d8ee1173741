//! The table of growth: what a unit costs at a size, at ten times the size and at a hundred times.
use std::fmt::Write as _;

use clap::ValueEnum as _;
use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};

use super::{FUGATO, LIMIT, Report, number, reasons};
use crate::workload::{Measure, Workload};

/// The columns of the table of growth.
const GROWTH: [&str; 9] = [
    "workload",
    "size",
    "measure",
    "1 ×",
    "10 ×",
    "100 ×",
    "100 × / 1 ×",
    LIMIT,
    "",
];
/// The most that a unit may cost at a hundred times the size, in what it costs at the size.
const MOST_GROWTH: f64 = 1.1;

/// The sizes over which the cost of a unit is to stay the same.
pub fn growth_sizes(from: u64) -> [u64; 3] {
    [from, 10 * from, 100 * from]
}

impl Report {
    /// The table of a unit's cost at three sizes, each ten times the one before: where the work of a
    /// unit stays the same, so should its cost.
    pub fn growth_table(&self) -> Table {
        let mut table = Table::new();
        table.load_preset(UTF8_FULL_CONDENSED);
        table.set_header(GROWTH);
        for row in self.growth_rows() {
            table.add_row(row);
        }
        table
    }

    /// The same as a part of a page.
    pub fn growth_part(&self) -> String {
        let mut part = format!(
            "\n## How costs grow\n\nWhat a unit costs fugato at a size, at ten times the size and at \
             a hundred times, where the work of a unit stays the same; the goal is {MOST_GROWTH} × at \
             most, or {MOST_GROWTH} × the growth of `limit`, whose memory grows in the same way.\nThe smallest size \
             pays most of what a run costs once.\n\n| {} |\n|{}\n",
            GROWTH.join(" | "),
            "---|".repeat(GROWTH.len()),
        );
        let rows = self.growth_rows();
        for row in &rows {
            let _ = writeln!(part, "| {} |", row.join(" | "));
        }
        let grows = |name: &str| rows.iter().any(|row| row[0] == name && row[8] == "✗");
        part.push_str(&reasons::told(reasons::GROWTH, grows));
        part
    }

    fn growth_rows(&self) -> Vec<[String; GROWTH.len()]> {
        let row = |workload: &Workload| {
            let (spec, from) = (workload.spec(), workload.grows_from()?);
            let mut shown = spec.shown.iter();
            let (measure, goal) =
                shown.find(|(measure, _)| !matches!(measure, Measure::Memory | Measure::Disk))?;
            let costs = |system| {
                let cost = |size| self.value((*workload, size, *measure, *goal), system);
                let [small, middle, large] = growth_sizes(from).map(cost);
                Some([small?, middle?, large?])
            };
            let [small, middle, large] = costs(FUGATO)?;
            let unavoidable = costs(LIMIT).map(|[small, _, large]| large / small);
            let growth = large / small;
            let verdict = match growth <= MOST_GROWTH * unavoidable.unwrap_or(1.0).max(1.0) {
                _ if !self.judges => "",
                true => "✓",
                false => "✗",
            };
            Some([
                spec.name.to_owned(),
                from.to_string(),
                measure.label(spec.unit),
                number(small),
                number(middle),
                number(large),
                format!("{growth:.2}"),
                unavoidable.map_or(String::new(), |growth| format!("{growth:.2}")),
                verdict.to_owned(),
            ])
        };
        Workload::value_variants().iter().filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cells, entry};
    use super::*;

    #[test]
    fn growth_is_what_a_unit_costs_at_a_hundred_times_the_size() {
        let entries = |last| {
            let sizes = [(100, 0.5), (1000, 0.4), (10_000, last)];
            sizes.map(|(size, cost)| entry(FUGATO, size, cost)).to_vec()
        };
        let flat = Report::new(entries(0.55), true);
        let row = [
            "loop",
            "100",
            "CPU µs/step",
            "0.500",
            "0.400",
            "0.550",
            "1.10",
            "",
            "✓",
        ];
        assert_eq!(cells(&flat.growth_table()), [row]);
        assert!(
            flat.growth_part()
                .contains("| loop | 100 | CPU µs/step | 0.500 |")
        );
        let grows = Report::new(entries(0.6), true);
        assert_eq!(cells(&grows.growth_table())[0][6..], ["1.20", "", "✗"]);
        // What the hand-written program cannot avoid is allowed.
        let limit = [(100, 0.1), (1000, 0.1), (10_000, 0.11)];
        let limit = limit.map(|(size, cost)| entry(LIMIT, size, cost));
        let both = Report::new(entries(0.6).into_iter().chain(limit).collect(), true);
        assert_eq!(cells(&both.growth_table())[0][6..], ["1.20", "1.10", "✓"]);
        // Without all three sizes nothing is said.
        let missing = Report::new(entries(0.6)[1..].to_vec(), true);
        assert_eq!(missing.growth_table().row_count(), 0);
    }
}
