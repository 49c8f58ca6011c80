//! The events of one item without fault: messages, reasoning and calls with a text.
//!
//! Types, fields and order of events are those of the API's description.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::event::Event;
use crate::hosted;

/// The item types of the API, and one that it does not have.
pub(crate) const KINDS: [&str; 20] = [
    "message",
    "function_call",
    "reasoning",
    "custom_tool_call",
    "mcp_call",
    "code_interpreter_call",
    "web_search_call",
    "file_search_call",
    "image_generation_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "local_shell_call",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "computer_call",
    "tool_search_call",
    "compaction",
    "program",
    "hologram",
];

/// One part of an item: its text as it is streamed.
#[derive(Debug, Clone)]
pub(crate) struct PartSpec {
    pub(crate) chunks: Vec<&'static str>,
    /// A refusal and not text; of reasoning, content and not summary.
    pub(crate) other: bool,
    /// With an annotation, and with log probabilities.
    pub(crate) extras: bool,
}

/// An item, before it has a place.
#[derive(Debug, Clone)]
pub(crate) struct ItemSpec {
    pub(crate) kind: &'static str,
    pub(crate) parts: Vec<PartSpec>,
    /// Which optional events and fields it has.
    pub(crate) variant: u8,
}

/// An item as it is streamed.
pub(crate) struct Lifecycle {
    pub(crate) added: Value,
    /// Its own events, without place.
    pub(crate) own: Vec<Value>,
    pub(crate) closed: Value,
    /// Its entry in the terminal output.
    pub(crate) rebuilt: Value,
}

/// How the items of a stream say what they say.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wording {
    /// Each item says something that no other says.
    pub(crate) distinct: bool,
    /// Parts of reasoning are opened by the events that only vLLM before 0.32 has.
    pub(crate) reasoning_part: bool,
}

/// What is the same for all items of a stream.
#[derive(Debug)]
pub(crate) struct Making {
    pub(crate) wording: Wording,
    /// How often something was encrypted: never twice with the same result.
    encrypted: u32,
}

impl Making {
    pub(crate) fn new(wording: Wording) -> Self {
        Self {
            wording,
            encrypted: 0,
        }
    }

    pub(crate) fn cipher(&mut self) -> Value {
        self.encrypted += 1;
        json!(format!("gAAA{}==", self.encrypted))
    }
}

pub(crate) fn any_item() -> impl Strategy<Value = ItemSpec> {
    let kind = prop_oneof![
        5 => select(&KINDS[..6]),
        2 => select(&KINDS[..]),
    ];
    (kind, parts(), any::<u8>()).prop_map(|(kind, parts, variant)| ItemSpec {
        kind,
        parts,
        variant,
    })
}

/// A call that a client answers.
pub(crate) fn any_call() -> impl Strategy<Value = ItemSpec> {
    (
        select(vec!["function_call", "custom_tool_call"]),
        parts(),
        any::<u8>(),
    )
        .prop_map(|(kind, parts, variant)| ItemSpec {
            kind,
            parts,
            variant,
        })
}

fn parts() -> impl Strategy<Value = Vec<PartSpec>> {
    let chunk = select(vec!["x", "y", "{}", "", " ", "\"q\"", "a\nb", "é", "😀"]);
    let chunks = proptest::collection::vec(chunk, 0..4);
    let part =
        (chunks, any::<bool>(), any::<bool>()).prop_map(|(chunks, other, extras)| PartSpec {
            chunks,
            other,
            extras,
        });
    prop_oneof![
        4 => proptest::collection::vec(part.clone(), 1..2),
        1 => proptest::collection::vec(part, 0..4),
    ]
}

impl ItemSpec {
    /// The chunks of each part.
    fn texts(&self, owner: usize, making: &Making) -> Vec<Vec<String>> {
        let chunks = |(place, part): (usize, &PartSpec)| {
            let own = format!(
                "{}{place}:",
                char::from(b'A' + u8::try_from(owner % 26).unwrap())
            );
            let own = Some(own).filter(|_| making.wording.distinct);
            let chunks = part.chunks.iter().map(|chunk| (*chunk).to_owned());
            own.into_iter().chain(chunks).collect()
        };
        self.parts.iter().enumerate().map(chunks).collect()
    }

