/// How soon more of the same term stops to count.
const K1: f64 = 1.2;
/// How far long texts are held back.
const B: f64 = 0.75;

/// What BM25 makes of a term in a text: the rarer the term and the shorter the text, the more.
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    texts: f64,
    average: f64,
}

impl Bm25 {
    /// Among so many texts, with so many terms in all of them.
    pub fn new(texts: u32, terms: u64) -> Self {
        let texts = f64::from(texts);
        let average = (as_f64(terms) / texts).max(1.0);
        Self { texts, average }
    }

    /// What a term is worth that so many texts hold.
    pub fn rarity(&self, holding: usize) -> f64 {
        let holding = as_f64(holding as u64);
        (1.0 + (self.texts - holding + 0.5) / (holding + 0.5)).ln()
    }

    /// What a term of this rarity adds to the score of a text of so many terms that holds it so
    /// many times.
    pub fn score(&self, rarity: f64, count: u32, length: u32) -> f64 {
        let count = f64::from(count);
        let held_back = K1 * (1.0 - B + B * f64::from(length) / self.average);
        rarity * count * (K1 + 1.0) / (count + held_back)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "there are fewer terms than a double counts exactly"
)]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_terms_short_texts_and_repetitions_score_more() {
        let bm25 = Bm25::new(1000, 20_000);
        let (rare, common) = (bm25.rarity(3), bm25.rarity(900));
        assert!(rare > common && common > 0.0);
        assert!(bm25.score(rare, 1, 10) > bm25.score(rare, 1, 40));
        let repeated: Vec<f64> = (1..4).map(|count| bm25.score(rare, count, 20)).collect();
        assert!(repeated.is_sorted());
        // However often, it is never worth more than this.
        assert!(bm25.score(rare, 1000, 20) < rare * (K1 + 1.0));
    }
}
