//! The rules that answer if no model does.
use fugato::{
    agent::{
        decision::ModelFailure,
        memory::{is_no_note, to_recall},
        toolbox::for_people,
    },
    cli::Lang,
    llm::ChatRequest,
    state::{Message, Role, ToolCall, say},
    words::{forget_refusal, normalize, notes_meant, to_forget},
};
use serde_json::{Value, json};

use crate::{
    tools::WORDS,
    wishes::{self, AllFiles, Intent},
};

/// Answers by rules that read a few plain wishes, call the tool that fulfils one, and tell its
/// result. They claim to understand nothing else, and say what they can do.
pub(crate) fn reply(request: &ChatRequest, failure: Option<&ModelFailure>) -> Message {
    match answer(request, failure.is_some()) {
        Answer::Text(text) => Message::assistant(text),
        Answer::Calls(calls) => Message::assistant("").with_tool_calls(calls),
    }
}

enum Answer {
    Text(String),
    Calls(Vec<ToolCall>),
}

fn answer(request: &ChatRequest, instead: bool) -> Answer {
    let messages = &request.messages;
    let asked = messages
        .iter()
        .rposition(|message| message.role == Role::User);
    let Some((said, before, after)) = asked.and_then(|at| {
        let (before, after) = messages.split_at_checked(at + 1)?;
        let (said, before) = before.split_last()?;
        Some((&said.content, before, after))
    }) else {
        return Answer::Text(help(request, instead));
    };
    let results = after.iter().filter(|message| message.role == Role::Tool);
    let results: Vec<&Message> = results.collect();
    let parts = wishes::parts(said);
    if let [only] = parts.as_slice()
        && let Some(unwanted) = to_forget(only)
    {
        let of = |tool: &str| {
            results
                .iter()
                .rfind(|it| call_of(after, it).is_some_and(|it| it.name == tool))
        };
        match (of("forget"), of("recall")) {
            (Some(done), _) => return Answer::Text(for_people(done).to_owned()),
            (None, Some(found)) => return forgets(request, only, &unwanted, &found.content),
            (None, None) => {}
        }
    }
    if let [only] = parts.as_slice()
        && let Some(wish) = wishes::all_files(only)
        && let Some(listed) = results.first()
        && call_of(after, listed).is_some_and(|it| it.name == "list_files")
        && let Some(answer) = all_files(request, wish, listed, results.get(1..).unwrap_or_default())
    {
        return answer;
    }
    let mut wish = wanted(said, before);
    let next = wish.calls.get(results.len()..).unwrap_or_default();
    // Without tools the run ends here.
    let ends = request.tools.is_empty() && !results.is_empty();
    if !next.is_empty() && !ends {
        return called(request, round(next).to_vec());
    }
    if !next.is_empty() {
        wish.told.push(say!(
            "I stopped here, and did not do all of it.",
            "我在这里停下了，还没有全部做完。"
        ));
    }
    let told = results.iter().map(|result| match call_of(after, result) {
        Some(call) if call.name == "recall" => recalled(&parts, call, result),
        _ => for_people(result).to_owned(),
    });
    let told: Vec<_> = told.chain(wish.told).collect();
    Answer::Text(if told.is_empty() {
        help(request, instead)
    } else {
        told.join("\n")
    })
}

/// Returns what a message wants after these. Behind a card that gave way to it comes what else the
/// earlier message wanted.
fn wanted(said: &str, before: &[Message]) -> Intent {
    let earlier = before.iter().rfind(|it| it.role == Role::User);
    let earlier = earlier.map(|it| it.content.as_str());
    let behind_a_no = wishes::declined(said);
    let plain = behind_a_no.as_deref().unwrap_or(said);
    let read = || wishes::wish(plain, earlier).unwrap_or_default();
    let Some(call) = withdrawn(before).filter(|_| !wishes::drops(said)) else {
        return read();
    };
    let corrected = wishes::corrected(call, said);
    let mut wish = match corrected {
        Some(arguments) => Intent {
            calls: vec![(call.name.clone(), arguments)],
            told: vec![],
        },
        None => read(),
    };
    let all = earlier
        .and_then(|it| wishes::wish(it, None))
        .map(|it| it.calls);
    let all = all.unwrap_or_default();
    let asked =
        |(name, arguments): &(String, Value)| *name == call.name && *arguments == call.arguments;
    if let Some(at) = all.iter().position(asked) {
        wish.calls.extend(all.into_iter().skip(at + 1));
    }
    wish
}

/// Returns the first calls of these that go together: those that read, or one that may write.
fn round(calls: &[(String, Value)]) -> &[(String, Value)] {
    /// The tools that only read.
    const READS: [&str; 5] = ["calculate", "list_files", "read_file", "recall", "time"];
    let reads = calls
        .iter()
        .take_while(|(tool, _)| READS.contains(&&**tool));
    calls.get(..reads.count().max(1)).unwrap_or(calls)
}

