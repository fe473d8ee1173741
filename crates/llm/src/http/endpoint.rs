/// Returns the URL of a path of an API that begins at `base`.
///
/// A base without a path of its own, such as `http://localhost:8080`, gets `/v1`. Any other base is
/// used unchanged, and may already end in the path.
///
/// ```
/// use fugato_llm::endpoint;
///
/// assert_eq!(endpoint("http://localhost:8080", "/models"), "http://localhost:8080/v1/models");
/// assert_eq!(endpoint("https://a.example/api/v3/", "/models"), "https://a.example/api/v3/models");
/// ```
pub fn endpoint(base: &str, path: &str) -> String {
    let base = base.trim().trim_end_matches('/').trim_end_matches(path);
    let host_on = base.split_once("://").map_or(base, |(_, rest)| rest);
    let version = if host_on.contains('/') { "" } else { "/v1" };
    format!("{base}{version}{path}")
}
