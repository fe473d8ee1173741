use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use fugato_state::say;
use futures::{StreamExt as _, stream};

use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, attempt::begin,
};

/// Models by name, of which each request chooses one: by [`ChatRequest::model`], else by its stage,
/// else the default.
///
/// ```
/// use fugato_llm::{ChatModel, Models};
/// # fn chosen(small: impl ChatModel + 'static, large: impl ChatModel + 'static) -> Models {
///
/// Models::new("small", small).with("large", large).stage("plan", "large")
/// # }
/// ```
///
/// The name is taken out of the request that the model gets: a server that knows the model by
/// another name is not asked for ours. A name that is not here is an error of the kind
/// [`NotFound`](ModelErrorKind::NotFound), which lists the names.
///
/// # Notes
/// - Each model can have decorators of its own, such as a [`Fallback`](crate::Fallback) to a model
///   of another server; decorators around all of them, such as [`Retry`](crate::Retry), pass the
///   name on.
/// - The attempts of an answer bear the name of the model that was asked.
#[derive(derive_more::Debug, Clone)]
#[debug("Models {{ models: {:?}, default: {default:?}, .. }}", self.by_name.keys())]
pub struct Models {
    by_name: BTreeMap<String, Arc<dyn ChatModel>>,
    stages: BTreeMap<String, String>,
    default: String,
}

impl Models {
    /// Creates the models with the default one.
    pub fn new(name: impl Into<String>, model: impl ChatModel + 'static) -> Self {
        let default = name.into();
        Self {
            by_name: BTreeMap::new(),
            stages: BTreeMap::new(),
            default: default.clone(),
        }
        .with(default, model)
    }

    fugato_state::setters! {
        /// Adds a model; one of the same name is replaced.
        pub fn with(name: impl Into<String>, model: impl ChatModel + 'static) {
            by_name.insert(name.into(), Arc::new(model))
        }

        /// Lets requests of this stage, the `stage` in their metadata, go to the model of this name
        /// unless they name one themselves.
        pub fn stage(stage: impl Into<String>, name: impl Into<String>) {
            stages.insert(stage.into(), name.into())
        }
    }

    /// Returns the names of the models, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    fn choose(&self, request: &mut ChatRequest) -> Result<&Arc<dyn ChatModel>, ModelError> {
        let stage = || self.stages.get(request.metadata.get("stage")?).cloned();
        let chosen = request.model.clone().or_else(stage);
        request.model = None;
        let name = chosen.as_deref().unwrap_or(&self.default);
        self.by_name.get(name).ok_or_else(|| {
            let allowed: Vec<_> = self.names().collect();
            let why = say!(
                "there is no model {name:?}; allowed are {}",
                "没有模型 {name:?}；可用的有 {}",
                allowed.join(", ")
            );
            ModelError::new(ModelErrorKind::NotFound, why)
        })
    }
}

#[async_trait]
impl ChatModel for Models {
    async fn stream(&self, mut request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let model = self.choose(&mut request)?;
        let begun = begin(model, request).await?;
        let told = stream::iter(begun.earlier).map(|attempt| Ok(ChatDelta::Attempt(attempt)));
        Ok(told.chain(begun.deltas).boxed())
    }

    fn name(&self) -> &str {
        self.by_name
            .get(&self.default)
            .map_or("models", |model| model.name())
    }
}
