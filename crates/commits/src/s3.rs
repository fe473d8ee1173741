//! Buckets of servers that speak the protocol of S3.
use std::{sync::Arc, time::Duration};

use fugato_store::{StoreError, StoreErrorKind};
use object_store::{
    RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut},
    path::Path,
    prefix::PrefixStore,
};

use crate::{CommitLog, CommitLogOptions, error::Fault};

impl CommitLog {
    /// Opens a bucket: `s3://bucket/prefix`, where the prefix may be missing.
    ///
    /// Settings have the names of the client, such as `endpoint`, `region`, `access_key_id`,
    /// `secret_access_key` or `allow_http`; those that are not given are taken from the variables of
    /// the environment that begin with `AWS_`.
    ///
    /// # Errors
    /// `Invalid` for a URL or setting that cannot be used, otherwise as for [`open`](Self::open).
    pub async fn open_bucket<'a>(
        url: &str,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
        options: CommitLogOptions,
    ) -> Result<Self, StoreError> {
        let failed = |error| Fault::from(error).during("open");
        let invalid = |what: String| StoreError::new(StoreErrorKind::Invalid(what), "open");
        let whole = url.strip_prefix("s3://").filter(|whole| !whole.is_empty());
        let whole =
            whole.ok_or_else(|| invalid(format!("{url:?}: s3://bucket/prefix is allowed")))?;
        let (bucket, prefix) = whole.split_once('/').unwrap_or((whole, ""));
        // An error means that the application has set a provider of ciphers.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_retry(RetryConfig {
                max_retries: 3,
                retry_timeout: Duration::from_secs(20),
                ..RetryConfig::default()
            });
        for (name, value) in settings {
            let key: AmazonS3ConfigKey = name.parse().map_err(failed)?;
            builder = builder.with_config(key, value);
        }
        let bucket = builder.build().map_err(failed)?;
        let store = PrefixStore::new(bucket, Path::from(prefix));
        Self::open(Arc::new(store), options).await
    }
}