/// Returns what the notebook was asked for, as people are told it.
fn recalled(parts: &[&str], call: &ToolCall, result: &Message) -> String {
    let found = for_people(result);
    let query = call.arguments.get("query").and_then(Value::as_str);
    let query = query.unwrap_or_default();
    let notes: Vec<String> = parts.iter().filter_map(|part| wishes::note(part)).collect();
    if let Some(note) = notes.iter().find(|note| *note == query) {
        let kept = Lang::current().pick("In my notebook: ", "我的记事本里有：");
        // Notes like it are not what was just to be remembered.
        let same = found
            .lines()
            .find(|line| normalize(line) == normalize(note));
        return match same {
            None if notes.first() != Some(note) => say!(
                "Not noted: {note}. I take one note of a message: say it once more, alone.",
                "没有记下：{note}。一句话只能记一条，请再单独说一次。"
            ),
            same => format!("{kept}{}", same.unwrap_or(found)),
        };
    }
    let asks = parts.iter().any(|part| to_recall(part).is_some());
    if is_no_note(&result.content) && query.is_empty() {
        return say!("There is no note yet.", "还没有任何笔记。");
    }
    if is_no_note(&result.content) && !asks {
        let asked = match parts {
            [only] => only,
            _ => query,
        };
        return say!(
            "There is no note about “{asked}”, and I have nowhere else to look.",
            "没有关于“{asked}”的笔记，我也没有别的地方可查。"
        );
    }
    found.to_owned()
}

/// Returns the call of a result among these messages.
fn call_of<'m>(messages: &'m [Message], result: &Message) -> Option<&'m ToolCall> {
    let id = result.tool_call_id.as_ref()?;
    let mut calls = messages.iter().flat_map(|message| &message.tool_calls);
    calls.find(|call| call.id == *id)
}

/// Returns the reads of the files of this list that a person wants, or what came of them; none if no
/// files are listed.
fn all_files(
    request: &ChatRequest,
    wish: AllFiles<'_>,
    listed: &Message,
    read: &[&Message],
) -> Option<Answer> {
    const MOST: usize = 12;
    let listed = for_people(listed);
    let lines: Option<Vec<&str>> = listed.lines().map(|line| line.strip_prefix("- ")).collect();
    // There may be more than these, or none.
    let there = lines.filter(|lines| lines.len() <= MOST || !wish.is_read);
    let Some(there) = there else {
        return wish.is_read.then(|| {
            Answer::Text(say!(
                "I read at most {MOST} files at once, so nothing was read: name those that are meant.\n{listed}",
                "一次最多读 {MOST} 个文件，所以什么都没有读：请说出要读哪些。\n{listed}"
            ))
        });
    };
    let wanted = match wish.of(&there) {
        Ok(wanted) => wanted,
        Err(limit) => {
            return Some(Answer::Text(say!(
                "I cannot tell which files “{limit}” means, so nothing was done. There are:\n{listed}",
                "不知道“{limit}”指的是哪些文件，所以什么都没有做。现有的文件：\n{listed}"
            )));
        }
    };
    if !wish.is_read || wanted.is_empty() {
        let lines: Vec<_> = wanted.iter().map(|path| format!("- {path}")).collect();
        let none = || say!("There are no other files.", "没有别的文件。");
        return Some(Answer::Text(if lines.is_empty() {
            none()
        } else {
            lines.join("\n")
        }));
    }
    if read.is_empty() {
        let calls = wanted.iter();
        let calls = calls.map(|path| ("read_file".to_owned(), json!({ "path": path })));
        return Some(called(request, calls.collect()));
    }
    let told = wanted.iter().zip(read);
    let told: Vec<_> = told
        .map(|(path, text)| format!("{path}:\n{}", for_people(text)))
        .collect();
    Some(Answer::Text(told.join("\n")))
}

/// Returns the call that forgets the note that a person means, of those that were found; without
/// one such note it is the person who says which.
fn forgets(request: &ChatRequest, said: &str, unwanted: &str, found: &str) -> Answer {
    let found = if is_no_note(found) { "" } else { found };
    let meant = notes_meant(said, found);
    match &*meant {
        _ if unwanted.is_empty() => Answer::Text(say!(
            "Say which note I shall forget.\n{found}",
            "请说要忘掉哪一条笔记。\n{found}"
        )),
        [note] => called(
            request,
            vec![("forget".to_owned(), json!({ "note": note }))],
        ),
        [] if let Some(refusal) = forget_refusal(said, Lang::current()) => Answer::Text(refusal),
        [] if [",", "，", "、", " and ", "还有"]
            .iter()
            .any(|it| unwanted.contains(it)) =>
        {
            Answer::Text(say!(
                "I can forget one note at a time, and no single one is “{unwanted}”: nothing was forgotten.",
                "一次只能忘掉一条笔记，没有一条笔记是“{unwanted}”：什么都没有忘掉。"
            ))
        }
        [] => Answer::Text(say!(
            "There is no such note, and nothing was forgotten.",
            "没有这样的笔记，什么都没有忘掉。"
        )),
        several => {
            let several = several.join("\n");
            Answer::Text(say!(
                "Which one? Nothing was forgotten yet.\n{several}",
                "忘掉哪一条？现在还什么都没有忘掉。\n{several}"
            ))
        }
    }
}

