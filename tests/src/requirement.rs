//! Whether every requirement has its tests, or a reason why it has none.
use std::collections::{BTreeMap, BTreeSet};

use crate::markdown;

/// The names of all requirements that the table must have.
pub fn names() -> Vec<String> {
    let numbered = [
        ("SCH-", 136),
        ("SCH-W", 14),
        ("SCH-C", 20),
        ("SCH-T", 2),
        ("RCT-", 13),
        ("RCT-W", 5),
        ("RCT-C", 5),
        ("RCT-T", 6),
        ("PLN-", 24),
        ("PLN-W", 13),
        ("PLN-C", 7),
        ("PLN-T", 10),
        ("STW-", 34),
        ("STW-W", 8),
        ("STW-C", 6),
        ("STW-T", 21),
        ("TRN-", 17),
        ("TRN-W", 7),
        ("TRN-C", 8),
        ("TRN-T", 7),
        ("L", 16),
        ("K", 24),
    ];
    let numbered = numbered
        .into_iter()
        .flat_map(|(prefix, last)| (1..=last).map(move |number| format!("{prefix}{number}")));
    let between = ["PLN-16a", "PLN-16b", "PLN-16c", "K29", "K32", "K35"].map(str::to_owned);
    let defects = (1..=26).chain(30..=35).map(|number| format!("D{number}"));
    numbered.chain(between).chain(defects).collect()
}

/// What is wrong with the table: requirements without a row or with two, rows of unknown ones,
/// tests that do not exist, rows with neither a test nor a reason.
pub fn complaints(table: &str, names: &[String], tests: &BTreeSet<String>) -> Vec<String> {
    let mut left: BTreeMap<&str, usize> = names.iter().map(|name| (name.as_str(), 0)).collect();
    let mut wrong = vec![];
    for row in markdown::rows(table, &["requirement", "in short"]) {
        let [id, _, proof] = row[..] else {
            wrong.push(format!("{} does not have three cells", row.join(" ")));
            continue;
        };
        match left.get_mut(id) {
            Some(count) => *count += 1,
            None => wrong.push(format!("{id} is not a requirement")),
        }
        wrong.extend(unproven(id, proof, tests));
    }
    let miscounted = left.into_iter().filter(|(_, count)| *count != 1);
    wrong.extend(miscounted.map(|(id, count)| format!("{id} has {count} rows")));
    wrong
}

fn unproven(id: &str, proof: &str, tests: &BTreeSet<String>) -> Vec<String> {
    let reason = ["later: ", "by shape: "].iter().any(|word| {
        proof
            .strip_prefix(word)
            .is_some_and(|reason| reason.split_whitespace().count() > 2)
    });
    if reason {
        return vec![];
    }
    let named: Vec<&str> = markdown::code(proof).collect();
    if named.is_empty() {
        return vec![format!("{id} has neither a test nor a reason")];
    }
    // A rule of the kernel and a defect are known by name in the suites, where one test may bear
    // several.
    let own = id.to_lowercase();
    let bears = |name: &&str| name.split('_').any(|part| part == own);
    if !id.contains('-') && !named.iter().any(bears) {
        return vec![format!("{id} has no test of its name")];
    }
    let missing = named.into_iter().filter(|name| !tests.contains(*name));
    missing
        .map(|name| format!("{id}: there is no test `{name}`"))
        .collect()
}

/// The rows that no test of a program shows, and that do not say why: "library only: " and the
/// reason, in the row or for all rows in a line below the heading.
pub fn unseen_in_programs(table: &str, of_programs: &BTreeSet<String>) -> Vec<String> {
    let says_why = |text: &str| {
        let text = text.to_lowercase();
        text.split_once("library only: ")
            .is_some_and(|(_, reason)| reason.split_whitespace().count() > 2)
    };
    let mut wrong = vec![];
    for section in table.split("\n## ") {
        if section
            .lines()
            .any(|line| !line.starts_with('|') && says_why(line))
        {
            continue;
        }
        for row in markdown::rows(section, &["requirement", "in short"]) {
            let [id, _, proof] = row[..] else { continue };
            let is_shown = markdown::code(proof).any(|name| of_programs.contains(name));
            let is_told = ["later: ", "by shape: "]
                .iter()
                .any(|it| proof.starts_with(it));
            if !is_shown && !is_told && !says_why(proof) {
                wrong.push(format!("{id} is shown by no program, and nothing says why"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_program_shows_says_why() {
        let head = "| requirement | in short | shown by |\n|---|---|---|\n";
        let table = format!(
            "## One\n\n{head}| A | a | `of_library`, `of_program` |\n| B | b | `of_library` |\n\
             | C | c | `of_library`; library only: it has no face |\n| D | d | by shape: two crates |\n\
             | E | e | `of_library`; library only: |\n\n## Two\n\nLibrary only: nobody calls it alone.\n\n\
             {head}| F | f | `of_library` |\n"
        );
        let of_programs = BTreeSet::from(["of_program".to_owned()]);
        assert_eq!(
            unseen_in_programs(&table, &of_programs),
            ["B", "E"].map(|id| format!("{id} is shown by no program, and nothing says why"))
        );
    }

    #[test]
    fn what_is_not_proven_is_found() {
        let table = "| requirement | in short | shown by |\n|---|---|---|\n\
            | A-1 | one | `a` and `gone` |\n| A-2 | two | later: |\n| A-2 | two | later: with the mail |\n\
            | B-9 | nine | `a` |\n| A-4 | four | `a` |\n";
        let names: Vec<String> = (1..=4).map(|n| format!("A-{n}")).collect();
        let tests = BTreeSet::from(["a".to_owned()]);
        assert_eq!(
            complaints(table, &names, &tests),
            [
                "A-1: there is no test `gone`",
                "A-2 has neither a test nor a reason",
                "B-9 is not a requirement",
                "A-2 has 2 rows",
                "A-3 has 0 rows",
            ]
        );
    }

    #[test]
    fn a_kernel_rule_needs_a_test_of_its_name() {
        let table = "| requirement | in short | shown by |\n|---|---|---|\n| K1 | one | `k3_d1_a` |\n\
            | K3 | two | `k3_d1_a` |\n| D1 | three | `k3_d1_a` |\n";
        let tests = BTreeSet::from(["k3_d1_a".to_owned()]);
        let names = ["K1", "K3", "D1"].map(str::to_owned);
        let wrong = complaints(table, &names, &tests);
        assert_eq!(wrong, ["K1 has no test of its name"]);
    }

    #[test]
    fn every_name_is_there_once() {
        let names = names();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }
}
