//! The event types of the API: what each is about.

/// The prefix of every event type of the Responses API.
const PREFIX: &str = "response.";

/// What an event does, judged by its type alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind<'a> {
    /// `response.created`: a response begins, or goes on in a further round.
    Created,
    /// `response.queued` or `response.in_progress`.
    Progress,
    /// `response.output_item.added`: announces an item.
    Added,
    /// `response.output_item.done`: closes an item.
    Done,
    /// `response.completed`, `.incomplete` or `.failed`: carries the whole output.
    Terminal {
        /// Whether the response failed: it may leave items open then.
        failed: bool,
    },
    /// `error`: the server failed.
    Error,
    /// Belongs to one item, which it names by `output_index` and `item_id`.
    Scoped(Scope<'a>),
    /// Concerns no item; an unknown event is one of these, and passes through (C9).
    Other,
}

/// What an item-scoped event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope<'a> {
    /// The items it can belong to.
    pub family: Family<'a>,
    /// What it does to what it is about.
    pub effect: Effect,
    /// The part that its text or its close belongs to, where it is about one.
    pub part: Option<PartKind>,
    /// The member that has the whole text, in an event that sums up.
    pub text: Option<&'static str>,
    /// Whether such an event has an `item_id`; the API names some by `output_index` alone.
    pub has_item_id: bool,
}

/// What an item-scoped event does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Opens a content part.
    OpensPart,
    /// Adds to a text.
    Delta,
    /// Adds something else, such as an annotation.
    Adds,
    /// Has the whole of a text.
    Whole,
    /// Closes a content part.
    ClosesPart,
    /// Changes a status, and says nothing.
    Status,
}

/// The items an event can belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family<'a> {
    /// Text and refusals of a message.
    Message,
    /// Text and summaries of a reasoning item.
    Reasoning,
    /// A content part: of a message, or of reasoning where the part says so.
    Part,
    /// An item type that has events of its own, such as `mcp_call`.
    Own(&'a str),
}

/// The parts of an item that have events of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// `output_text`, of a message.
    Text,
    /// `refusal`, of a message.
    Refusal,
    /// `reasoning_text`, of reasoning's content.
    Reasoning,
    /// `summary_text`, of reasoning's summary.
    Summary,
}

impl PartKind {
    /// The kind of a part that says it has type `name`.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "output_text" => Some(Self::Text),
            "refusal" => Some(Self::Refusal),
            "reasoning_text" => Some(Self::Reasoning),
            "summary_text" => Some(Self::Summary),
            _ => None,
        }
    }

    /// The type of the items that have such parts.
    #[must_use]
    pub fn item_kind(self) -> &'static str {
        match self {
            Self::Text | Self::Refusal => "message",
            Self::Reasoning | Self::Summary => "reasoning",
        }
    }

    /// The member that holds the text of such a part.
    #[must_use]
    pub fn text_key(self) -> &'static str {
        match self {
            Self::Refusal => "refusal",
            Self::Text | Self::Reasoning | Self::Summary => "text",
        }
    }

    /// Such a part before its text, as JSON.
    #[must_use]
    pub fn blank(self) -> &'static str {
        match self {
            Self::Text => r#"{"type":"output_text","text":"","annotations":[],"logprobs":[]}"#,
            Self::Refusal => r#"{"type":"refusal","refusal":""}"#,
            Self::Reasoning => r#"{"type":"reasoning_text","text":""}"#,
            Self::Summary => r#"{"type":"summary_text","text":""}"#,
        }
    }
}

impl Scope<'_> {
    /// Whether an event that names `item_id` or nothing must name the item at its index.
    ///
    /// An event that does not even say where it belongs must, whatever the API has.
    #[must_use]
    pub fn names_item(&self, index: Option<u64>, item_id: Option<&str>) -> bool {
        item_id.is_some() || self.has_item_id || index.is_none()
    }

    /// Whether it can only be about an item of another type than `kind`.
    #[must_use]
    pub fn denies(&self, kind: &str) -> bool {
        self.part.is_some_and(|part| part.item_kind() != kind) || !self.family.fits(kind)
    }
}

