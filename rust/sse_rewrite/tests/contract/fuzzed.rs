//! What must hold of whatever a fuzzer thinks of, and the inputs it found worth keeping.
//!
//! The fuzz targets include this file, too.

use arbitrary::{Arbitrary, Unstructured};
use serde_json::{Value, json};
use sse_rewrite::Outcome;

use crate::encoding::{LAYOUTS, as_json, judged_in, modelled_stream, rewritten_in};
use crate::judge::faults;
use crate::losses::losses;
use crate::model::{Event, Numbered, numbered, terminal, unnumbered};

/// Any bytes: the first says how they are cut. Nothing panics, cuts make no difference,
/// and a whole stream, once rewritten, stays as it is.
pub(crate) fn check_bytes(data: &[u8]) {
    let Some((first, stream)) = data.split_first() else {
        return;
    };
    let (whole, report) = rewritten_in(usize::MAX, stream);
    let (sent, other) = rewritten_in(usize::from(*first) + 1, stream);
    assert_eq!(
        String::from_utf8_lossy(&sent),
        String::from_utf8_lossy(&whole)
    );
    assert!(sent == whole);
    assert_eq!(report.report(), other.report());
    assert_eq!(report.gave_up(), other.gave_up());
    let verdict = judged_in(usize::MAX, stream);
    assert_eq!(verdict, judged_in(usize::from(*first) + 1, stream));
    if verdict.outcome == Outcome::Kept {
        assert!(whole == stream);
    }
    assert!(whole == stream || verdict.rules.iter().any(|rule| rule.count > 0));
    // One that is joined later may contradict what nobody saw of it: twice is not once there.
    let begun = [CREATED, stream].concat();
    let (once, report) = rewritten_in(usize::MAX, &begun);
    if report.gave_up().is_none() {
        let (again, _) = rewritten_in(usize::MAX, &once);
        assert_eq!(
            String::from_utf8_lossy(&again),
            String::from_utf8_lossy(&once)
        );
    }
}

const CREATED: &[u8] = b"data: {\"type\":\"response.created\",\"response\":{}}\n\n";

/// Events with faults, as bytes: the contract is kept, nothing is lost, once is enough.
pub(crate) fn check_events(data: &[u8]) {
    let Ok(stream) = Stream::arbitrary(&mut Unstructured::new(data)) else {
        return;
    };
    let layout = LAYOUTS[usize::from(stream.layout) % LAYOUTS.len()];
    let came = stream.modelled();
    let json: Vec<Value> = came.iter().map(as_json).collect();
    let (sent, rewriter) = rewritten_in(usize::from(stream.chunk) + 1, &layout.stream(&json));
    let played = modelled_stream(&sent);
    assert_eq!(faults(&played), [""; 0]);
    assert_eq!(losses(&came, &played), [""; 0]);
    let (again, report) = rewritten_in(usize::MAX, &sent);
    assert_eq!(
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(&sent)
    );
    assert!(report.report().is_untouched());
    assert_eq!(rewriter.gave_up(), None);
    // A call that nobody names is left.
    let left = judged_in(usize::MAX, &sent).breaches;
    assert!(left.iter().all(|breach| !breach.mended), "{left:?}");
}

/// A stream of few names, so that they clash often.
#[derive(Debug, Arbitrary)]
struct Stream {
    layout: u8,
    chunk: u8,
    counts: bool,
    events: Vec<Told>,
    output: Vec<Thing>,
}

#[derive(Debug, Arbitrary)]
enum Told {
    Created,
    Added(Option<Index>, Thing),
    Done(Option<Index>, Thing),
    Null(Option<Index>),
    Scoped(Kind, Option<Index>, Name),
    Part(Option<Index>, Name),
    Status(Option<Index>, Name),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Index {
    Zero,
    One,
    Two,
    Three,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Kind {
    Message,
    Reasoning,
    FunctionCall,
    CustomToolCall,
    McpCall,
    CodeInterpreterCall,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Name {
    Missing,
    Empty,
    A,
    B,
    C,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Text {
    Empty,
    X,
    Cut,
    Whole,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
struct Thing {
    kind: Kind,
    id: Name,
    call_id: Name,
    name: Name,
    text: Text,
    extras: bool,
}

impl Name {
    fn json(self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Empty => json!(""),
            Self::A => json!("a"),
            Self::B => json!("b"),
            Self::C => json!("c"),
        }
    }

    fn text(self) -> Option<String> {
        self.json().as_str().map(str::to_owned)
    }
}

impl Kind {
    /// The item's type, the start of its events' types, and the key of its text.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Message => ("message", "output_text", "content"),
            Self::Reasoning => ("reasoning", "reasoning_text", "content"),
            Self::FunctionCall => ("function_call", "function_call_arguments", "arguments"),
            Self::CustomToolCall => ("custom_tool_call", "custom_tool_call_input", "input"),
            Self::McpCall => ("mcp_call", "mcp_call_arguments", "arguments"),
            Self::CodeInterpreterCall => (
                "code_interpreter_call",
                "code_interpreter_call_code",
                "code",
            ),
        }
    }
}

impl Thing {
    fn item(self) -> Value {
        let (kind, _, key) = self.kind.names();
        let text = match self.text {
            Text::Empty => "",
            Text::X => "x",
            Text::Cut => "{",
            Text::Whole => "{}",
        };
        let mut item = json!({"type": kind, "id": self.id.json()});
        item[key] = match kind {
            "message" => json!([{"type": "output_text", "text": text}]),
            "reasoning" => json!([{"type": "reasoning_text", "text": text}]),
            _ => json!(text),
        };
        if kind.ends_with("_call") {
            item["call_id"] = self.call_id.json();
            item["name"] = self.name.json();
        }
        if self.extras {
            item["status"] = json!("completed");
        }
        item
    }
}

impl Stream {
    fn modelled(&self) -> Vec<Numbered> {
        let number = |index: &Option<Index>| index.map(|index| index as u64);
        let mut events = vec![Event::Created];
        for (place, told) in self.events.iter().enumerate() {
            let scoped = |kind: &str, index, name: Name, text: String| Event::Scoped {
                event_type: format!("response.{kind}"),
                index: number(index),
                item_id: name.text(),
                part: None,
                part_type: kind
                    .starts_with("content_part")
                    .then(|| "output_text".to_owned()),
                text,
            };
            events.push(match told {
                Told::Created => Event::Created,
                Told::Added(index, thing) => Event::Added {
                    index: number(index),
                    item: thing.item(),
                },
                Told::Done(index, thing) => Event::Done {
                    index: number(index),
                    item: thing.item(),
                },
                Told::Null(index) => Event::Added {
                    index: number(index),
                    item: Value::Null,
                },
                Told::Scoped(kind, index, name) => {
                    let (_, start, _) = kind.names();
                    scoped(&format!("{start}.delta"), index, *name, format!("t{place}"))
                }
                Told::Part(index, name) => {
                    scoped("content_part.added", index, *name, format!("t{place}"))
                }
                Told::Status(index, name) => {
                    scoped("mcp_call.completed", index, *name, String::new())
                }
            });
        }
        let output = self.output.iter().map(|thing| thing.item());
        events.push(terminal(output));
        if self.counts {
            numbered(events)
        } else {
            unnumbered(events)
        }
    }
}
