use fugato_state::State;

/// A state that threads can begin with by themselves: one with a default.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no default for a thread to begin with",
    note = "derive `Default`, or say how a thread begins: `Graph::with_initial(start, || ..)` in place of `Graph::starting_at(start)`"
)]
pub trait InitialState: State {
    /// Returns the state of a new thread.
    fn initial() -> Self;
}

#[diagnostic::do_not_recommend]
impl<S: State + Default> InitialState for S {
    fn initial() -> Self {
        S::default()
    }
}
