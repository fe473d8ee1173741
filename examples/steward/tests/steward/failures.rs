//! Tests of models that are configured and do not answer, through the binary: the person gets the
//! notice at once.
use fugato_testkit::{ModelServer, TestProgram, assert_contains};

#[test]
fn stw_11_a_named_model_that_fails_is_said_at_once_with_the_reason() {
    let program = || TestProgram::new(env!("CARGO_BIN_EXE_steward"));
    for (server, en, zh) in ModelServer::failing() {
        let url = server.url();
        let named = ["--base-url", &url, "--model", "mini", "say"];
        let says = |words: &str| program().ok(&[&named[..], &[words]].concat());
        let told = says("what is the weather like?");
        assert_contains(&told, [en, "I go on by rules."]);
        assert_contains(&told, "I could not read this request, and did nothing.");
        let told = says("今天天气怎么样");
        assert_contains(&told, [zh, "我改按规则继续。"]);
        assert_contains(&told, "这个请求没能读懂");
    }
}
