//! What can be wrong with a stream, and how it is said to people.

use serde::Serialize;

use crate::check::text::{short, shorter};

/// A rule that a stream can break: of the contract, or of the checker alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Rule {
    /// The first announcement wins.
    C1,
    /// Indices, and the life of an item.
    C2,
    /// Sequence numbers.
    C3,
    /// The terminal output is what was streamed.
    C4,
    /// Nothing is lost.
    C5,
    /// Payload is sacred.
    C6,
    /// One response.
    C7,
    /// Distinct ids.
    C11,
    /// Usable when announced.
    C12,
    /// One end, after everything else. A rewriter makes none up.
    #[serde(rename = "end")]
    End,
    /// Events that can be read. A rewriter cannot know what was meant.
    #[serde(rename = "frame")]
    Frame,
}

impl Rule {
    /// Every rule, in the order in which they are reported.
    pub const ALL: [Self; 11] = [
        Self::C1,
        Self::C2,
        Self::C3,
        Self::C4,
        Self::C5,
        Self::C6,
        Self::C7,
        Self::C11,
        Self::C12,
        Self::End,
        Self::Frame,
    ];

    /// What the rule asks for, in a few words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::C1 => "an item keeps the identity it was announced under",
            Self::C2 => "items are counted from 0, announced once and closed once",
            Self::C3 => "sequence numbers grow",
            Self::C4 => "the final response lists what was streamed, in that order",
            Self::C5 => "every item is in the stream and in the final response",
            Self::C6 => "an item says at its end what it said in the stream",
            Self::C7 => "the stream is of one response",
            Self::C11 => "every item has an id of its own",
            Self::C12 => {
                "a call has its name and call_id when it is announced, and a part is opened first"
            }
            Self::End => "the response ends once, after everything else",
            Self::Frame => "every event can be read",
        }
    }
}

/// One way to break a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A mention carries another id, `call_id`, name or label than the announcement.
    Identity,
    /// Another `output_index` than the item's place, or none.
    Index,
    /// An event or close of an item that was never announced.
    Unannounced,
    /// An announcement that repeats one.
    AnnouncedAgain,
    /// A close that repeats one.
    ClosedAgain,
    /// An announcement or close that carries no item.
    NoItem,
    /// An event of an item that is closed.
    AfterClose,
    /// An item that is still open at the end.
    NeverClosed,
    /// Another `content_index` or `summary_index` than the part's place, or none.
    Part,
    /// A `sequence_number` that does not grow.
    Number,
    /// An item at another position of the terminal output than its `output_index`.
    Position,
    /// An item that the terminal output has as one of another type.
    Type,
    /// An entry of the terminal output that is none of the streamed items and says nothing new.
    Unstreamed,
    /// An entry of the terminal output that is no item.
    NotAnItem,
    /// An item that only the terminal output has.
    OnlyAtEnd,
    /// An item that the terminal output lacks.
    Missing,
    /// An item that says something else in the terminal output.
    Payload,
    /// An item that is closed with another text than it streamed.
    ClosedOtherwise,
    /// A call that is announced without its `call_id` or its name.
    Unusable,
    /// An event of a part that was never opened.
    PartUnopened,
    /// Another `response.id`.
    ResponseId,
    /// A second beginning before the end.
    BeginsAgain,
    /// An item without an id, or a call without a `call_id`.
    Unnamed,
    /// An id or `call_id` that another item has.
    Taken,
    /// The server stopped without a terminal event.
    NoEnd,
    /// A second terminal event.
    EndsTwice,
    /// An event of an item after the terminal event.
    AfterEnd,
    /// Data that is no JSON object.
    NotJson,
    /// An event without a type.
    NoType,
    /// A terminal event without a response.
    NoResponse,
}

