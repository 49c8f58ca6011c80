//! What a caller wants beyond the contract, and how much one stream may make it hold.

/// The switches and limits of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Announce ids under the conventional prefix of their type. Only where the events are
    /// made: on the wire the server has announced its own id already.
    pub conventional_ids: bool,
    /// How many items one response may have.
    pub max_items: usize,
    /// How long an identity field may be, in bytes.
    pub max_identity_bytes: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            conventional_ids: false,
            max_items: 4096,
            max_identity_bytes: 8192,
        }
    }
}

/// The stream is beyond a limit of the [`Policy`]: it is to pass unchanged from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// More items than [`Policy::max_items`].
    TooManyItems,
    /// An identity field longer than [`Policy::max_identity_bytes`].
    IdentityTooLong,
}

impl std::fmt::Display for GaveUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooManyItems => "the response has more output items than the limit",
            Self::IdentityTooLong => "an id, call_id, name or label is longer than the limit",
        })
    }
}

impl std::error::Error for GaveUp {}
