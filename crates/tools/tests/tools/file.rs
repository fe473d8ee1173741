//! The results of the tools, and their refusals.
use std::fs;

use fugato_state::{ToolCall, ToolStatus};
use fugato_tool::{GateChain, Registry, ToolContext, ToolResult, Visibility, confirm_writes};
#[cfg(feature = "document")]
use fugato_tools::file::SandboxError;
use fugato_tools::file::{ListFiles, ReadFile, Sandbox, WriteFile};
use serde_json::{Value, json};

struct FileState {
    folder: tempfile::TempDir,
    registry: Registry<(), ()>,
}

impl FileState {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let sandbox = Sandbox::open(folder.path()).expect("it is there");
        let registry = Registry::builder()
            .tool(ListFiles::new(sandbox.clone()))
            .tool(ReadFile::new(sandbox.clone()))
            .tool(WriteFile::new(sandbox))
            .build()
            .expect("three tools");
        Self { folder, registry }
    }

    async fn call(&self, name: &str, arguments: Value) -> ToolResult<()> {
        let call = ToolCall::new("c", name, arguments);
        self.registry.call(&call, ToolContext::new(&())).await
    }

    async fn paths(&self, arguments: Value) -> Vec<String> {
        let listed = self.call("list_files", arguments).await;
        let files = listed.data.get("files").and_then(Value::as_array).cloned();
        let files = files.unwrap_or_default();
        let path = |file: &Value| {
            let path = file.get("path").and_then(Value::as_str);
            path.unwrap_or_default().to_owned()
        };
        let mut paths: Vec<_> = files.iter().map(path).collect();
        paths.sort();
        paths
    }
}

fn desk() -> FileState {
    FileState::new(&[
        ("Documents/plan_v1.md", "# 项目计划书\nweek 1"),
        ("Documents/old/Proposal.txt", "x"),
        ("music/song.txt", "la"),
        (".hidden/plan.md", "计划书"),
    ])
}

#[tokio::test]
async fn a_name_forges_no_other_line_of_a_list() {
    let desk = FileState::new(&[("a\n- b.md", "x")]);
    let listed = desk.call("list_files", json!({})).await;
    assert_eq!(listed.text, "- \"a\\n- b.md\"");
    assert_eq!(desk.paths(json!({})).await, ["a\n- b.md"]);
}

#[tokio::test]
async fn trn_8_files_are_found_by_name_text_and_age() {
    let desk = desk();
    let wanted = json!({ "path": "~/Documents", "pattern": ".*(计划书|proposal).*" });
    let both = ["Documents/old/Proposal.txt", "Documents/plan_v1.md"];
    assert_eq!(desk.paths(wanted).await, both);
    let everything = [
        "Documents/old/Proposal.txt",
        "Documents/plan_v1.md",
        "music/song.txt",
    ];
    assert_eq!(desk.paths(json!({})).await, everything);
    assert_eq!(desk.paths(json!({ "days": 1 })).await, everything);
    let song = desk.folder.path().join("music/song.txt");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(72);
    let file = fs::File::options().append(true).open(song).expect("a file");
    file.set_modified(long_ago).expect("a time");
    assert_eq!(desk.paths(json!({ "days": 1 })).await, both);
    let listed = desk
        .call("list_files", json!({ "pattern": "计划书" }))
        .await;
    assert_eq!(listed.text, "- Documents/plan_v1.md: # 项目计划书");
}

