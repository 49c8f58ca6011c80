//! What an engine is given, and what it answers.

use crate::contract::catalogue::{EventKind, Scope, classify};
use crate::contract::identity::Field;
use crate::contract::inserted::Inserted;
use crate::contract::item::Item;
use crate::contract::said::Spot;

/// Names an event that waits, until it is released or discarded.
pub type Ticket = u64;

/// One event of a stream, as far as the contract speaks about it.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// `response.created`.
    Created {
        /// The response's `id`.
        response_id: Option<&'a str>,
    },
    /// `response.queued` or `response.in_progress`.
    Progress,
    /// `response.output_item.added`.
    Announced {
        /// The `output_index`.
        index: Option<u64>,
        /// The item; `None` where there is none, such as `null`.
        item: Option<Item<'a>>,
    },
    /// Any other event of one item.
    Scoped(Scoped<'a>),
    /// `response.output_item.done`.
    Closed {
        /// The `output_index`.
        index: Option<u64>,
        /// The item; `None` where there is none, such as `null`.
        item: Option<Item<'a>>,
    },
    /// `response.completed`, `.incomplete` or `.failed`.
    Terminal {
        /// Whether the response failed.
        failed: bool,
        /// The items of its output, in order.
        output: Vec<Item<'a>>,
    },
    /// `error`: the server failed.
    Error,
    /// Another event of a response, which passes.
    OfResponse,
    /// Anything else, which passes.
    Other,
}

/// An event of one item that is neither its announcement nor its close.
#[derive(Debug, Clone, Default)]
pub struct Scoped<'a> {
    /// The event's type.
    pub event_type: &'a str,
    /// The `type` of the part that it carries.
    pub part_type: Option<&'a str>,
    /// The `output_index`.
    pub index: Option<u64>,
    /// The `item_id`.
    pub item_id: Option<&'a str>,
    /// The `content_index`.
    pub content_index: Option<u64>,
    /// The `summary_index`.
    pub summary_index: Option<u64>,
    /// The name of the call, which some events repeat.
    pub name: Option<&'a str>,
    /// The `call_id` of the call, which some events repeat.
    pub call_id: Option<&'a str>,
    /// The delta, or the whole text, as JSON.
    pub text: Option<&'a [u8]>,
    /// The part, as JSON.
    pub part: Option<&'a [u8]>,
    /// The annotation, as JSON.
    pub annotation: Option<&'a [u8]>,
}

/// What to do for one event.
#[derive(Debug, Default)]
pub struct Action {
    /// What to send first, in order. It may release the event itself, if that waits.
    pub steps: Vec<Step>,
    /// What becomes of the event.
    pub this: Fate,
    /// Where further deltas like this one go, if it is one and they need no decision.
    pub run: Option<Run>,
}

/// What becomes of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is sent, with these changes.
    Send(Changes),
    /// It is not sent.
    Drop,
    /// It is kept under this ticket, before the steps are done.
    Wait(Ticket),
}

impl Default for Fate {
    fn default() -> Self {
        Self::Send(Changes::default())
    }
}

/// Something to send before an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// An event that the server did not send, under this number if the stream has numbers.
    Insert(Inserted, Option<u64>),
    /// An event that has waited, with these changes.
    Release(Ticket, Changes),
    /// An event that has waited is not sent.
    Discard(Ticket),
}

/// What a delta like the one before belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub(crate) item: usize,
    pub(crate) spot: Option<Spot>,
}

/// The object in an event that a change is made to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The event itself.
    Event,
    /// Its `part`.
    Part,
    /// Its `item`.
    Item,
}

/// A new value of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A string.
    Text(String),
    /// JSON text of any kind.
    Json(Vec<u8>),
}

/// A member to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// In which object.
    pub target: Target,
    /// Under which key.
    pub key: &'static str,
    /// To what.
    pub value: Value,
}

/// What of an event is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The type to send it under, where that is another.
    pub event_type: Option<&'static str>,
    /// The members to set.
    pub members: Vec<Change>,
    /// The terminal output, item by item, where the event is a terminal one.
    pub output: Option<Vec<Listed>>,
}

impl Changes {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.event_type.is_none() && self.members.is_empty() && self.output.is_none()
    }

    pub(crate) fn set(&mut self, target: Target, key: &'static str, value: Value) {
        self.members.push(Change { target, key, value });
    }

    pub(crate) fn set_number(&mut self, key: &'static str, value: u64) {
        self.set(Target::Event, key, Value::Number(value));
    }

    pub(crate) fn correct(&mut self, target: Target, corrections: Vec<(Field, String)>) {
        for (field, value) in corrections {
            self.set(target, field.key(), Value::Text(value));
        }
    }
}

/// An entry of the terminal output that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// The entry at this position of the server's output, its identity corrected.
    Rebuilt {
        /// The position.
        position: usize,
        /// The fields to set.
        corrections: Vec<(Field, String)>,
    },
    /// The item as it was streamed.
    Streamed {
        /// Its `output_index`.
        index: usize,
        /// Its JSON text.
        json: Vec<u8>,
    },
}

impl Scoped<'_> {
    /// The text without its quotes, if it is a string.
    pub(crate) fn raw_text(&self) -> Option<&[u8]> {
        self.text?.strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// What the event is about; `None` where it is not about an item.
    pub(crate) fn scope(&self) -> Option<Scope<'_>> {
        match classify(self.event_type, self.part_type) {
            EventKind::Scoped(scope) => Some(scope),
            _ => None,
        }
    }
}
