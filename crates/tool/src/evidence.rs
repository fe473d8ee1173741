//! Findings of checks, kept by the program. A write that depends on a check looks here, and never
//! at statements of a client or a model.
mod step;

use std::{collections::BTreeMap, time::Duration};

use fugato_state::{Lang, Millis, say};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{GatePolicy, GatedCall, Verdict};

pub use step::{EvidenceSource, StepEvidence};

/// The findings of checks: plain state, kept with the rest of an agent's state.
///
/// ```
/// use std::time::Duration;
/// use fugato_state::ToolCall;
/// use fugato_tool::{Evidence, EvidenceUpdate, Finding, GatePolicy, GatedCall, NeedsEvidence, ToolSpec, Verdict};
/// use serde_json::json;
///
/// struct Form { evidence: Evidence, now: i64 }
///
/// let gate = NeedsEvidence::new("submit", "precheck", |form: &Form| (&form.evidence, form.now))
///     .about(["amount"]);
/// let spec = ToolSpec::write("submit", "Submits.");
/// let call = ToolCall::new("c1", "submit", json!({ "amount": 7, "note": "lunch" }));
/// let call = GatedCall { spec: &spec, call: &call };
///
/// let mut form = Form { evidence: Evidence::default(), now: 1_000 };
/// assert!(matches!(gate.judge(&call, &form), Verdict::Block(_)));
///
/// let found = Finding::new(json!({ "amount": 7 }), true, form.now, Duration::from_secs(60));
/// form.evidence.apply(EvidenceUpdate::Found { check: "precheck".into(), finding: found });
/// assert_eq!(gate.judge(&call, &form), Verdict::Allow);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Evidence(BTreeMap<String, Vec<Finding>>);

/// The finding of one check about one subject.
///
/// The subject is kept whole and not as a digest: the caller chooses the arguments, and for a
/// digest short enough to be computed here, a second subject with the same digest can be found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The subject of the check.
    pub subject: Value,
    /// True if the check found no objection.
    pub passed: bool,
    /// The time of the finding.
    pub at: Millis,
    /// The time from which the finding is no longer valid.
    pub expires_at: Millis,
    /// The details, for programs and cards.
    #[serde(default)]
    pub data: Value,
}

/// A change to [`Evidence`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EvidenceUpdate {
    /// A new finding of a check. It replaces the earlier finding about the same subject, and
    /// removes findings that have expired since.
    Found {
        /// The name of the check, such as that of its tool.
        check: String,
        /// The finding.
        finding: Finding,
    },
    /// All findings of a check become void, such as after the write that they were for.
    Dropped {
        /// The name of the check.
        check: String,
    },
}

impl Finding {
    /// Creates a finding at the time `at` that is valid for `holds`.
    pub fn new(subject: impl Into<Value>, passed: bool, at: Millis, holds: Duration) -> Self {
        let holds = Millis::try_from(holds.as_millis()).unwrap_or(Millis::MAX);
        Self {
            subject: subject.into(),
            passed,
            at,
            expires_at: at.saturating_add(holds),
            data: Value::Null,
        }
    }

    fugato_state::setters! {
        /// Sets the details.
        pub fn data(data: impl Into<Value>) { data = data.into() }
    }
}

impl Evidence {
    /// Applies one change.
    pub fn apply(&mut self, update: EvidenceUpdate) {
        match update {
            EvidenceUpdate::Found { check, finding } => {
                let found = self.0.entry(check).or_default();
                found.retain(|old| old.expires_at > finding.at && old.subject != finding.subject);
                found.push(finding);
            }
            EvidenceUpdate::Dropped { check } => {
                self.0.remove(&check);
            }
        }
    }

    /// Returns the finding of a check about a subject, expired or not.
    pub fn about(&self, check: &str, subject: &Value) -> Option<&Finding> {
        let found = self.0.get(check)?;
        found.iter().find(|finding| finding.subject == *subject)
    }
}

