//! The events that a server did not send: announcement, content and close of an item.
//!
//! Events are made as JSON text around raw pieces of the item, so that its payload is copied
//! and never encoded anew (C6).

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::contract::catalogue::{PartKind, Role, item_type};
use crate::contract::identity::{Field, Identity};
use crate::contract::said::{List, Said, Text};
use crate::json::edit::{quoted, with_members};
use crate::json::scan;

/// The names of the events that open and close a part of reasoning text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningParts {
    /// `response.content_part.*`, as the `OpenAI` API has it.
    #[default]
    ContentPart,
    /// `response.reasoning_part.*`, as vLLM before 0.32 has it.
    ReasoningPart,
}

/// One event to insert: its type, and its JSON without a sequence number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inserted {
    /// The event's type.
    pub event_type: &'static str,
    /// The event's members after `type`, as JSON text starting with a comma.
    members: String,
}

impl Inserted {
    /// The event as a JSON object; `sequence_number` only where the stream has them (C3).
    #[must_use]
    pub fn to_json(&self, sequence_number: Option<u64>) -> String {
        let number =
            sequence_number.map_or(String::new(), |n| format!(r#","sequence_number":{n}"#));
        format!(
            r#"{{"type":"{}"{number}{}}}"#,
            self.event_type, self.members
        )
    }
}

/// Makes the events of one item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemEvents<'a> {
    /// The item's `output_index`.
    pub(crate) index: usize,
    /// The identity that the item is announced under.
    pub(crate) identity: &'a Identity,
    /// How parts of reasoning text are opened and closed.
    pub(crate) reasoning_parts: ReasoningParts,
}

impl ItemEvents<'_> {
    /// The announcement of an item about which nothing is known yet but its identity.
    pub(crate) fn announce(&self) -> Inserted {
        self.item("response.output_item.added", &self.blank())
    }

