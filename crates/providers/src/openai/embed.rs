use std::time::Duration;

use async_trait::async_trait;
use fugato_llm::{ApiKey, ModelError, ModelErrorKind, endpoint};
use fugato_memory::{EmbedError, Embedder, Embeddings};
use reqwest::{Client, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::client::send;
use crate::http;

/// An embedding model behind a server that speaks the protocol of `/v1/embeddings`.
///
/// # Notes
/// - The client does not retry. Texts beyond [`batch`](Self::batch) are sent in further requests,
///   one after the other; if one fails, all fail.
/// - The source of an [`EmbedError`] is the [`ModelError`], with its kind and its advice.
///
/// # Cancellation safety
/// Dropping the future closes the connection.
#[derive(Debug, Clone)]
pub struct OpenAiEmbedder {
    http: Client,
    url: String,
    key: Option<ApiKey>,
    model: String,
    name: String,
    dimensions: Option<u32>,
    batch: usize,
    timeout: Option<Duration>,
}

impl OpenAiEmbedder {
    /// Creates a client of the model with this name behind `base_url`, which is read as by
    /// [`OpenAi::new`](super::OpenAi::new).
    pub fn new(base_url: &str, model: impl Into<String>) -> Self {
        let model = model.into();
        Self {
            http: http::client(),
            url: endpoint(base_url, "/embeddings"),
            key: None,
            name: model.clone(),
            model,
            dimensions: None,
            batch: 256,
            timeout: None,
        }
    }

    fugato_state::setters! {
        /// Sets the key with which the client authenticates.
        pub fn key(key: ApiKey) { key = Some(key) }

        /// Sets the HTTP client, for proxies, own certificates and the like.
        pub fn http(client: Client) { http = client }

        /// Sets the number of texts in one request; 256 by default, at least 1.
        pub fn batch(texts: usize) { batch = texts }

        /// Sets the time limit of one request; no limit by default.
        pub fn timeout(limit: Duration) { timeout = Some(limit) }
    }

    /// Sets the number of dimensions of the vectors, for models that offer a choice. It is part of
    /// the name, because vectors of different lengths cannot be compared.
    #[must_use]
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = Some(dimensions);
        self.name = format!("{}-{dimensions}", self.model);
        self
    }

    async fn ask(&self, texts: &[String]) -> Result<Answer, ModelError> {
        let mut body = Map::new();
        body.insert("model".into(), self.model.as_str().into());
        body.insert("input".into(), json!(texts));
        body.insert("encoding_format".into(), "float".into());
        if let Some(dimensions) = self.dimensions {
            body.insert("dimensions".into(), dimensions.into());
        }
        let call = self.http.post(&self.url).json(&Value::Object(body));
        let response = send(call, self.key.as_ref(), &self.model, self.timeout).await?;
        let bytes = whole(response).await?;
        serde_json::from_slice(&bytes)
            .map_err(|why| ModelError::new(ModelErrorKind::Malformed, "").caused_by(why))
    }

    async fn ask_all(&self, texts: &[String]) -> Result<Embeddings, ModelError> {
        let mut all = Embeddings::default();
        for texts in texts.chunks(self.batch.max(1)) {
            let answer = self.ask(texts).await?;
            if let Some(counted) = &answer.usage {
                *all.tokens.get_or_insert_default() += counted.prompt_tokens;
            }
            all.vectors.extend(answer.vectors(texts.len())?);
        }
        let dimensions = all.vectors.first().map_or(0, Vec::len);
        if all.vectors.iter().any(|vector| vector.len() != dimensions) {
            return Err(malformed("the vectors have different dimensions"));
        }
        Ok(all)
    }
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, EmbedError> {
        let asked = self.ask_all(texts).await;
        asked.map_err(|why| EmbedError::new(&self.name, why))
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// The size limit of an answer in bytes: 256 texts of 4,096 dimensions have 20 MB.
const MOST_BYTES: usize = 64 << 20;

async fn whole(mut response: Response) -> Result<Vec<u8>, ModelError> {
    let mut bytes = vec![];
    while let Some(piece) = http::piece(&mut response).await? {
        bytes.extend_from_slice(piece.as_ref());
        if bytes.len() > MOST_BYTES {
            let why = format!("the answer is longer than {} MiB", MOST_BYTES >> 20);
            return Err(ModelError::new(ModelErrorKind::AnswerTooLong, why));
        }
    }
    Ok(bytes)
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
    usage: Option<EmbedUsage>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct EmbedUsage {
    #[serde(default)]
    prompt_tokens: u64,
}

impl Answer {
    /// Returns the vectors in the order of the texts, whatever their order in the answer.
    fn vectors(self, texts: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = vec![None; texts];
        for (position, item) in self.data.into_iter().enumerate() {
            let place = vectors.get_mut(item.index.unwrap_or(position));
            let place = place.filter(|place| place.is_none());
            let place = place.ok_or_else(|| malformed("a vector belongs to no text"))?;
            if item.embedding.is_empty() || !item.embedding.iter().all(|number| number.is_finite())
            {
                return Err(malformed("a vector is empty or infinite"));
            }
            *place = Some(item.embedding);
        }
        let whole: Option<Vec<_>> = vectors.into_iter().collect();
        whole.ok_or_else(|| malformed("a text has no vector"))
    }
}

fn malformed(why: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, why)
}
