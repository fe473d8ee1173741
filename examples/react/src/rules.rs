//! The rules that answer if no model does.
use fugato::{
    agent::{decision::ModelFailure, memory::to_remember, toolbox::for_people},
    cli::Lang,
    llm::ChatRequest,
    state::{Message, Role, ToolCall, say},
    words::{normalize, notes_meant, to_forget},
};
use serde_json::{Value, json};

use crate::{
    tools::WORDS,
    wishes::{self, Wish},
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
    if let Some(unwanted) = to_forget(said) {
        let of = |tool: &str| results.iter().rfind(|it| made_by(after, it) == Some(tool));
        match (of("forget"), of("recall")) {
            (Some(done), _) => return Answer::Text(for_people(done).to_owned()),
            (None, Some(found)) => return forgets(request, &unwanted, &found.content),
            (None, None) => {}
        }
    }
    if !results.is_empty() {
        let told = results.into_iter().map(|result| {
            let noted = made_by(after, result) == Some("recall");
            if noted {
                told(said, result)
            } else {
                for_people(result).to_owned()
            }
        });
        return Answer::Text(told.collect::<Vec<_>>().join("\n"));
    }
    let earlier = before.iter().rfind(|it| it.role == Role::User);
    let earlier = earlier.map(|it| it.content.as_str());
    let corrected = withdrawn(before).and_then(|call| {
        let arguments = wishes::corrected(call, said)?;
        Some(Wish::Calls(vec![(call.name.clone(), arguments)]))
    });
    let wish = corrected.or_else(|| wishes::wish(said, earlier));
    match wish {
        Some(Wish::Calls(calls)) => called(request, calls),
        Some(Wish::Answer(text)) => Answer::Text(text),
        None => Answer::Text(help(request, instead)),
    }
}

/// Returns the tool of a result among these messages.
fn made_by<'m>(messages: &'m [Message], result: &Message) -> Option<&'m str> {
    let id = result.tool_call_id.as_ref()?;
    let mut calls = messages.iter().flat_map(|message| &message.tool_calls);
    calls.find(|call| call.id == *id).map(|call| &*call.name)
}

/// Returns the call that forgets the note that a person means, of those that were found; without
/// one such note it is the person who says which.
fn forgets(request: &ChatRequest, unwanted: &str, found: &str) -> Answer {
    let meant = notes_meant(unwanted, found);
    match &*meant {
        _ if unwanted.is_empty() => Answer::Text(say!(
            "Say which note I shall forget.\n{found}",
            "请说要忘掉哪一条笔记。\n{found}"
        )),
        [note] => called(
            request,
            vec![("forget".to_owned(), json!({ "note": note }))],
        ),
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

/// Returns the result of a tool as people are told it.
fn told(said: &str, result: &Message) -> String {
    if let Some(note) = to_remember(said) {
        let kept = Lang::current().pick("In my notebook: ", "我的记事本里有：");
        let found = for_people(result);
        // Notes like it are not what was just to be remembered.
        let same = found
            .lines()
            .find(|line| normalize(line) == normalize(note));
        return format!("{kept}{}", same.unwrap_or(found));
    }
    for_people(result).to_owned()
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
