//! Our client and our server, in one process, in both eras of the protocol.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that stops here has failed"
)]
use std::{
    error::Error,
    future::pending,
    sync::{Arc, Mutex, PoisonError},
};

use fugato_mcp::{Era, McpOptions, McpServer, ServerAnswer, Stateless, ToolHost, ToolServer, View};
use fugato_state::{ToolCall, ToolStatus};
use fugato_tool::{
    Access, Domain, Domains, EffectClass, GateChain, GatedCall, NoArguments, Registry, ToolContext,
    ToolFailure, ToolOutput, ToolResult, ToolSpec, Verdict, Visibility, VisibilityUpdate,
    async_tool_fn, async_trait, confirm_writes,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

const ERAS: [Era; 3] = [Era::Either, Era::Handshake, Era::Stateless];

fn connect<S, U>(server: ToolServer<S, U>, options: McpOptions) -> McpServer
where
    S: Send + Sync + 'static,
    U: Send + 'static,
{
    let open = move || {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let server = server.clone();
        tokio::spawn(async move { server.serve(theirs).await });
        async move { Ok(ours) }
    };
    McpServer::stream("desk", open, options)
}

async fn offered(server: &McpServer) -> Registry {
    let tools = server.tools().await.unwrap();
    assert_eq!(tools.refused(), []);
    Registry::builder().tools(tools).build().unwrap()
}

async fn call(registry: &Registry, tool: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new("c1", tool, arguments);
    registry.call(&call, ToolContext::new(&())).await
}

fn names(registry: &Registry) -> Vec<String> {
    let schemas = registry.schemas(&Visibility::new());
    schemas.into_iter().map(|schema| schema.name).collect()
}

#[derive(Deserialize, JsonSchema)]
struct Day {
    /// The day, from 1.
    day: u8,
}

fn week() -> Registry {
    Registry::builder()
        .function(
            ToolSpec::read("look", "Looks at a day."),
            |_, Day { day }: Day| match day {
                1..=7 => Ok(ToolOutput::new(format!("day {day}"))
                    .data(json!({ "day": day }))
                    .issue("rain")),
                8 => Err(ToolFailure::failed("the calendar is torn").data(json!({ "page": 2 }))),
                _ => Err(ToolFailure::blocked("a week has 7 days").issue("too late")),
            },
        )
        .function(
            ToolSpec::write("clear", "Clears a day."),
            |cx, Day { day }: Day| Ok(format!("cleared {day} ({})", cx.key().unwrap_or("no key"))),
        )
        .build()
        .unwrap()
}

#[tokio::test]
async fn l7_a_result_is_the_same_on_both_sides() {
    for era in ERAS {
        let there = week();
        let desk = ToolServer::new("desk", there.clone(), Stateless::new());
        let here = offered(&connect(desk, McpOptions::new().era(era))).await;
        assert_eq!(names(&here), ["desk_clear", "desk_look"]);
        for day in [1, 8, 9] {
            let arguments = json!({ "day": day });
            assert_eq!(
                call(&here, "desk_look", arguments.clone()).await,
                call(&there, "look", arguments).await,
                "{era:?}"
            );
        }
    }
}

#[tokio::test]
async fn l7_schema_description_and_class_are_those_of_the_tool() {
    let there = week();
    let desk = ToolServer::new("desk", there.clone(), Stateless::new());
    let here = offered(&connect(desk, McpOptions::new().prefix(""))).await;
    assert_eq!(
        here.schemas(&Visibility::new()),
        there.schemas(&Visibility::new())
    );
    let class = |name| here.spec(name).map(|spec| (spec.access, spec.effect));
    assert_eq!(class("look"), Some((Access::Read, EffectClass::Pure)));
    assert_eq!(class("clear"), Some((Access::Write, EffectClass::Once)));
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_before_they_are_sent() {
    let desk = ToolServer::new("desk", week(), Stateless::new());
    let here = offered(&connect(desk, McpOptions::new())).await;
    let result = call(&here, "desk_look", json!({ "date": 1 })).await;
    assert_eq!(
        result.text,
        "the arguments of `desk_look` do not fit: there is no argument `date`; allowed are `day`; \
         the value: \"day\" is a required property"
    );
}

#[tokio::test]
async fn the_key_of_a_repeat_arrives() {
    for era in ERAS {
        let desk = ToolServer::new("desk", week(), Stateless::new());
        let here = offered(&connect(desk, McpOptions::new().era(era))).await;
        let clear = ToolCall::new("c1", "desk_clear", json!({ "day": 2 }));
        let cx = ToolContext::new(&()).idempotency_key("thread-1/clear");
        assert_eq!(
            here.call(&clear, cx).await.text,
            "cleared 2 (thread-1/clear)"
        );
    }
}

#[tokio::test]
async fn options_choose_rename_and_place_tools() {
    let desk = ToolServer::new("desk", week(), Stateless::new());
    let options = McpOptions::new()
        .only(["clear"])
        .distrust_hints()
        .domain("week")
        .pack("writing")
        .adjust("clear", |spec| {
            spec.also_called("wipe").argument_alias("date", "day")
        });
    let tools = connect(desk, options).tools().await.unwrap();
    let domains = Domains::new().with("week", Domain::new("core").packs(["writing"]));
    let here: Registry = Registry::builder()
        .domains(domains)
        .tools(tools)
        .build()
        .unwrap();
    let visibility = Visibility::of("week", ["writing"]);
    let wipe = ToolCall::new("c1", "wipe", json!({ "date": 3 }));
    let cx = ToolContext::new(&()).visibility(&visibility);
    assert_eq!(here.call(&wipe, cx).await.text, "cleared 3 (no key)");
    assert_eq!(names(&here), [""; 0]);
}

fn gated(answer: Option<ServerAnswer>, era: Era) -> McpServer {
    let gates = GateChain::new()
        .with(
            |call: &GatedCall<'_>, (): &()| match call.call.arguments["day"].as_u64() {
                Some(7) => Verdict::Block("Sundays stay as they are".into()),
                _ => Verdict::Allow,
            },
        )
        .with(confirm_writes);
    let options = McpOptions::new().era(era);
    let options = match answer {
        None => options,
        Some(answer) => options.answers(move |question| {
            assert_eq!(question.message, "clear\nday: 2");
            let answer = answer.clone();
            async move { answer }
        }),
    };
    connect(
        ToolServer::new("desk", week(), Stateless::new()).gates(gates),
        options,
    )
}

#[tokio::test]
async fn l9_a_person_behind_the_client_is_asked() {
    let agreed = ServerAnswer::Given(json!({ "agree": true }));
    let refused = ServerAnswer::Given(json!({ "agree": false }));
    for era in ERAS {
        let clear = async |answer, day: u8| {
            let here = offered(&gated(answer, era)).await;
            let result = call(&here, "desk_clear", json!({ "day": day })).await;
            (result.status, result.text)
        };
        let blocked = |text: &str| (ToolStatus::Blocked, text.to_owned());
        let done = (ToolStatus::Ok, "cleared 2 (no key)".to_owned());
        let not_agreed = blocked("the person did not agree, so nothing was done");
        assert_eq!(clear(Some(agreed.clone()), 2).await, done, "{era:?}");
        assert_eq!(clear(Some(refused.clone()), 2).await, not_agreed, "{era:?}");
        assert_eq!(
            clear(Some(ServerAnswer::Declined), 2).await,
            not_agreed,
            "{era:?}"
        );
        assert_eq!(
            clear(None, 2).await,
            blocked("a person has to agree to `clear`, and this client cannot ask one"),
        );
        assert_eq!(
            clear(Some(agreed.clone()), 7).await,
            blocked("Sundays stay as they are")
        );
    }
}

/// A host with a state: which tools are visible.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Visibility>>);

#[async_trait]
impl ToolHost<(), VisibilityUpdate> for Shelf {
    async fn view(&self) -> Result<View<()>, Box<dyn Error + Send + Sync>> {
        let visibility = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Ok(View::new(()).visibility(visibility))
    }

    async fn commit(
        &self,
        call: &ToolCall,
        updates: Vec<VisibilityUpdate>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        if call.arguments["domain"] == "closed" {
            return Err("the shelf is full".into());
        }
        let mut visibility = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for update in updates {
            visibility.apply(update);
        }
        Ok(())
    }
}

fn shelf() -> ToolServer<(), VisibilityUpdate> {
    let domains = Domains::new()
        .with("books", Domain::new("core"))
        .with("closed", Domain::new("core"));
    let registry = Registry::builder()
        .domains_to_choose(domains)
        .function(
            ToolSpec::read("read", "Reads.").domain("books"),
            |_, NoArguments {}| Ok("once"),
        )
        .build()
        .unwrap();
    ToolServer::new("shelf", registry, Shelf::default())
}

#[tokio::test]
async fn l8_what_a_call_makes_visible_is_told_and_listed() {
    for era in ERAS {
        let server = connect(shelf(), McpOptions::new().prefix("").era(era));
        let here = offered(&server).await;
        assert_eq!(names(&here), ["context_tools_add", "context_tools_remove"]);
        let added = call(&here, "context_tools_add", json!({ "domain": "books" })).await;
        assert_eq!(added.status, ToolStatus::Ok, "{era:?}: {}", added.text);
        server.changed().await;
        let here = offered(&server).await;
        assert_eq!(call(&here, "read", json!({})).await.text, "once");

        let removed = call(&here, "context_tools_remove", json!({ "all": true })).await;
        assert_eq!(removed.status, ToolStatus::Ok);
        let hidden = call(&here, "read", json!({})).await;
        assert_eq!(
            (hidden.status, hidden.text.as_str()),
            (
                ToolStatus::Blocked,
                "the tool `read` is not active; first call context_tools_add with domain \"books\""
            ),
        );
    }
}

#[tokio::test]
async fn what_cannot_be_stored_is_a_failure() {
    let here = offered(&connect(shelf(), McpOptions::new().prefix(""))).await;
    let result = call(&here, "context_tools_add", json!({ "domain": "closed" })).await;
    assert_eq!(
        (result.status, result.text.as_str()),
        (
            ToolStatus::Failed,
            "what the call changes could not be stored"
        ),
    );
}

/// Says when it begins, and when it is stopped before it has ended.
struct CancelProbe(mpsc::UnboundedSender<&'static str>);

impl Drop for CancelProbe {
    fn drop(&mut self) {
        let _ = self.0.send("stopped");
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_taken_back() {
    for era in ERAS {
        let (told, mut hears) = mpsc::unbounded_channel();
        let endless = async_tool_fn(
            ToolSpec::read("wait", "Waits."),
            move |_: ToolContext<'_>, NoArguments {}| {
                let told = told.clone();
                Box::pin(async move {
                    let _guard = CancelProbe(told.clone());
                    let _ = told.send("began");
                    pending::<Result<ToolOutput, ToolFailure>>().await
                })
            },
        );
        let registry = Registry::builder().tool(endless).build().unwrap();
        let desk = ToolServer::new("desk", registry, Stateless::new());
        let here = offered(&connect(desk, McpOptions::new().era(era))).await;
        // The session goes on: only the client's cancellation stops the call.
        let asks = here.clone();
        let waiting = tokio::spawn(async move { call(&asks, "desk_wait", json!({})).await });
        assert_eq!(hears.recv().await, Some("began"));
        waiting.abort();
        assert_eq!(hears.recv().await, Some("stopped"), "{era:?}");
        drop(here);
    }
}
