//! The oracle itself: it sees each fault, and what a bad rewriter would do.

use proptest::prelude::*;
use serde_json::json;

use crate::ends::{added_after_failure, late, misnamed};
use crate::event::{Event, Stream};
use crate::facts::{End, Facts};
use crate::faults::{Blank, Fault, Late, Says, Shown, Who};
use crate::items::{ItemSpec, PartSpec, Wording};
use crate::kept::{altered, losses};
use crate::repeats::{Shared, Twice, repeats_a_call};
use crate::right::{Case, Ending, Numbers, Story, right};
use crate::right_streams::config;
use crate::rules::faults;
use crate::wire::{Layout, parse};

fn item(kind: &'static str, chunks: &[&'static str]) -> ItemSpec {
    let part = PartSpec {
        chunks: chunks.to_vec(),
        other: false,
        extras: false,
    };
    ItemSpec {
        kind,
        parts: vec![part],
        variant: 2,
    }
}

/// Reasoning, a message, a call, a call that the server answers, and a further message.
fn story() -> Story {
    Story {
        items: vec![
            item("reasoning", &["think"]),
            item("message", &["hello ", "there"]),
            item("function_call", &["{", "}"]),
            item("mcp_call", &["{}"]),
            item("message", &["bye"]),
        ],
        turns: Vec::new(),
        ending: Ending::Completed,
        numbers: Numbers::Contiguous,
        foreign: Vec::new(),
        wording: Wording {
            distinct: true,
            reasoning_part: false,
        },
        queued: false,
        marked_end: false,
    }
}

/// Each fault that is seen in the stream itself, with a rule that it breaks.
fn visible() -> Vec<(&'static str, Fault)> {
    let all = Who::All;
    vec![
        ("C1", Fault::IdsFreshInTerminal),
        ("C1", Fault::IdsFreshEverywhere),
        ("C1", Fault::IdsEmpty(Blank::Empty)),
        ("C11", Fault::IdsSame),
        ("C1", Fault::CallIdsFreshAtEnd { in_close: true }),
        (
            "C12",
            Fault::CallNamedLate {
                who: all,
                late: Late::Both,
                blank: Blank::Null,
                shown: Shown::Close,
            },
        ),
        ("C1", Fault::NameEmptyInClose(all)),
        ("C2", Fault::AnnouncementMissing(all)),
        ("C12", Fault::AnnouncementNull(all)),
        ("C12", Fault::PartNeverOpened(all)),
        ("C2", Fault::ContentIndexCarriedOver),
        (
            "C12",
            Fault::ContentIndexPerDelta {
                who: all,
                opened: false,
            },
        ),
        ("C2", Fault::CloseMissing(all)),
        ("C2", Fault::DeltasOnly(all)),
        ("C2", Fault::StatusAfterClose(all)),
        ("C4", Fault::TerminalEmpty),
        ("C1", Fault::TerminalShuffled(1)),
        ("C4", Fault::TerminalPartial(all)),
        (
            "C4",
            Fault::OnlyInTerminal {
                who: Who::Nth(1),
                gap: true,
            },
        ),
        (
            "C2",
            Fault::AnnouncementAgain {
                who: all,
                says: Says::More,
                after_close: true,
            },
        ),
        (
            "C2",
            Fault::CloseAgain {
                who: all,
                says: Says::More,
                late: false,
            },
        ),
        (
            "C11",
            Fault::CallTwice {
                who: all,
                how: Twice {
                    other: false,
                    shared: Shared::Nothing,
                    listed: false,
                },
            },
        ),
        ("C2", Fault::CallClosedEmptyFirst(all)),
        ("C2", Fault::IndexColliding(Who::Nth(0), Who::Nth(1))),
        ("C2", Fault::IndexGap(Who::Nth(1))),
        ("C2", Fault::IndexMissing(all)),
        ("C1", Fault::ItemIdMissing(all)),
        ("C3", Fault::NumberStandsStill(5)),
        ("C3", Fault::NumberGoesBack(5)),
        (
            "C2",
            Fault::CreatedAgain {
                at: 9,
                restart: true,
            },
        ),
    ]
}

fn case(fault: Option<Fault>) -> Case {
    Case::new(&story(), fault.into_iter().collect(), Layout::default())
}

#[test]
fn each_fault_breaks_a_rule() {
    assert_eq!(
        faults(&case(None).stream, &Facts::of(&case(None).stream)),
        [""; 0]
    );
    for (rule, fault) in visible() {
        let case = case(Some(fault.clone()));
        let found = faults(&case.stream, &Facts::of(&case.stream));
        let seen = found
            .iter()
            .any(|found| found.split(':').next() == Some(rule));
        assert!(seen, "{fault:?} breaks {rule}: {found:?}");
    }
}

