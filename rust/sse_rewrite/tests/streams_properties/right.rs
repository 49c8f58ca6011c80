//! Streams without fault: any items, interleaved, with any end.

use std::collections::VecDeque;
use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::event::{Event, Stream, show_all};
use crate::faults::{Fault, apply, apply_to_numbers};
use crate::items::{ItemSpec, Making, Wording, any_call, any_item};
use crate::wire::Layout;

/// How a response ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    Completed,
    Incomplete,
    /// After some of the events; with `error` before it, and the closed items listed, or not.
    Failed {
        at: u8,
        error: bool,
        listed: bool,
    },
    /// `error`, after some of the events, and nothing more.
    Error {
        at: u8,
    },
    /// The body ends after some of the events, maybe inside the frame of one more.
    CutOff {
        at: u8,
        inside: u8,
    },
    /// All items are closed, and the body ends.
    NoEnd,
}

/// What a stream has that is of no item.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Foreign {
    Comment,
    KeepAlive,
    Unknown,
}

/// Whether events have a `sequence_number`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Numbers {
    None,
    Contiguous,
    /// Increasing, which is legal.
    Gapped,
}

/// A stream before it has faults.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    pub(crate) items: Vec<ItemSpec>,
    /// Which item goes on, event by event: 0 for the same one as before.
    pub(crate) turns: Vec<u8>,
    pub(crate) ending: Ending,
    pub(crate) numbers: Numbers,
    pub(crate) foreign: Vec<(u8, Foreign)>,
    pub(crate) wording: Wording,
    pub(crate) queued: bool,
    pub(crate) marked_end: bool,
}

fn any_ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        8 => Just(Ending::Completed),
        2 => Just(Ending::Incomplete),
        2 => any::<(u8, bool, bool)>().prop_map(|(at, error, listed)| {
            Ending::Failed { at, error, listed }
        }),
        1 => any::<u8>().prop_map(|at| Ending::Error { at }),
        2 => any::<(u8, u8)>().prop_map(|(at, inside)| Ending::CutOff { at, inside }),
        1 => Just(Ending::NoEnd),
    ]
}

/// Stories; those for faults have a client's call more often.
pub(crate) fn any_story(with_calls: bool) -> BoxedStrategy<Story> {
    let item = if with_calls {
        prop_oneof![1 => any_item(), 1 => any_call()].boxed()
    } else {
        any_item().boxed()
    };
    let foreign = prop_oneof![
        Just(Foreign::Comment),
        Just(Foreign::KeepAlive),
        Just(Foreign::Unknown)
    ];
    let numbers = prop_oneof![
        4 => Just(Numbers::Contiguous),
        1 => Just(Numbers::Gapped),
        2 => Just(Numbers::None),
    ];
    let turn = prop_oneof![4 => Just(0), 1 => any::<u8>()];
    (
        vec(item, if with_calls { 1..5 } else { 0..6 }),
        vec(turn, 0..30),
        any_ending(),
        numbers,
        vec((any::<u8>(), foreign), 0..2),
        prop::bool::weighted(0.8),
        any::<[bool; 3]>(),
    )
        .prop_map(
            |(items, turns, ending, numbers, foreign, distinct, flags)| Story {
                items,
                turns,
                ending,
                numbers,
                foreign,
                wording: Wording {
                    distinct,
                    reasoning_part: flags[0],
                },
                queued: flags[1],
                marked_end: flags[2],
            },
        )
        .boxed()
}

fn response(kind: &str, status: &str, output: &[Value]) -> Event {
    Event::new(json!({"type": format!("response.{kind}"), "response": {
        "id": "resp_1", "object": "response", "created_at": 1_768_000_000.0, "status": status,
        "model": "demo", "output": output, "usage": {"output_tokens": output.len()},
        "metadata": {"note": "é"}}}))
}

impl Story {
    /// The events, without numbers.
    pub(crate) fn stream(&self) -> Stream {
        let mut making = Making::new(self.wording);
        let mut waiting: Vec<VecDeque<Event>> = Vec::new();
        let mut rebuilt = Vec::new();
        for (owner, item) in self.items.iter().enumerate() {
            let (events, entry) = item.events(owner, &mut making);
            waiting.push(events.into());
            rebuilt.push(entry);
        }
        let mut events = self.interleaved(waiting);
        for (at, foreign) in &self.foreign {
            let event = match foreign {
                Foreign::Comment => Event::raw(": ping"),
                Foreign::KeepAlive => Event::new(json!({"type": "keepalive"})),
                Foreign::Unknown => {
                    Event::new(json!({"type": "response.rate_limits.updated", "left": 3}))
                }
            };
            events.insert(usize::from(*at) % (events.len() + 1), event);
        }
        let mut stream = vec![response("created", "in_progress", &[])];
        if self.queued {
            stream.push(response("queued", "queued", &[]));
        }
        stream.push(response("in_progress", "in_progress", &[]));
        stream.extend(self.ended(events, &rebuilt));
        if self.marked_end && !matches!(self.ending, Ending::CutOff { .. }) {
            stream.push(Event::raw("data: [DONE]"));
        }
        stream
    }

