//! Plans and answers without a model, for usual requests in English and in Chinese.
use fugato::{
    agent::{
        plan::{PlanRules, PlannerQuestion, StepDraft, StepKind, StepStatus, WorkStep},
        reply::RunReport,
        toolbox::is_declined,
    },
    cli::Lang,
    memory::ExecutionStatus,
    state::State as _,
    words::{
        Amount, OrderTerms, ShortAnswer, is_question, mentioned, money_in, named, strip_phrase,
    },
};
use serde_json::{Map, Value, json};

use crate::{
    answer::{ability, not_now, not_run, small_talk, there_is, told},
    exchange::{Config, Order, Price, Side, Trader},
    facts::{self, Topic},
    intent::{self, UserWish},
    session::PlannerSession,
    terms::{self, not_traded},
};

/// The rules. They answer from the facts that were looked up.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlannerRules;

impl PlanRules<PlannerSession> for PlannerRules {
    fn decide(&self, session: &PlannerSession, asking: PlannerQuestion) -> Option<Value> {
        let mut ended = session.work.steps.iter();
        // A no is about one order, and the others of the request are asked about.
        let failed =
            ended.any(|step| step.status == StepStatus::Failed && !is_declined(&step.error));
        let is_over = failed || session.work.pending().is_none();
        Some(match asking {
            PlannerQuestion::Plan => json!({ "steps": plan(session) }),
            PlannerQuestion::Replan if is_over => json!({ "action": "finish" }),
            PlannerQuestion::Replan => json!({ "action": "continue" }),
            _ if failed => json!({ "steps": [respond()] }),
            _ => json!({ "steps": next(session) }),
        })
    }

    fn say(&self, session: &PlannerSession, step: &WorkStep) -> Option<String> {
        (step.draft.kind == StepKind::Respond).then(|| answer(session))
    }

    fn wants_action(&self, session: &PlannerSession) -> bool {
        intent::wish(session.goal()) != UserWish::Told
    }

    /// Returns true for an answer that reads out facts as they were just looked up, unless the
    /// person also asks for an opinion.
    fn knows(&self, session: &PlannerSession, step: &WorkStep) -> bool {
        let topics = intent::topics(session.goal());
        let about = topics.iter().any(|topic| topic.is_existence());
        let all = !topics.is_empty() && !intent::asks_opinion(session.goal());
        step.draft.kind == StepKind::Respond
            && (about || all)
            && intent::wish(session.goal()) == UserWish::Told
    }

    fn facts(&self, session: &PlannerSession) -> Option<String> {
        facts_asked(session)
    }
}

/// Returns the facts that the person asked for, as they are now; none if the person asks for
/// something else.
pub(crate) fn facts_asked(session: &PlannerSession) -> Option<String> {
    read_out(session, session.goal())
}

/// Returns the facts that a message asks for, as they were looked up: what an order would come to,
/// or what there is; none if it asks for something else.
pub(crate) fn read_out(session: &PlannerSession, message: &str) -> Option<String> {
    if intent::wish(message) != UserWish::Told {
        return None;
    }
    let lang = Lang::of(message);
    if let Some(text) = unknown(session, message, lang) {
        return Some(text);
    }
    if let Some(text) = quoted(session, message, lang) {
        return Some(text);
    }
    let topics = intent::topics(message);
    let mut lines = vec![];
    if topics.contains(&Topic::Prices) && intent::is_of_another_time(message) {
        lines.push(not_now(lang).to_owned());
    }
    if intent::asks_what_runs(message) {
        lines.push(not_run(lang).to_owned());
    }
    let limits = intent::unread_limits(message);
    // What was left out names none of what is asked for.
    let asked = limits
        .iter()
        .fold(message.to_owned(), |asked, words| asked.replace(words, " "));
    let told = topics
        .into_iter()
        .map(|topic| told(session, &asked, topic, lang));
    lines.extend(told);
    if lines.is_empty() {
        return None;
    }
    lines.extend(limits.into_iter().map(|words| {
        lang.pick(
            format!("I did not take “{words}” into account."),
            format!("没有考虑“{words}”。"),
        )
    }));
    lines.extend(intent::unread_questions(message).into_iter().map(|words| {
        lang.pick(
            format!("I did not understand “{words}”."),
            format!("没听懂“{words}”。"),
        )
    }));
    Some(lines.join("\n"))
}

