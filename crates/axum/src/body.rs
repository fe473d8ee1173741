//! Bodies and queries of requests, within limits.
use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    middleware::Next,
};
use fugato_state::say;
use futures::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Caller, Limits,
    app_state::AppState,
    error::{ApiError, ApiResult},
};

/// The body of a request as JSON; an empty one is an empty object.
pub(crate) struct JsonBody(pub(crate) Value);

impl FromRequest<Arc<AppState>> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, office: &Arc<AppState>) -> ApiResult<Self> {
        let (parts, body) = request.into_parts();
        let bytes = read(body, &parts.headers, office.limits.body, &office.limits).await?;
        if bytes.is_empty() {
            return Ok(Self(Value::Object(serde_json::Map::new())));
        }
        // A page of another origin can send anything else without asking first.
        if !is_json(&parts.headers) {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                say!(
                    "the body must be JSON, with the header content-type: application/json",
                    "请求体应为 JSON，并带请求头 content-type: application/json"
                ),
            ));
        }
        let body: Value = serde_json::from_slice(&bytes).map_err(|error| {
            ApiError::bad(say!(
                "the body is not JSON: {error}",
                "请求体不是 JSON：{error}"
            ))
        })?;
        if body.is_object() {
            Ok(Self(body))
        } else {
            Err(ApiError::bad(say!(
                "the body must be a JSON object",
                "请求体应为 JSON 对象"
            )))
        }
    }
}

/// Reads the bodies of requests to the program's own paths within their limit. Those that change
/// something count as runs.
pub(crate) async fn bounded(
    State(office): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> ApiResult {
    let (parts, body) = request.into_parts();
    let changes = matches!(parts.method, Method::POST | Method::PUT | Method::PATCH);
    let _permit = match parts.extensions.get::<Caller>() {
        Some(caller) if changes => Some(office.admit(caller).await?),
        _ => None,
    };
    let bytes = read(body, &parts.headers, office.limits.upload, &office.limits).await?;
    let request = Request::from_parts(parts, Body::from(bytes));
    Ok(next.run(request).await)
}

async fn read(body: Body, headers: &HeaderMap, limit: usize, limits: &Limits) -> ApiResult<Bytes> {
    let told = headers.get(header::CONTENT_LENGTH);
    let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|told| told > limit) {
        return Err(too_large(limit));
    }
    let whole = async {
        let mut pieces = body.into_data_stream();
        let mut whole = Vec::with_capacity(told.unwrap_or(0).min(1 << 20));
        while let Some(piece) = pieces.next().await {
            let piece =
                piece.map_err(|_| ApiError::bad(say!("the body broke off", "请求体没有传完")))?;
            if whole.len() + piece.len() > limit {
                return Err(too_large(limit));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.into())
    };
    let waited = tokio::time::timeout(limits.body_timeout, whole).await;
    waited.unwrap_or_else(|_| {
        let message = say!(
            "the body must come within {:?}",
            "请求体应在 {:?} 内传完",
            limits.body_timeout
        );
        Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            message,
        ))
    })
}

fn too_large(limit: usize) -> ApiError {
    let message = say!("a body may have {limit} bytes", "请求体最多 {limit} 字节");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// The parsed query of a request; one that does not parse is refused as `invalid_request`.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<AppState>> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<AppState>) -> ApiResult<Self> {
        let query = axum::extract::Query::try_from_uri(&parts.uri);
        let axum::extract::Query(asked) =
            query.map_err(|error| ApiError::bad(error.body_text()))?;
        Ok(Self(asked))
    }
}

/// The guard has authenticated the caller and stored it in the request's extensions.
impl FromRequestParts<Arc<AppState>> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<AppState>) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
