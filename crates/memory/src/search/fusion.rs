use std::collections::BTreeMap;

use super::SearchHit;

/// The fusion of a ranking by text and one by vectors.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Fusion {
    /// By reciprocal ranks: each ranking gives the entry at its place `r`, from 1, `1 / (k + r)`.
    /// The size of the scores does not matter, so that nothing needs tuning.
    Rank {
        /// The smoothing constant: the larger, the smaller the difference between places.
        k: f64,
    },
    /// By weights on scores that are normalised to 0…1 within each ranking. Raw cosines differ so
    /// little that they would not count against text scores.
    Weights {
        /// The weight of vectors.
        vector: f64,
        /// The weight of text.
        text: f64,
    },
}

impl Default for Fusion {
    fn default() -> Self {
        Self::Rank { k: 60.0 }
    }
}

impl Fusion {
    /// Weights of 0.7 for vectors and 0.3 for text.
    pub const WEIGHTS: Self = Self::Weights {
        vector: 0.7,
        text: 0.3,
    };

    /// Fuses two rankings, each best first, into one. Of equal scores the lesser id comes first.
    ///
    /// If one of them is empty, the other's order stays as it is.
    pub fn fuse<I: Into<String>>(
        self,
        text: impl IntoIterator<Item = (I, f64)>,
        vectors: impl IntoIterator<Item = (I, f64)>,
        limit: usize,
    ) -> Vec<SearchHit> {
        let (text, vectors) = (owned(text), owned(vectors));
        let (of_text, of_vectors) = (self.worths(&text), self.worths(&vectors));
        let (text_weight, vector_weight) = self.weights();
        let mut hits: BTreeMap<String, SearchHit> = BTreeMap::new();
        for ((id, score), worth) in text.into_iter().zip(of_text) {
            let hit = hits.entry(id).or_insert_with_key(|id| unscored(id));
            hit.text_score = Some(score);
            hit.score += text_weight * worth;
        }
        for ((id, score), worth) in vectors.into_iter().zip(of_vectors) {
            let hit = hits.entry(id).or_insert_with_key(|id| unscored(id));
            hit.vector_score = Some(score);
            hit.score += vector_weight * worth;
        }
        let mut hits: Vec<_> = hits.into_values().collect();
        // The sort is stable, and the map was ordered by id.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit);
        hits
    }

    fn weights(self) -> (f64, f64) {
        match self {
            Self::Rank { .. } => (1.0, 1.0),
            Self::Weights { vector, text } => (text, vector),
        }
    }

    fn worths(self, ranking: &[(String, f64)]) -> Vec<f64> {
        match self {
            Self::Rank { k } => (1u32..)
                .zip(ranking)
                .map(|(place, _)| 1.0 / (k + f64::from(place)))
                .collect(),
            Self::Weights { .. } => normalised(ranking),
        }
    }
}

fn owned<I: Into<String>>(ranking: impl IntoIterator<Item = (I, f64)>) -> Vec<(String, f64)> {
    let owned = ranking.into_iter().map(|(id, score)| (id.into(), score));
    owned.collect()
}

/// Normalises the scores: the best is 1 and the worst 0; if all are equal, all are 1.
fn normalised(ranking: &[(String, f64)]) -> Vec<f64> {
    let scores = || ranking.iter().map(|(_, score)| *score);
    let (least, most) = (
        scores().fold(f64::INFINITY, f64::min),
        scores().fold(f64::NEG_INFINITY, f64::max),
    );
    let range = most - least;
    let normal = |score| {
        if range > 0.0 {
            (score - least) / range
        } else {
            1.0
        }
    };
    scores().map(normal).collect()
}

fn unscored(id: &str) -> SearchHit {
    SearchHit {
        id: id.to_owned(),
        score: 0.0,
        text_score: None,
        vector_score: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(hits: &[SearchHit]) -> Vec<(&str, f64)> {
        let rounded = |score: f64| (score * 1e6).round() / 1e6;
        let one = |hit: &SearchHit| rounded(hit.score);
        hits.iter().map(|hit| (hit.id.as_str(), one(hit))).collect()
    }

    #[test]
    fn trn_7_weights_are_put_on_scores_from_0_to_1() {
        let text = [("plan", 9.0), ("note", 5.0), ("list", 1.0)];
        let vectors = [("note", 0.88), ("plan", 0.87), ("else", 0.85)];
        let hits = Fusion::WEIGHTS.fuse(text, vectors, 10);
        assert_eq!(
            scores(&hits),
            [
                ("note", 0.85),
                ("plan", 0.766_667),
                ("else", 0.0),
                ("list", 0.0)
            ]
        );
        assert_eq!(hits[2].text_score, None);
    }

    #[test]
    fn l15_ranks_are_fused_by_default() {
        let text = [("a", 9.0), ("b", 5.0)];
        let vectors = [("b", 0.9), ("c", 0.8)];
        let hits = Fusion::default().fuse(text, vectors, 2);
        assert_eq!(scores(&hits), [("b", 0.032_522), ("a", 0.016_393)]);
    }

    #[test]
    fn equal_scores_of_a_ranking_are_all_worth_one() {
        let none: [(&str, f64); 0] = [];
        let hits = Fusion::WEIGHTS.fuse([("b", 2.0), ("a", 2.0)], none, 5);
        assert_eq!(scores(&hits), [("a", 0.3), ("b", 0.3)]);
    }
}
