//! Tests of models that are configured and do not answer, through the binary: the person gets the
//! notice at once.
use fugato_testkit::{ModelServer, TestProgram, assert_contains, assert_lacks};

#[test]
fn rct_8_a_named_model_that_fails_is_said_at_once_with_the_reason() {
    let program = || TestProgram::new(env!("CARGO_BIN_EXE_react"));
    let page = ModelServer::answering(200, "<html>");
    let page = (
        page,
        "The model `mini` did not answer",
        "模型`mini`没有回答",
    );
    for (server, en, zh) in ModelServer::failing().into_iter().chain([page]) {
        let url = server.url();
        let named = ["--base-url", &url, "--model", "mini", "say"];
        let says = |words: &str| program().ok(&[&named[..], &[words]].concat());
        let told = says("2 + 2");
        assert_contains(&told, [en, "I go on by rules."]);
        assert!(told.contains("2 + 2 = 4"), "{told}");
        assert_eq!(told.matches("I go on by rules.").count(), 1, "{told}");
        let told = says("讲个故事");
        assert_contains(&told, [zh, "我改按规则继续。"]);
        assert_contains(&told, "没能读懂");
        assert_lacks(&told, "没有模型时");
    }
}
