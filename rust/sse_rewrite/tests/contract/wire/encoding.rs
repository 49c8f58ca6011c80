//! Streams of the model as bytes, and bytes as streams of the model.

use serde_json::{Value, json};
use sse_rewrite::{Checker, Policy, SseRewriter, Verdict};

use crate::model::{End, Event, Numbered, part_list, text_key};

/// How a test writes its frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) event_lines: bool,
    pub(crate) space: &'static str,
    pub(crate) line_end: &'static str,
    /// Break the data after each comma between two members of the event.
    pub(crate) many_lines: bool,
}

/// As vLLM and most others write them.
pub(crate) const PLAIN: Layout = Layout {
    event_lines: true,
    space: " ",
    line_end: "\n",
    many_lines: false,
};

/// Every way of writing them that differs in something.
pub(crate) const LAYOUTS: [Layout; 4] = [
    PLAIN,
    Layout {
        line_end: "\r\n",
        many_lines: true,
        ..PLAIN
    },
    Layout {
        event_lines: false,
        space: "",
        line_end: "\r",
        ..PLAIN
    },
    Layout {
        event_lines: false,
        many_lines: true,
        ..PLAIN
    },
];

impl Layout {
    /// One frame.
    pub(crate) fn frame(self, event: &Value) -> String {
        let Self {
            space, line_end, ..
        } = self;
        let members = event.as_object().unwrap().iter();
        let members = members.map(|(key, value)| format!("{}:{value}", json!(key)));
        let members: Vec<String> = members.collect();
        let comma = if self.many_lines {
            format!(",{line_end}data: ")
        } else {
            ",".to_owned()
        };
        let kind = event["type"].as_str().unwrap();
        let event_line = if self.event_lines {
            format!("event:{space}{kind}{line_end}")
        } else {
            String::new()
        };
        let data = members.join(&comma);
        format!("{event_line}data:{space}{{{data}}}{line_end}{line_end}")
    }

    /// A stream of events.
    pub(crate) fn stream(self, events: &[Value]) -> Vec<u8> {
        events
            .iter()
            .map(|event| self.frame(event))
            .collect::<String>()
            .into_bytes()
    }
}

/// An event of the model as a server sends it.
pub(crate) fn as_json((number, event): &Numbered) -> Value {
    let mut json = match event {
        Event::Created => json!({"type": "response.created", "response": {"id": "resp_1"}}),
        Event::Added { item, .. } => json!({"type": "response.output_item.added", "item": item}),
        Event::Done { item, .. } => json!({"type": "response.output_item.done", "item": item}),
        Event::Scoped { .. } => scoped_json(event),
        Event::Terminal { end, output } => {
            let response = json!({"id": "resp_1", "output": output});
            json!({"type": format!("response.{}", end.name()), "response": response})
        }
        Event::Error => json!({"type": "error", "message": "m"}),
    };
    if let Event::Added { index, .. } | Event::Done { index, .. } | Event::Scoped { index, .. } =
        event
        && let Some(index) = index
    {
        json["output_index"] = json!(index);
    }
    if let Some(number) = number {
        json["sequence_number"] = json!(number);
    }
    json
}

/// An event of one item, but for its index and number.
fn scoped_json(event: &Event) -> Value {
    let Event::Scoped {
        event_type,
        item_id,
        part,
        part_type,
        text,
        ..
    } = event
    else {
        return Value::Null;
    };
    let mut json = json!({"type": event_type});
    let name = event_type.trim_start_matches("response.");
    if let Some(kind) = part_type {
        json["part"] = json!({"type": kind, "text": text});
    } else if let Some(key) = text_key(name) {
        json[key] = json!(text);
    }
    if let Some(id) = item_id {
        json["item_id"] = json!(id);
    }
    if let (Some(part), Some(list)) = (part, part_list(name)) {
        json[list] = json!(part);
    }
    json
}

/// An event of a stream, in the model.
fn modelled(event: &Value) -> Event {
    let event_type = event["type"].as_str().unwrap();
    let index = event["output_index"].as_u64();
    let output = || event["response"]["output"].as_array().cloned();
    match event_type {
        "response.created" => Event::Created,
        "response.output_item.added" => Event::Added {
            index,
            item: event["item"].clone(),
        },
        "response.output_item.done" => Event::Done {
            index,
            item: event["item"].clone(),
        },
        "error" => Event::Error,
        _ => {
            let name = event_type.trim_start_matches("response.");
            if let Some(end) = End::ALL.into_iter().find(|end| end.name() == name) {
                let output = output().unwrap_or_default();
                return Event::Terminal { end, output };
            }
            let part_text = event["part"]["text"].as_str();
            let text = text_key(name).and_then(|key| event[key].as_str());
            Event::Scoped {
                event_type: event_type.to_owned(),
                index,
                item_id: event["item_id"].as_str().map(str::to_owned),
                part: part_list(name).and_then(|list| event[list].as_u64()),
                part_type: event["part"]["type"].as_str().map(str::to_owned),
                text: part_text.or(text).unwrap_or_default().to_owned(),
            }
        }
    }
}

/// Rewrites a stream in pieces of `chunk` bytes.
pub(crate) fn rewritten_in(chunk: usize, stream: &[u8]) -> (Vec<u8>, SseRewriter) {
    let mut rewriter = SseRewriter::new(Policy::default());
    let mut sent = Vec::new();
    for piece in stream.chunks(chunk) {
        rewriter.feed_into(piece, &mut sent);
    }
    sent.extend(rewriter.finish());
    (sent, rewriter)
}

/// Rewrites a stream at once.
pub(crate) fn rewritten(stream: &[u8]) -> Vec<u8> {
    rewritten_in(usize::MAX, stream).0
}

/// Judges a stream in pieces of `chunk` bytes.
pub(crate) fn judged_in(chunk: usize, stream: &[u8]) -> Verdict {
    let mut checker = Checker::new(Policy::default());
    for piece in stream.chunks(chunk) {
        checker.feed(piece);
    }
    checker.finish()
}

/// Reads the events of a stream, sharing no code with the rewriter.
pub(crate) fn events(stream: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(stream).replace("\r\n", "\n");
    let text = text.replace('\r', "\n");
    let frames = text.split("\n\n").map(|frame| {
        let lines = frame.lines().filter_map(|line| line.strip_prefix("data:"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    });
    frames
        .filter_map(|data| serde_json::from_str(&data).ok())
        .filter(|event: &Value| event["type"].is_string())
        .collect()
}

/// The events of a stream in the model.
pub(crate) fn modelled_stream(stream: &[u8]) -> Vec<Numbered> {
    let events = events(stream);
    events.iter().map(modelled_event).collect()
}

/// An event with its number, in the model.
pub(crate) fn modelled_event(event: &Value) -> Numbered {
    (event["sequence_number"].as_u64(), modelled(event))
}