/// Returns what an order that a question names would come to.
fn quoted(session: &PlannerSession, message: &str, lang: Lang) -> Option<String> {
    let side = intent::asked_side(message).filter(|_| !intent::trades_not(message))?;
    if intent::asks_of_the_past(message) {
        return None;
    }
    let symbol = traded(message, &symbols(session))?;
    let quantity = intent::terms(message, side).quantity?;
    terms::quote(session, &symbol, side, quantity, lang)
}

/// Returns what the order on the open card would come to.
pub(crate) fn card_quote(session: &PlannerSession, lang: Lang) -> Option<String> {
    let order = terms::order(&session.work.running()?.call())?;
    terms::quote(session, &order.symbol, order.side, order.quantity, lang)
}

/// Returns the text that something of a message is not traded here.
fn unknown(session: &PlannerSession, message: &str, lang: Lang) -> Option<String> {
    let symbols = symbols(session);
    let names: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let what = intent::untraded(message, &names).filter(|_| !names.is_empty())?;
    let told = not_traded(session, &what, lang);
    let asks_more = intent::trades(message) && !intent::assets(message).is_empty();
    let rest = lang.pick(". Nothing else was done either.", "。其余的也没有做。");
    Some(if asks_more && !is_question(message) {
        told + rest
    } else {
        told
    })
}

fn symbols(session: &PlannerSession) -> Vec<String> {
    let prices: Vec<Price> = session.seen(Topic::Prices).unwrap_or_default();
    prices.into_iter().map(|price| price.symbol).collect()
}

fn respond() -> StepDraft {
    StepDraft::of(StepKind::Respond, "")
}

/// Returns the steps of the plan that are still to do: those that read, or the next one.
fn next(session: &PlannerSession) -> Vec<StepDraft> {
    let steps = &session.work.steps;
    let goal = session.goal();
    let wishes = intent::wishes(goal);
    let may_be_many = |wish: &UserWish| match wish {
        UserWish::Removal => true,
        _ => intent::means_all_orders(goal),
    };
    let is_one = matches!(&*wishes, [(wish, _)] if !may_be_many(wish));
    if is_one && steps.iter().any(has_written) {
        return vec![respond()];
    }
    let ended = |draft: &StepDraft| {
        let mut calls = steps.iter().map(|step| &step.draft);
        draft.kind == StepKind::Tool
            && calls
                .any(|call| call.tool_name == draft.tool_name && call.tool_args == draft.tool_args)
    };
    let planned = plan(session).into_iter();
    let left: Vec<StepDraft> = planned.filter(|draft| !ended(draft)).collect();
    let reads = left.iter().take_while(|it| facts::is_read(&it.tool_name));
    let many = reads.count().max(1);
    left.into_iter().take(many).collect()
}

fn has_written(step: &WorkStep) -> bool {
    let writes = step.draft.kind == StepKind::Tool && !facts::is_read(&step.draft.tool_name);
    writes && step.status == StepStatus::Completed
}

/// Returns the steps for the request and for the answers since.
fn plan(session: &PlannerSession) -> Vec<StepDraft> {
    if obstacle(session).is_some() {
        return vec![respond()];
    }
    let mut steps = vec![];
    let wishes = intent::wishes(session.goal());
    let several = wishes.len() > 1;
    for (wish, part) in wishes {
        let tool = wish.tool().unwrap_or_default();
        if several && unknown(session, &part, session.lang()).is_some() {
            // The answer says so.
            continue;
        }
        if wish == UserWish::Cancellation(None) && intent::means_all_orders(&part) {
            let open: Vec<Order> = session.seen(Topic::Orders).unwrap_or_default();
            let each = |order: Order| Map::from_iter([("order".to_owned(), json!(order.id))]);
            steps.extend(
                open.into_iter()
                    .map(|order| StepDraft::tool(tool, each(order))),
            );
            continue;
        }
        if wish == UserWish::Removal {
            let each = |name: String| Map::from_iter([("name".to_owned(), json!(name))]);
            match removal(session) {
                Ok(names) => {
                    let names = names.into_iter();
                    steps.extend(names.map(|name| StepDraft::tool(tool, each(name))));
                }
                Err(other) => return vec![*other],
            }
            continue;
        }
        let arguments = match wish {
            UserWish::Told
            | UserWish::Later
            | UserWish::Unclear(_)
            | UserWish::Several(_)
            | UserWish::Removal
            | UserWish::Beyond => {
                return tell(session);
            }
            UserWish::Trader(name) => trader(session, name),
            UserWish::Order(side, said) => order(session, &part, side, said),
            UserWish::Cancellation(number) => cancellation(session, number),
        };
        match arguments {
            Ok(Value::Object(arguments)) => steps.push(StepDraft::tool(tool, arguments)),
            Ok(_) => return vec![respond()],
            Err(other) => return vec![*other],
        }
    }
    steps.push(respond());
    steps
}

