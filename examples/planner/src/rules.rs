//! What is planned and said without a model: usual requests, in English and in Chinese.
use fugato::{
    agent::plan::{Asking, PlanRules, Step, StepDraft, StepKind, StepStatus},
    cli::Lang,
    memory::ExecutionStatus,
};
use serde_json::{Map, Value, json};

use crate::{
    answer::{Offer, help, told, verb},
    desk::{Config, Side, Trader},
    facts,
    figures::{Figures, figures},
    intent::{self, Topic, Wish, mentioned},
    session::Session,
    tools,
};

/// The rules. They know what is looked up, and read it out themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules;

impl PlanRules<Session> for Rules {
    fn decide(&self, session: &Session, asking: Asking) -> Option<Value> {
        let failed = session
            .work
            .steps
            .iter()
            .any(|step| step.status == StepStatus::Failed);
        match asking {
            Asking::Plan => Some(steps(&plan(session))),
            Asking::Replan if failed || session.work.pending().is_none() => {
                Some(json!({ "action": "finish" }))
            }
            Asking::Replan => Some(json!({ "action": "continue" })),
            _ if failed => Some(steps(&[respond()])),
            _ => Some(steps(&next(session))),
        }
    }

    fn say(&self, session: &Session, step: &Step) -> Option<String> {
        (step.draft.kind == StepKind::Respond).then(|| answer(session))
    }

    /// What exists, and what can be done, is read out as it was just looked up.
    fn knows(&self, session: &Session, step: &Step) -> bool {
        let topics = intent::topics(session.goal());
        let about = topics.iter().any(|topic| topic.is_existence());
        step.draft.kind == StepKind::Respond && about && intent::wish(session.goal()) == Wish::Told
    }
}

fn steps(drafts: &[StepDraft]) -> Value {
    json!({ "steps": drafts })
}

fn respond() -> StepDraft {
    StepDraft::of(StepKind::Respond, "")
}

/// The steps of the plan that were not done yet: those that read, or the next one.
fn next(session: &Session) -> Vec<StepDraft> {
    let written = session.work.steps.iter().any(|step| {
        let is_tool = step.draft.kind == StepKind::Tool;
        is_tool && step.status == StepStatus::Completed && !tools::is_read(&step.draft.tool_name)
    });
    if written {
        return vec![respond()];
    }
    let ended = |draft: &StepDraft| {
        let mut steps = session.work.steps.iter();
        steps.any(|step| step.draft.tool_name == draft.tool_name && step.draft.kind == draft.kind)
    };
    let planned = plan(session).into_iter();
    let left: Vec<StepDraft> = planned
        .filter(|draft| draft.kind != StepKind::Tool || !ended(draft))
        .collect();
    let reads = left
        .iter()
        .take_while(|draft| tools::is_read(&draft.tool_name))
        .count();
    left.into_iter().take(reads.max(1)).collect()
}

/// What is to be done for what was asked, and for what was answered since.
fn plan(session: &Session) -> Vec<StepDraft> {
    let call = match intent::wish(session.goal()) {
        Wish::Told => return tell(session),
        Wish::Trader(name) => trader(session, name),
        Wish::Order { side, figures } => order(session, side, figures),
        Wish::Cancellation(number) => cancellation(session, number),
    };
    match call {
        Ok((tool, arguments)) => vec![StepDraft::tool(tool, arguments), respond()],
        Err(other) => vec![*other],
    }
}

/// Reads what is asked for; what is configured was looked up already.
fn tell(session: &Session) -> Vec<StepDraft> {
    let topics = intent::topics(session.goal());
    let tool = |topic: &Topic| match topic {
        Topic::Balances => Some("get_balances"),
        Topic::Positions => Some("get_positions"),
        Topic::Trades => Some("get_trade_history"),
        Topic::Prices => Some("get_prices"),
        Topic::Orders => Some("get_open_orders"),
        _ => None,
    };
    let reads = topics.iter().filter_map(tool);
    let reads = reads.map(|tool| StepDraft::tool(tool, Map::new()));
    reads.chain([respond()]).collect()
}

