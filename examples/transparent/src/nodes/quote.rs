use std::ops::ControlFlow;

use async_trait::async_trait;
use fugato::{
    BoxError, Context, EffectClass, EventKind, Node, Outcome,
    agent::{
        memory::{REMEMBERED, to_quote},
        toolbox::finished,
    },
    state::{ToolCall, say},
    tool::clip,
};
use serde_json::{Value, json};

use super::note;
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    rules,
};

/// The node that notes what a document says, if the person asks for it. Each note names the
/// document: it is never the word of the person.
#[derive(Debug)]
pub struct Quote(pub Deps);

/// The section of `MEMORY.md` for what documents say.
const FROM_FILES: &str = "From files";
/// The most lines of a document that are noted.
const MOST_LINES: usize = 12;
/// The most characters of such a line.
const MOST_CHARS: usize = 300;

#[async_trait]
impl Node<AgentState> for Quote {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let request = &cx.state().turn.request;
        let Some(named) = to_quote(&request.text).filter(|_| request.job.is_none()) else {
            return Ok(Outcome::done([]));
        };
        let listed = rules::document(named);
        let listed = ToolCall::new("quote-list", "list_files", json!({ "pattern": listed }));
        let (files, mut told) = match self.called(&cx, listed).await? {
            ControlFlow::Continue(Ok((data, _, told))) => (data, vec![told]),
            ControlFlow::Continue(Err(why)) => return Ok(lost(why)),
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let Some(path) = rules::chosen(&files, named) else {
            return Ok(lost(say!(
                "there is no document {named}",
                "没有“{named}”这个文件"
            )));
        };
        let read = ToolCall::new("quote-read", "read_file", json!({ "path": path }));
        let text = match self.called(&cx, read).await? {
            ControlFlow::Continue(Ok((_, text, read))) => {
                told.push(read);
                text
            }
            ControlFlow::Continue(Err(why)) => return Ok(lost(why)),
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let outcome = match self.noted(&cx, &path, &text).await {
            Ok(notes) => {
                let data = json!({ "source": path, "notes": notes, "section": FROM_FILES });
                told.push(note(REMEMBERED, data));
                Outcome::done([Update::Quoted { source: path }])
            }
            Err(error) => lost(error.to_string()),
        };
        Ok(told.into_iter().fold(outcome, Outcome::note))
    }
}

/// The data of a result, its text, and the event that tells of it.
type CallResult = Result<(Value, String, EventKind), String>;

impl Quote {
    /// Calls a tool behind the gates that all calls pass. The error is the text of a call that
    /// failed.
    async fn called(
        &self,
        cx: &Context<AgentState>,
        call: ToolCall,
    ) -> Result<ControlFlow<Outcome<Update>, CallResult>, BoxError> {
        let done = match self.0.toolbox.execute(cx, &[call]).await? {
            ControlFlow::Continue(mut done) => done.pop().ok_or("a call has a result")?,
            ControlFlow::Break(asks) => return Ok(ControlFlow::Break(asks)),
        };
        let told = finished(&done);
        let result = done.result;
        Ok(ControlFlow::Continue(if result.is_ok() {
            Ok((result.data, result.text, told))
        } else {
            Err(result.text)
        }))
    }

    /// Stores the lines of a document, and returns their number.
    async fn noted(
        &self,
        cx: &Context<AgentState>,
        path: &str,
        text: &str,
    ) -> Result<usize, BoxError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.take(MOST_LINES).map(|line| clip(line, MOST_CHARS));
        let notes: Vec<String> = lines
            .map(|line| say!("{path} says: “{line}”", "{path} 里写着：“{line}”"))
            .collect();
        let (notebook, stored, many) = (self.0.desk.notebook.clone(), notes.clone(), notes.len());
        let store = async move |_| {
            let all = stored.iter();
            all.map(|note| notebook.remember(FROM_FILES, note))
                .collect::<Result<Vec<()>, _>>()
        };
        cx.effect("quote", EffectClass::Idempotent, &notes, store)
            .await?;
        Ok(many)
    }
}

fn lost(why: String) -> Outcome<Update> {
    Outcome::done([Update::NotRemembered { why }])
}