impl Family<'_> {
    /// Whether such an event can belong to an item of type `kind`.
    #[must_use]
    pub fn fits(&self, kind: &str) -> bool {
        match self {
            Self::Message => kind == "message",
            Self::Reasoning => kind == "reasoning",
            Self::Part => kind == "message" || kind == "reasoning",
            Self::Own(own) => kind == *own,
        }
    }

    /// The type of an item that was never announced and has such an event.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Message | Self::Part => "message",
            Self::Reasoning => "reasoning",
            Self::Own(own) => own,
        }
    }
}

/// What an event is about, by the first part of its name after `response.`.
struct Subject {
    name: &'static str,
    family: Family<'static>,
    part: Option<PartKind>,
    /// The member that has the whole text when it is done.
    text: Option<&'static str>,
    has_item_id: bool,
}

const fn subject(
    name: &'static str,
    family: Family<'static>,
    part: Option<PartKind>,
    text: Option<&'static str>,
) -> Subject {
    Subject {
        name,
        family,
        part,
        text,
        has_item_id: true,
    }
}

/// The events of the API that are about an item. Events of a call that are named after it, such
/// as `response.mcp_call.completed`, need no row.
const SUBJECTS: [Subject; 15] = {
    use Family::{Message, Own, Part, Reasoning};
    use PartKind::{Reasoning as ReasoningText, Refusal, Summary, Text};
    [
        subject("output_text", Message, Some(Text), Some("text")),
        subject("refusal", Message, Some(Refusal), Some("refusal")),
        subject("content_part", Part, None, None),
        subject(
            "reasoning_text",
            Reasoning,
            Some(ReasoningText),
            Some("text"),
        ),
        subject("reasoning_part", Reasoning, Some(ReasoningText), None),
        subject(
            "reasoning_summary_text",
            Reasoning,
            Some(Summary),
            Some("text"),
        ),
        subject("reasoning_summary_part", Reasoning, Some(Summary), None),
        subject(
            "function_call_arguments",
            Own("function_call"),
            None,
            Some("arguments"),
        ),
        subject(
            "custom_tool_call_input",
            Own("custom_tool_call"),
            None,
            Some("input"),
        ),
        subject(
            "mcp_call_arguments",
            Own("mcp_call"),
            None,
            Some("arguments"),
        ),
        subject(
            "code_interpreter_call_code",
            Own("code_interpreter_call"),
            None,
            Some("code"),
        ),
        subject("mcp_list_tools", Own("mcp_list_tools"), None, None),
        subject("compaction", Own("compaction"), None, None),
        subject(
            "shell_call_output_content",
            Own("shell_call_output"),
            None,
            None,
        ),
        Subject {
            has_item_id: false,
            ..subject("shell_call_command", Own("shell_call"), None, None)
        },
    ]
};

/// Classifies an event by its type and, for a content part, by the part's type.
#[must_use]
pub fn classify<'a>(event_type: &'a str, part_type: Option<&str>) -> EventKind<'a> {
    let Some(rest) = event_type.strip_prefix(PREFIX) else {
        return if event_type == "error" {
            EventKind::Error
        } else {
            EventKind::Other
        };
    };
    match rest {
        "created" => return EventKind::Created,
        "queued" | "in_progress" => return EventKind::Progress,
        "output_item.added" => return EventKind::Added,
        "output_item.done" => return EventKind::Done,
        "completed" | "incomplete" => return EventKind::Terminal { failed: false },
        "failed" => return EventKind::Terminal { failed: true },
        _ => {}
    }
    let Some((name, verb)) = rest.split_once('.') else {
        return EventKind::Other;
    };
    let row = SUBJECTS.iter().find(|row| row.name == name);
    let (mut family, mut part) = match row {
        Some(row) => (row.family, row.part),
        None if name == "reasoning" || name.starts_with("reasoning_") => (Family::Reasoning, None),
        None => match own_kind(name) {
            Some(kind) => (Family::Own(kind), None),
            None => return EventKind::Other,
        },
    };
    if family == Family::Part {
        part = part_type.and_then(PartKind::of);
        if part == Some(PartKind::Reasoning) {
            family = Family::Reasoning;
        }
    }
    let is_part = name.ends_with("_part");
    EventKind::Scoped(Scope {
        family,
        has_item_id: row.is_none_or(|row| row.has_item_id),
        effect: match verb {
            "added" if is_part => Effect::OpensPart,
            "done" if is_part => Effect::ClosesPart,
            "delta" => Effect::Delta,
            "done" => Effect::Whole,
            _ if is_status(verb) => Effect::Status,
            _ => Effect::Adds,
        },
        part,
        text: row.and_then(|row| row.text),
    })
}

