use crate::{SummaryRequest, cut, importance};

/// The most characters of a line of an extract.
const LINE: usize = 200;

impl SummaryRequest {
    /// Returns a summary made without a model: the known summary, and the first line of each
    /// message of at least this [`importance`]. If that is too long, the least important lines are
    /// left out, the oldest of them first.
    pub fn extract(&self, least: f32) -> String {
        let mut lines: Vec<String> = self.known.lines().map(str::to_owned).collect();
        for message in &self.messages {
            let text = message.content.trim();
            let line = cut(text.lines().next().unwrap_or_default(), LINE);
            if importance(text) >= least && !line.is_empty() && !lines.contains(&line) {
                lines.push(line);
            }
        }
        let length = |lines: &[String]| -> usize {
            let lengths = lines.iter().map(|line| line.chars().count() + 1);
            lengths.sum()
        };
        while length(&lines) > self.most_characters {
            let least = lines
                .iter()
                .enumerate()
                .min_by(|(_, a), (_, b)| importance(a).total_cmp(&importance(b)));
            let Some((at, _)) = least else { break };
            lines.remove(at);
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use fugato_state::{Compaction, Message};

    use crate::{CompactionPolicy, Trigger};

    #[test]
    fn trn_4_without_a_model_a_summary_keeps_what_matters() {
        let said = [
            "你好",
            "请记住我对花生过敏",
            "今天下雨了，路上有点堵，晚了一会儿才到公司。",
            "谢谢",
        ];
        let messages = said.map(Message::user);
        let policy = CompactionPolicy::default()
            .when(Trigger::Turns(1))
            .keep_recent(0);
        let request = policy.due(&messages, &Compaction::default(), |_| 0);
        let mut request = request.expect("it is due");
        request.most_characters = 400;
        let whole = "请记住我对花生过敏\n今天下雨了，路上有点堵，晚了一会儿才到公司。";
        assert_eq!(request.extract(0.3), whole);
        request.known = "I never eat nuts.".to_owned();
        let known = format!("I never eat nuts.\n{whole}");
        assert_eq!(request.extract(0.3), known);
        request.known.clear();
        request.most_characters = 20;
        assert_eq!(request.extract(0.3), "请记住我对花生过敏");
        request.most_characters = 3;
        assert_eq!(request.extract(0.3), "");
    }
}
