//! A small model of an event stream, with short ways to write one down.

use serde_json::{Value, json};

/// One event, reduced to what the contract speaks about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    Created,
    Added {
        index: Option<u64>,
        item: Value,
    },
    Scoped {
        event_type: String,
        index: Option<u64>,
        item_id: Option<String>,
        /// The `content_index` or `summary_index`.
        part: Option<u64>,
        /// The type of the part that the event carries.
        part_type: Option<String>,
        /// What the event carries; never to be changed or lost.
        text: String,
    },
    Done {
        index: Option<u64>,
        item: Value,
    },
    Terminal {
        end: End,
        output: Vec<Value>,
    },
    Error,
}

/// How a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Incomplete,
    Failed,
}

impl End {
    pub(crate) const ALL: [Self; 3] = [Self::Completed, Self::Incomplete, Self::Failed];

    /// The event that says so, without `response.`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
        }
    }
}

/// An event with its `sequence_number`, where the stream has them.
pub(crate) type Numbered = (Option<u64>, Event);

pub(crate) fn numbered(events: Vec<Event>) -> Vec<Numbered> {
    (0..).map(Some).zip(events).collect()
}

pub(crate) fn unnumbered(events: Vec<Event>) -> Vec<Numbered> {
    events.into_iter().map(|event| (None, event)).collect()
}

pub(crate) fn message(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

pub(crate) fn reasoning(id: &str, text: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [],
        "content": [{"type": "reasoning_text", "text": text}]})
}

pub(crate) fn call(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": name,
        "arguments": arguments, "status": "completed"})
}

pub(crate) fn custom(id: &str, call_id: &str, name: &str, input: &str) -> Value {
    json!({"type": "custom_tool_call", "id": id, "call_id": call_id, "name": name,
        "input": input})
}

pub(crate) fn mcp(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "mcp_call", "id": id, "name": name, "server_label": "srv",
        "arguments": arguments, "output": null})
}

pub(crate) fn code(id: &str, code: &str) -> Value {
    json!({"type": "code_interpreter_call", "id": id, "code": code, "outputs": []})
}

pub(crate) fn search(id: &str, query: &str) -> Value {
    json!({"type": "web_search_call", "id": id, "action": {"type": "search", "query": query}})
}

/// `item` without the field `key`.
pub(crate) fn without(mut item: Value, key: &str) -> Value {
    item.as_object_mut().unwrap().remove(key);
    item
}

/// `item` with the field `key` set.
pub(crate) fn with(mut item: Value, key: &str, value: impl Into<Value>) -> Value {
    item[key] = value.into();
    item
}

pub(crate) fn added(index: u64, item: Value) -> Event {
    Event::Added {
        index: Some(index),
        item,
    }
}

pub(crate) fn done(index: u64, item: Value) -> Event {
    Event::Done {
        index: Some(index),
        item,
    }
}

/// An event of the item `item_id`, and of its first part; `event_type` comes without `response.`.
pub(crate) fn scoped(event_type: &str, index: u64, item_id: &str, text: &str) -> Event {
    Event::Scoped {
        event_type: format!("response.{event_type}"),
        index: Some(index),
        item_id: Some(item_id.to_owned()),
        part: part_list(event_type).map(|_| 0),
        part_type: part_type(event_type).map(str::to_owned),
        text: text.to_owned(),
    }
}

/// An event that does not say which item it belongs to.
pub(crate) fn unplaced(event_type: &str, item_id: Option<&str>, text: &str) -> Event {
    Event::Scoped {
        event_type: format!("response.{event_type}"),
        index: None,
        item_id: item_id.map(str::to_owned),
        part: None,
        part_type: part_type(event_type).map(str::to_owned),
        text: text.to_owned(),
    }
}

/// The list of parts that an event is about, by its type without `response.`.
pub(crate) fn part_list(event_type: &str) -> Option<&'static str> {
    match event_type.split('.').next()? {
        "content_part" | "reasoning_part" | "output_text" | "refusal" | "reasoning_text" => {
            Some("content_index")
        }
        "reasoning_summary_part" | "reasoning_summary_text" => Some("summary_index"),
        _ => None,
    }
}

/// The type of the part that an event carries, if it carries one.
fn part_type(event_type: &str) -> Option<&'static str> {
    match event_type.split('.').next()? {
        "content_part" => Some("output_text"),
        "reasoning_part" => Some("reasoning_text"),
        "reasoning_summary_part" => Some("summary_text"),
        _ => None,
    }
}

/// The member that has the text of an event, by its type without `response.`.
pub(crate) fn text_key(event_type: &str) -> Option<&'static str> {
    let (subject, verb) = event_type.split_once('.')?;
    match (subject, verb) {
        (_, "delta") => Some("delta"),
        ("refusal", "done") => Some("refusal"),
        ("function_call_arguments" | "mcp_call_arguments", "done") => Some("arguments"),
        ("custom_tool_call_input", "done") => Some("input"),
        ("code_interpreter_call_code", "done") => Some("code"),
        (_, "done") => Some("text"),
        _ => None,
    }
}

