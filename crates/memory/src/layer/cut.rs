/// Returns at most `most` characters of the trimmed text. A longer text is cut and ends in `…`,
/// which counts as a character.
pub fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    let end = if most == 0 { "" } else { "…" };
    format!("{}{end}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pln_w12_no_character_is_cut_in_two() {
        let cuts = [3, 4, 0].map(|most| cut(" 报销单据 ", most));
        assert_eq!(cuts, ["报销…", "报销单据", ""]);
    }
}
