use fugato_state::{Lang, say};

/// Joins names for a sentence: "a, b and c". Alternatives are never joined by `|`, because small
/// models copy such a list as if it were a value.
pub(crate) fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let Some((last, rest)) = names.split_last() else {
        return say!("none", "无");
    };
    if rest.is_empty() {
        return last.as_ref().to_owned();
    }
    let rest: Vec<_> = rest.iter().map(AsRef::as_ref).collect();
    let rest = rest.join(Lang::current().pick(", ", "、"));
    say!("{rest} and {}", "{rest}和{}", last.as_ref())
}
