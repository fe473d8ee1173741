//! The candidate search in a domain of its own: boxes that are too heavy.
use fugato_agent::candidates::{Candidate, Findings, SearchSpace, Stagnation, search, signal};
use proptest::prelude::*;

/// Boxes of weights; a box that holds more than `most` is a problem, and one that is sealed takes
/// nothing more.
#[derive(Debug, Clone, PartialEq)]
struct Boxes {
    weights: Vec<Vec<u32>>,
    sealed: Vec<usize>,
    most: u32,
    is_locked: bool,
    is_loose: bool,
    kept: usize,
    least: f64,
}

/// The move of a weight from one box to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Carry {
    from: usize,
    place: usize,
    to: usize,
}

type Sums = Vec<u32>;

impl Boxes {
    fn new(most: u32, weights: impl IntoIterator<Item = Vec<u32>>) -> Self {
        Self {
            weights: weights.into_iter().collect(),
            sealed: vec![],
            most,
            is_locked: false,
            is_loose: false,
            kept: 5,
            least: 1.0,
        }
    }

    fn carry(&mut self, carry: Carry) -> Option<()> {
        if self.sealed.contains(&carry.to) {
            return None;
        }
        let from = self.weights.get_mut(carry.from)?;
        let weight = (carry.place < from.len()).then(|| from.remove(carry.place))?;
        self.weights.get_mut(carry.to)?.push(weight);
        Some(())
    }
}

impl SearchSpace for Boxes {
    type Problem = usize;
    type Proposal = Carry;
    type Diagnosis = Sums;

    fn diagnose(&self) -> Sums {
        self.weights.iter().map(|one| one.iter().sum()).collect()
    }

    fn problems(&self, sums: &Sums) -> Vec<usize> {
        let heavy = sums.iter().enumerate().filter(|(_, sum)| **sum > self.most);
        heavy.map(|(at, _)| at).collect()
    }

    fn enumerate(&self, problem: &usize) -> Vec<Carry> {
        let there = self.weights.get(*problem).map_or(0, Vec::len);
        let from = *problem;
        let all = (0..there).flat_map(|place| {
            let to = 0..self.weights.len();
            to.map(move |to| Carry { from, place, to })
        });
        // Each proposal comes twice: the search must not offer anything twice.
        all.clone().chain(all).collect()
    }

    fn simulate(&mut self, carry: &Carry) -> Option<Sums> {
        let mut clone = self.clone();
        clone.carry(*carry)?;
        Some(clone.diagnose())
    }

    fn score(&self, carry: &Carry, before: &Sums, after: &Sums) -> f64 {
        let over = |sums: &Sums| f64::from(sums.iter().copied().max().unwrap_or(0));
        let way = u32::try_from(carry.from.abs_diff(carry.to)).unwrap_or(u32::MAX);
        10.0 + over(before) - over(after) - f64::from(way)
    }

    fn is_worse(&self, before: &Sums, after: &Sums) -> bool {
        after.iter().max() > before.iter().max()
    }