/// Returns the reason why the request cannot be planned at all.
fn obstacle(session: &PlannerSession) -> Option<String> {
    let (goal, lang) = (session.goal(), session.lang());
    let mut wishes = intent::wishes(goal).into_iter();
    let wish = match (wishes.next(), wishes.next()) {
        (Some((only, _)), None) => only,
        _ => intent::wish(goal),
    };
    match wish {
        UserWish::Later => Some(
            lang.pick(
                "I can do nothing later or on a condition; nothing was done. An order with a price, \
                 such as \"buy 0.1 BTC at 60000\", waits in the book.",
                "不能以后再做，也不能有条件地做；什么都没有做。带价格的单会在盘口等待，例如“以 60000 买 0.1 BTC”。",
            )
            .to_owned(),
        ),
        UserWish::Beyond if intent::changes(goal) => Some(lang.pick(
            format!(
                "I cannot change an order or a trader that is there, so nothing was done (“{goal}”). \
                 Cancel or delete it, and make another."
            ),
            format!("不能修改已有的订单或交易员，所以什么都没有做（“{goal}”）。请先撤单或删除，再重新下单或创建。"),
        )),
        UserWish::Beyond if intent::operates(goal) => Some(not_operated(session, goal, lang)),
        UserWish::Beyond => Some(
            lang.pick(
                "I cannot do that here, and did nothing. This desk only places and cancels orders \
                 for what there is, and keeps traders.",
                "这里不能做这件事，什么都没有做。这个交易台只能用现有的资产下单、撤单，以及管理交易员。",
            )
            .to_owned(),
        ),
        UserWish::Several(words) => Some(intent::one_by_one(&words, lang)),
        UserWish::Unclear(words) => Some(unread(&words, lang)),
        UserWish::Order(..) if intent::wishes(goal).len() == 1 => {
            let symbols = symbols(session);
            let other = || {
                let what = intent::unknown_thing(goal).filter(|_| intent::assets(goal).is_empty())?;
                let nothing = traded(goal, &symbols).is_none() && !symbols.is_empty();
                nothing.then(|| not_traded(session, &what, lang))
            };
            unknown(session, goal, lang).or_else(other)
        }
        UserWish::Cancellation(None) => {
            let open: Vec<Order> = session.seen(Topic::Orders)?;
            let none = lang.pick("There is no open order, so none was cancelled.", "没有挂单，没有可撤的。");
            let acted = session.work.steps.iter().any(has_written);
            (open.is_empty() && !acted).then(|| none.to_owned())
        }
        UserWish::Removal => {
            session.seen::<Vec<Trader>>(Topic::Traders)?;
            let there = removable(session);
            match intent::removed(goal, &there) {
                Ok(named) if named.is_empty() && there.is_empty() => Some(
                    lang.pick("There is no trader, so none was deleted.", "没有交易员，没有可删除的。")
                        .to_owned(),
                ),
                Ok(_) => None,
                Err(words) => Some(unread(&words, lang)),
            }
        }
        UserWish::Trader(_) => against_trader(session, goal, lang),
        _ => None,
    }
}

/// Returns the answer to a message that starts or stops a trader.
fn not_operated(session: &PlannerSession, goal: &str, lang: Lang) -> String {
    let [en, zh] = if intent::assets(goal).is_empty() {
        ["", ""]
    } else {
        [", and none is for one asset", "，也不针对某一种资产"]
    };
    let names = trader_names(session);
    let has = if names.is_empty() {
        lang.pick("There is no trader.", "现在没有交易员。")
            .to_owned()
    } else {
        there_is(&names, lang)
    };
    lang.pick(
        format!(
            "No trader is started or stopped here{en}, so I did nothing (“{goal}”). One can be made or \
             deleted. {has}"
        ),
        format!("这里的交易员不能启动或停止{zh}，所以什么都没有做（“{goal}”）。可以创建或删除交易员。{has}"),
    )
}

