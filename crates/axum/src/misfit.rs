//! Errors of bodies and queries that cannot be read, in the language that is spoken.
use fugato_state::{Lang, say};

/// Says what is wrong with JSON, where, and what is allowed.
pub(crate) fn of_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (line, column) = (error.line(), error.column());
    let place = format!(" at line {line} column {column}");
    let what = text.strip_suffix(&place).unwrap_or(&text);
    let what = if error.is_data() {
        of_value(what)
    } else {
        syntax(what)
    };
    if line == 0 {
        return what;
    }
    say!(
        "line {line}, column {column}: {what}",
        "第 {line} 行第 {column} 列：{what}"
    )
}

/// Says what is wrong with a query, in which a value is named before what is wrong with it.
pub(crate) fn of_query(what: &str) -> String {
    let (name, what) = match what.split_once(": ") {
        Some((name, what)) if !name.contains([' ', '`']) => (Some(name), what),
        _ => (None, what),
    };
    let what = of_value(what);
    match name {
        Some(name) => say!("{name:?} of the query: {what}", "查询参数 {name:?}：{what}"),
        None => say!("the query: {what}", "查询参数：{what}"),
    }
}

/// Says what is wrong with a value, in place of the words of serde.
pub(crate) fn of_value(what: &str) -> String {
    let quoted = |text: &'_ str| -> Vec<String> {
        let names = text.split('`').skip(1).step_by(2);
        names.map(|name| format!("`{name}`")).collect()
    };
    let names = quoted(what);
    let (name, allowed) = names
        .split_first()
        .map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
    let allowed = match allowed {
        [] => say!("nothing", "没有"),
        names => names.join(&say!(", ", "、")),
    };
    if what.starts_with("missing field") {
        return say!("the field {name} is missing", "缺少字段 {name}");
    }
    if what.starts_with("unknown field") {
        return say!(
            "there is no field {name}; allowed are {allowed}",
            "没有字段 {name}；允许的有 {allowed}"
        );
    }
    if what.starts_with("unknown variant") {
        return say!(
            "{name} is not allowed; allowed are {allowed}",
            "不能是 {name}；允许的有 {allowed}"
        );
    }
    if what.starts_with("duplicate field") {
        return say!("the field {name} comes twice", "字段 {name} 出现了两次");
    }
    let invalid = ["invalid type: ", "invalid value: ", "invalid length "];
    let invalid = invalid.iter().find_map(|it| what.strip_prefix(it));
    if let Some((given, expected)) = invalid.and_then(|rest| rest.rsplit_once(", expected ")) {
        let (given, expected) = (kind(given), kind(expected));
        return say!(
            "it is {given}, and must be {expected}",
            "给的是{given}，应为{expected}"
        );
    }
    // The values of a query are parsed from texts.
    if ["invalid digit found", "cannot parse integer"]
        .iter()
        .any(|it| what.starts_with(it))
    {
        return say!("it must be a whole number", "应为整数");
    }
    if what.ends_with("`true` or `false`") {
        return say!("it must be true or false", "应为 true 或 false");
    }
    if what.starts_with("number too") {
        return say!("the number is too large or too small", "数字太大或太小");
    }
    what.to_owned()
}

/// Says what serde calls a kind of value.
fn kind(text: &str) -> String {
    // The value itself says more than its kind.
    for value in [
        "string ",
        "integer ",
        "floating point ",
        "boolean ",
        "character ",
    ] {
        if let Some(value) = text.strip_prefix(value) {
            return format!(" {} ", value.trim_matches('`')).trim().to_owned();
        }
    }
    let word = text.split_whitespace().next().unwrap_or_default();
    let word = match word {
        "a" | "an" | "any" => text.split_whitespace().nth(1).unwrap_or_default(),
        word => word,
    };
    match word {
        "string" | "borrowed" | "str" | "text" => say!("a text", "文字"),
        "boolean" | "bool" => say!("true or false", " true 或 false"),
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize"
        | "nonzero" => {
            say!("a whole number", "整数")
        }
        "f32" | "f64" | "number" => say!("a number", "数字"),
        "map" | "struct" => say!("an object", "对象"),
        "sequence" | "tuple" | "array" => say!("a list", "列表"),
        "null" | "unit" => "null".to_owned(),
        "enum" | "variant" | "newtype" => say!("one of the allowed words", "允许的值之一"),
        _ => text.to_owned(),
    }
}

/// Says what is wrong with the syntax.
fn syntax(what: &str) -> String {
    let known = [
        ("EOF", say!("it ends too early", "没有写完")),
        (
            "expected value",
            say!("a value is missing", "这里应有一个值"),
        ),
        (
            "trailing characters",
            say!("more follows it", "后面还有多余的内容"),
        ),
        (
            "trailing comma",
            say!("there is a comma too many", "多了一个逗号"),
        ),
        (
            "key must be",
            say!("a name must be in quotes", "名字应带双引号"),
        ),
        (
            "control character",
            say!("a control character must be escaped", "控制字符应转义"),
        ),
        (
            "invalid escape",
            say!("there is no such escape", "没有这种转义"),
        ),
        (
            "recursion limit",
            say!("it is nested too deeply", "嵌套太深"),
        ),
    ];
    let mut all = known.iter();
    if let Some((_, said)) = all.find(|(begins, _)| what.starts_with(begins)) {
        return said.clone();
    }
    match what.strip_prefix("expected ") {
        Some(signs) => {
            let signs = signs.replace(" or ", &say!(" or ", " 或 "));
            say!("{signs} is missing", "这里应为 {signs}")
        }
        None => Lang::current().pick(what, "写法不对").to_owned(),
    }
}