#[tokio::test]
async fn trn_c1_other_names_of_the_pattern_are_taken_for_it() {
    let desk = desk();
    for name in ["pattern", "filter", "regex"] {
        assert_eq!(
            desk.paths(json!({ name: "song" })).await,
            ["music/song.txt"],
            "{name}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_listed_or_read_says_what_can() {
    let desk = desk();
    let cases = [
        (
            "list_files",
            json!({ "pattern": "(" }),
            ToolStatus::Failed,
            "plain words are one",
        ),
        (
            "list_files",
            json!({ "path": "none" }),
            ToolStatus::Failed,
            "there is no \"none\"",
        ),
        (
            "list_files",
            json!({ "path": "../" }),
            ToolStatus::Blocked,
            "outside of the folder",
        ),
        (
            "read_file",
            json!({ "path": "none.md" }),
            ToolStatus::Failed,
            "list_files tells",
        ),
        (
            "read_file",
            json!({ "path": "music" }),
            ToolStatus::Failed,
            "is no file",
        ),
    ];
    for (tool, arguments, status, told) in cases {
        let result = desk.call(tool, arguments.clone()).await;
        assert_eq!(result.status, status, "{tool} {arguments}: {}", result.text);
        assert!(result.text.contains(told), "{}", result.text);
    }
    fs::write(desk.folder.path().join("photo.jpg"), b"\xff\xd8\xff").expect("a file");
    let photo = desk.call("read_file", json!({ "path": "photo.jpg" })).await;
    assert_eq!(photo.text, "\"photo.jpg\" is no text in UTF-8");
}

#[tokio::test]
async fn a_long_file_is_read_in_parts() {
    let text = "报".repeat(10_001);
    let desk = FileState::new(&[("long.md", &text)]);
    let first = desk.call("read_file", json!({ "path": "long.md" })).await;
    assert_eq!(first.data["next"], 10_000);
    let last = desk
        .call("read_file", json!({ "path": "long.md", "from": 10_000 }))
        .await;
    assert_eq!(
        (last.text.as_str(), &last.data["next"]),
        ("报", &Value::Null)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_is_replaced_as_a_whole_and_a_link_stays_a_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let desk = FileState::new(&[("list.md", "tea"), ("deep/far.md", "far")]);
    let at = |path: &str| desk.folder.path().join(path);
    let read = |path: &str| fs::read_to_string(at(path)).expect("it is there");
    fs::set_permissions(at("list.md"), fs::Permissions::from_mode(0o640)).expect("it is ours");
    fs::hard_link(at("list.md"), at("before.md")).expect("a link");
    symlink("deep/far.md", at("near.md")).expect("a link");
    for (path, told) in [
        ("list.md", "list.md is written: 6 bytes"),
        ("near.md", "near.md is written: 6 bytes"),
        ("new.md", "new.md is written: 6 bytes"),
        ("deep", "\"deep\" is no file"),
        ("none/of/x.md", "none/of/x.md is written: 6 bytes"),
    ] {
        let written = desk.call("write_file", json!({ "path": path, "text": "coffee" }));
        assert_eq!(written.await.text, told);
    }
    // A reader during the writing sees the old text, and so does one after a full disk.
    assert_eq!(
        (read("list.md"), read("before.md")),
        ("coffee".into(), "tea".into())
    );
    let mode = fs::metadata(at("list.md"))
        .expect("it is there")
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o640);
    assert!(at("near.md").is_symlink());
    assert_eq!(read("deep/far.md"), "coffee");
    let mut names: Vec<_> = fs::read_dir(desk.folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    let left = ["before.md", "deep", "list.md", "near.md", "new.md", "none"];
    assert_eq!(names, left);
}

#[test]
fn k35_a_card_says_what_a_write_replaces_and_shows_all_of_it() {
    let desk = desk();
    let card = |path: &str| {
        let arguments = json!({ "path": path, "text": "line one\nline two\nthe end" });
        let call = ToolCall::new("c", "write_file", arguments);
        let round = desk.registry.round(&[call], &Visibility::new());
        let round = round.judged(&GateChain::<()>::new().with(confirm_writes), &());
        let card = round.cards().next().cloned();
        card.map(|card| (card.consequence, card.summary))
    };
    let text = "text:\n  line one\n  line two\n  the end";
    assert_eq!(
        card("music/song.txt"),
        Some((
            "overwrites \"music/song.txt\", 2 bytes".into(),
            format!("path: music/song.txt\n{text}")
        ))
    );
    let makes = card("new.txt").map(|(consequence, _)| consequence);
    assert_eq!(makes.as_deref(), Some("makes a new file \"new.txt\""));
    // What would be refused asks nobody.
    assert_eq!(card("../other.txt"), None);
}

/// Returns a document that is an archive of these parts, as they are.
#[cfg(feature = "document")]
fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![];
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in parts {
        let (mut entry, config) = archive.new_file(name).start().expect("a part in memory");
        let mut writer = config.wrap(&mut entry);
        std::io::Write::write_all(&mut writer, content).expect("a part in memory");
        let (_, written) = writer.finish().expect("a part in memory");
        entry.finish(written).expect("a part in memory");
    }
    archive.finish().expect("a part in memory");
    bytes
}

#[cfg(feature = "document")]
#[test]
fn trn_15_documents_are_their_text_and_damaged_ones_are_told() {
    let place = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::open(place.path()).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(place.path().join(name), bytes).unwrap();
    let word = b"<w:p><w:r><w:t>A &amp; B</w:t></w:r></w:p><w:p><w:r><w:t>\xe8\xae\xa1\xe5\x88\x92</w:t></w:r></w:p>";
    write("a.docx", &archive(&[("word/document.xml", word)]));
    let writer = b"<text:h>Title</text:h><text:p>a<text:tab/>b</text:p>";
    write("b.odt", &archive(&[("content.xml", writer)]));
    let shared = b"<sst><si><t>Month</t></si><si><t>May</t></si></sst>";
    let sheet =
        b"<row><c t=\"s\"><v>0</v></c><c><v>7</v></c></row><row><c t=\"s\"><v>1</v></c></row>";
    let parts: [(&str, &[u8]); 2] = [
        ("xl/sharedStrings.xml", shared),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    write("c.xlsx", &archive(&parts));
    write("d.html", b"<script>x</script><p>one<p>two");
    for (name, text) in [
        ("a.docx", "A & B\n计划\n"),
        ("b.odt", "Title\na b\n"),
        ("c.xlsx", "Month\t7\nMay\n"),
        ("d.html", "one\ntwo"),
    ] {
        assert_eq!(sandbox.text(name, 99).unwrap(), text, "{name}");
    }
    write("text.docx", b"no archive");
    write("empty.docx", &archive(&[("other.xml", b"")]));
    write("cut.docx", &archive(&[("word/document.xml", b"<w:p><w:t")]));
    for name in ["text.docx", "empty.docx", "cut.docx"] {
        let error = sandbox.text(name, 99).unwrap_err();
        assert!(matches!(error, SandboxError::Document { .. }), "{error:?}");
    }
}

#[cfg(feature = "document")]
#[test]
fn a_document_that_would_fill_the_memory_is_told_and_not_read() {
    use std::io::Write as _;

    let content = vec![b' '; 40 * 1024 * 1024];
    let small = miniz_oxide::deflate::compress_to_vec(&content, 1);
    let mut bytes = vec![];
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    let entry = archive.new_file("word/document.xml");
    let entry = entry.compression_method(rawzip::CompressionMethod::Deflate);
    let (mut entry, config) = entry.start().unwrap();
    entry.write_all(&small).unwrap();
    let mut counted = config.wrap(std::io::sink());
    counted.write_all(&content).unwrap();
    let (_, written) = counted.finish().unwrap();
    entry.finish(written).unwrap();
    archive.finish().unwrap();
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("bomb.docx"), &bytes).unwrap();
    let sandbox = Sandbox::open(place.path()).unwrap();
    let error = sandbox.text("bomb.docx", 99).unwrap_err().to_string();
    let told = r#""bomb.docx" cannot be read as a document: it is damaged, or too large"#;
    assert_eq!((error.as_str(), bytes.len() < 1 << 20), (told, true));
}