fn trader_names(session: &PlannerSession) -> Vec<String> {
    let there: Vec<Trader> = session.seen(Topic::Traders).unwrap_or_default();
    there.into_iter().map(|trader| trader.name).collect()
}

/// Returns the reason why a trader cannot be made as a message says.
fn against_trader(session: &PlannerSession, goal: &str, lang: Lang) -> Option<String> {
    let off = [Topic::Models, Topic::Exchanges, Topic::Strategies];
    let named = off.into_iter().find_map(|topic| {
        let all: Vec<Config> = session.seen(topic)?;
        let off = all.iter().filter(|it| !it.enabled);
        let name = mentioned(goal, off.map(|it| it.name.as_str()))?;
        Some((name.to_owned(), there_is(&usable(session, topic), lang)))
    });
    if let Some((name, usable)) = named {
        return Some(lang.pick(
            format!("{name} is switched off. {usable}"),
            format!("{name} 已停用。{usable}"),
        ));
    }
    let parts: [(_, &[&str]); 3] = [
        (Topic::Models, &["model ", "模型"]),
        (Topic::Exchanges, &["exchange ", " on ", "交易所"]),
        (Topic::Strategies, &["strategy ", "策略"]),
    ];
    let missing = parts.into_iter().find_map(|(topic, words)| {
        let name = intent::name_after(goal, words)?;
        let all: Vec<Config> = session.seen(topic)?;
        let is_known = all.iter().any(|it| it.name.to_lowercase() == name);
        (!is_known).then(|| {
            let usable = there_is(&usable(session, topic), lang);
            lang.pick(
                format!("there is no {name} for a trader here. {usable}"),
                format!("这里没有 {name} 可以用。{usable}"),
            )
        })
    });
    missing.or_else(|| {
        let known = off.into_iter().flat_map(|topic| usable(session, topic));
        let known: Vec<String> = known.collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let words = intent::unread_of_trader(goal, &known)?;
        let there = off.map(|topic| told(session, goal, topic, lang));
        let why = if intent::assets(&words).is_empty() {
            unread(&words, lang)
        } else {
            lang.pick(
                format!(
                    "A trader is made of a name, a model, an exchange and a strategy, and is not for one \
                     asset (“{words}”), so I did nothing. Say it without that, such as \"create a trader \
                     named alpha\"."
                ),
                format!(
                    "交易员由名字、模型、交易所和策略组成，不能只针对一种资产（“{words}”），所以什么都没有做。\
                     请不带它再说一遍，例如“创建交易员，名叫 alpha”。"
                ),
            )
        };
        Some(format!("{why}\n{}", there.join("\n")))
    })
}

/// Returns the answer to a wish of which these words are not understood.
fn unread(words: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "I did not understand “{words}” and did nothing, so that it is not lost. Say the \
             wish without it, such as \"sell 0.5 BTC at 70000\" or \"create a trader named alpha\"."
        ),
        format!(
            "没听懂“{words}”，所以什么都没有做。请不带它再说一遍，例如“以 70000 卖 0.5 BTC”或“创建交易员，名叫 alpha”。"
        ),
    )
}

/// Returns the steps that read the requested facts; the configuration was looked up already.
fn tell(session: &PlannerSession) -> Vec<StepDraft> {
    let topics = intent::topics(session.goal()).into_iter();
    let reads = topics.filter(|topic| !topic.is_existence());
    let reads = reads.map(|topic| StepDraft::tool(&topic.fact().tool, Map::new()));
    reads.chain([respond()]).collect()
}

/// The arguments of a call, or the step that has to come before it: a question, or the answer that
/// it is not possible.
type Arguments = Result<Value, Box<StepDraft>>;

/// Returns a question for something that is missing.
fn ask<T>(
    session: &PlannerSession,
    missing: &str,
    en: impl Into<String>,
    zh: impl Into<String>,
) -> Result<T, Box<StepDraft>> {
    let question = session.lang().pick(en.into(), zh.into());
    Err(Box::new(StepDraft {
        missing: vec![missing.to_owned()],
        ..StepDraft::of(StepKind::AskUser, question)
    }))
}

/// Returns the last answer to a question for this.
fn replied<'a>(session: &'a PlannerSession, missing: &str) -> Option<&'a str> {
    replies(session, &[missing]).pop()
}

