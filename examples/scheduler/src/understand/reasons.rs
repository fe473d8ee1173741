//! The reason for a place in words.
use super::words::Words;
use crate::schedule::{
    Discomfort, ObjectiveTerm, Obstacle, ObstacleReason, OtherPlace, PlaceReason,
};

impl Words<'_> {
    /// Returns what a place costs by the wishes of the person, what keeps the item away from
    /// cheaper places, and what the best other place would cost.
    pub(crate) fn place_reason(&self, reason: &PlaceReason) -> String {
        let lang = self.lang;
        let unmet = self.unmet(&reason.unmet);
        let mut parts = vec![if unmet.is_empty() {
            lang.pick("The place costs nothing.", "这个位置没有任何代价。")
                .to_owned()
        } else {
            lang.pick(
                format!("The place costs {} points: {unmet}.", reason.cost),
                format!("这个位置的代价是 {} 分：{unmet}。", reason.cost),
            )
        }];
        if !reason.obstacles.is_empty() {
            let obstacles = reason.obstacles.iter().map(|it| self.obstacle(it));
            let obstacles: Vec<String> = obstacles.collect();
            parts.push(lang.pick(
                format!("Cheaper places are closed: {}.", obstacles.join(", ")),
                format!("更好的位置不可用：{}。", obstacles.join("，")),
            ));
        }
        parts.push(match reason.others.first() {
            Some(other) => self.other(other, reason.cost),
            None => lang
                .pick("No other place is open to it.", "没有别的位置可用。")
                .to_owned(),
        });
        parts.join(lang.pick(" ", ""))
    }

    fn other(&self, other: &OtherPlace, cost: i64) -> String {
        let lang = self.lang;
        let place = self.place(&other.slot).unwrap_or_default();
        let more = other.cost - cost;
        let price = match more {
            0 => lang.pick("at the same cost", "代价相同").to_owned(),
            1.. => lang.pick(
                format!("for {more} points more"),
                format!("代价多 {more} 分"),
            ),
            _ => lang.pick(
                format!("for {} points less", -more),
                format!("代价少 {} 分", -more),
            ),
        };
        let unmet = self.unmet(&other.unmet);
        let why = if unmet.is_empty() || more <= 0 {
            String::new()
        } else {
            lang.pick(format!(": {unmet}"), format!("：{unmet}"))
        };
        lang.pick(
            format!("It could also lie on {place}, {price}{why}."),
            format!("也可以改到 {place}，{price}{why}。"),
        )
    }

    fn unmet(&self, unmet: &[Discomfort]) -> String {
        let words = unmet.iter().map(|unmet| {
            let points = unmet.points;
            let wish = self.wish(unmet.wish);
            self.lang
                .pick(format!("{wish} ({points})"), format!("{wish}（{points}）"))
        });
        words.collect::<Vec<_>>().join(self.lang.pick(", ", "，"))
    }

    /// Returns what a wish would rather not have.
    fn wish(&self, wish: ObjectiveTerm) -> &'static str {
        let (en, zh) = match wish {
            ObjectiveTerm::CalmNeighbours => {
                ("two demanding subjects side by side", "两门高强度科目相邻")
            }
            ObjectiveTerm::FewSwitches => ("another switch between subjects", "多一次科目切换"),
            ObjectiveTerm::EvenDays => ("a fuller day than others", "当天比别的日子更满"),
            ObjectiveTerm::Evening => ("in the evening", "在晚上"),
            ObjectiveTerm::Late => ("late in the evening", "在深夜时段"),
            ObjectiveTerm::Lunch => ("at the time to eat", "在用餐时间"),
            ObjectiveTerm::Weekend => ("on a weekend", "在周末"),
            ObjectiveTerm::QuietDay => ("on a day that is to be quiet", "在想要清静的日子"),
            ObjectiveTerm::Time => (
                "at a time that you would rather not use",
                "在你不想用的时间",
            ),
            ObjectiveTerm::DailyLimit => ("beyond the limit of a day", "超过每天的上限"),
            ObjectiveTerm::Break => ("without a break", "没有休息"),
            ObjectiveTerm::Buffer => ("right beside a course", "紧挨着课程"),
            ObjectiveTerm::EvenWeeks => ("many of its class in that week", "同类任务在那一周较多"),
            ObjectiveTerm::Stability => ("it was agreed to elsewhere", "之前确认过别的位置"),
        };
        self.lang.pick(en, zh)
    }

    fn obstacle(&self, obstacle: &Obstacle) -> String {
        let places = obstacle.places;
        let (en, zh) = match obstacle.reason {
            ObstacleReason::Course => ("taken by courses", "被课程占用"),
            ObstacleReason::Item => ("taken by other items", "被其他事项占用"),
            ObstacleReason::Order => ("against the order of its class", "不符合本类顺序"),
            ObstacleReason::Time => ("at times that its class excludes", "在本类排除的时段"),
            ObstacleReason::Weekday => ("on days that its class excludes", "在本类排除的日子"),
            ObstacleReason::Dates => ("outside of its dates", "不在起止日期之内"),
            ObstacleReason::Past => ("over already", "已经过去"),
            ObstacleReason::KeptFree => ("kept free by your wish", "按你的要求空着"),
            ObstacleReason::Rule => ("against another rule", "不符合其他规则"),
        };
        self.lang
            .pick(format!("{places} {en}"), format!("{places} 处{zh}"))
    }
}
