//! What each event type of the Responses API is about.

/// The prefix of every event type of the Responses API.
const PREFIX: &str = "response.";

/// What an event does, judged by its type alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind<'a> {
    /// `response.created`: a response begins, or goes on in a further round.
    Created,
    /// `response.output_item.added`: announces an item.
    Added,
    /// `response.output_item.done`: closes an item.
    Done,
    /// `response.completed`, `.incomplete` or `.failed`: carries the whole output.
    Terminal,
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
    /// Whether such an event has an `item_id`; the API names some by `output_index` alone.
    pub has_item_id: bool,
    /// Whether losing it would lose payload; a mere change of status carries none.
    pub carries_payload: bool,
}

/// What an item-scoped event does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Opens a content part.
    OpensPart,
    /// Adds to what is said, or changes a status.
    Says,
    /// Sums up what others have said.
    SumsUp,
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

    /// The kind of the part that an event on `subject` is about.
    fn of_subject(subject: &str, part_type: Option<&str>) -> Option<Self> {
        match subject {
            "output_text" => Some(Self::Text),
            "refusal" => Some(Self::Refusal),
            "content_part" => part_type.and_then(Self::of),
            "reasoning_text" | "reasoning_part" => Some(Self::Reasoning),
            "reasoning_summary_text" | "reasoning_summary_part" => Some(Self::Summary),
            _ => None,
        }
    }
}

impl Scope<'_> {
    /// Whether an event that names `item_id` or nothing must name the item in its place.
    ///
    /// An event that does not even say where it belongs must, whatever the API has.
    #[must_use]
    pub fn names_item(&self, index: Option<u64>, item_id: Option<&str>) -> bool {
        item_id.is_some() || self.has_item_id || index.is_none()
    }

    /// Whether it sums up what others have said.
    #[must_use]
    pub fn sums_up(&self) -> bool {
        self.effect == Effect::SumsUp
    }

    /// Whether it sums up nothing, and that for an item of another type than `kind`.
    pub(crate) fn denies(&self, kind: &str) -> bool {
        let other = self.part.is_some_and(|part| part.item_kind() != kind);
        self.sums_up() && !self.carries_payload && (other || !self.family.fits(kind))
    }

    /// The scope of an event whose text, or that of whose part, is `text`.
    #[must_use]
    pub fn with_text(mut self, text: Option<&str>) -> Self {
        self.carries_payload &= !(self.sums_up() && text == Some(""));
        self
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

/// Classifies an event by its type and, for a content part, by the part's type.
#[must_use]
pub fn classify<'a>(event_type: &'a str, part_type: Option<&str>) -> EventKind<'a> {
    let Some(rest) = event_type.strip_prefix(PREFIX) else {
        return EventKind::Other;
    };
    match rest {
        "created" => return EventKind::Created,
        "output_item.added" => return EventKind::Added,
        "output_item.done" => return EventKind::Done,
        "completed" | "incomplete" | "failed" => return EventKind::Terminal,
        _ => {}
    }
    let Some((subject, verb)) = rest.split_once('.') else {
        return EventKind::Other;
    };
    let family = match subject {
        "output_text" | "refusal" => Family::Message,
        "content_part" if part_type == Some("reasoning_text") => Family::Reasoning,
        "content_part" => Family::Part,
        _ if subject == "reasoning" || subject.starts_with("reasoning_") => Family::Reasoning,
        "mcp_list_tools" | "compaction" => Family::Own(subject),
        "shell_call_output_content" => Family::Own("shell_call_output"),
        _ => match own_kind(subject) {
            Some(kind) => Family::Own(kind),
            None => return EventKind::Other,
        },
    };
    EventKind::Scoped(Scope {
        family,
        has_item_id: subject != "shell_call_command",
        effect: match verb {
            "added" if subject.ends_with("_part") => Effect::OpensPart,
            "done" => Effect::SumsUp,
            _ => Effect::Says,
        },
        part: PartKind::of_subject(subject, part_type),
        carries_payload: !is_status(verb),
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

/// What the `OpenAI` API calls an event that vLLM before 0.32 has a name of its own for.
pub(crate) fn openai_name(event_type: &str) -> Option<&'static str> {
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
        assert!(part.effect == Effect::OpensPart && part.carries_payload);
        assert!(scope("response.content_part.done").family.fits("reasoning"));
    }

    #[test]
    fn shell_commands_are_not_named_by_item_id() {
        assert!(!scope("response.shell_call_command.delta").has_item_id);
        assert!(scope("response.shell_call_output_content.delta").has_item_id);
    }

    #[test]
    fn status_events_carry_no_payload() {
        assert!(!scope("response.web_search_call.searching").carries_payload);
        assert!(scope("response.mcp_call_arguments.delta").carries_payload);
    }

    #[test]
    fn what_concerns_no_item_passes() {
        for event_type in [
            "error",
            "keepalive",
            "response.in_progress",
            "response.audio.delta",
            "",
            "response.",
        ] {
            assert_eq!(classify(event_type, None), EventKind::Other, "{event_type}");
        }
    }
}
