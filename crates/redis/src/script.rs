//! The scripts of the server, each executed as one transaction.
use std::sync::LazyLock;

/// A script and its hash.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) code: &'static str,
    pub(crate) hash: String,
}

impl Script {
    fn new(code: &'static str) -> Self {
        let hash = redis::Script::new(code).get_hash().to_owned();
        Self { code, hash }
    }
}

macro_rules! scripts {
    ($($name:ident: $($file:literal)*;)*) => {
        $(
            pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
                Script::new(concat!(
                    include_str!("lua/thread.lua"),
                    $(include_str!(concat!("lua/", $file, ".lua"))),*
                ))
            });
        )*
    };
}

scripts! {
    OPEN: "open";
    APPEND: "write" "append";
    FORK: "write" "fork";
    READ: "read";
    HEAD: "head";
    ACQUIRE: "grant" "acquire";
    CLAIM: "grant" "claim";
    RENEW: "renew";
    RELEASE: "release";
    SIGNAL: "signal";
    PUT: "put";
    LATEST: "latest";
    DELETE: "delete";
    COMPACT: "compact";
    LIST: "list";
    REMOVE: "remove";
}
