//! The tool that returns the time.
use fugato::{
    agent::ReactUpdate,
    cli::Lang,
    state::say,
    tool::{EffectClass, ToolFailure, ToolOutput, ToolSpec},
    words::{DateDirection, dates},
};
use jiff::{Span, Zoned, civil::Weekday};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Builder, Clock, place::places};

/// The place and the day.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// A zone of the IANA list, such as Europe/London, or the name of a place; left out for that of
    /// this machine.
    #[schemars(extend("x-zh" = "IANA 列表中的时区，例如 Europe/London，或者地名；不写则用本机的。"))]
    #[serde(default)]
    zone: Option<String>,
    /// The number of days from today: 1 for tomorrow, -1 for yesterday.
    #[schemars(extend("x-zh" = "离今天的天数：1 是明天，-1 是昨天。"))]
    #[serde(default)]
    days: i64,
    /// The day in words, such as "monday next week" or "december 24"; left out for today.
    #[schemars(extend("x-zh" = "用文字说的日子，例如“下周三”或“12月24日”；不写则是今天。"))]
    #[serde(default)]
    day: Option<String>,
}

pub(super) fn add(builder: Builder, clock: Clock) -> Builder {
    // The result differs from call to call; it is stored, and a replay does not call again.
    let spec = ToolSpec::read("time", "The date and the time of day.")
        .chinese("日期和时间。")
        .titled("Look at the clock", "查看时间")
        .effect(EffectClass::Idempotent)
        .argument_alias("timezone", "zone")
        .preview(["zone"]);
    builder.function(spec, move |_, place: Place| told(clock(), place))
}

fn told(
    mut now: Zoned,
    Place { zone, days, day }: Place,
) -> Result<ToolOutput<ReactUpdate>, ToolFailure> {
    let zone = zone.filter(|zone| !zone.is_empty());
    if let Some(zone) = &zone {
        now = there(&now, zone)?;
    }
    if let Some(day) = day.filter(|day| !day.is_empty()) {
        let date = dates(&day, now.date(), DateDirection::Ahead).dates;
        let [date] = date.as_slice() else {
            return Err(ToolFailure::failed(say!(
                "“{day}” could be another day, too: say its date",
                "“{day}”可能是别的日子：请说日期"
            )));
        };
        let at = date.to_zoned(now.time_zone().clone());
        let at = at.map_err(|error| {
            let text = say!("there is no “{day}”", "没有“{day}”这一天");
            ToolFailure::failed(text).because(error)
        })?;
        return Ok(ToolOutput::new(shown(&at, false)));
    }
    let span = Span::new().try_days(days);
    let day = span.and_then(|span| now.checked_add(span));
    let day = day.map_err(|error| {
        let text = say!("{days} days are too many", "{days} 天太多了");
        ToolFailure::failed(text).because(error)
    })?;
    Ok(ToolOutput::new(shown(&day, days == 0)))
}

/// Returns the time at a place.
fn there(now: &Zoned, zone: &str) -> Result<Zoned, ToolFailure> {
    let named = now.in_tz(zone);
    named.or_else(|error| {
        let (places, _) = places(zone);
        let known = places.first().and_then(|place| place.zone.as_deref());
        let known = known.and_then(|zone| now.in_tz(zone).ok());
        known.ok_or_else(|| {
            let text = say!(
                "{zone:?} is no zone; such are UTC and Europe/London",
                "{zone:?} 不是时区；例如 UTC 和 Europe/London"
            );
            ToolFailure::failed(text).because(error)
        })
    })
}

/// Writes a time; of another day only the date.
fn shown(time: &Zoned, is_today: bool) -> String {
    let zh = match time.weekday() {
        Weekday::Monday => "一",
        Weekday::Tuesday => "二",
        Weekday::Wednesday => "三",
        Weekday::Thursday => "四",
        Weekday::Friday => "五",
        Weekday::Saturday => "六",
        Weekday::Sunday => "日",
    };
    let date = Lang::current().pick(
        time.strftime("%A %F").to_string(),
        format!("{}星期{zh}", time.strftime("%Y年%-m月%-d日")),
    );
    if !is_today {
        return date;
    }
    let comma = Lang::current().pick(", ", " ");
    format!("{date}{comma}{}", time.strftime("%H:%M (%Q)"))
}