    /// The event that opens part `place` of the item.
    pub(crate) fn open_part(&self, kind: PartKind, place: u64) -> Inserted {
        let names = PartNames::of(kind, self.reasoning_parts);
        let place = format!(r#","{}":{place}"#, names.index);
        self.part(names.added, &place, kind.blank())
    }

    /// The delta that brings `text`, a JSON string, before the event `done` sums it up.
    pub(crate) fn delta(
        &self,
        done: &str,
        part: Option<PartKind>,
        place: Option<u64>,
        text: &str,
    ) -> Option<Inserted> {
        if let (Some(kind), Some(place)) = (part, place) {
            let names = PartNames::of(kind, self.reasoning_parts);
            let logprobs = kind.logprobs();
            let place = format!(r#","{}":{place}"#, names.index);
            let members = format!(r#"{place},"delta":{text}{logprobs}"#);
            return Some(self.scoped(names.delta, &members));
        }
        let names = [FUNCTION_CALL, CUSTOM_TOOL_CALL, MCP_CALL, CODE_INTERPRETER];
        let names = names.iter().find(|names| names.done == done)?;
        Some(self.scoped(names.delta, &format!(r#","delta":{text}"#)))
    }

    /// The close of the item, given as its complete JSON text.
    pub(crate) fn close(&self, item: &[u8]) -> Inserted {
        self.item("response.output_item.done", &scan::decoded(item))
    }

    /// Announcement and content of the item, given as its complete JSON text.
    ///
    /// An item type without content events is announced in full.
    pub(crate) fn announce_with_content(&self, item: &[u8]) -> Vec<Inserted> {
        let text = &*scan::decoded(item);
        let Some(content) = self.content(text, &Said::default(), false) else {
            return vec![self.item("response.output_item.added", text)];
        };
        let mut events = vec![self.item("response.output_item.added", &self.blank_of(text))];
        events.extend(content);
        events
    }

    /// The events of its content that the open item still owes, when it has `said` so much. A text
    /// that is empty and was not begun is not owed.
    pub(crate) fn owed(&self, item: &[u8], said: &Said) -> Vec<Inserted> {
        let content = self.content(&scan::decoded(item), said, true);
        content.unwrap_or_default()
    }

    /// The events of its content that have not come; `None` for a type that has none.
    fn content(&self, item: &str, said: &Said, is_late: bool) -> Option<Vec<Inserted>> {
        let fields: HashMap<String, &RawValue> = serde_json::from_str(item).unwrap_or_default();
        let raw = |key: &str| fields.get(key).map_or("null", |value| value.get());
        let text = |names, more: &str| {
            let key = item_type(&self.identity.kind).text?;
            Some(self.text(names, key, raw(key), more, said, is_late))
        };
        match self.identity.kind.as_str() {
            "message" => Some(self.parts(List::Content, raw("content"), said, is_late)),
            "reasoning" => {
                let mut events = self.parts(List::Summary, raw("summary"), said, is_late);
                events.extend(self.parts(List::Content, raw("content"), said, is_late));
                Some(events)
            }
            "function_call" => text(FUNCTION_CALL, &format!(r#","name":{}"#, raw("name"))),
            "custom_tool_call" => text(CUSTOM_TOOL_CALL, ""),
            "mcp_call" => text(MCP_CALL, ""),
            "code_interpreter_call" => text(CODE_INTERPRETER, ""),
            _ => None,
        }
    }

    /// The item before its content: what a client is shown at the announcement.
    pub(crate) fn blank(&self) -> String {
        let mut text = format!(r#"{{"type":{}"#, quoted(&self.identity.kind));
        let is_named = |field| matches!(field, Field::CallId | Field::Name);
        let role = item_type(&self.identity.kind).role;
        for field in Field::ALL {
            // What is empty names nothing, but clients ask for the field.
            let wanted = (role == Role::ClientCall && is_named(field)).then_some("");
            if let Some(value) = self.identity.get(field).or(wanted) {
                text.extend([r#",""#, field.key(), r#"":"#, &quoted(value)]);
            }
        }
        text += match self.identity.kind.as_str() {
            "message" => r#","role":"assistant","content":[]"#,
            "reasoning" => r#","summary":[]"#,
            "function_call" | "mcp_call" => r#","arguments":"""#,
            "custom_tool_call" => r#","input":"""#,
            "code_interpreter_call" => r#","code":null,"container_id":"auto","outputs":null"#,
            _ => "",
        };
        if self.identity.kind != "custom_tool_call" {
            text += r#","status":"in_progress""#;
        }
        text + "}"
    }

    /// The item before its content, with the names that the whole item has as empty, and with the
    /// container that it has.
    ///
    /// What is empty names nothing, but clients ask for it: vLLM calls a tool without a name where
    /// the model wrote none.
    fn blank_of(&self, item: &str) -> String {
        let mut blank = self.blank();
        for field in Field::ALL {
            let text = scan::member_text(item.as_bytes(), field.key());
            let is_there = scan::member(blank.as_bytes(), field.key()).is_some();
            if text.is_some_and(|text| text.is_empty()) && !is_there {
                blank.insert_str(1, &format!(r#""{}":"","#, field.key()));
            }
        }
        let container = "container_id";
        let own = scan::member(item.as_bytes(), container).and_then(|span| item.get(span));
        if let Some(own) = own.filter(|_| self.identity.kind == "code_interpreter_call") {
            let members = [(container, own)];
            let blank = with_members(blank.as_bytes(), &members);
            return scan::decoded(&blank).into_owned();
        }
        blank
    }

    /// What is owed of each part: that it is opened, its text, that it is closed.
    fn parts(&self, list: List, parts: &str, said: &Said, is_late: bool) -> Vec<Inserted> {
        let parts: Vec<&RawValue> = serde_json::from_str(parts).unwrap_or_default();
        if parts.len() > MAX_PARTS {
            return Vec::new();
        }
        let mut events = Vec::new();
        // Parts that have no events are not counted: what has events is numbered from 0, unless
        // each of them was streamed under a number already.
        let known = said.part_indices(list);
        let mut places = if known.len() == parts.len() {
            known
        } else {
            (0..).take(parts.len()).collect()
        }
        .into_iter();
        for part in parts {
            let fields: HashMap<String, &RawValue> =
                serde_json::from_str(part.get()).unwrap_or_default();
            let kind: String = fields
                .get("type")
                .and_then(|kind| serde_json::from_str(kind.get()).ok())
                .unwrap_or_default();
            let Some(kind) = PartKind::of(&kind) else {
                continue;
            };
            // A part of another item's kind has no events that a client would look for here.
            let is_reasoning = matches!(kind, PartKind::Reasoning | PartKind::Summary);
            if is_reasoning != (self.identity.kind == "reasoning") {
                continue;
            }
            let names = PartNames::of(kind, self.reasoning_parts);
            let text = fields.get(kind.text_key()).map_or("", |text| text.get());
            if !is_string(text) {
                continue;
            }
            let logprobs = kind.logprobs();
            let Some(index) = places.next() else {
                break;
            };
            let place = format!(r#","{}":{index}"#, names.index);
            let known = said.part_state(list, index);
            if is_late && known.is_none() && text == EMPTY_STRING {
                continue;
            }
            if known.is_none() {
                events.push(self.part(names.added, &place, kind.blank()));
            }
            let nothing = Text::default();
            let (before, is_closed) = known.unwrap_or((&nothing, false));
            if let Some(rest) = before.rest(text).filter(|_| !is_closed) {
                let delta = format!(r#"{place},"delta":{rest}{logprobs}"#);
                events.push(self.scoped(names.delta, &delta));
            }
            if !before.is_whole() && !is_closed {
                let done = format!(r#"{place},"{}":{text}{logprobs}"#, kind.text_key());
                events.push(self.scoped(names.done, &done));
            }
            if !is_closed {
                events.push(self.part(names.part_done, &place, part.get()));
            }
        }
        events
    }

    /// What is owed of the one text of a call.
    fn text(
        &self,
        names: TextNames,
        key: &str,
        text: &str,
        more: &str,
        said: &Said,
        is_late: bool,
    ) -> Vec<Inserted> {
        let mut events = Vec::new();
        let is_blank = is_late && said.text().is_empty() && text == EMPTY_STRING;
        if !is_string(text) || said.text().is_whole() || is_blank {
            return events;
        }
        if let Some(rest) = said.text().rest(text) {
            events.push(self.scoped(names.delta, &format!(r#","delta":{rest}"#)));
        }
        events.push(self.scoped(names.done, &format!(r#","{key}":{text}{more}"#)));
        events
    }

    fn item(&self, event_type: &'static str, item: &str) -> Inserted {
        Inserted {
            event_type,
            members: format!(r#","output_index":{},"item":{item}"#, self.index),
        }
    }

    fn part(&self, event_type: &'static str, place: &str, part: &str) -> Inserted {
        self.scoped(event_type, &format!(r#"{place},"part":{part}"#))
    }

    fn scoped(&self, event_type: &'static str, members: &str) -> Inserted {
        let id = quoted(self.identity.get(Field::Id).unwrap_or_default());
        Inserted {
            event_type,
            members: format!(r#","output_index":{},"item_id":{id}{members}"#, self.index),
        }
    }
}

/// Of how many parts an item is streamed part by part. Events outweigh empty parts many times,
/// so that beyond, which no model gets to, the close alone has them.
const MAX_PARTS: usize = 1024;

const EMPTY_STRING: &str = r#""""#;

/// The keys that place a part in its item.
const CONTENT: &str = "content_index";
const SUMMARY: &str = "summary_index";

/// The events that carry a call's one text.
#[derive(Clone, Copy)]
struct TextNames {
    delta: &'static str,
    done: &'static str,
}

const FUNCTION_CALL: TextNames = TextNames {
    delta: "response.function_call_arguments.delta",
    done: "response.function_call_arguments.done",
};
const CUSTOM_TOOL_CALL: TextNames = TextNames {
    delta: "response.custom_tool_call_input.delta",
    done: "response.custom_tool_call_input.done",
};
const MCP_CALL: TextNames = TextNames {
    delta: "response.mcp_call_arguments.delta",
    done: "response.mcp_call_arguments.done",
};
const CODE_INTERPRETER: TextNames = TextNames {
    delta: "response.code_interpreter_call_code.delta",
    done: "response.code_interpreter_call_code.done",
};

/// The events that carry one content part.
#[derive(Clone, Copy)]
struct PartNames {
    index: &'static str,
    added: &'static str,
    delta: &'static str,
    done: &'static str,
    part_done: &'static str,
}

impl PartNames {
    fn of(kind: PartKind, reasoning_parts: ReasoningParts) -> Self {
        let text = Self {
            index: CONTENT,
            added: "response.content_part.added",
            delta: "response.output_text.delta",
            done: "response.output_text.done",
            part_done: "response.content_part.done",
        };
        let reasoning = Self {
            delta: "response.reasoning_text.delta",
            done: "response.reasoning_text.done",
            ..text
        };
        match (kind, reasoning_parts) {
            (PartKind::Text, _) => text,
            (PartKind::Refusal, _) => Self {
                delta: "response.refusal.delta",
                done: "response.refusal.done",
                ..text
            },
            (PartKind::Reasoning, ReasoningParts::ContentPart) => reasoning,
            (PartKind::Reasoning, ReasoningParts::ReasoningPart) => Self {
                added: "response.reasoning_part.added",
                part_done: "response.reasoning_part.done",
                ..reasoning
            },
            (PartKind::Summary, _) => Self {
                index: SUMMARY,
                added: "response.reasoning_summary_part.added",
                delta: "response.reasoning_summary_text.delta",
                done: "response.reasoning_summary_text.done",
                part_done: "response.reasoning_summary_part.done",
            },
        }
    }
}

impl PartKind {
    /// The member that events of text have and others have not.
    fn logprobs(self) -> &'static str {
        if self == Self::Text {
            r#","logprobs":[]"#
        } else {
            ""
        }
    }
}

/// Whether a piece of JSON is a string: nothing else can be sent as a delta.
fn is_string(raw: &str) -> bool {
    raw.starts_with('"')
}