#[test]
fn faults_do_what_their_names_say() {
    let twice = Fault::CallTwice {
        who: Who::All,
        how: Twice {
            other: true,
            shared: Shared::Both,
            listed: true,
        },
    };
    let stream = case(Some(twice)).stream;
    assert!(repeats_a_call(&stream) && !repeats_a_call(&case(None).stream));
    let facts = Facts::of(&case(Some(Fault::Joined(3))).stream);
    assert!(facts.joined && facts.end == End::Complete);
    let never = Fault::CallNamedLate {
        who: Who::All,
        late: Late::CallId,
        blank: Blank::Absent,
        shown: Shown::Never,
    };
    assert_eq!(Facts::of(&case(Some(never)).stream).unnamed, 1);
}

#[test]
fn what_no_event_places_is_unclear() {
    let unclear = |faults: &[Fault]| {
        let case = Case::new(&story(), faults.to_vec(), Layout::default());
        Facts::of(&case.stream).unclear
    };
    assert!(unclear(&[]).is_empty());
    assert!(unclear(&[Fault::IndexMissing(Who::All)]).is_empty());
    assert!(unclear(&[Fault::IdsFreshEverywhere]).is_empty());
    let lost = [
        Fault::CloseMissing(Who::All),
        Fault::IndexMissing(Who::All),
        Fault::IdsSame,
    ];
    assert_eq!(unclear(&lost).into_iter().collect::<Vec<_>>(), ["message"]);
}

/// What a rewriter does wrong to a right stream.
fn spoiled(stream: &Stream, what: impl Fn(&mut Event) -> bool) -> Stream {
    let mut stream = stream.clone();
    stream.retain_mut(what);
    for event in &mut stream {
        event.owner = None;
    }
    stream
}

#[test]
fn a_loss_is_seen() {
    let came = case(None).stream;
    let facts = Facts::of(&came);
    assert_eq!(losses(&came, &spoiled(&came, |_| true), &facts), [""; 0]);
    for index in 0..5 {
        let of = |event: &Event| event.index() == Some(index);
        let no_delta = spoiled(&came, |event| !(of(event) && event.is_delta()));
        assert_ne!(
            losses(&came, &no_delta, &facts),
            [""; 0],
            "the deltas of {index}"
        );
        let gone = spoiled(&came, |event| !of(event) && !event.is_terminal());
        assert_ne!(losses(&came, &gone, &facts), [""; 0], "the item {index}");
    }
}

#[test]
fn a_blank_close_is_seen() {
    let came = case(Some(Fault::CloseMissing(Who::All))).stream;
    let facts = Facts::of(&came);
    let mut sent = came.clone();
    let close = json!({"type": "response.output_item.done", "output_index": 2, "item": {
        "type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "g",
        "arguments": ""}});
    let end = sent.len() - 1;
    sent.insert(end, Event::new(close.clone()));
    assert_ne!(altered(&came, &sent, &facts), [""; 0]);
    sent[end].body["item"]["arguments"] = json!("C0:{}");
    assert_eq!(altered(&came, &sent, &facts), [""; 0]);
}

#[test]
fn another_text_is_seen() {
    let came = case(None).stream;
    let facts = Facts::of(&came);
    let deltas = spoiled(&came, |event| {
        if event.is_delta() {
            event.body["delta"] = json!("invented");
        }
        true
    });
    assert_ne!(altered(&came, &deltas, &facts), [""; 0]);
    let closes = spoiled(&came, |event| {
        if let (true, Some(item)) = (event.is_done(), event.item_mut()) {
            item["arguments"] = json!("invented");
        }
        true
    });
    assert_ne!(altered(&came, &closes, &facts), [""; 0]);
}

#[test]
fn what_is_sent_late_is_seen() {
    let came = case(None).stream;
    let facts = Facts::of(&came);
    let mut sent: Vec<Vec<Event>> = came.iter().map(|event| vec![event.clone()]).collect();
    assert_eq!(late(&came, &sent, &facts), [""; 0]);
    sent.rotate_right(1);
    assert_ne!(late(&came, &sent, &facts), [""; 0]);
}

#[test]
fn what_is_added_to_a_failure_is_seen() {
    let failed = Story {
        ending: Ending::Failed {
            at: 7,
            error: false,
            listed: true,
        },
        ..story()
    };
    let came = Case::new(&failed, vec![Fault::IdsFreshInTerminal], Layout::default()).stream;
    let facts = Facts::of(&came);
    assert_eq!(came.last().map(|event| event.listed.len()), Some(1));
    assert_ne!(misnamed(&came, &came, &facts), [""; 0]);
    assert_eq!(added_after_failure(&came, &came, &[]), [""; 0]);
    let closed = Event::new(
        json!({"type": "response.output_item.done", "output_index": 0,
        "item": {"type": "message", "id": "msg_1"}}),
    );
    let sent = [&came[..], std::slice::from_ref(&closed)].concat();
    assert_eq!(added_after_failure(&came, &sent, &[closed]).len(), 2);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn bytes_are_read_as_the_events_they_were_written_from(case in right()) {
        let read = parse(&case.bytes);
        let bodies = |events: &[Event]| -> Vec<_> {
            events.iter().map(|event| event.body.clone()).collect()
        };
        if !case.stream.last().is_some_and(Event::is_raw) {
            prop_assert_eq!(bodies(&read), bodies(&case.stream));
        }
    }
}