    fn interleaved(&self, mut waiting: Vec<VecDeque<Event>>) -> Vec<Event> {
        let mut events = Vec::new();
        let mut turns = self.turns.iter().map(|turn| usize::from(*turn));
        let (mut current, mut announced) = (0, 0);
        loop {
            // Any item already announced may go on, or the next one is announced.
            let able = |owner: &usize| !waiting[*owner].is_empty();
            let able: Vec<usize> = (0..waiting.len().min(announced + 1)).filter(able).collect();
            if able.is_empty() {
                return events;
            }
            let turn = turns.next().unwrap_or(0);
            if turn != 0 || !able.contains(&current) {
                current = able[turn % able.len()];
            }
            announced = announced.max(current + 1);
            events.extend(waiting[current].pop_front());
        }
    }

    /// The `events` up to the end, and the end.
    fn ended(&self, mut events: Vec<Event>, rebuilt: &[Value]) -> Vec<Event> {
        let upto = |at: u8| usize::from(at) % (events.len() + 1);
        match self.ending {
            Ending::Failed { at, .. } | Ending::Error { at } => events.truncate(upto(at)),
            // One more, which `Case` cuts.
            Ending::CutOff { at, inside } => {
                let more = usize::from(inside % 2 == 1);
                events.truncate(upto(at) + more);
            }
            _ => {}
        }
        let error = Event::new(json!({"type": "error", "code": "server_error", "message": "m"}));
        let terminal = |kind: &str, listed: Vec<usize>| {
            let output: Vec<Value> = listed.iter().map(|owner| rebuilt[*owner].clone()).collect();
            Event {
                listed,
                ..response(kind, kind, &output)
            }
        };
        match self.ending {
            Ending::Completed => events.push(terminal("completed", (0..rebuilt.len()).collect())),
            Ending::Incomplete => events.push(terminal("incomplete", (0..rebuilt.len()).collect())),
            Ending::Failed {
                error: with_error,
                listed,
                ..
            } => {
                let closed = |owner: &usize| {
                    let mut done = events.iter().filter(|event| event.is_done());
                    listed && done.any(|event| event.owner == Some(*owner))
                };
                let closed = (0..rebuilt.len()).filter(closed).collect();
                events.extend(Some(error).filter(|_| with_error));
                events.push(terminal("failed", closed));
            }
            Ending::Error { .. } => events.push(error),
            Ending::CutOff { .. } | Ending::NoEnd => {}
        }
        events
    }
}

/// Gives the events numbers.
fn number(stream: &mut Stream, numbers: Numbers) {
    let mut next: u64 = 0;
    for event in stream.iter_mut().filter(|event| !event.is_raw()) {
        if !matches!(numbers, Numbers::None) {
            event.body["sequence_number"] = json!(next);
        }
        let gap = matches!(numbers, Numbers::Gapped) && next % 3 == 2;
        next += 1 + u64::from(gap);
    }
}

/// A stream, as events and as bytes.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) faults: Vec<Fault>,
    pub(crate) layout: Layout,
    pub(crate) stream: Stream,
    pub(crate) bytes: Vec<u8>,
}

impl Case {
    pub(crate) fn new(story: &Story, faults: Vec<Fault>, layout: Layout) -> Self {
        let mut stream = story.stream();
        for fault in &faults {
            apply(fault, &mut stream);
        }
        number(&mut stream, story.numbers);
        for fault in &faults {
            apply_to_numbers(fault, &mut stream);
        }
        let mut layout = layout;
        if let Ending::CutOff { inside, .. } = story.ending
            && inside % 2 == 1
            && stream.last().is_some_and(|event| !event.is_raw())
        {
            // What is left of the frame is no event.
            layout.without_blank_line = true;
            let frame = layout.frames(&stream).pop().unwrap_or_default();
            let frame = String::from_utf8(frame).expect("the layout writes UTF-8");
            let mut cut = 1 + usize::from(inside) % (frame.len() - 1);
            while !frame.is_char_boundary(cut) {
                cut -= 1;
            }
            stream.pop();
            stream.push(Event::raw(&frame[..cut]));
        }
        let bytes = layout.bytes(&stream);
        Self {
            faults,
            layout,
            stream,
            bytes,
        }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}, {:?}, in:", self.faults, self.layout)?;
        f.write_str(&show_all(&self.stream))
    }
}

/// Streams without fault.
pub(crate) fn right() -> impl Strategy<Value = Case> {
    (any_story(false), Layout::any())
        .prop_map(|(story, layout)| Case::new(&story, Vec::new(), layout))
}