/// `mcp_call` for `mcp_call` and `mcp_call_arguments`: the item type an event type starts with.
fn own_kind(subject: &str) -> Option<&str> {
    if subject.ends_with("_call") {
        return Some(subject);
    }
    let start = subject.find("_call_")?;
    subject.get(..start + "_call".len())
}

fn is_status(verb: &str) -> bool {
    matches!(
        verb,
        "in_progress"
            | "searching"
            | "interpreting"
            | "generating"
            | "compacting"
            | "completed"
            | "failed"
            | "incomplete"
    )
}

/// The `status` of an item after an event that tells its last one.
#[must_use]
pub fn final_status(event_type: &str) -> Option<&'static str> {
    let verb = event_type.rsplit('.').next();
    let statuses = ["completed", "failed", "incomplete"];
    statuses.into_iter().find(|status| verb == Some(status))
}

/// What the `OpenAI` API calls an event that vLLM before 0.32 has a name of its own for.
#[must_use]
pub fn openai_name(event_type: &str) -> Option<&'static str> {
    match event_type {
        "response.reasoning_part.added" => Some("response.content_part.added"),
        "response.reasoning_part.done" => Some("response.content_part.done"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(event_type: &str) -> Scope<'_> {
        match classify(event_type, None) {
            EventKind::Scoped(scope) => scope,
            other => panic!("{event_type}: {other:?}"),
        }
    }

    #[test]
    fn item_scoped_events_name_the_items_they_fit() {
        for (event_type, kind) in [
            ("response.output_text.delta", "message"),
            ("response.output_text.annotation.added", "message"),
            ("response.refusal.done", "message"),
            ("response.content_part.added", "message"),
            ("response.reasoning_part.added", "reasoning"),
            ("response.reasoning_summary_text.delta", "reasoning"),
            ("response.function_call_arguments.delta", "function_call"),
            ("response.custom_tool_call_input.done", "custom_tool_call"),
            ("response.mcp_call_arguments.done", "mcp_call"),
            ("response.mcp_call.completed", "mcp_call"),
            ("response.mcp_list_tools.in_progress", "mcp_list_tools"),
            ("response.compaction.compacting", "compaction"),
            ("response.shell_call_command.delta", "shell_call"),
            (
                "response.shell_call_output_content.delta",
                "shell_call_output",
            ),
            (
                "response.code_interpreter_call_code.delta",
                "code_interpreter_call",
            ),
            (
                "response.image_generation_call.partial_image",
                "image_generation_call",
            ),
        ] {
            assert_eq!(scope(event_type).family.kind(), kind, "{event_type}");
        }
    }

    #[test]
    fn a_content_part_fits_what_its_type_says() {
        let EventKind::Scoped(part) =
            classify("response.content_part.added", Some("reasoning_text"))
        else {
            panic!("a part event is item-scoped");
        };
        assert!(part.family.fits("reasoning") && !part.family.fits("message"));
        assert!(part.effect == Effect::OpensPart);
        assert!(scope("response.content_part.done").family.fits("reasoning"));
    }

    #[test]
    fn shell_commands_are_not_named_by_item_id() {
        assert!(!scope("response.shell_call_command.delta").has_item_id);
        assert!(scope("response.shell_call_output_content.delta").has_item_id);
    }

    #[test]
    fn status_events_carry_no_payload() {
        let effect = |event_type| scope(event_type).effect;
        assert_eq!(effect("response.web_search_call.searching"), Effect::Status);
        assert_eq!(effect("response.mcp_call_arguments.delta"), Effect::Delta);
        assert_eq!(effect("response.mcp_call_arguments.done"), Effect::Whole);
        assert_eq!(
            effect("response.output_text.annotation.added"),
            Effect::Adds
        );
    }

    #[test]
    fn what_concerns_no_item_passes() {
        for event_type in ["keepalive", "response.audio.delta", "", "response."] {
            assert_eq!(classify(event_type, None), EventKind::Other, "{event_type}");
        }
    }
}
