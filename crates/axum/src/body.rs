//! Bodies and queries of requests, within limits.
use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Path, Request, State, rejection::QueryRejection},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    middleware::Next,
};
use fugato_state::{Lang, say};
use futures::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Caller, Limits,
    app_state::AppState,
    error::{ApiError, ApiResult},
    misfit,
};

/// The body of a request as JSON; an empty one is an empty object.
pub(crate) struct JsonBody(pub(crate) Value);

impl FromRequest<Arc<AppState>> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app_state: &Arc<AppState>) -> ApiResult<Self> {
        let (parts, body) = request.into_parts();
        let bytes = read(
            body,
            &parts.headers,
            app_state.limits.body,
            &app_state.limits,
        )
        .await?;
        if bytes.is_empty() {
            return Ok(Self(Value::Object(serde_json::Map::new())));
        }
        let body: Value = parsed(&parts.headers, &bytes)?;
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

/// The body of a request to a path of the program's own: JSON that fits a type. Another body is
/// refused in the language of the request, with what is allowed: 415 `not_json`, 400
/// `invalid_request` for what is not JSON, and 422 `invalid_request` for what does not fit.
#[derive(Debug, Clone)]
pub struct JsonInput<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonInput<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> ApiResult<Self> {
        let headers = request.headers().clone();
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                say!("the body is too large", "请求体太大"),
            ),
            _ => broken_off(),
        })?;
        parsed(&headers, &bytes).map(Self)
    }
}

/// Parses a body, with its language if it names one that is spoken here.
fn parsed<T: DeserializeOwned>(headers: &HeaderMap, bytes: &[u8]) -> ApiResult<T> {
    // A page of another origin can send anything else without asking first.
    if !is_json(headers) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            say!(
                "the body must be JSON, with the header content-type: application/json",
                "请求体应为 JSON，并带请求头 content-type: application/json"
            ),
        ));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        if !error.is_data() {
            let what = misfit::of_json(&error);
            return ApiError::bad(say!(
                "the body is not JSON: {what}",
                "请求体不是 JSON：{what}"
            ));
        }
        let whole: Option<Value> = serde_json::from_slice(bytes).ok();
        let named = whole.and_then(|whole| whole.get("lang")?.as_str()?.parse().ok());
        let lang: Lang = named.unwrap_or_else(Lang::current);
        let message = lang.scope(|| {
            let what = misfit::of_json(&error);
            say!("the body cannot be used: {what}", "请求体无法使用：{what}")
        });
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
    })
}

fn broken_off() -> ApiError {
    ApiError::bad(say!("the body broke off", "请求体没有传完"))
}

/// Reads the bodies of requests to the program's own paths within their limit. Those that change
/// something count as runs.
pub(crate) async fn bounded(
    State(app_state): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> ApiResult {
    let (parts, body) = request.into_parts();
    let changes = matches!(parts.method, Method::POST | Method::PUT | Method::PATCH);
    let _permit = match parts.extensions.get::<Caller>() {
        Some(caller) if changes => Some(app_state.admit(caller).await?),
        _ => None,
    };
    let bytes = read(
        body,
        &parts.headers,
        app_state.limits.upload,
        &app_state.limits,
    )
    .await?;
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
            let piece = piece.map_err(|_| broken_off())?;
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

/// The parsed query of a request; one that does not parse is refused as `invalid_request`, in the
/// language of the request.
#[derive(Debug, Clone)]
pub struct QueryInput<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryInput<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let query = axum::extract::Query::try_from_uri(&parts.uri);
        let axum::extract::Query(asked) = query.map_err(|error: QueryRejection| {
            let text = error.body_text();
            let (_, what) = text.split_once(": ").unwrap_or(("", &text));
            ApiError::bad(misfit::of_query(what))
        })?;
        Ok(Self(asked))
    }
}

/// The name in the path of a request; one that is no text is refused as `invalid_request`, in the
/// language of the request.
#[derive(Debug, Clone)]
pub struct PathInput(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathInput {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let name = Path::<String>::from_request_parts(parts, state).await;
        let Path(name) = name.map_err(|_| {
            ApiError::bad(say!(
                "the name in the path must be UTF-8, percent-encoded",
                "路径里的名字应为 UTF-8，并用百分号编码"
            ))
        })?;
        Ok(Self(name))
    }
}

/// The guard has authenticated the caller and stored it in the request's extensions.
impl FromRequestParts<Arc<AppState>> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<AppState>) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}