    /// The chunks of the first part, which is all that a call has.
    pub(crate) fn chunks(&self, owner: usize, making: &Making) -> Vec<String> {
        self.texts(owner, making)
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    /// Whether it has the optional trait number `bit`.
    pub(crate) fn has(&self, bit: u8) -> bool {
        self.variant >> bit & 1 == 1
    }

    pub(crate) fn lifecycle(&self, owner: usize, making: &mut Making) -> Lifecycle {
        match self.kind {
            "message" => message(self, owner, making),
            "reasoning" => reasoning(self, owner, making),
            "function_call" | "custom_tool_call" => call(self, owner, making),
            _ => hosted::lifecycle(self, owner, making),
        }
    }

    /// The events, all of them in the place of the item `owner`.
    pub(crate) fn events(&self, owner: usize, making: &mut Making) -> (Vec<Event>, Value) {
        let Lifecycle {
            added,
            own,
            closed,
            rebuilt,
        } = self.lifecycle(owner, making);
        let id = added["id"].clone();
        let mut events = vec![json!({"type": "response.output_item.added", "item": added})];
        events.extend(own.into_iter().map(|mut event| {
            // The API names these by `output_index` alone.
            let kind = event["type"].as_str().unwrap_or_default();
            if !kind.starts_with("response.shell_call_command") {
                event["item_id"] = id.clone();
            }
            event
        }));
        events.push(json!({"type": "response.output_item.done", "item": closed}));
        let placed = |mut body: Value| {
            body["output_index"] = json!(owner);
            Event {
                owner: Some(owner),
                ..Event::new(body)
            }
        };
        (events.into_iter().map(placed).collect(), rebuilt)
    }
}

/// An event of an item; `kind` comes without `response.`.
pub(crate) fn own(kind: &str, more: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}")});
    let (Some(members), Value::Object(more)) = (event.as_object_mut(), more) else {
        return event;
    };
    members.extend(more);
    event
}

/// `item` with the members of `more`.
pub(crate) fn with(mut item: Value, more: Value) -> Value {
    if let (Some(members), Value::Object(more)) = (item.as_object_mut(), more) {
        members.extend(more);
    }
    item
}

/// A delta for each chunk, and their sum under `key`.
pub(crate) fn streamed(kind: &str, key: &str, chunks: &[String], more: &Value) -> Vec<Value> {
    let delta = |chunk| {
        own(
            &format!("{kind}.delta"),
            with(more.clone(), json!({"delta": chunk})),
        )
    };
    let mut events: Vec<Value> = chunks.iter().map(delta).collect();
    let whole = with(more.clone(), json!({key: chunks.concat()}));
    events.push(own(&format!("{kind}.done"), whole));
    events
}

fn message(spec: &ItemSpec, owner: usize, making: &mut Making) -> Lifecycle {
    let texts = spec.texts(owner, making);
    let mut events = Vec::new();
    let mut content = Vec::new();
    for (place, (part, chunks)) in spec.parts.iter().zip(&texts).enumerate() {
        let at = json!({"content_index": place});
        let text = chunks.concat();
        let citation = json!({"type": "url_citation", "url": "https://example.org", "title": text,
            "start_index": 0, "end_index": 1});
        let cited = part.extras && !part.other;
        let annotations = if cited { json!([citation]) } else { json!([]) };
        let (kind, key, empty, whole) = if part.other {
            let refusal = |text: &str| json!({"type": "refusal", "refusal": text});
            ("refusal", "refusal", refusal(""), refusal(&text))
        } else {
            let part = |text: &str, annotations: &Value| {
                json!({"type": "output_text", "text": text, "annotations": annotations,
                    "logprobs": []})
            };
            (
                "output_text",
                "text",
                part("", &json!([])),
                part(&text, &annotations),
            )
        };
        events.push(own(
            "content_part.added",
            with(at.clone(), json!({"part": empty})),
        ));
        let mut said = streamed(kind, key, chunks, &at);
        if cited {
            let annotation = json!({"annotation_index": 0, "annotation": citation});
            let event = own("output_text.annotation.added", with(at.clone(), annotation));
            said.insert(said.len() - 1, event);
            for delta in &mut said {
                if delta.get("delta").is_some() {
                    delta["logprobs"] = json!([{"token": "t", "logprob": -0.5}]);
                }
            }
        }
        events.extend(said);
        events.push(own("content_part.done", with(at, json!({"part": whole}))));
        content.push(whole);
    }
    let phase = if spec.has(0) {
        json!({"phase": "commentary"})
    } else {
        json!({})
    };
    let item = |status: &str, content: &Value| {
        let item = json!({"type": "message", "id": format!("msg_{owner}"), "role": "assistant",
            "status": status, "content": content});
        with(item, phase.clone())
    };
    let closed = item("completed", &json!(content));
    let mut rebuilt = closed.clone();
    // The rebuilt item may have log probabilities that the streamed one lacked.
    for part in rebuilt["content"].as_array_mut().into_iter().flatten() {
        if spec.has(1) && part["type"] == "output_text" {
            part["logprobs"] = json!([{"token": "t", "logprob": -0.5}]);
        }
    }
    Lifecycle {
        added: item("in_progress", &json!([])),
        own: events,
        closed,
        rebuilt,
    }
}

