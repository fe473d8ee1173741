/// Writes the setters of a builder: each is a function that takes the builder, changes it by one
/// statement and returns it. The statement begins with a field of the builder.
///
/// ```
/// #[derive(Default)]
/// pub struct Limits {
///     steps: u64,
///     owner: Option<String>,
///     tags: Vec<String>,
/// }
///
/// impl Limits {
///     fugato_state::setters! {
///         /// Sets the largest number of steps.
///         pub fn steps(steps: u64) { steps = steps.max(1) }
///
///         /// Sets the owner.
///         pub fn owner(name: impl Into<String>) { owner = Some(name.into()) }
///
///         /// Adds tags.
///         pub fn tags<T: Into<String>>(tags: impl IntoIterator<Item = T>) {
///             tags.extend(tags.into_iter().map(Into::into))
///         }
///     }
/// }
///
/// let limits = Limits::default().steps(0).owner("me").tags(["a", "b"]);
/// assert_eq!((limits.steps, limits.owner.as_deref(), limits.tags.len()), (1, Some("me"), 2));
/// ```
#[macro_export]
macro_rules! setters {
    ($(
        $(#[$meta:meta])*
        $vis:vis fn $name:ident $(<$type:ident: $bound:path>)?
            ($($given:ident: $given_type:ty),+ $(,)?) { $($statement:tt)+ }
    )+) => {$(
        $(#[$meta])*
        #[must_use]
        $vis fn $name $(<$type: $bound>)? (mut self, $($given: $given_type),+) -> Self {
            self.$($statement)+;
            self
        }
    )+};
}