type EvidenceLookup<S> = Box<dyn for<'a> Fn(&'a S) -> (&'a Evidence, Millis) + Send + Sync>;

/// The name of a tool for people, in English and in Chinese.
pub type EvidenceName = (&'static str, &'static str);

/// A gate that allows calls of a tool only after a recent check that found no objection.
#[derive(derive_more::Debug)]
pub struct NeedsEvidence<S> {
    tool: String,
    check: String,
    about: Option<Vec<String>>,
    called: Option<[EvidenceName; 2]>,
    #[debug(skip)]
    look: EvidenceLookup<S>,
}

impl<S> NeedsEvidence<S> {
    /// Creates a gate: calls of `tool` need a finding of `check` about all their arguments. `look`
    /// returns the findings in the state, and the time.
    pub fn new(
        tool: impl Into<String>,
        check: impl Into<String>,
        look: impl for<'a> Fn(&'a S) -> (&'a Evidence, Millis) + Send + Sync + 'static,
    ) -> Self {
        Self {
            tool: tool.into(),
            check: check.into(),
            about: None,
            called: None,
            look: Box::new(look),
        }
    }

    fugato_state::setters! {
        /// Compares only these arguments.
        pub fn about<A: Into<String>>(arguments: impl IntoIterator<Item = A>) {
            about = Some(arguments.into_iter().map(Into::into).collect())
        }

        /// Sets what people call the tool and the check, in English and in Chinese: the refusals say
        /// it in place of their names.
        pub fn called(tool: EvidenceName, check: EvidenceName) { called = Some([tool, check]) }
    }

    /// Returns the subject that a check must examine for a call with these arguments.
    pub fn subject(&self, arguments: &Value) -> Value {
        let Some(about) = &self.about else {
            return arguments.clone();
        };
        let some = about
            .iter()
            .filter_map(|name| Some((name.clone(), arguments.get(name)?.clone())));
        Value::Object(some.collect::<Map<_, _>>())
    }
}

impl<S> GatePolicy<S> for NeedsEvidence<S> {
    fn judge(&self, call: &GatedCall<'_>, state: &S) -> Verdict {
        if call.spec.name != self.tool {
            return Verdict::Allow;
        }
        let (evidence, now) = (self.look)(state);
        let found = evidence.about(&self.check, &self.subject(&call.call.arguments));
        let [tool, check] = match self.called {
            Some(called) => called.map(|(en, zh)| Lang::current().pick(en, zh).to_owned()),
            None => [&self.tool, &self.check].map(|name| say!("`{name}`", "调用 `{name}` ")),
        };
        Verdict::Block(match found {
            None => say!(
                "{tool} needs {check} first, about exactly the same",
                "{tool}之前要先{check}，内容要完全相同"
            ),
            Some(found) if found.expires_at <= now => {
                say!(
                    "the result of {check} is too old; repeat it before {tool}",
                    "{check}的结果已过期；{tool}之前请再做一次"
                )
            }
            Some(found) if !found.passed => {
                say!(
                    "{check} has found something against it; repair that, then check again",
                    "{check}发现了问题；请先解决，再做一次"
                )
            }
            Some(_) => return Verdict::Allow,
        })
    }
}

#[cfg(test)]
mod tests {
    use fugato_state::ToolCall;
    use serde_json::json;

    use super::*;
    use crate::ToolSpec;

    struct Form {
        evidence: Evidence,
        now: Millis,
    }

    fn verdict(form: &Form, arguments: Value) -> Verdict {
        let gate = NeedsEvidence::new("submit", "precheck", |form: &Form| {
            (&form.evidence, form.now)
        });
        let gate = gate.about(["amount", "day"]);
        let (spec, call) = (
            ToolSpec::write("submit", "Submits."),
            ToolCall::new("c", "submit", arguments),
        );
        gate.judge(
            &GatedCall {
                spec: &spec,
                call: &call,
            },
            form,
        )
    }

    fn found(subject: Value, passed: bool, at: Millis) -> EvidenceUpdate {
        EvidenceUpdate::Found {
            check: "precheck".into(),
            finding: Finding::new(subject, passed, at, Duration::from_millis(50)),
        }
    }

    #[test]
    fn l9_a_write_needs_a_fresh_finding_about_the_same_arguments() {
        let mut form = Form {
            evidence: Evidence::default(),
            now: 100,
        };
        let blocked = |text: &str| Verdict::Block(text.to_owned());
        let none = blocked("`submit` needs `precheck` first, about exactly the same");
        // The call's own statements about a check do not count.
        let told = json!({ "amount": 7, "day": 1, "precheck": { "passed": true } });
        assert_eq!(verdict(&form, told.clone()), none);
        form.evidence
            .apply(found(json!({ "day": 1, "amount": 7 }), true, 90));
        assert_eq!(verdict(&form, told.clone()), Verdict::Allow);
        assert_eq!(verdict(&form, json!({ "amount": 8, "day": 1 })), none);
        assert_eq!(verdict(&form, json!({ "amount": 7 })), none);
        form.now = 140;
        assert_eq!(
            verdict(&form, told.clone()),
            blocked("the result of `precheck` is too old; repeat it before `submit`")
        );
        form.evidence
            .apply(found(json!({ "amount": 7, "day": 1 }), false, 140));
        assert_eq!(
            verdict(&form, told),
            blocked("`precheck` has found something against it; repair that, then check again")
        );
    }

    #[test]
    fn l9_what_people_call_a_check_is_told_in_their_language() {
        let called = NeedsEvidence::new("submit", "precheck", |form: &Form| {
            (&form.evidence, form.now)
        });
        let called = called.called(("handing in", "提交"), ("the check", "检查"));
        let form = Form {
            evidence: Evidence::default(),
            now: 100,
        };
        let spec = ToolSpec::write("submit", "Submits.");
        let call = ToolCall::new("c", "submit", json!({}));
        let gated = GatedCall {
            spec: &spec,
            call: &call,
        };
        let told = [Lang::En, Lang::Zh].map(|lang| lang.scope(|| called.judge(&gated, &form)));
        let expected = [
            "handing in needs the check first, about exactly the same",
            "提交之前要先检查，内容要完全相同",
        ];
        assert_eq!(told, expected.map(|it| Verdict::Block(it.to_owned())));
    }

    #[test]
    fn l9_evidence_is_plain_state_and_what_expired_is_forgotten() {
        let mut evidence = Evidence::default();
        for (subject, at) in [(1, 0), (2, 40), (2, 45), (3, 50)] {
            evidence.apply(found(json!(subject), true, at));
        }
        let stored = serde_json::to_string(&evidence).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&stored).unwrap(), evidence);
        assert_eq!(evidence.about("precheck", &json!(1)), None);
        assert_eq!(evidence.about("precheck", &json!(2)).unwrap().at, 45);
        assert!(evidence.about("precheck", &json!(3)).is_some());
        let check = "precheck".to_owned();
        evidence.apply(EvidenceUpdate::Dropped { check });
        assert_eq!(evidence, Evidence::default());
    }
}