fn reasoning(spec: &ItemSpec, owner: usize, making: &mut Making) -> Lifecycle {
    let texts = spec.texts(owner, making);
    let mut events = Vec::new();
    let mut summary = Vec::new();
    let mut content = Vec::new();
    for (part, chunks) in spec.parts.iter().zip(&texts) {
        let (kind, part_kind, key, opening, parts) = if part.other {
            let opening = if making.wording.reasoning_part {
                "reasoning_part"
            } else {
                "content_part"
            };
            (
                "reasoning_text",
                "reasoning_text",
                "content_index",
                opening,
                &mut content,
            )
        } else {
            let opening = "reasoning_summary_part";
            (
                "reasoning_summary_text",
                "summary_text",
                "summary_index",
                opening,
                &mut summary,
            )
        };
        let at = json!({key: parts.len()});
        let part = |text: &str| json!({"type": part_kind, "text": text});
        let around = |verb: &str, text: &str| {
            own(
                &format!("{opening}.{verb}"),
                with(at.clone(), json!({"part": part(text)})),
            )
        };
        let text = chunks.concat();
        events.push(around("added", ""));
        events.extend(streamed(kind, "text", chunks, &at));
        events.push(around("done", &text));
        parts.push(part(&text));
    }
    let mut item = |summary: &Value, content: &Value| {
        let mut item = json!({"type": "reasoning", "id": format!("rs_{owner}"),
            "summary": summary});
        if content.as_array().is_some_and(|parts| !parts.is_empty()) {
            item["content"] = content.clone();
        }
        if spec.has(0) {
            item["encrypted_content"] = making.cipher();
        }
        item
    };
    let (summary, content) = (json!(summary), json!(content));
    Lifecycle {
        added: item(&json!([]), &json!([])),
        own: events,
        closed: item(&summary, &content),
        rebuilt: item(&summary, &content),
    }
}

fn call(spec: &ItemSpec, owner: usize, making: &Making) -> Lifecycle {
    let chunks = spec.chunks(owner, making);
    let (prefix, events, key) = match spec.kind {
        "function_call" => ("fc", "function_call_arguments", "arguments"),
        _ => ("ctc", "custom_tool_call_input", "input"),
    };
    let name = if spec.has(0) { "f" } else { "g" };
    let mut own = streamed(events, key, &chunks, &json!({}));
    if let Some(whole) = own.last_mut().filter(|_| spec.has(1) && key == "arguments") {
        whole["name"] = json!(name);
    }
    let item = |status: &str, text: &str| {
        json!({"type": spec.kind, "id": format!("{prefix}_{owner}"), "status": status,
            "call_id": format!("call_{owner}"), "name": name, key: text})
    };
    let closed = item("completed", &chunks.concat());
    Lifecycle {
        added: item("in_progress", ""),
        own,
        rebuilt: closed.clone(),
        closed,
    }
}