/// Returns the answers to questions for these.
fn replies<'a>(session: &'a PlannerSession, missing: &[&str]) -> Vec<&'a str> {
    let is_asked = |step: &&WorkStep| {
        let mut asked = step.draft.missing.iter();
        asked.any(|one| missing.contains(&one.as_str())) && step.status == StepStatus::Completed
    };
    let answered = session.work.steps.iter().filter(is_asked);
    answered.map(|step| step.output_summary.as_str()).collect()
}

fn trader(session: &PlannerSession, name: Option<String>) -> Arguments {
    let model = chosen(session, Topic::Models, ["model", "模型"])?;
    let exchange = chosen(session, Topic::Exchanges, ["exchange", "交易所"])?;
    // A yes is no name.
    let given = replied(session, "name").map(str::trim);
    let given = given.filter(|reply| ShortAnswer::of(reply).is_none());
    let given = given.map(|reply| named(reply).unwrap_or_else(|| reply.to_owned()));
    let Some(name) = given.or(name) else {
        let en = "What shall the trader be called?";
        return ask(session, "name", en, "交易员叫什么名字？");
    };
    let there: Vec<Trader> = session.seen(Topic::Traders).unwrap_or_default();
    if there.iter().any(|trader| trader.name == name) {
        let en = format!("There is a trader {name} already. What shall this one be called?");
        let zh = format!("已经有交易员 {name} 了。这个叫什么名字？");
        return ask(session, "name", en, zh);
    }
    let strategies = usable(session, Topic::Strategies);
    let strategy = mentioned(session.goal(), strategies.iter().map(String::as_str));
    let strategy = strategy.unwrap_or_default();
    Ok(json!({ "name": name, "model": model, "exchange": exchange, "strategy": strategy }))
}

/// Returns the names of the configurations that are enabled now.
fn usable(session: &PlannerSession, topic: Topic) -> Vec<String> {
    let all: Vec<Config> = session.seen(topic).unwrap_or_default();
    let usable = all.into_iter().filter(|config| config.enabled);
    usable.map(|config| config.name).collect()
}

/// Returns the configuration that is meant: the one that was named, or the only one.
fn chosen(
    session: &PlannerSession,
    topic: Topic,
    [word, in_chinese]: [&str; 2],
) -> Result<String, Box<StepDraft>> {
    let usable = usable(session, topic);
    let names = || usable.iter().map(String::as_str);
    let reply = replied(session, word);
    // An answer counts more than the request.
    let meant = reply.and_then(|reply| choice(reply, &usable));
    let meant = meant.or_else(|| mentioned(session.goal(), names()));
    let [there, zh_there] = [Lang::En, Lang::Zh].map(|lang| there_is(&usable, lang));
    match (meant, &usable[..], reply) {
        (Some(name), ..) => Ok(name.to_owned()),
        (None, [], _) => Err(Box::new(respond())),
        (None, [only], None) => Ok(only.clone()),
        (None, _, None) => {
            let en = format!("Which {word}? {there}");
            ask(session, word, en, format!("用哪个{in_chinese}？{zh_there}"))
        }
        (None, _, Some(_)) => {
            let en = format!("That {word} is not there now. {there}");
            let zh = format!("现在没有这个{in_chinese}。{zh_there}");
            ask(session, word, en, zh)
        }
    }
}

/// Returns the one of these names that an answer chooses: of two that it denies one of, the other.
fn choice<'n>(reply: &str, names: &'n [String]) -> Option<&'n str> {
    let chosen = mentioned(reply, names.iter().map(String::as_str))?;
    let denied = intent::denied(reply);
    // "No wait, harbour" denies something else.
    if denied.is_none_or(|rest| strip_phrase(rest.trim_start(), &[chosen]).is_none()) {
        return Some(chosen);
    }
    let is_other = |name: &&String| mentioned(reply, [name.as_str()]).is_none();
    let mut others = names.iter().filter(is_other);
    let other = others.next().filter(|_| others.next().is_none());
    other.map(String::as_str)
}