/// Returns these calls, if there are such tools.
fn called(request: &ChatRequest, calls: Vec<(String, Value)>) -> Answer {
    let is_there = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    if let Some((name, _)) = calls.iter().find(|(name, _)| !is_there(name)) {
        let known = WORDS.iter().find(|(tool, ..)| tool == name);
        let work = known.map_or(&**name, |(_, en, zh)| Lang::current().pick(en, zh));
        return Answer::Text(say!(
            "I cannot do that: {work} is switched off.",
            "这件事做不了：没有启用「{work}」。"
        ));
    }
    let number = request.messages.len();
    let calls = calls.into_iter().zip(number..);
    let call = |((name, arguments), number): ((String, Value), usize)| {
        ToolCall::new(format!("rule-{number}"), name, arguments)
    };
    Answer::Calls(calls.map(call).collect())
}

/// Returns the call whose card gave way to the words after these messages: no reply follows it.
fn withdrawn(before: &[Message]) -> Option<&ToolCall> {
    let id = before.last()?.tool_call_id.as_ref()?;
    let mut calls = before.iter().rev().flat_map(|message| &message.tool_calls);
    calls.find(|call| call.id == *id)
}

/// Returns a list of what rules can do with the present tools, without a model or instead of one.
fn help(request: &ChatRequest, instead: bool) -> String {
    let lang = Lang::current();
    let can = CAN.iter().filter(|(tool, ..)| {
        let mut tools = request.tools.iter();
        tools.any(|known| known.name == *tool)
    });
    let can: Vec<_> = can.map(|(_, en, zh)| lang.pick(*en, *zh)).collect();
    let can = if can.is_empty() {
        lang.pick("nothing, as there are no tools", "没有工具，什么也做不了")
            .to_owned()
    } else {
        can.join(lang.pick("; ", "；"))
    };
    if instead {
        return lang.pick(
            format!("I could not read this by rules, and did nothing. They follow a few plain words only: {can}."),
            format!("按规则没能读懂这句话，什么也没做。规则只懂几种简单的说法：{can}。"),
        );
    }
    lang.pick(
        format!("Without a model I follow a few plain words only: {can}."),
        format!("没有模型时，我只懂几种简单的说法：{can}。"),
    )
}

const CAN: [(&str, &str, &str); 7] = [
    ("calculate", "\"(17 + 25) * 2\"", "“(17 + 25) * 2”"),
    ("time", "\"what time is it?\"", "“现在几点？”"),
    ("list_files", "\"list files\"", "“列出文件”"),
    ("read_file", "\"read NAME\"", "“读取 文件名”"),
    ("write_file", "\"write NAME: TEXT\"", "“写入 文件名：内容”"),
    (
        "recall",
        "\"remember that …\" and \"what do you remember?\"",
        "“记住……”和“你记住了什么？”",
    ),
    ("forget", "\"forget that …\"", "“忘掉……”"),
];

#[cfg(test)]
mod tests {
    use fugato::{state::ToolSchema, tool::NoArguments};

    use super::*;

    fn says(messages: Vec<Message>, tools: &[&str]) -> Message {
        let mut request = ChatRequest::new(messages);
        request.tools = tools.iter().map(|name| schema(name)).collect();
        reply(&request, None)
    }

    fn schema(name: &str) -> ToolSchema {
        let parameters = fugato::state::Schema::of::<NoArguments>();
        serde_json::from_value(json!({
            "name": name, "description": "", "parameters": parameters,
        }))
        .expect("it is a schema of a tool")
    }

    #[test]
    fn a_wish_becomes_a_call_and_its_result_is_told() {
        let mut messages = vec![Message::user("1 + 1")];
        let call = says(messages.clone(), &["calculate"]);
        let expected = ToolCall::new("rule-1", "calculate", json!({ "expression": "1 + 1" }));
        assert_eq!(call.tool_calls, [expected]);
        messages.extend([call, Message::tool("rule-1", "1 + 1 = 2")]);
        let told = says(messages, &["calculate"]);
        assert_eq!(told, Message::assistant("1 + 1 = 2"));
    }

    #[test]
    fn it_says_what_it_can_do_and_what_it_cannot() {
        let help = says(vec![Message::user("help")], &["calculate", "time"]);
        assert_eq!(
            help.content,
            "Without a model I follow a few plain words only: \"(17 + 25) * 2\"; \"what time is it?\"."
        );
        let none = Lang::Zh.scope(|| says(vec![Message::user("现在几点")], &[]));
        assert_eq!(none.content, "这件事做不了：没有启用「查看时间」。");
    }
}
