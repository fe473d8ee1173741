use fugato_state::State;

/// A state that has a part with a vocabulary of its own.
///
/// The nodes of this crate read and write a part, and leave the rest of the state alone. A part is
/// a [`State`] itself, so a small agent uses it as it is; a larger one holds it in a field, and has
/// one update that carries the part's updates.
///
/// ```
/// use fugato_agent::{Embeds, React, ReactUpdate};
/// use fugato_state::State;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Default, Serialize, Deserialize)]
/// struct App {
///     letters: u32,
///     talk: React,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// enum Change {
///     Wrote,
///     Talked(ReactUpdate),
/// }
///
/// impl State for App {
///     type Update = Change;
///     fn apply(&mut self, change: Change) {
///         match change {
///             Change::Wrote => self.letters += 1,
///             Change::Talked(update) => self.talk.apply(update),
///         }
///     }
/// }
///
/// impl Embeds<React> for App {
///     fn part(&self) -> &React {
///         &self.talk
///     }
///     fn embed(update: ReactUpdate) -> Change {
///         Change::Talked(update)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no part `{P}`",
    note = "hold the part in a field, and implement `Embeds<{P}>`: where the part is, and which update carries its updates"
)]
pub trait Embeds<P: State>: State {
    /// Returns the part.
    fn part(&self) -> &P;

    /// Wraps an update of the part as an update of the whole.
    fn embed(update: P::Update) -> Self::Update;
}

impl<P: State> Embeds<P> for P {
    fn part(&self) -> &P {
        self
    }

    fn embed(update: P::Update) -> P::Update {
        update
    }
}