fn order(session: &PlannerSession, part: &str, side: Side, said: OrderTerms) -> Arguments {
    let symbols = symbols(session);
    let reply = replied(session, "symbol").and_then(|reply| traded(reply, &symbols));
    let last = || {
        let last = session.work.execution.references.get("symbol")?;
        let is_traded = symbols.contains(&last.name) && intent::wants_more(part);
        is_traded.then(|| last.name.clone())
    };
    let verb = side.as_str();
    let meant = reply.or_else(|| traded(part, &symbols));
    let Some(symbol) = meant.or_else(last) else {
        let [en, zh] = [Lang::En, Lang::Zh].map(|lang| there_is(&symbols, lang));
        let en = format!("What shall I {verb}? {en}");
        return ask(session, "symbol", en, format!("交易哪一个？{zh}"));
    };
    // "Buy BTC for 6000" names money, and no price of one.
    let mut said = said;
    let money = said
        .price
        .filter(|_| said.quantity.is_none() && intent::pays_in_all(part));
    if money.is_some() {
        said.price = None;
    }
    let mut money = money.or(said.value.filter(|_| said.is_unclear));
    for reply in replies(session, &["symbol", "quantity", "figures"]) {
        let read = intent::terms(reply, side);
        let other = intent::corrects(reply) && intent::assets(reply).is_empty();
        let named = || money_in(reply, &[]).map(|it| Amount::from_millionths(it * 10_000));
        let value = read
            .value
            .or_else(|| named().filter(|_| read.quantity.is_none()));
        match (money, value, read.quantity) {
            (Some(_), Some(value), _) => money = Some(value),
            // "No wait, 300" is as much money as 500 dollars were.
            (Some(_), None, Some(value)) if other => money = Some(value),
            _ => {
                said = said.then(read);
                money = money.filter(|_| read.quantity.is_none());
            }
        }
        if intent::takes_market(reply) {
            said.price = None;
            said.is_unclear &= said.quantity.is_none();
        }
    }
    if let Some(money) = money {
        return by_quantity(session, &symbol, side, money);
    }
    if said.is_unclear {
        let en = "I can read these numbers in more than one way. How much, and at which price? Such \
                  as \"0.5 at 70000\", or \"0.5\" to take the price that is there.";
        let zh = "这些数字有不止一种读法。数量是多少，价格是多少？例如“0.5，价格 70000”，只说“0.5”就按市价。";
        return ask(session, "figures", en, zh);
    }
    let Some(quantity) = said
        .quantity
        .or_else(|| holding(session, part, side, &symbol))
    else {
        let en = format!("How much {symbol} shall I {verb}?");
        return ask(session, "quantity", en, format!("{symbol} 的数量是多少？"));
    };
    let mut arguments = json!({ "symbol": symbol, "side": side, "quantity": quantity });
    if let (Some(price), Value::Object(arguments)) = (said.price, &mut arguments) {
        arguments.insert("price".into(), json!(price));
    }
    Ok(arguments)
}

/// Returns the question for the quantity of an order that names money, with the quantity that the
/// money comes to now.
fn by_quantity(session: &PlannerSession, symbol: &str, side: Side, value: Amount) -> Arguments {
    let base = symbol.split('-').next().unwrap_or_default();
    let quote = symbol.split('-').nth(1).unwrap_or_default();
    let one = Amount::from_millionths(1_000_000);
    let price = terms::estimate(session, symbol, side, one);
    let price = price.filter(|it| it.offered > Amount::ZERO);
    let price = price.map(|it| it.total.shared_by(it.offered));
    let price = price.filter(|price| *price > Amount::ZERO);
    let [en, zh] = price.map_or_else(Default::default, |price| {
        let much = value.shared_by(price);
        [
            format!(" {value} {quote} come to about {much} {base} now."),
            format!("现在 {value} {quote} 约合 {much} {base}。"),
        ]
    });
    let verb = side.as_str();
    let en = format!(
        "An order takes a quantity, and no amount of money.{en} How much {base} shall I {verb}?"
    );
    let zh = format!("下单要说数量，不能只说金额。{zh}{base} 的数量是多少？");
    ask(session, "quantity", en, zh)
}

/// Returns the whole of what is held, or half of it, if a sale says so.
fn holding(session: &PlannerSession, part: &str, side: Side, symbol: &str) -> Option<Amount> {
    let share = intent::share(part).filter(|_| side == Side::Sell)?;
    let free = terms::free(session, symbol.split('-').next()?)?;
    Some(Amount::from_millionths(free.millionths() / share))
}

/// Returns the only symbol that a text names, in full or by the name of its base asset.
pub(crate) fn traded(text: &str, symbols: &[String]) -> Option<String> {
    let whole = mentioned(text, symbols.iter().map(String::as_str));
    if let Some(whole) = whole {
        return Some(whole.to_owned());
    }
    let assets = intent::assets(text);
    let is_meant = |symbol: &&String| {
        let base = symbol.split('-').next().unwrap_or_default();
        assets.contains(&base) || mentioned(text, [base]).is_some() && assets.is_empty()
    };
    let mut meant = symbols.iter().filter(is_meant);
    let first = meant.next()?;
    meant.next().is_none().then(|| first.clone())
}

