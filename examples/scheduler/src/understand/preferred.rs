//! Preferences of a person, in words.
use super::words::{WEEKDAYS, Words};
use crate::{
    schedule::{ClosedTime, Level, Preferences, Slot},
    tools::{Liking, TermsEdit},
};

impl Words<'_> {
    /// Returns what a person prefers, a line for each.
    pub(crate) fn preferences(&self, wishes: Option<&Preferences>) -> Vec<String> {
        let Some(wishes) = wishes else {
            let nothing = ("Every time is as good as another.", "任何时间都一样。");
            return vec![self.lang.pick(nothing.0, nothing.1).to_owned()];
        };
        let lang = self.lang;
        let mut lines = vec![
            self.liked(
                &self.from(lang.pick("evenings", "晚上"), wishes.evening_from),
                wishes.evening,
            ),
            self.liked(
                &self.from(lang.pick("late evenings", "很晚的晚上"), wishes.late_from),
                wishes.late,
            ),
            self.liked(lang.pick("weekends", "周末"), wishes.weekend),
        ];
        let lunch = wishes.lunch_sections.iter();
        let lunch = lunch
            .map(|section| Slot::new(1, *section, *section))
            .collect();
        let lunch: Vec<_> = Slot::compress(lunch)
            .iter()
            .map(|it| self.time(it))
            .collect();
        if !lunch.is_empty() {
            let lunch = lunch.join(lang.pick(", ", "、"));
            let lunch = lang.pick(
                format!("the time to eat ({lunch})"),
                format!("吃饭时间（{lunch}）"),
            );
            lines.push(self.liked(&lunch, wishes.lunch));
        }
        let quiet = wishes.quiet_days.iter().filter_map(|day| {
            let names = lang.pick(WEEKDAYS.0, WEEKDAYS.1);
            names.get(usize::from(*day).checked_sub(1)?).copied()
        });
        let quiet: Vec<_> = quiet.collect();
        if !quiet.is_empty() && wishes.quiet > 0 {
            let days = quiet.join(lang.pick(", ", "、"));
            lines.push(lang.pick(format!("quiet days: {days}"), format!("清静的日子：{days}")));
        }
        if wishes.daily_limit > 0 && wishes.over_limit > 0 {
            let limit = wishes.daily_limit;
            lines.push(lang.pick(
                format!("at most {limit} sections a day"),
                format!("每天最多 {limit} 节"),
            ));
        }
        if wishes.longest_run > 0 && wishes.no_break > 0 {
            let run = wishes.longest_run;
            lines.push(lang.pick(
                format!("a break after {run} sections"),
                format!("连续 {run} 节后休息"),
            ));
        }
        if wishes.buffer > 0 {
            let text = lang.pick("time before and after courses", "课前课后留一点时间");
            lines.push(text.to_owned());
        }
        lines
    }

    /// Returns what an edit of terms says of an item or a class, a line for each term.
    pub(crate) fn terms_edit(&self, name: &str, edit: &TermsEdit) -> Vec<String> {
        let lang = self.lang;
        let mut lines = vec![];
        let mut say = |en: String, zh: String| lines.push(lang.pick(en, zh));
        match edit.minutes {
            Some(0) => say(
                format!("{name} has no length of its own"),
                format!("{name}没有单独的时长"),
            ),
            Some(minutes) => say(
                format!("{name} takes {minutes} minutes"),
                format!("{name}需要 {minutes} 分钟"),
            ),
            None => {}
        }
        match edit.earliest.as_deref() {
            Some("") => say(
                format!("{name} can be at any date"),
                format!("{name}没有最早日期"),
            ),
            Some(date) => say(
                format!("{name} is not before {date}"),
                format!("{name}不早于 {date}"),
            ),
            None => {}
        }
        if let Some(priority) = edit.priority {
            let (en, zh) = match priority {
                Level::High => ("is more important than others", "比别的重要"),
                Level::Medium => ("is as important as others", "和别的一样重要"),
                Level::Low => ("is less important than others", "没有别的重要"),
            };
            say(format!("{name} {en}"), format!("{name}{zh}"));
        }
        match edit.at.as_deref() {
            Some("") => say(
                format!("{name} has no fixed time"),
                format!("{name}没有固定时间"),
            ),
            Some(at) => say(
                format!("{name} is only at {at}"),
                format!("{name}只能在 {at}"),
            ),
            None => {}
        }
        if let Some(after) = &edit.after {
            let others = self.names(after.iter().copied());
            say(
                format!("{name} comes after {others}"),
                format!("{name}在{others}之后"),
            );
        }
        let closed = edit
            .not
            .iter()
            .flatten()
            .filter_map(|text| ClosedTime::parse(text));
        for closed in closed {
            say(
                format!("{name} is never on {closed}"),
                format!("{name}不安排在 {closed}"),
            );
        }
        if edit.before.is_some() {
            say(
                format!("{name} has its terms as before"),
                format!("{name}的条件恢复原样"),
            );
        }
        lines
    }

    /// Returns the lines of the preferences that another state of them does not have.
    pub(crate) fn preferred_anew(
        &self,
        before: Option<&Preferences>,
        after: &Preferences,
    ) -> Vec<String> {
        let known = self.preferences(before);
        let mut lines = self.preferences(Some(after));
        lines.retain(|line| !known.contains(line));
        lines
    }

    fn from(&self, name: &str, section: u8) -> String {
        let times = self.sections.and_then(|sections| {
            let (begin, _) = sections.times(&Slot::new(1, section, section))?;
            Some(begin.strftime("%H:%M").to_string())
        });
        match times {
            Some(from) => self.lang.pick(
                format!("{name} from {from} on"),
                format!("{name}（{from} 以后）"),
            ),
            None => name.to_owned(),
        }
    }

    fn liked(&self, what: &str, cost: u32) -> String {
        let lang = self.lang;
        let how = match Liking::of(cost) {
            Liking::Fine => lang.pick("fine", "可以"),
            Liking::RatherNot => lang.pick("rather not", "最好不要"),
            Liking::Avoid => lang.pick("only if there is no other place", "除非没有别的位置"),
        };
        lang.pick(format!("{what}: {how}"), format!("{what}：{how}"))
    }
}
