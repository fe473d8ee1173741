use fugato_graph::{BoxError, Context, Effect, EffectError, InDoubt};
use fugato_memory::Notebook;
use fugato_state::State;

/// Adds a line to the log of a day, exactly once even after a crash, as long as no other line of
/// the day is the same. The format of `day` is `2026-11-22`.
pub async fn log_once<S: State>(
    cx: &Context<S>,
    notebook: &Notebook,
    day: &str,
    line: &str,
) -> Result<(), BoxError> {
    let input = (day.to_owned(), line.to_owned());
    let (there, (on, sought)) = (notebook.clone(), input.clone());
    let once = Effect::once().reconcile(move || async move {
        Ok::<_, BoxError>(Some(if there.is_logged(&on, &sought)? {
            InDoubt::Happened(())
        } else {
            InDoubt::DidNotHappen
        }))
    });
    let (notebook, (day, line)) = (notebook.clone(), input.clone());
    let write = async move |_| {
        let written = notebook.log(&day, &line);
        written.map_err(|error| BoxError::from(EffectError::not_executed(error)))
    };
    Ok(cx.effect("day", once, &input, write).await?)
}