/// Returns the traders that are there, and those of them that this work removed.
fn removable(session: &PlannerSession) -> Vec<String> {
    let mut names = trader_names(session);
    let gone = session.work.steps.iter().filter(|step| has_written(step));
    let gone = gone.filter_map(|step| step.draft.tool_args.get("name")?.as_str());
    names.extend(gone.map(str::to_owned));
    names
}

/// Returns the traders that are removed.
fn removal(session: &PlannerSession) -> Result<Vec<String>, Box<StepDraft>> {
    let there = removable(session);
    let given = replied(session, "name").map(str::trim);
    let meant = intent::removed(given.unwrap_or(session.goal()), &there).unwrap_or_default();
    match given {
        _ if !meant.is_empty() => Ok(meant),
        Some(other) => Ok(vec![other.to_owned()]),
        None => {
            let [en, zh] = [Lang::En, Lang::Zh].map(|lang| there_is(&there, lang));
            let en = format!("Which trader, by its name? {en}");
            ask(session, "name", en, format!("哪一个交易员？请说名字。{zh}"))
        }
    }
}

fn cancellation(session: &PlannerSession, number: Option<i64>) -> Arguments {
    let read = |reply: &str| {
        let alone = reply.trim_matches(|c: char| c.is_whitespace() || "#.。号".contains(c));
        let alone = alone.parse().ok().filter(|number| *number >= 0);
        intent::order_number(reply).or(alone)
    };
    let only = || {
        let open: Vec<Order> = session.seen(Topic::Orders)?;
        let points = intent::points_to_an_order(session.goal());
        let [only] = &open[..] else { return None };
        points.then_some(only.id)
    };
    let said = replied(session, "order").and_then(read).or(number);
    let Some(order) = said.or_else(only) else {
        let en = "Which order, by its number?";
        return ask(session, "order", en, "哪一个订单？请说编号。");
    };
    Ok(json!({ "order": order }))
}

/// Returns the result of the work, and the requested facts as they are now.
fn answer(session: &PlannerSession) -> String {
    let lang = session.lang();
    let steps = session.work.steps.iter();
    let mut lines: Vec<String> = steps.filter_map(|step| ended(step, lang)).collect();
    let acted = !lines.is_empty();
    let goal = session.goal();
    let wishes = intent::wishes(goal);
    if let several @ [_, _, ..] = &*wishes {
        let unknown = several
            .iter()
            .filter_map(|(_, part)| unknown(session, part, lang));
        lines.extend(unknown);
    }
    match intent::wish(goal) {
        _ if wishes.len() > 1 => {}
        _ if !acted && obstacle(session).is_some() => lines.extend(obstacle(session)),
        UserWish::Told if intent::asks_ability(goal) => {
            let mut topics = intent::topics(goal);
            lines.push(ability(session, lang));
            topics.extend([Topic::Models, Topic::Exchanges]);
            let told = topics
                .into_iter()
                .map(|topic| told(session, goal, topic, lang));
            lines.extend(told);
        }
        UserWish::Told => match read_out(session, goal) {
            Some(text) => lines.push(text),
            None if !acted => lines.push(small_talk(goal, lang)),
            None => {}
        },
        // The plan has no call: something that the wish needs is missing.
        UserWish::Trader(_) if !acted => lines.push(ability(session, lang)),
        _ => {}
    }
    if session.work.status() == ExecutionStatus::Failed {
        lines.push(session.work.execution.error.clone());
    }
    if lines.is_empty() {
        lines.push(RunReport::nothing(session.goal()).to_owned());
    }
    lines.join("\n")
}

/// Returns the result of a step that wrote or did not end well.
fn ended(step: &WorkStep, lang: Lang) -> Option<String> {
    if has_written(step) {
        let done = lang.pick("Done: ", "完成：");
        return Some(format!("{done}{}", step.output_summary));
    }
    let not_done = lang.pick("Not done: ", "没有完成：");
    let declined = is_declined(&step.error);
    let why = if declined {
        lang.pick("you did not agree.", "您没有同意。")
    } else {
        &step.error
    };
    (step.status == StepStatus::Failed).then(|| format!("{not_done}{why}"))
}
