/// The saturation of repeated terms: smaller values saturate sooner.
const K1: f64 = 1.2;
/// The strength of the length normalisation, from 0 to 1.
const B: f64 = 0.75;

/// The BM25 scoring of a term in a text: rare terms and short texts score more.
#[derive(Debug, Clone, Copy)]
pub struct Bm25 {
    texts: f64,
    average: f64,
}

impl Bm25 {
    /// Creates the scoring for so many texts, with so many terms in all of them.
    pub fn new(texts: u32, terms: u64) -> Self {
        let texts = f64::from(texts);
        let average = (as_f64(terms) / texts).max(1.0);
        Self { texts, average }
    }

    /// Returns the inverse document frequency of a term that `holding` texts contain.
    pub fn rarity(&self, holding: usize) -> f64 {
        let holding = as_f64(holding as u64);
        (1.0 + (self.texts - holding + 0.5) / (holding + 0.5)).ln()
    }

    /// Returns the score of one term for one text. The text has `length` terms and contains this
    /// one `count` times.
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
        // The score of repetitions has an upper bound.
        assert!(bm25.score(rare, 1000, 20) < rare * (K1 + 1.0));
    }
}