pub(crate) fn terminal(output: impl IntoIterator<Item = Value>) -> Event {
    ended(End::Completed, output)
}

pub(crate) fn ended(end: End, output: impl IntoIterator<Item = Value>) -> Event {
    Event::Terminal {
        end,
        output: output.into_iter().collect(),
    }
}

/// A string field of an item, `None` where it is absent, null or empty.
pub(crate) fn field<'a>(item: &'a Value, key: &str) -> Option<&'a str> {
    item.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// The type of the events that carry the content of an item of type `kind`.
pub(crate) fn delta_type(kind: &str) -> &'static str {
    match kind {
        "message" => "response.output_text.delta",
        "reasoning" => "response.reasoning_text.delta",
        "function_call" => "response.function_call_arguments.delta",
        "custom_tool_call" => "response.custom_tool_call_input.delta",
        "mcp_call" => "response.mcp_call_arguments.delta",
        "code_interpreter_call" => "response.code_interpreter_call_code.delta",
        "web_search_call" => "response.web_search_call.searching",
        other => panic!("no content events are known for {other}"),
    }
}

/// The key of an item's one text, for a type without parts.
pub(crate) fn item_text_key(kind: &str) -> Option<&'static str> {
    match kind {
        "function_call" | "mcp_call" => Some("arguments"),
        "custom_tool_call" => Some("input"),
        "code_interpreter_call" => Some("code"),
        _ => None,
    }
}

/// The item before it has said anything, as it is announced.
pub(crate) fn blank(item: &Value) -> Value {
    let mut item = item.clone();
    let kind = field(&item, "type").unwrap_or_default().to_owned();
    match item_text_key(&kind) {
        Some(key) => item[key] = json!(""),
        None if kind == "message" || kind == "reasoning" => item["content"] = json!([]),
        None => {}
    }
    item
}

/// The event that opens the first part of `item`, if its type has parts.
pub(crate) fn opened(index: u64, item: &Value) -> Option<Event> {
    let mut event = scoped(
        "content_part.added",
        index,
        field(item, "id").unwrap_or_default(),
        "",
    );
    if let Event::Scoped { part_type, .. } = &mut event {
        match field(item, "type")? {
            "message" => {}
            "reasoning" => *part_type = Some("reasoning_text".to_owned()),
            _ => return None,
        }
    }
    Some(event)
}

/// All that `item` says, as one text.
pub(crate) fn said(item: &Value) -> String {
    let kind = field(item, "type").unwrap_or_default();
    if let Some(key) = item_text_key(kind) {
        return field(item, key).unwrap_or_default().to_owned();
    }
    let lists = ["content", "summary"].iter();
    let parts = lists
        .filter_map(|key| item.get(key).and_then(Value::as_array))
        .flatten();
    parts
        .flat_map(|part| ["text", "refusal"].map(|key| field(part, key).unwrap_or_default()))
        .collect()
}

/// Announcement, part, text as one delta, and close of `item`, as a server without fault sends
/// them.
pub(crate) fn lifecycle(index: u64, item: &Value) -> Vec<Event> {
    let id = field(item, "id").unwrap_or_default();
    let kind = field(item, "type").unwrap();
    let event_type = delta_type(kind).trim_start_matches("response.");
    let mut events = vec![added(index, blank(item))];
    events.extend(opened(index, item));
    events.push(scoped(event_type, index, id, &said(item)));
    events.push(done(index, item.clone()));
    events
}

/// One line for an item: its type and what names it.
pub(crate) fn show_item(item: &Value) -> String {
    let kind = field(item, "type").unwrap_or("?");
    let id = field(item, "id").unwrap_or("?");
    match field(item, "call_id") {
        Some(call_id) => format!("{kind}={id}/{call_id}"),
        None => format!("{kind}={id}"),
    }
}

/// One line for an event, so that a test can write out what it wants.
pub(crate) fn show(event: &Event) -> String {
    let place = |index: &Option<u64>| index.map_or("?".to_owned(), |index| index.to_string());
    match event {
        Event::Created => "created".to_owned(),
        Event::Added { index, item } => format!("added {} {}", place(index), show_item(item)),
        Event::Done { index, item } => format!("done {} {}", place(index), show_item(item)),
        Event::Scoped {
            event_type,
            index,
            item_id,
            text,
            ..
        } => {
            let name = event_type.trim_start_matches("response.");
            let id = item_id.as_deref().unwrap_or("?");
            format!("{name} {} {id} {text}", place(index))
                .trim_end()
                .to_owned()
        }
        Event::Terminal { end, output } => {
            let items: Vec<String> = output.iter().map(show_item).collect();
            let name = match end {
                End::Completed => "terminal",
                other => other.name(),
            };
            format!("{name} {}", items.join(" | "))
                .trim_end()
                .to_owned()
        }
        Event::Error => "error".to_owned(),
    }
}
