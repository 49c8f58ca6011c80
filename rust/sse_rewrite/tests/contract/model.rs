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
        /// What the event carries; never to be changed or lost.
        text: String,
    },
    Done {
        index: Option<u64>,
        item: Value,
    },
    Terminal {
        output: Vec<Value>,
    },
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

/// An event of the item `item_id`; `event_type` comes without `response.`.
pub(crate) fn scoped(event_type: &str, index: u64, item_id: &str, text: &str) -> Event {
    Event::Scoped {
        event_type: format!("response.{event_type}"),
        index: Some(index),
        item_id: Some(item_id.to_owned()),
        text: text.to_owned(),
    }
}

/// An event that does not say which item it belongs to.
pub(crate) fn unplaced(event_type: &str, item_id: Option<&str>, text: &str) -> Event {
    Event::Scoped {
        event_type: format!("response.{event_type}"),
        index: None,
        item_id: item_id.map(str::to_owned),
        text: text.to_owned(),
    }
}

pub(crate) fn terminal(output: impl IntoIterator<Item = Value>) -> Event {
    Event::Terminal {
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

/// Announcement, one content event and close of `item`, as a server without fault sends them.
pub(crate) fn lifecycle(index: u64, item: &Value) -> Vec<Event> {
    let id = field(item, "id").unwrap_or_default();
    let kind = field(item, "type").unwrap();
    vec![
        added(index, item.clone()),
        Event::Scoped {
            event_type: delta_type(kind).to_owned(),
            index: Some(index),
            item_id: Some(id.to_owned()),
            text: format!("delta of {id}"),
        },
        done(index, item.clone()),
    ]
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
        } => {
            let name = event_type.trim_start_matches("response.");
            let id = item_id.as_deref().unwrap_or("?");
            format!("{name} {} {id} {text}", place(index))
                .trim_end()
                .to_owned()
        }
        Event::Terminal { output } => {
            let items: Vec<String> = output.iter().map(show_item).collect();
            format!("terminal {}", items.join(" | "))
                .trim_end()
                .to_owned()
        }
    }
}
