//! The page for people who choose.
use std::fmt::Write as _;

use super::{FUGATO, Report, Row, number, reasons};
use crate::{machine, peer};

impl Report {
    /// A page for people who choose: first what others do better, then everything.
    pub fn page(&self, date: &str) -> String {
        let mut page = format!(
            "# Comparison\n\nMade by `cargo compare --page` on {date}, on {}.\nfugato {}",
            machine::name(),
            env!("CARGO_PKG_VERSION"),
        );
        for name in &self.peers {
            let version = peer::version(name).unwrap_or("of an unknown version");
            let _ = write!(page, ", {name} {version}");
        }
        page.push_str(
            ".\n\nThe workloads, and how they are measured, are described in the \
             [benches](../benches/README.md).\n`limit` is a program written by hand that does only \
             what cannot be avoided: it checks nothing, recovers from nothing and can be asked for \
             nothing.\n\n## Where others do better\n\n",
        );
        let better: Vec<_> = self.rows().filter_map(|row| self.better(row)).collect();
        if better.is_empty() {
            page.push_str("Nowhere in what was measured.\n");
        }
        for (_, line) in &better {
            let _ = writeln!(page, "- {line}");
        }
        for (peer, workloads, reason) in reasons::PEERS {
            let of_row = |name: &&&str| better.iter().any(|(row, _)| row == &(*peer, **name));
            let names: Vec<_> = workloads.iter().filter(of_row).collect();
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let _ = write!(page, "\n{}, {peer}: {reason}\n", names.join(", "));
            }
        }
        page.push_str(&self.missed());
        page.push_str(
            "\n## All figures\n\nA cell of another engine ends with how many times fugato's figure \
             it is; an empty one says that the engine cannot express the workload, and one that \
             failed ended without a figure.\nWorkloads that are not here were not measured.\n`spread` is \
             the distance between the least and the largest of fugato's repetitions, as a share of \
             their median.\n\n",
        );
        let header = self.whole_header();
        let _ = writeln!(page, "| {} |", header.join(" | "));
        let _ = writeln!(page, "|{}", "---|".repeat(header.len()));
        for row in self.rows() {
            let _ = writeln!(page, "| {} |", self.whole_row(row).join(" | "));
        }
        page
    }

    /// Says of the goals that are missed where the time goes, as a part of a page.
    fn missed(&self) -> String {
        let missed = self.rows().filter(|row| self.verdict(*row) == Some(false));
        let missed: Vec<_> = missed.map(|(workload, ..)| workload.spec().name).collect();
        let told = reasons::told(reasons::GOALS, |name| missed.contains(&name));
        if told.is_empty() {
            return told;
        }
        format!(
            "\n## Where a goal is missed\n\nThe parts of a cost are in the order of a profile, the \
             largest first; those of `recover` and of servers are read from the code.\n{told}"
        )
    }

    /// Says which other engine is better in a row, and by how much.
    fn better(&self, row: Row) -> Option<((&str, &'static str), String)> {
        let (workload, size, measure, _) = row;
        let (peer, cost) = self.best(row)?;
        let own = self.value(row, FUGATO).filter(|own| cost < *own)?;
        let (name, measure) = (workload.spec().name, measure.label(workload.spec().unit));
        let line = format!(
            "`{name}` of {size}: {peer} takes {} of what fugato takes ({} and {} {measure}).",
            number(cost / own),
            number(cost),
            number(own),
        );
        Some(((peer, name), line))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            LIMIT,
            tests::{compared, entry},
        },
        *,
    };
    use crate::workload::Workload;

    #[test]
    fn the_page_begins_with_what_others_do_better() {
        let page = compared(true).page("2026-01-02");
        let better = "- `loop` of 1000: quick takes 0.500 of what fugato takes (0.150 and 0.300 CPU µs/step).";
        let (at, table) = (page.find(better).unwrap(), page.find("| loop |").unwrap());
        assert!(at < table, "{page}");
        assert!(page.contains("on 2026-01-02, on "), "{page}");
        let known = vec![entry(FUGATO, 1000, 0.3), entry("graph-flow", 1000, 0.2)];
        let page = Report::new(known, true).page("2026-01-02");
        assert!(page.contains("\n`loop`, graph-flow: its tasks"), "{page}");
        let alone = Report::new(vec![entry(FUGATO, 1000, 0.3)], true);
        assert!(
            alone
                .page("2026-01-02")
                .contains("Nowhere in what was measured")
        );
    }

    #[test]
    fn the_page_says_where_the_time_of_a_missed_goal_goes() {
        let asked = |fugato| {
            let entries = [(LIMIT, 9.0), (FUGATO, fugato)].map(|(system, us_wall)| {
                let mut entry = entry(system, 1000, 1.0);
                entry.workload = Workload::Interrupt;
                entry.result.as_mut().unwrap().us_wall = us_wall;
                entry
            });
            Report::new(entries.to_vec(), true).page("2026-01-02")
        };
        let told = "\n## Where a goal is missed\n";
        let (missed, reached) = (asked(63.0), asked(9.0));
        assert!(missed.contains(told) && !reached.contains(told), "{missed}");
        assert!(missed.contains("\n`interrupt`: the limit"), "{missed}");
    }
}
