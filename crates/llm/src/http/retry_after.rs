use std::time::{Duration, SystemTime};

/// Returns the pause that the headers of a response ask for: `retry-after-ms`, or `retry-after` in
/// seconds or as a date; `None` if there is none that can be read.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// let header = |name: &str| (name == "retry-after").then_some("7");
/// assert_eq!(fugato_llm::retry_after(header, SystemTime::now()), Some(Duration::from_secs(7)));
/// ```
pub fn retry_after<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    now: SystemTime,
) -> Option<Duration> {
    let text = |name: &str| header(name).map(str::trim);
    let exact = text("retry-after-ms")
        .and_then(|ms| ms.parse::<f64>().ok())
        .map(|ms| ms / 1000.0);
    let value = text("retry-after");
    let seconds = exact.or_else(|| value?.parse::<f64>().ok());
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(value?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn read(name: &'static str, value: &'static str) -> Option<Duration> {
        let header = |wanted: &str| (wanted == name).then_some(value);
        // Wed, 21 Oct 2015 07:28:00 GMT
        retry_after(header, UNIX_EPOCH + Duration::from_secs(1_445_412_480))
    }

    #[test]
    fn seconds_and_dates_are_read() {
        for (name, value, expected) in [
            ("retry-after", "7", Some(7_000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after-ms", "1500", Some(1_500)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT", Some(30_000)),
            (
                "retry-after",
                "Mon, 29 Feb 2016 00:00:00 GMT",
                Some(11_291_520_000),
            ),
            ("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT", Some(0)),
            ("retry-after", "-1", None),
            ("retry-after", "NaN", None),
            ("retry-after", "1e300", None),
            ("retry-after", "soon", None),
            ("retry-after", "Wed, 99 Oct 2015 07:28:30 GMT", None),
            ("retry-after", "Wed, 21 Oct 2015 07:28", None),
        ] {
            assert_eq!(
                read(name, value),
                expected.map(Duration::from_millis),
                "{value}"
            );
        }
    }
}