/// A call, or what has to come before it: a question, or the answer that it is not possible.
type Call = Result<(&'static str, Map<String, Value>), Box<StepDraft>>;

fn ask(missing: &str, question: String) -> StepDraft {
    StepDraft {
        missing: vec![missing.to_owned()],
        ..StepDraft::of(StepKind::AskUser, question)
    }
}

/// What was answered last to a question for this.
fn replied<'a>(session: &'a Session, missing: &str) -> Option<&'a str> {
    replies(session, &[missing]).next_back()
}

/// What was answered to questions for these.
fn replies<'a>(session: &'a Session, missing: &[&str]) -> impl DoubleEndedIterator<Item = &'a str> {
    let steps = session.work.steps.iter();
    let asks = |step: &&Step| {
        step.draft
            .missing
            .iter()
            .any(|one| missing.contains(&&**one))
    };
    let asked = steps.filter(asks);
    let answered = asked.filter(|step| step.status == StepStatus::Completed);
    answered.map(|step| step.output_summary.as_str())
}

fn trader(session: &Session, name: Option<String>) -> Call {
    let lang = Lang::of(session.goal());
    let model = chosen(
        session,
        facts::MODELS,
        ("model", lang.pick("model", "模型")),
    )?;
    let exchange = chosen(
        session,
        facts::EXCHANGES,
        ("exchange", lang.pick("exchange", "交易所")),
    )?;
    let there: Vec<Trader> = session.seen(facts::TRADERS).unwrap_or_default();
    let given = replied(session, "name").map(str::trim);
    let given = given.map(|reply| intent::named(reply).unwrap_or_else(|| reply.to_owned()));
    let Some(name) = given.or(name) else {
        let question = lang.pick("What shall the trader be called?", "交易员叫什么名字？");
        return Err(ask("name", question.to_owned()).into());
    };
    if there.iter().any(|trader| trader.name == name) {
        let question = match lang {
            Lang::En => format!("There is a trader {name} already. What shall this one be called?"),
            Lang::Zh => format!("已经有交易员 {name} 了。这个叫什么名字？"),
        };
        return Err(ask("name", question).into());
    }
    let strategies: Vec<Config> = session.seen(facts::STRATEGIES).unwrap_or_default();
    let usable = strategies.iter().filter(|config| config.enabled);
    let strategy = mentioned(session.goal(), usable.map(|config| config.name.as_str()));
    let arguments = json!({
        "name": name, "model": model, "exchange": exchange, "strategy": strategy.unwrap_or_default(),
    });
    Ok(("create_trader", object(arguments)))
}

/// Which of what is configured and enabled now is meant: what was named, or the only one.
fn chosen(
    session: &Session,
    kind: &str,
    (field, word): (&str, &str),
) -> Result<String, Box<StepDraft>> {
    let lang = Lang::of(session.goal());
    let all: Vec<Config> = session.seen(kind).unwrap_or_default();
    let usable = || {
        all.iter()
            .filter(|config| config.enabled)
            .map(|config| config.name.as_str())
    };
    let reply = replied(session, field);
    // What was answered counts more than what was said first.
    let named = reply.and_then(|reply| mentioned(reply, usable()));
    let named = named.or_else(|| mentioned(session.goal(), usable()));
    let choices: Vec<&str> = usable().collect();
    match (named, &choices[..], reply) {
        (Some(name), ..) => Ok(name.to_owned()),
        (None, [], _) => Err(Box::new(respond())),
        (None, [only], None) => Ok((*only).to_owned()),
        (None, _, reply) => {
            let list = choices.join(", ");
            let question = match (lang, reply) {
                (Lang::En, None) => format!("Which {word}? There is: {list}"),
                (Lang::En, Some(_)) => format!("That {word} is not there now. There is: {list}"),
                (Lang::Zh, None) => format!("用哪个{word}？现在有：{list}"),
                (Lang::Zh, Some(_)) => format!("现在没有这个{word}。现在有：{list}"),
            };
            Err(ask(field, question).into())
        }
    }
}

