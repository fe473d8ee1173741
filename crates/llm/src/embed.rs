use std::sync::Arc;

use async_trait::async_trait;

use crate::{ModelError, Usage};

/// A model that turns texts into vectors, so that texts that mean the same lie close together.
///
/// # Contract
/// - **one vector a text**: there are as many vectors as texts, in the same order.
/// - **one space**: all vectors have the same number of dimensions, and only finite numbers.
/// - **nothing for nothing**: no texts give no vectors, without asking anybody.
/// - **no secrets**: an error does not contain what the model authenticates with.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The vectors of these texts.
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, ModelError>;

    /// What the vectors are kept under: those of different models must not be compared.
    fn name(&self) -> &str;
}

const _: Option<&dyn Embedder> = None;

/// The vectors of some texts.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Embeddings {
    /// One vector a text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// What they cost, where the server tells.
    pub usage: Option<Usage>,
}

impl Embeddings {
    /// These vectors.
    pub fn new(vectors: impl IntoIterator<Item = Vec<f32>>) -> Self {
        Self {
            vectors: vectors.into_iter().collect(),
            usage: None,
        }
    }

    /// Says what they cost.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}

macro_rules! forward {
    ($pointer:ident) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<E: Embedder + ?Sized> Embedder for $pointer<E> {
            async fn embed(&self, texts: &[String]) -> Result<Embeddings, ModelError> {
                (**self).embed(texts).await
            }

            fn name(&self) -> &str {
                (**self).name()
            }
        }
    };
}

forward!(Arc);
forward!(Box);
