//! The synonyms of the allowed words, in both languages.
use crate::schedule::{Level, Strategy, SubjectType};

pub(super) fn strategy(word: &str) -> Option<Strategy> {
    match bare(word).as_str() {
        "steady" | "even" | "evenly" | "balanced" | "均匀" | "平稳" | "稳步" => {
            Some(Strategy::Steady)
        }
        "rapid" | "fast" | "asap" | "early" | "尽快" | "快速" | "突击" => {
            Some(Strategy::Rapid)
        }
        _ => None,
    }
}

pub(super) fn subject(word: &str) -> Option<SubjectType> {
    match bare(word).as_str() {
        "quantitative" | "math" | "maths" | "calculation" | "logic" | "计算" | "理科" | "数理" => {
            Some(SubjectType::Quantitative)
        }
        "memory" | "memorisation" | "memorization" | "recall" | "记忆" | "背诵" => {
            Some(SubjectType::Memory)
        }
        "reading" | "literature" | "阅读" => Some(SubjectType::Reading),
        "mixed" | "general" | "other" | "混合" | "综合" => Some(SubjectType::Mixed),
        _ => None,
    }
}

pub(super) fn level(word: &str) -> Option<Level> {
    match bare(word).as_str() {
        "low" | "easy" | "light" | "低" | "简单" => Some(Level::Low),
        "medium" | "normal" | "moderate" | "mid" | "中" | "中等" => Some(Level::Medium),
        "high" | "hard" | "difficult" | "heavy" | "高" | "困难" => Some(Level::High),
        _ => None,
    }
}

fn bare(word: &str) -> String {
    word.trim().to_lowercase()
}