    fn priority(&self, problem: &usize) -> f64 {
        let there = self.weights.get(*problem).into_iter().flatten();
        f64::from(there.sum::<u32>())
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn least(&self) -> f64 {
        self.least
    }

    fn is_locked(&self, _: &Sums) -> bool {
        self.is_locked
    }

    fn is_loose(&self, _: &Sums) -> bool {
        self.is_loose
    }
}

fn carries(findings: &Findings<usize, Carry, Sums>) -> Vec<Option<(usize, usize, usize)>> {
    let all = findings
        .candidates
        .iter()
        .map(|candidate| candidate.proposal);
    all.map(|carry| carry.map(|carry| (carry.from, carry.place, carry.to)))
        .collect()
}

#[test]
fn sch_107_what_helps_is_kept_and_ranked() {
    let mut boxes = Boxes::new(10, [vec![8, 4], vec![1], vec![], vec![9]]);
    let findings = search(&mut boxes);
    assert_eq!(findings.problem, Some(0));
    assert!(!findings.is_forced);
    // The last box would become too heavy, and a shorter distance is better.
    assert_eq!(
        carries(&findings),
        [
            Some((0, 0, 1)),
            Some((0, 1, 1)),
            Some((0, 0, 2)),
            Some((0, 1, 2)),
            None
        ]
    );
    assert_eq!(
        findings.candidates.first(),
        Some(&Candidate {
            proposal: Some(Carry {
                from: 0,
                place: 0,
                to: 1
            }),
            is_worse: false,
            score: 10.0 + 12.0 - 9.0 - 1.0,
            after: vec![4, 9, 0, 9],
        })
    );
}

#[test]
fn sch_107_what_is_refused_is_not_offered() {
    let mut boxes = Boxes {
        sealed: vec![1],
        ..Boxes::new(10, [vec![8, 4], vec![1], vec![]])
    };
    assert_eq!(
        carries(&search(&mut boxes)),
        [Some((0, 0, 2)), Some((0, 1, 2)), None]
    );
}

#[test]
fn sch_108_only_the_best_are_kept_and_each_is_worth_something() {
    let mut boxes = Boxes::new(10, [vec![8, 4], vec![], vec![], vec![], vec![]]);
    boxes.kept = 2;
    let kept = search(&mut boxes);
    assert_eq!(carries(&kept), [Some((0, 0, 1)), Some((0, 1, 1)), None]);
    boxes.least = 100.0;
    let dear = search(&mut boxes);
    assert_eq!(carries(&dear), [None]);
    assert!(dear.is_forced);
}

/// Both boxes are repaired by moving 6 over the same distance; the second one is worse.
#[test]
fn sch_108_among_equals_the_worse_problem_goes_first_and_then_the_earlier() {
    struct Even(Boxes);
    impl SearchSpace for Even {
        type Problem = usize;
        type Proposal = Carry;
        type Diagnosis = Sums;
        fn diagnose(&self) -> Sums {
            self.0.diagnose()
        }
        fn problems(&self, sums: &Sums) -> Vec<usize> {
            self.0.problems(sums)
        }
        fn enumerate(&self, problem: &usize) -> Vec<Carry> {
            self.0.enumerate(problem)
        }
        fn simulate(&mut self, carry: &Carry) -> Option<Sums> {
            self.0.simulate(carry)
        }
        fn score(&self, _: &Carry, _: &Sums, _: &Sums) -> f64 {
            1.0
        }
        fn is_worse(&self, _: &Sums, _: &Sums) -> bool {
            false
        }
        fn priority(&self, problem: &usize) -> f64 {
            self.0.priority(problem)
        }
    }
    let worse = Boxes::new(10, [vec![6, 5], vec![6, 6], vec![]]);
    assert_eq!(search(&mut Even(worse)).problem, Some(1));
    let equal = Boxes::new(10, [vec![6, 5], vec![5, 6], vec![]]);
    assert_eq!(search(&mut Even(equal)).problem, Some(0));
}

#[test]
fn sch_109_changing_nothing_is_always_a_choice() {
    let mut fine = Boxes::new(10, [vec![8], vec![4]]);
    let findings = search(&mut fine);
    assert_eq!((findings.problem, findings.is_forced), (None, false));
    let close = Candidate {
        proposal: None,
        is_worse: false,
        score: 0.0,
        after: vec![8, 4],
    };
    assert_eq!(findings.candidates, [close]);
}

#[test]
fn sch_109_what_cannot_be_repaired_is_forced_unless_there_is_room() {
    for (is_locked, is_loose, is_forced) in [
        (true, false, true),
        (false, false, true),
        (false, true, false),
    ] {
        let mut stuck = Boxes {
            is_locked,
            is_loose,
            ..Boxes::new(10, [vec![11], vec![10]])
        };
        let findings = search(&mut stuck);
        assert_eq!((findings.problem, findings.is_forced), (Some(0), is_forced));
        assert_eq!(carries(&findings), [None]);
    }
}

/// Without room nothing is tried, even if it would help.
#[test]
fn sch_105_a_locked_terrain_is_not_searched() {
    let mut locked = Boxes {
        is_locked: true,
        ..Boxes::new(10, [vec![8, 4], vec![]])
    };
    assert_eq!(carries(&search(&mut locked)), [None]);
}

#[test]
fn sch_110_equal_signals_in_a_row_are_counted() {
    let line = |problems: u32, ratio: f64| {
        let ratio = format!("{ratio:.2}");
        signal(&[
            ("problems", &problems),
            ("ratio", &ratio),
            ("room", &"a;b=c"),
        ])
    };
    assert_eq!(line(2, 0.5), "problems=2;ratio=0.50;room=a_b_c");
    let mut standing = Stagnation::default();
    let seen: Vec<u32> = [(2, 0.5), (2, 0.501), (2, 0.5), (1, 0.5), (2, 0.5)]
        .map(|(problems, ratio)| standing.observe(line(problems, ratio)))
        .to_vec();
    assert_eq!(seen, [0, 1, 2, 0, 0]);
    // An empty signal is no sign of stagnation.
    assert_eq!(Stagnation::default().observe(signal(&[])), 0);
}

fn boxes() -> impl Strategy<Value = Boxes> {
    let weights = prop::collection::vec(prop::collection::vec(1..9_u32, 0..5), 1..5);
    let sealed = prop::collection::vec(0..5_usize, 0..2);
    (weights, sealed, 5..15_u32).prop_map(|(weights, sealed, most)| Boxes {
        sealed,
        ..Boxes::new(most, weights)
    })
}

proptest! {
    #[test]
    fn sch_107_a_search_leaves_no_trace_and_repeats_itself(boxes in boxes()) {
        let mut searched = boxes.clone();
        let first = search(&mut searched);
        prop_assert_eq!(&searched, &boxes);
        prop_assert_eq!(search(&mut searched), first);
    }

    #[test]
    fn sch_109_every_candidate_does_what_it_says(boxes in boxes()) {
        let before = boxes.diagnose();
        let findings = search(&mut boxes.clone());
        let (close, changes) = findings.candidates.split_last().unwrap();
        prop_assert_eq!((close.proposal, close.is_worse), (None, false));
        prop_assert!(changes.len() <= 5);
        prop_assert!(changes.is_empty() || !findings.is_forced);
        for change in changes {
            let mut followed = boxes.clone();
            prop_assert_eq!(followed.carry(change.proposal.unwrap()), Some(()));
            prop_assert_eq!(&followed.diagnose(), &change.after);
            prop_assert!(boxes.problems(&change.after).len() < boxes.problems(&before).len());
            prop_assert!(change.score >= 1.0);
        }
        let ranked = changes.windows(2).all(|pair| match pair {
            [a, b] => a.score > b.score || (a.score.total_cmp(&b.score).is_eq() && a.proposal < b.proposal),
            _ => true,
        });
        prop_assert!(ranked, "{:?}", changes);
    }

    #[test]
    fn sch_108_nothing_better_was_overlooked(boxes in boxes()) {
        let before = boxes.diagnose();
        let mut best = None;
        for problem in boxes.problems(&before) {
            for carry in boxes.enumerate(&problem) {
                let mut tried = boxes.clone();
                if tried.carry(carry).is_none() {
                    continue;
                }
                let after = tried.diagnose();
                let score = boxes.score(&carry, &before, &after);
                if boxes.problems(&after).len() < boxes.problems(&before).len() && score >= 1.0 {
                    best = Some(best.map_or(score, |known: f64| known.max(score)));
                }
            }
        }
        let findings = search(&mut boxes.clone());
        let first = findings.candidates.first().filter(|first| first.proposal.is_some());
        prop_assert_eq!(first.map(|first| first.score), best);
    }

    #[test]
    fn sch_111_following_the_best_always_ends(mut boxes in boxes()) {
        let mut problems = boxes.problems(&boxes.diagnose()).len();
        while let Some(carry) = search(&mut boxes).candidates.first().and_then(|best| best.proposal) {
            boxes.carry(carry);
            let now = boxes.problems(&boxes.diagnose()).len();
            prop_assert!(now < problems);
            problems = now;
        }
        prop_assert_eq!(carries(&search(&mut boxes)), [None]);
    }
}
