//! The forms of this program, which are data: `forms.toml`.
use serde::{Deserialize, Serialize};

/// The forms.
pub type Forms = fugato::form::Forms<FormKind>;

/// The kind of form.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FormKind {
    /// An application for a trip.
    Application,
    /// A claim for what was spent.
    Reimbursement,
    /// A claim is linked to an application.
    Link,
    /// Files are attached to a claim.
    Attachment,
    /// A document is withdrawn.
    Withdrawal,
    /// A withdrawn document becomes a draft again.
    Restoration,
}
