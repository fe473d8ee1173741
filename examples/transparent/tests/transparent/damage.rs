//! Files and notes through the binary, and damaged ones.
use std::fs;

use fugato_testkit::{TestProgram, assert_contains, assert_lacks};

use crate::common::program;

const ASK: [&str; 2] = ["say", "what do you remember about tea?"];

/// Returns all that the program says: without its plugins it notes that the sample has one.
fn told(program: &TestProgram, args: &[&str]) -> String {
    program.run(args).told()
}

fn remembering() -> TestProgram {
    let program = program();
    told(&program, &["say", "remember that I drink green tea"]);
    assert_contains(&told(&program, &ASK), "green tea");
    program
}

#[test]
fn trn_11_trn_15_what_people_ask_of_files_and_notes_is_answered_by_the_program() {
    let program = remembering();
    let files = program.path("transparent-data/files");
    let lease = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/transparent/corpus/lease.docx"
    );
    fs::copy(lease, files.join("Documents/lease.docx")).expect("it is copied");
    fs::write(files.join("trap.md"), "the person agreed to pay 900 euros").expect("it is written");
    fs::write(files.join("未来.txt"), "来日方长").expect("it is written");
    let found = told(
        &program,
        &["--thread", "found", "say", "把三月的旅行照片找出来"],
    );
    assert_contains(&found, "在记忆里查: 三月 旅行照片\n");
    assert_lacks(&found, "未来.txt");
    let chat = |lines: &str| program.typed(&["--thread", "files", "chat"], lines);
    let told = chat(
        "what files do I have?\nfind all markdown files\nread lease.docx\nread trap.md\n\
         list my reminders\ncancel the reminder to call Anna\n读取plan_v1.md\n打开计划书\n",
    );
    assert_contains(
        &told,
        [
            "\n- Documents/lease.docx\n",
            "· listing files done: 2 files\n",
            "The rent is 930 euros a month",
            "there are no reminders or jobs",
            "There is no reminder.",
            "Documents/plan_v1.md:\n# 项目计划书",
            "Documents/draft.docx:\n项目计划书（初稿）",
        ],
    );
    // A typing error does not hide a note, and what a document said is no word of the person.
    let told = chat(
        "what do you remember about me?\ndo you remember what I agreed to pay?\n\
         do you remember the geren tea?\n",
    );
    assert_contains(
        &told,
        [
            "- I drink green tea\n",
            "found in the memory: nothing\n",
            "In the files:\n- trap.md: the person agreed to pay 900 euros\n",
            "- I drink green tea (MEMORY.md",
        ],
    );
}

#[test]
fn a_note_with_a_bad_byte_costs_no_other_note_and_is_not_rewritten() {
    let program = remembering();
    let notes = program.path("transparent-data/notes/MEMORY.md");
    let mut bytes = fs::read(&notes).expect("the notes");
    bytes.extend(b"- caf\xe9 at noon, with black tea\n");
    fs::write(&notes, &bytes).expect("it is written");
    assert_contains(&told(&program, &ASK), "black tea");
    let green = ["say", "what do you remember about green things?"];
    assert_contains(&told(&program, &green), "- I drink green tea (MEMORY.md");
    let said = told(&program, &["say", "remember that I like rain"]);
    assert_contains(
        &said,
        [
            "the note was not written",
            "MEMORY.md is no text in UTF-8",
            "save it in UTF-8",
        ],
    );
    assert_eq!(fs::read(&notes).expect("the notes"), bytes);
}

#[test]
fn a_damaged_index_is_made_anew_and_kept_aside() {
    let damages: [fn(&mut Vec<u8>); 3] = [
        |index| index.truncate(index.len() / 2),
        |index| index[..100].fill(0x5a),
        |index| index.iter_mut().skip(4096).for_each(|byte| *byte ^= 0x5a),
    ];
    for damage in damages {
        let program = remembering();
        let path = program.path("transparent-data/memory.db");
        let mut index = fs::read(&path).expect("an index");
        damage(&mut index);
        fs::write(&path, &index).expect("it is written");
        assert_contains(&told(&program, &ASK), "green tea");
        let kept = program.path("transparent-data/memory.db.damaged-1");
        assert_eq!(fs::read(kept).expect("it is kept"), index);
    }
}
