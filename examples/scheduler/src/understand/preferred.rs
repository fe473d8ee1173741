//! Preferences of a person, in words.
use super::{Facts, names::Ref, wish::expand, words::Words};
use crate::{
    calendar::weekday,
    schedule::{ClosedTime, Level, PlacementPreferences, ScheduleTask, Slot},
    tools::{Liking, TermsEdit},
};

impl Words<'_> {
    /// Returns the time from the first section of a day to the last.
    pub(crate) fn hours(&self) -> String {
        let last = self.sections.map_or(12, crate::calendar::Sections::count);
        let hours = self.time(&Slot::new(1, 1, last));
        let lang = self.lang;
        lang.pick(format!("the day: {hours}"), format!("一天：{hours}"))
    }

    /// Returns the lengths of the items that a name means, and what is said about parts: a line for
    /// all if they agree.
    pub(super) fn terms_of(&self, name: &Ref, facts: &Facts<'_>) -> Vec<String> {
        let items = expand(name, facts);
        let tasks = items.iter().filter_map(|id| self.schedule.task(*id));
        let of = |task: &ScheduleTask| {
            let length = if let Some(minutes) = self.schedule.minutes(task) {
                self.lang
                    .pick(format!("{minutes} minutes"), format!("{minutes} 分钟"))
            } else {
                let sections = task.duration;
                self.lang
                    .pick(format!("{sections} sections"), format!("{sections} 节"))
            };
            let parts = match self.schedule.may_split(task) {
                Some(true) => self
                    .lang
                    .pick("; it may be split into two parts", "，可以分两次做"),
                Some(false) => self.lang.pick(
                    "; it is done in one piece, so it cannot be split",
                    "，必须一次做完，不能拆开",
                ),
                None => "",
            };
            format!("{length}{parts}")
        };
        let told: Vec<(u32, String)> = tasks.map(|task| (task.state_id, of(task))).collect();
        let same = told
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a.1 == b.1));
        let class = name.classes.first().and_then(|id| self.schedule.class(*id));
        if let (true, Some(class), Some((_, terms))) = (same, class, told.first()) {
            let class = &class.name;
            return vec![self.lang.pick(
                format!("Each item of “{class}”: {terms}."),
                format!("《{class}》每项：{terms}。"),
            )];
        }
        let line = |(id, terms): &(u32, String)| {
            let name = self.name(*id)?;
            Some(
                self.lang
                    .pick(format!("{name}: {terms}."), format!("{name}：{terms}。")),
            )
        };
        told.iter().filter_map(line).collect()
    }

    /// Returns what a person prefers, a line for each.
    pub(crate) fn preferences(&self, wishes: Option<&PlacementPreferences>) -> Vec<String> {
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
        let lunch = self.times(lunch);
        if !lunch.is_empty() {
            let lunch = lang.pick(
                format!("the time to eat ({lunch})"),
                format!("吃饭时间（{lunch}）"),
            );
            lines.push(self.liked(&lunch, wishes.lunch));
        }
        let days = self.weekdays(&wishes.quiet_days);
        if !days.is_empty() && wishes.quiet > 0 {
            lines.push(lang.pick(format!("quiet days: {days}"), format!("清静的日子：{days}")));
        }
        for time in wishes.times.iter().filter(|time| time.points > 0) {
            let sections = time.sections.iter();
            let at = self.times(sections);
            let on = self.weekdays(&time.days_of_week);
            lines.push(self.liked(format!("{on} {at}").trim(), time.points));
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
        match edit.split {
            Some(true) => say(
                format!("{name} may be done in two parts"),
                format!("{name}可以分两次做"),
            ),
            Some(false) => say(
                format!("{name} is done in one piece"),
                format!("{name}必须一次做完"),
            ),
            None => {}
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
        before: Option<&PlacementPreferences>,
        after: Option<&PlacementPreferences>,
    ) -> Vec<String> {
        let none = PlacementPreferences::neutral();
        let known = self.preferences(Some(before.unwrap_or(&none)));
        let mut lines = self.preferences(after);
        let mut gone = known.clone();
        gone.retain(|line| !lines.contains(line));
        lines.retain(|line| !known.contains(line));
        if lines.is_empty() {
            let no_longer = |line: &String| {
                self.lang
                    .pick(format!("no longer: {line}"), format!("不再：{line}"))
            };
            return gone.iter().map(no_longer).collect();
        }
        lines
    }

    /// Returns the names of days of the week; nothing for all of them.
    fn weekdays(&self, days: &[u8]) -> String {
        if days.len() == 7 {
            return String::new();
        }
        let named: Vec<_> = days.iter().map(|day| weekday(self.lang, *day)).collect();
        named.join(self.lang.pick(", ", "、"))
    }

    /// Returns the times of sections of one day.
    pub(super) fn times<'s>(&self, sections: impl IntoIterator<Item = &'s u8>) -> String {
        let slots = sections.into_iter().map(|at| Slot::new(1, *at, *at));
        let slots = Slot::compress(slots.collect());
        let times: Vec<_> = slots.iter().map(|slot| self.time(slot)).collect();
        times.join(self.lang.pick(", ", "、"))
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
