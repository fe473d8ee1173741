//! Answers to questions whose siblings still work, and what finished siblings found: K2, K7, K8, K9,
//! K12, K21, K35.
use std::time::Duration;

use expect_test::expect;
use fugato_graph::{BoxError, Context, Durability, END, Outcome, RunnerOptions, Schedule};
use fugato_state::{EffectClass, Question};

use super::{
    fixture::{Page, line},
    script::{BuildResult, check, check_with},
    world::{MailNode, Stage, WiringExt},
};
use crate::log::{CheckResult, LogFactory};

/// A question, and a node at the door.
const AMID: &str = "open -> ask slow -> last; ask: pause; slow: door";

fn eager() -> RunnerOptions {
    RunnerOptions::default().schedule(Schedule::Eager)
}

/// A question is answered while its siblings work: the answer is stored at once, and its client gets
/// the end of the run.
pub async fn k7_an_answer_is_taken_while_siblings_work(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then questions
        ? ask#1~1 "ok?" boolean
        > beside answer ask#1~1=true
        = taken
        > look
        = at 6 open; finished ask#1 [{"line":"true"}]
        > open then end
        = + open | true | slow | last; ran last#1 open#1 slow#1
        [created, started -> open#1, stepped open#1 -> ask#1 slow#1 +open, asked ask#1~1]
        [answered ask#1~1=true, finished ask#1 +true]
        [finished slow#1 +slow, closed last<ask last<slow joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, AMID, expected).await
}

/// In an eager run what comes after the question goes on, too, while its siblings work.
pub async fn k7_an_answer_is_taken_in_an_eager_run(factory: &dyn LogFactory) -> CheckResult {
    let words = "open -> ask slow; ask -> then; slow then -> last; ask: pause; slow: door";
    let expected = expect![[r#"
        > begin start
        > reached then questions
        ? ask#1~1 "ok?" boolean
        > beside answer ask#1~1=true
        = taken
        > written 7 then look
        = at 7 open | true | then
        > open then end
        = + open | true | then | slow | last; ran last#1 open#1 slow#1 then#1
        [created, started -> open#1, stepped open#1 -> ask#1 slow#1 +open, asked ask#1~1]
        [answered ask#1~1=true, stepped ask#1 -> then#1 +true] [stepped then#1 last<then +then]
        [stepped slow#1 last<slow joined last -> last#1 +slow] [stepped last#1 +last, run_ended] idle
    "#]];
    check_with(factory, eager(), words, expected).await
}

/// In every durability an answer is stored before it is acknowledged.
pub async fn k7_an_answer_amid_siblings_is_stored_at_once(factory: &dyn LogFactory) -> CheckResult {
    let hour = Duration::from_secs(3600);
    let batched = Durability::Batched {
        max_records: 100,
        max_delay: Duration::from_secs(3),
    };
    for durability in [batched, Durability::AtPause] {
        let expected = expect![[r#"
            > without appends then begin start
            > reached
            > beside answer ask#1~1=true
            = taken
            > look
            = at 6 open; finished ask#1 [{"line":"true"}]
            > open then end
            = + open | true | slow | last; ran last#1 open#1 slow#1
        "#]];
        let options = RunnerOptions::default().durability(durability).lease(hour);
        check_with(factory, options, AMID, expected).await?;
    }
    Ok(())
}

/// A wrong answer amid siblings is refused with the same typed errors as any other, and changes
/// nothing.
pub async fn k8_a_wrong_answer_amid_siblings_changes_nothing(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then questions
        ? ask#1~1 "ok?" boolean
        > beside answer nobody=true
        ! no open question has the id nobody; open are ask#1~1 (Answer Unknown; unfinished)
        > beside answer ask#1~1=7
        ! the answer to ask#1~1 does not fit: the value: 7 is not of type "boolean" (Answer Schema; unfinished)
        > beside answer 7
        ! the answer to ask#1~1 does not fit: the value: 7 is not of type "boolean" (Answer Schema; unfinished)
        > beside answer ask#1~1=true; ask#1~1=false
        ! no open question has the id ask#1~1; open are ask#1~1 (Answer Unknown; unfinished)
        > beside answer ask#1~1=true
        = taken
        > beside answer ask#1~1=true
        ! no open question has the id ask#1~1; open are none (Answer Unknown; unfinished)
        > open then end
        = + open | true | slow | last; ran last#1 open#1 slow#1
        [created, started -> open#1, stepped open#1 -> ask#1 slow#1 +open, asked ask#1~1]
        [answered ask#1~1=true, finished ask#1 +true]
        [finished slow#1 +slow, closed last<ask last<slow joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, AMID, expected).await
}

/// An answer amid siblings touches only its own task: no sibling begins again, and no effect is done
/// again.
pub async fn k9_an_answer_amid_siblings_touches_only_its_task(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then questions
        ? send#1~1 well: "did it go well?" boolean
        > beside answer send#1~1=true
        = taken
        > written 8 then open then end
        = + open | sent 1, true | slow | last; ran last#1 open#1; did send#1/mail
        [created, started -> open#1, stepped open#1 -> send#1 slow#1 +open]
        [intended send#1 mail input="to all"] [receipt send#1 mail value="sent 1"] [asked send#1~1]
        [answered send#1~1=true] [finished send#1 +sent 1, true]
        [finished slow#1 +slow, closed last<send last<slow joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, sending, expected).await
}

/// Builds a node that sends a mail and then asks, and a node at the door.
fn sending(stage: &Stage) -> BuildResult {
    let mail = stage.mails(EffectClass::Once);
    let sends = move |cx: Context<Page>| {
        let mail: MailNode = mail.clone();
        async move {
            let sent = mail.send(&cx, "mail").await?;
            Ok::<_, BoxError>(match cx.answer::<bool>("well")? {
                Some(well) => Outcome::done([line(format!("{sent}, {well}"))]),
                None => Outcome::ask(Question::new::<bool>("well", "did it go well?")),
            })
        }
    };
    let slow = stage.door.node("slow");
    let graph = stage.says(&["open", "last"]);
    let graph = graph.node("send", sends).node("slow", slow);
    let graph = graph.fork("open", &["send", "slow"], "last");
    graph.edge("last", END).build()
}

/// A repeat of a named answer amid siblings attaches to the run, and has no second effect; the same
/// name with another answer is an error.
pub async fn k12_a_repeat_of_an_answer_amid_siblings_attaches(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then questions
        ? ask#1~1 "ok?" boolean
        > beside answer ask#1~1=true as key/yes
        = taken
        > beside answer ask#1~1=true as key/yes repeated
        = taken before
        > beside answer ask#1~1=false as key/no
        ! the request "key" was made before with another input (RequestChanged; unfinished)
        > open then end
        = + open | true | slow | last; ran last#1 open#1 slow#1
        [created, started -> open#1, stepped open#1 -> ask#1 slow#1 +open, asked ask#1~1]
        [answered ask#1~1=true as key, finished ask#1 +true]
        [finished slow#1 +slow, closed last<ask last<slow joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
        > answer ask#1~1=true as key/yes
        =
    "#]];
    check(factory, AMID, expected).await
}

/// A question inside of a subgraph is answered while a task outside works.
pub async fn k21_a_question_inside_is_answered_amid_siblings(
    factory: &dyn LogFactory,
) -> CheckResult {
    let words = "open -> sub slow -> last; slow: door; sub/ x -> ask -> y; sub/ ask: pause";
    let expected = expect![[r#"
        > begin start
        > reached then questions
        ? sub#1/ask#1~1 "ok?" boolean
        > beside answer sub#1/ask#1~1=true
        = taken
        > written 10 then look
        = at 10 open; finished sub#1 [{"line":"(open x true y)"}]
        > open then end
        = + open | (open x true y) | slow | last; ran last#1 open#1 slow#1 sub#1/x#1 sub#1/y#1
        [created, started -> open#1, stepped open#1 -> sub#1 slow#1 +open, entered@sub#1 -> x#1 of open]
        [stepped@sub#1 x#1 -> ask#1 +x, asked@sub#1 sub#1/ask#1~1]
        [answered@sub#1 sub#1/ask#1~1=true, stepped@sub#1 ask#1 -> y#1 +true]
        [stepped@sub#1 y#1 +y, finished sub#1 +(open x true y)]
        [finished slow#1 +slow, closed last<sub last<slow joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, words, expected).await
}

/// An approval amid siblings needs its id, and one whose value a sibling has changed is asked anew.
pub async fn k35_an_approval_amid_siblings_needs_its_id(factory: &dyn LogFactory) -> CheckResult {
    let graph = |stage: &Stage| {
        let graph = stage.says(&["open", "more", "last"]);
        let shown = |page: &Page| format!("send {} lines", page.lines.len());
        let graph = graph.approval("allow", shown, |_, ok: bool| line(ok.to_string()));
        let graph = graph.node("slow", stage.door.node("slow"));
        let graph = graph
            .edge("open", "allow")
            .edge("open", "slow")
            .edge("slow", "more");
        let graph = graph
            .node("held", stage.door.node("held"))
            .edge("more", "held");
        graph
            .join(["allow", "held"], "last")
            .edge("last", END)
            .build()
    };
    let expected = expect![[r#"
        > begin start
        > reached then questions
        ? allow#1~A "send 1 lines" boolean, to approve
        > beside answer true
        ! allow#1~A asks for approval, so the answer must name it (Answer Unbound; unfinished)
        > beside answer allow#1~A=true @0123
        ! what allow#1~A asks to approve has changed: it has digest <digest 1>, the answer 0123 (Answer Digest; unfinished)
        > open then reached
        > beside answer allow#1~A=true
        = asked anew
        > questions
        ? allow#1~B "send 3 lines" boolean, to approve
        > beside answer allow#1~A=true
        ! no open question has the id allow#1~A; open are allow#1~B (Answer Unknown; unfinished)
        > beside answer allow#1~B=true
        = taken
        > open then end
        = + open | slow | more | true | held | last; ran last#1 more#1 open#1
        [created, started -> open#1, stepped open#1 -> allow#1 slow#1 +open, asked allow#1~A]
        [stepped slow#1 -> more#1 +slow] [stepped more#1 -> held#1 +more]
        [withdrawn allow#1~A, asked allow#1~B]
        [answered allow#1~B=true, stepped allow#1 last<allow +true]
        [stepped held#1 last<held joined last -> last#1 +held] [stepped last#1 +last, run_ended] idle
    "#]];
    check_with(factory, eager(), graph, expected).await
}

/// The findings of a finished task are readable at once, although its step folds them later.
pub async fn k2_what_finished_tasks_found_is_readable_at_once(
    factory: &dyn LogFactory,
) -> CheckResult {
    let words = "open -> one slow sub -> last; slow: door; sub/ x -> y";
    let expected = expect![[r#"
        > in any order then begin start
        > reached then written 8 then look
        = at 8 open; finished one#1 [{"line":"one"}]; finished sub#1 [{"line":"(open x y)"}]
        > open then end
        = + open | one | slow | (open x y) | last; ran last#1 one#1 open#1 slow#1 sub#1/x#1 sub#1/y#1
        {created, started -> open#1, stepped open#1 -> one#1 slow#1 sub#1 +open, entered@sub#1 -> x#1 of open,
         finished one#1 +one, finished slow#1 +slow, finished sub#1 +(open x y), stepped@sub#1 x#1 -> y#1 +x,
         stepped@sub#1 y#1 +y, closed last<one last<slow last<sub joined last -> last#1, stepped last#1 +last,
         run_ended} idle
        > look
        = at 12 open | one | slow | (open x y) | last
    "#]];
    check(factory, words, expected).await
}