impl Fault {
    /// The rule it breaks.
    #[must_use]
    pub const fn rule(self) -> Rule {
        match self {
            Self::Identity => Rule::C1,
            Self::Index
            | Self::Unannounced
            | Self::AnnouncedAgain
            | Self::ClosedAgain
            | Self::NoItem
            | Self::AfterClose
            | Self::NeverClosed
            | Self::Part => Rule::C2,
            Self::Number => Rule::C3,
            Self::Position | Self::Type | Self::Unstreamed | Self::NotAnItem => Rule::C4,
            Self::OnlyAtEnd | Self::Missing => Rule::C5,
            Self::Payload | Self::ClosedOtherwise => Rule::C6,
            Self::Unusable | Self::PartUnopened => Rule::C12,
            Self::ResponseId | Self::BeginsAgain => Rule::C7,
            Self::Unnamed | Self::Taken => Rule::C11,
            Self::NoEnd | Self::EndsTwice | Self::AfterEnd => Rule::End,
            Self::NotJson | Self::NoType | Self::NoResponse => Rule::Frame,
        }
    }

    /// Whether the rewriter mends it, as a rule.
    #[must_use]
    pub const fn is_mended(self) -> bool {
        !matches!(
            self,
            Self::ResponseId
                | Self::ClosedOtherwise
                | Self::NoEnd
                | Self::EndsTwice
                | Self::AfterEnd
                | Self::NotJson
                | Self::NoType
                | Self::NoResponse
        )
    }
}

/// Where a stream tells of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    Added,
    Event,
    Done,
    Terminal,
}

impl Telling {
    const fn words(self) -> &'static str {
        match self {
            Self::Added => "its announcement",
            Self::Event => "this event",
            Self::Done => "its closing event",
            Self::Terminal => "the final response",
        }
    }
}

/// What is wrong, before it is known where it was seen.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) fault: Fault,
    pub(crate) telling: Telling,
    pub(crate) slot: Option<usize>,
    pub(crate) kind: Option<String>,
    pub(crate) field: Option<&'static str>,
    pub(crate) announced: Option<String>,
    pub(crate) said: Option<String>,
    pub(crate) is_mended: bool,
}

impl Found {
    pub(crate) fn new(fault: Fault, telling: Telling) -> Self {
        Self {
            fault,
            telling,
            slot: None,
            kind: None,
            field: None,
            announced: None,
            said: None,
            is_mended: fault.is_mended(),
        }
    }

    /// The same of the `field`, which should be `announced` and is `said`.
    pub(crate) fn field(
        self,
        field: &'static str,
        announced: Option<impl ToString>,
        said: Option<impl ToString>,
    ) -> Self {
        let text = |value: String| short(&value).into_owned();
        Self {
            field: Some(field),
            announced: announced.map(|value| text(value.to_string())),
            said: said.map(|value| text(value.to_string())),
            ..self
        }
    }

    /// The item, as a sentence begins.
    fn subject(&self) -> String {
        match (self.slot, self.kind.as_deref()) {
            (Some(slot), Some(kind)) => format!("Item {slot} ({})", shorter(kind)),
            (Some(slot), None) => format!("Item {slot}"),
            (None, _) => "An item".to_owned(),
        }
    }

