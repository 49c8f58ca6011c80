//! What a caller wants beyond the contract, and how much one stream may make it hold.

use crate::contract::inserted::ReasoningParts;

/// The switches and limits of an engine, and of a rewriter around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own, and a caller sets it by name"
)]
pub struct Policy {
    /// Announce ids under the conventional prefix of their type. Only where the events are
    /// made: on the wire the server has announced its own id already.
    pub conventional_ids: bool,
    /// Announce an empty message or reasoning that only the terminal output has, if upstream
    /// counted an `output_index` for it. The gap in its indices shows that it began the item;
    /// vLLM does so and then sends nothing. In process such an item can be left out everywhere.
    pub empty_items_in_gaps: bool,
    /// Send the events that open and close a part of reasoning under the names that the `OpenAI`
    /// API has for them, where vLLM before 0.32 has its own.
    pub openai_vocabulary: bool,
    /// Send what a server takes back of a text that it has streamed: vLLM before 0.25 loses the
    /// last deltas of a text, or sums it up as empty. Only where its events are made: on the wire
    /// nobody knows which of the two is right.
    pub restore_lost_text: bool,
    /// How parts of reasoning text are opened and closed in inserted events.
    pub reasoning_parts: ReasoningParts,
    /// How many items one response may have.
    pub max_items: usize,
    /// How long an identity field may be, in bytes.
    pub max_identity_bytes: usize,
    /// How long one frame of a stream may be, in bytes; as much of it is held until it ends.
    pub max_frame_bytes: usize,
    /// How many bytes may be held of one response: items as they were closed, and what open
    /// items have said. An open item that would need more is not closed at the end; a closed one
    /// ends the rewriting.
    pub max_held_bytes: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            conventional_ids: false,
            empty_items_in_gaps: true,
            openai_vocabulary: false,
            restore_lost_text: false,
            reasoning_parts: ReasoningParts::ContentPart,
            max_items: 4096,
            max_identity_bytes: 8192,
            max_frame_bytes: 64 << 20,
            max_held_bytes: 64 << 20,
        }
    }
}

/// The stream is beyond a limit of the [`Policy`]: it is to pass unchanged from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GaveUp {
    /// More items than [`Policy::max_items`], or announced again more often.
    TooManyItems,
    /// An identity field longer than [`Policy::max_identity_bytes`].
    IdentityTooLong,
    /// A frame longer than [`Policy::max_frame_bytes`].
    FrameTooLong,
    /// Items of more than [`Policy::max_held_bytes`] together.
    TooMuchHeld,
}

impl GaveUp {
    /// A stable name, fit for a metric label.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooManyItems => "too_many_items",
            Self::IdentityTooLong => "identity_too_long",
            Self::FrameTooLong => "frame_too_long",
            Self::TooMuchHeld => "too_much_held",
        }
    }
}

impl std::fmt::Display for GaveUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooManyItems => "the response has more output items than the limit",
            Self::IdentityTooLong => "an id, call_id, name or label is longer than the limit",
            Self::FrameTooLong => "a frame of the stream is longer than the limit",
            Self::TooMuchHeld => "the output items are together longer than the limit",
        })
    }
}

impl std::error::Error for GaveUp {}