fn order(session: &Session, side: Side, said: Figures) -> Call {
    let lang = Lang::of(session.goal());
    let offers: Vec<Offer> = session.seen(facts::PRICES).unwrap_or_default();
    let traded = |text: &str| {
        let whole = mentioned(text, offers.iter().map(|offer| offer.symbol.as_str()));
        let base = |offer: &&Offer| {
            let base = offer.symbol.split('-').next().unwrap_or_default();
            mentioned(text, [base]).is_some()
        };
        let by_base = || offers.iter().find(base).map(|offer| offer.symbol.as_str());
        whole.or_else(by_base).map(str::to_owned)
    };
    let symbol = replied(session, "symbol")
        .and_then(traded)
        .or_else(|| traded(session.goal()));
    let Some(symbol) = symbol else {
        let all: Vec<_> = offers.iter().map(|offer| offer.symbol.as_str()).collect();
        let question = match lang {
            Lang::En => format!("What shall I {}? There is: {}", verb(side), all.join(", ")),
            Lang::Zh => format!("交易哪一个？现在有：{}", all.join(", ")),
        };
        return Err(ask("symbol", question).into());
    };
    let Figures {
        quantity,
        price,
        is_unclear,
    } = replies(session, &["symbol", "quantity", "figures"])
        .map(|reply| figures(reply, side))
        .fold(said, Figures::then);
    if is_unclear {
        let question = lang.pick(
            "I can read these numbers in more than one way. How much, and at which price? Such as \
             \"0.5 at 70000\", or \"0.5\" to take the price that is there.",
            "这些数字有不止一种读法。数量是多少，价格是多少？例如“0.5，价格 70000”，只说“0.5”就按市价。",
        );
        return Err(ask("figures", question.to_owned()).into());
    }
    let Some(quantity) = quantity else {
        let question = match lang {
            Lang::En => format!("How much {symbol} shall I {}?", verb(side)),
            Lang::Zh => format!("{symbol} 的数量是多少？"),
        };
        return Err(ask("quantity", question).into());
    };
    let mut arguments = json!({ "symbol": symbol, "side": side, "quantity": quantity });
    if let (Some(price), Some(arguments)) = (price, arguments.as_object_mut()) {
        arguments.insert("price".into(), json!(price));
    }
    Ok(("place_order", object(arguments)))
}

fn cancellation(session: &Session, number: Option<i64>) -> Call {
    let reply = replied(session, "order").and_then(intent::answered_number);
    let Some(order) = reply.or(number) else {
        let lang = Lang::of(session.goal());
        let question = lang.pick("Which order, by its number?", "哪一个订单？请说编号。");
        return Err(ask("order", question.to_owned()).into());
    };
    Ok(("cancel_order", object(json!({ "order": order }))))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What came of the work, and what was asked for, as it is now.
fn answer(session: &Session) -> String {
    let lang = Lang::of(session.goal());
    let mut lines: Vec<String> = session
        .work
        .steps
        .iter()
        .filter_map(|step| ended(step, lang))
        .collect();
    let wish = intent::wish(session.goal());
    let topics = intent::topics(session.goal());
    let acted = !lines.is_empty();
    match wish {
        Wish::Told if topics.is_empty() && !acted => lines.push(help(lang).to_owned()),
        Wish::Told => {
            let able = topics.contains(&Topic::Ability);
            lines.extend(topics.iter().map(|topic| told(session, *topic, lang)));
            if able {
                let parts = [Topic::Models, Topic::Exchanges].into_iter();
                let parts = parts.filter(|topic| !topics.contains(topic));
                lines.extend(parts.map(|topic| told(session, topic, lang)));
            }
        }
        // It came to an answer without a call: something that it needs is not there.
        Wish::Trader(_) if !acted => lines.push(told(session, Topic::Ability, lang)),
        _ => {}
    }
    if session.work.status() == ExecutionStatus::Failed {
        lines.push(session.work.execution.error.clone());
    }
    lines.join("\n")
}

/// What became of a step that wrote, or did not end well.
fn ended(step: &Step, lang: Lang) -> Option<String> {
    let is_write = step.draft.kind == StepKind::Tool && !tools::is_read(&step.draft.tool_name);
    match step.status {
        StepStatus::Completed if is_write => Some(format!(
            "{}{}",
            lang.pick("Done: ", "完成："),
            step.output_summary
        )),
        StepStatus::Failed if step.error.starts_with("the person does not agree") => Some(
            lang.pick("Not done: you did not agree.", "没有完成：您没有同意。")
                .to_owned(),
        ),
        StepStatus::Failed => Some(format!(
            "{}{}",
            lang.pick("Not done: ", "没有完成："),
            step.error
        )),
        _ => None,
    }
}