    /// What is wrong, for people who never read the specification.
    pub(crate) fn sentence(&self) -> String {
        let subject = self.subject();
        let field = self.field.unwrap_or("value");
        let telling = self.telling.words();
        let announced = quoted(self.announced.as_deref());
        let said = quoted(self.said.as_deref());
        match self.fault {
            Fault::Identity if self.announced.is_none() => format!(
                "{subject} came first without {field}; {telling} has {said}, too late for a client that remembers how it came."
            ),
            Fault::Identity => {
                format!("{subject} was announced with {field} {announced}, but {telling} has {said}.")
            }
            Fault::Index => format!(
                "{subject} should have {field} {announced}, but {telling} has {said}."
            ),
            Fault::Unannounced => {
                format!("{subject} has an event without having been announced by response.output_item.added.")
            }
            Fault::AnnouncedAgain => "An item is announced that was announced before.".to_owned(),
            Fault::ClosedAgain => "An item is closed that was closed before.".to_owned(),
            Fault::NoItem => "This event should carry an item, and carries none.".to_owned(),
            Fault::AfterClose => "This event is about an item that was closed before.".to_owned(),
            Fault::NeverClosed => format!(
                "{subject} was never closed by response.output_item.done, so who waits for that never acts on it."
            ),
            Fault::Part => format!(
                "This event is about part {announced} of item {}, but has {said} as {field}.",
                self.slot.unwrap_or_default()
            ),
            Fault::Number => {
                format!("The event has {field} {said}, which is not greater than {announced} before it.")
            }
            Fault::Position => format!(
                "{subject} belongs at position {announced} of the final response, counted from 0, but stands at {said}."
            ),
            Fault::Type => {
                format!("{subject} was streamed as {announced}, but the final response lists it as {said}.")
            }
            Fault::Unstreamed => format!(
                "The final response lists an item of type {said} that was never streamed, and is empty or repeats another."
            ),
            Fault::NotAnItem => "The final response lists something that is no item.".to_owned(),
            Fault::OnlyAtEnd => format!(
                "{subject} is only in the final response, so who acts on the stream never sees it."
            ),
            Fault::Missing => format!("{subject} was streamed, but the final response lacks it."),
            Fault::Payload => {
                format!("{subject} says something else in the final response than it did in the stream.")
            }
            Fault::ClosedOtherwise => {
                format!("{subject} is closed with another text than it streamed.")
            }
            Fault::Unusable => format!(
                "{subject} is announced without {field}, and strict clients take none in later."
            ),
            Fault::PartUnopened => format!(
                "{subject} has an event of a part that was never opened, at which strict clients stop."
            ),
            Fault::ResponseId => {
                format!("The response began as {announced}, but this event calls it {said}.")
            }
            Fault::BeginsAgain => "The response begins again before it has ended.".to_owned(),
            Fault::Unnamed => {
                format!("{subject} has no {field} in {telling}, so what comes later cannot be matched to it.")
            }
            Fault::Taken => format!("{subject} has {field} {said}, which another item has already."),
            Fault::NoEnd => "The server stopped without response.completed, .incomplete or .failed, so a client does not learn that the response is over.".to_owned(),
            Fault::EndsTwice => "The response ends a second time.".to_owned(),
            Fault::AfterEnd => "An event of an item comes after the response has ended.".to_owned(),
            Fault::NotJson => "The data of this event is no JSON object.".to_owned(),
            Fault::NoType => {
                "This event says of itself neither by `type` nor by an `event:` line what it is.".to_owned()
            }
            Fault::NoResponse => "This event ends the response, but does not carry it.".to_owned(),
        }
    }

    /// Whether `breach` is the same, seen again.
    pub(crate) fn repeats(&self, breach: &Breach) -> bool {
        // Where an index is wrong, so are those of all that follows.
        let anywhere = self.fault != Fault::Identity;
        breach.fault == self.fault
            && (anywhere || breach.telling == self.telling)
            && breach.mended == self.is_mended
            && breach.output_index == self.slot
            && breach.field == self.field
            && breach.announced == self.announced
            && breach.said == self.said
    }
}

fn quoted(value: Option<&str>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| shorter(value).into_owned())
}

/// A breach, with where it was seen first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Breach {
    /// The rule that is broken.
    pub rule: Rule,
    /// How it is broken.
    #[serde(rename = "breach")]
    pub fault: Fault,
    /// The number of the event, counted from 1.
    pub event: u64,
    /// The event's type; empty where it has none.
    pub event_type: String,
    /// The event's `sequence_number`, if it has one.
    pub sequence_number: Option<u64>,
    /// How many times the same was seen.
    pub times: u64,
    /// Which response of the stream, counted from 1.
    pub response: u64,
    /// The item's place, if it is about one.
    pub output_index: Option<usize>,
    /// The item's type, if it is about one.
    pub item_type: Option<String>,
    /// The field that is wrong, if it is one.
    pub field: Option<&'static str>,
    /// What was said first, or is right.
    pub announced: Option<String>,
    /// What is said instead.
    pub said: Option<String>,
    /// Whether the rewriter mends it.
    pub mended: bool,
    /// All that in a sentence.
    pub sentence: String,
    #[serde(skip)]
    pub(crate) telling: Telling,
}
