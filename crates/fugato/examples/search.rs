//! Notes in Markdown, found by words and by likeness, in Chinese as in English.
#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example shows what it does"
)]

use std::sync::Arc;

use fugato::{
    Report,
    memory::{HashedNgrams, HybridSearch, MemoryIndex, Notebook},
};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let folder = tempfile::tempdir()?;
    let notebook = Notebook::new(folder.path());
    notebook.remember("Exams", "复习 chemistry before June")?;
    notebook.remember("Garden", "the tomatoes want water in the evening")?;
    notebook.log("2026-11-22", "sent the 报销单 to the office")?;

    let search = HybridSearch::new(Arc::new(MemoryIndex::default()))
        .embedded_by(Arc::new(HashedNgrams::default()));
    for (question, expected) in [
        ("报销", "报销单"),
        ("tomato", "tomatoes"),
        ("复习", "chemistry"),
    ] {
        let found = search.search_notes(&notebook.files()?, question, 1).await?;
        println!("{question}: {}", found.notes[0].text);
        assert!(found.notes[0].text.contains(expected), "{question}");
    }
    Ok(())
}
