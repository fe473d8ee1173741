use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;

use crate::{digest, term::terms};

/// An embedder, which turns texts into vectors so that similar texts get near vectors.
///
/// # Contract
/// - **one for each**: as many vectors as texts, in their order.
/// - **one space**: all vectors have the same number of dimensions, and only finite numbers.
/// - **same again**: the same text gives the same vector as long as the name is the same.
/// - **nothing for nothing**: no texts give no vectors, without a request.
/// - **no secrets**: an error does not contain the credentials of the model.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns the vectors of texts.
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, EmbedError>;

    /// Returns the name of the model that makes the vectors, with its version. Vectors of different
    /// names cannot be compared.
    fn name(&self) -> &str;

    /// Returns true if near vectors mean similar meaning, and not only similar spelling.
    fn is_semantic(&self) -> bool {
        true
    }
}

/// The vectors of some texts.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Embeddings {
    /// One vector for each text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// The number of tokens read, if the server reports it.
    pub tokens: Option<u64>,
}

impl Embeddings {
    /// Creates embeddings from vectors, without a number of tokens.
    pub fn new(vectors: impl IntoIterator<Item = Vec<f32>>) -> Self {
        Self {
            vectors: vectors.into_iter().collect(),
            tokens: None,
        }
    }

    fugato_state::setters! {
        /// Sets the number of tokens read.
        pub fn tokens(tokens: u64) { tokens = Some(tokens) }
    }
}

/// A failure to embed texts.
#[derive(Debug, Error)]
#[error("texts could not be embedded by {name}")]
pub struct EmbedError {
    /// The name of the embedder.
    pub name: String,
    /// The cause.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl EmbedError {
    /// Creates the error of the embedder of this name.
    pub fn new(
        name: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            name: name.into(),
            source: source.into(),
        }
    }
}

/// An embedder that needs no model and no network: hashed n-grams of characters.
///
/// It is **not semantic**: near vectors mean similar spelling. A word is found by its inflected
/// forms and in spite of a typing error, but never by a synonym.
#[derive(Debug, Clone)]
pub struct HashedNgrams {
    dimensions: usize,
    name: String,
}

impl HashedNgrams {
    /// Creates an embedder with vectors of so many dimensions, at least one.
    pub fn new(dimensions: usize) -> Self {
        let dimensions = dimensions.max(1);
        Self {
            dimensions,
            name: format!("hashed-ngrams-1-{dimensions} (not semantic)"),
        }
    }

    /// Returns the vector of a text.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; self.dimensions];
        for term in terms(text) {
            let framed: Vec<char> = format!("^{term}$").chars().collect();
            for size in 2..=4 {
                for gram in framed.windows(size) {
                    self.add(&mut vector, &gram.iter().collect::<String>());
                }
            }
        }
        // A text without a letter gets a fixed vector of its own, because a zero vector has no
        // direction.
        if vector.iter().all(|x| *x == 0.0) {
            self.add(&mut vector, "");
        }
        vector
    }

    fn add(&self, vector: &mut [f32], gram: &str) {
        let digest = digest::of(&[gram]);
        let mixed = (digest ^ digest >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let sign = if mixed & 1 == 0 { 1.0 } else { -1.0 };
        let size = self.dimensions as u64;
        let at = usize::try_from((mixed >> 8) % size).unwrap_or_default();
        if let Some(place) = vector.get_mut(at) {
            *place += sign;
        }
    }
}

/// The default embedder has 384 dimensions.
impl Default for HashedNgrams {
    fn default() -> Self {
        Self::new(384)
    }
}

#[async_trait]
impl Embedder for HashedNgrams {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, EmbedError> {
        Ok(Embeddings::new(texts.iter().map(|text| self.vector(text))))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn is_semantic(&self) -> bool {
        false
    }
}

const _: fn(&dyn Embedder) = |_| ();

macro_rules! forward {
    ($pointer:ident) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<E: Embedder + ?Sized> Embedder for $pointer<E> {
            async fn embed(&self, texts: &[String]) -> Result<Embeddings, EmbedError> {
                (**self).embed(texts).await
            }

            fn name(&self) -> &str {
                (**self).name()
            }

            fn is_semantic(&self) -> bool {
                (**self).is_semantic()
            }
        }
    };
}

forward!(Arc);
forward!(Box);

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        let ngrams = HashedNgrams::default();
        let (a, b) = (ngrams.vector(a), ngrams.vector(b));
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
    }

    #[test]
    fn l15_spelling_is_what_is_near() {
        assert!(cosine("reimbursement", "reimbursements") > 0.7);
        assert!(cosine("reimbursement", "giraffe") < 0.3);
        assert!(cosine("报销单据", "报销单") > cosine("报销单据", "出差计划"));
        assert!(!HashedNgrams::default().is_semantic());
        assert_eq!(
            HashedNgrams::default().name(),
            "hashed-ngrams-1-384 (not semantic)"
        );
    }

    #[test]
    fn every_text_has_a_direction() {
        for text in ["", "…", "a", "复"] {
            assert!(HashedNgrams::new(3).vector(text).iter().any(|x| *x != 0.0));
        }
    }
}
