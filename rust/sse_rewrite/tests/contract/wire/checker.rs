//! The checker: it calls wrong what the rewriter would change, and what no rewriter can.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use sse_rewrite::check::breach::{Fault, Rule};
use sse_rewrite::check::origin;
use sse_rewrite::check::verdict::End;
use sse_rewrite::{Checker, Outcome, Policy, Verdict};

use crate::model::{
    Event, added, blank, call, done, lifecycle, message, numbered, reasoning, scoped, terminal,
};
use crate::random::{any_stream, sound_stream};
use crate::wire::encoding::{LAYOUTS, Layout, PLAIN, as_json, judged_in, rewritten};

fn bytes(events: Vec<Event>) -> Vec<u8> {
    let json: Vec<Value> = numbered(events).iter().map(as_json).collect();
    PLAIN.stream(&json)
}

pub(crate) fn judged(events: Vec<Event>) -> Verdict {
    judged_in(usize::MAX, &bytes(events))
}

/// What is wrong, one line each: rule, fault, slot, field, what it should be, what it is.
pub(crate) fn lines(verdict: &Verdict) -> Vec<String> {
    let breaches = verdict.breaches.iter().map(|breach| {
        let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let slot = breach
            .output_index
            .map_or("-".to_owned(), |slot| slot.to_string());
        format!(
            "{:?} {:?} {slot} {} {} {} x{}",
            breach.rule,
            breach.fault,
            breach.field.unwrap_or("-"),
            said(&breach.announced),
            said(&breach.said),
            breach.times,
        )
    });
    breaches.collect()
}

/// A response that begins, has these events, and ends with this output.
pub(crate) fn response(events: Vec<Event>, output: Vec<Value>) -> Vec<Event> {
    let mut all = vec![Event::Created];
    all.extend(events);
    all.push(terminal(output));
    all
}

#[test]
fn kept_streams_are_wrong_before_and_right_after() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let mut seen = 0;
    for file in fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        if file.extension() != Some("sse".as_ref()) {
            continue;
        }
        seen += 1;
        let came = fs::read(&file).unwrap();
        let sent = fs::read(file.with_extension("expected")).unwrap();
        let before = judged_in(usize::MAX, &came);
        let mends = before.breaches.iter().any(|breach| breach.mended);
        assert_eq!(mends, came != sent, "{file:?}: {:?}", lines(&before));
        let after = judged_in(usize::MAX, &sent);
        let left: Vec<_> = after.breaches.iter().map(|breach| breach.fault).collect();
        let unmendable = [Fault::ResponseId, Fault::NoType, Fault::NoEnd];
        assert!(
            left.iter().all(|fault| unmendable.contains(fault)),
            "{file:?}: {left:?}"
        );
        assert_eq!(left.is_empty(), after.outcome == Outcome::Kept, "{file:?}");
    }
    assert!(seen > 8);
}

#[test]
fn the_stream_of_the_readme_gives_its_table() {
    let called = call("86c1dbf1a8fefbcf", "call_951f", "get_weather", "{}");
    let streamed = [reasoning("89d3c2a7e9e2f1cd", "why"), called];
    let mut events = lifecycle(0, &streamed[0]);
    events.extend(lifecycle(1, &streamed[1]));
    let rebuilt = vec![
        reasoning("rs_b540", "why"),
        call("fc_bebd", "chatcmpl-tool-878d", "get_weather", "{}"),
    ];
    let verdict = judged(response(events, rebuilt));
    assert_eq!(
        lines(&verdict),
        [
            "C1 Identity 0 id 89d3c2a7e9e2f1cd rs_b540 x1",
            "C1 Identity 1 id 86c1dbf1a8fefbcf fc_bebd x1",
            "C1 Identity 1 call_id call_951f chatcmpl-tool-878d x1",
        ]
    );
    assert_eq!(verdict.outcome, Outcome::Broken);
    assert_eq!(verdict.end, End::Completed);
    assert_eq!(
        (verdict.rules[0].rule, verdict.rules[0].count),
        (Rule::C1, 3)
    );
    let row = &verdict.items[1];
    assert_eq!(row.call_id.as_deref(), Some("call_951f"));
    assert_eq!(row.added.as_ref().unwrap().differs, [""; 0]);
    assert_eq!(row.done.as_ref().unwrap().differs, [""; 0]);
    let last = row.terminal.as_ref().unwrap();
    assert_eq!(last.differs, ["id", "call_id"]);
    assert_eq!(last.call_id.as_deref(), Some("chatcmpl-tool-878d"));
    assert_eq!(verdict.origin.path, Some(origin::Path::Simple));
}

#[test]
fn a_number_is_wrong_where_it_does_not_grow_and_not_after() {
    let one = message("msg_1", "xxx");
    let delta = || scoped("output_text.delta", 0, "msg_1", "x");
    let events = response(
        vec![
            added(0, blank(&one)),
            scoped("content_part.added", 0, "msg_1", ""),
            delta(),
            delta(),
            delta(),
            done(0, one.clone()),
        ],
        vec![one],
    );
    let json = |numbers: [u64; 8]| -> Vec<u8> {
        let numbered = numbers.into_iter().zip(&events);
        let json = numbered.map(|(number, event)| as_json(&(Some(number), event.clone())));
        PLAIN.stream(&json.collect::<Vec<_>>())
    };
    let verdict = judged_in(usize::MAX, &json([0, 1, 2, 3, 4, 4, 5, 9]));
    assert_eq!(lines(&verdict), ["C3 Number - sequence_number 4 4 x1"]);
    assert_eq!(verdict.breaches[0].event, 6);
    let verdict = judged_in(usize::MAX, &json([0, 1, 2, 3, 4, 7, 8, 9]));
    assert_eq!(verdict.outcome, Outcome::Kept);
}

const CREATED: &str = r#"{"type":"response.created","response":{"id":"resp_1"}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"resp_1"}}"#;
const ADDED: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}"#;

fn of(data: &[&str]) -> Verdict {
    let frames: Vec<String> = data
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    judged_in(usize::MAX, frames.concat().as_bytes())
}

#[test]
fn what_no_rewriter_mends_is_told_too() {
    let other = r#"{"type":"response.completed","response":{"id":"resp_2"}}"#;
    for (data, want) in [
        (
            vec![CREATED, other],
            "C7 ResponseId - response.id resp_1 resp_2 x1",
        ),
        (vec![CREATED, "{", COMPLETED], "Frame NotJson - - - - x1"),
        (vec![CREATED, "{}", COMPLETED], "Frame NoType - - - - x1"),
        (
            vec![CREATED, r#"{"type":"response.completed"}"#],
            "Frame NoResponse - - - - x1",
        ),
        (
            vec![CREATED, r#"{"type":"error","message":"m"}"#],
            "End NoEnd - - - - x1",
        ),
        (vec![CREATED, "[DONE]"], "End NoEnd - - - - x1"),
    ] {
        let verdict = of(&data);
        assert_eq!(lines(&verdict), [want]);
        assert!(verdict.breaches.iter().all(|breach| !breach.mended));
        assert_eq!(verdict.outcome, Outcome::Broken);
    }
    let failed = of(&[CREATED, ADDED, r#"{"error":{"message":"m"}}"#]);
    assert_eq!(
        lines(&failed),
        ["Frame NoType - - - - x1", "End NoEnd - - - - x1"]
    );
    assert_eq!(failed.end, End::Error);
}

#[test]
fn a_stream_that_stops_is_neither_right_nor_wrong() {
    let verdict = of(&[CREATED, ADDED]);
    assert_eq!(
        (verdict.outcome, verdict.cut, verdict.end),
        (Outcome::Cut, true, End::None)
    );
    let notes: Vec<_> = verdict.notes.iter().map(|note| note.note).collect();
    assert_eq!(notes, ["open"]);
    let whole = format!("data: {CREATED}\n\ndata: {COMPLETED}\n\n");
    for length in 1..whole.len() - 2 {
        let verdict = judged_in(usize::MAX, &whole.as_bytes()[..length]);
        assert!(
            !matches!(verdict.outcome, Outcome::Kept | Outcome::Broken),
            "{length}"
        );
    }
    for length in whole.len() - 2..whole.len() {
        let verdict = judged_in(usize::MAX, &whole.as_bytes()[..length]);
        assert_eq!(
            verdict.outcome,
            Outcome::Kept,
            "the last blank line is not missed"
        );
    }
}

#[test]
fn what_is_no_stream_of_the_api_says_so() {
    for text in [
        "",
        "hello",
        "data: {\"object\":\"chat.completion.chunk\",\"choices\":[]}\n\ndata: [DONE]\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    ] {
        assert_eq!(
            judged_in(usize::MAX, text.as_bytes()).outcome,
            Outcome::NoStream
        );
    }
}

#[test]
fn notes_are_no_breach() {
    let part = r#"{"type":"response.reasoning_part.added","output_index":0,"item_id":"5d0c77aa91e3f240","content_index":0,"part":{"type":"reasoning_text"}}"#;
    let item = r#"{"type":"reasoning","id":"5d0c77aa91e3f240"}"#;
    let told = |kind: &str| {
        format!(r#"{{"type":"response.output_item.{kind}","output_index":0,"item":{item}}}"#)
    };
    let end = format!(
        r#"{{"type":"response.completed","response":{{"id":"resp_1","status":"incomplete","output":[{item}]}}}}"#
    );
    let verdict = of(&[CREATED, &told("added"), part, &told("done"), &end]);
    assert_eq!(lines(&verdict), [""; 0]);
    assert_eq!(verdict.outcome, Outcome::Kept);
    let notes: Vec<_> = verdict.notes.iter().map(|note| note.note).collect();
    assert_eq!(notes, ["prefix", "vocabulary", "status"]);
}

#[test]
fn who_made_a_stream_shows() {
    let whole = |more: &str| {
        let response =
            format!(r#""id":"resp_1","tool_choice":"auto","parallel_tool_calls":true{more}"#);
        let created = format!(r#"{{"type":"response.created","response":{{{response}}}}}"#);
        of(&[&created, COMPLETED]).origin
    };
    let turns = |turns: &str| {
        whole(&format!(
            r#","kv_transfer_params":null,"usage":{{"output_tokens_details":{{"output_tokens_per_turn":{turns}}}}}"#
        ))
    };
    assert_eq!(turns("[3]").path, Some(origin::Path::Harmony));
    assert_eq!(turns("[]").path, Some(origin::Path::Simple));
    let vllm = whole(r#","kv_transfer_params":null"#);
    assert_eq!((vllm.server, vllm.path), (origin::Server::Vllm, None));
    assert_eq!(whole("").server, origin::Server::Other);
    assert_eq!(
        of(&[CREATED, COMPLETED]).origin.server,
        origin::Server::Unknown
    );
    let announced = |item: Value| {
        judged(response(lifecycle(0, &item), vec![item]))
            .origin
            .path
    };
    let harmony = announced(reasoning("msg_8a9cd605e6b52ccc", "x"));
    assert_eq!(harmony, Some(origin::Path::Harmony));
    let simple = announced(call("fc_1", "chatcmpl-tool-82080d6f8a8c1dab", "f", "{}"));
    assert_eq!(simple, Some(origin::Path::Simple));
    assert_eq!(announced(message("msg_1", "x")), None);
}

#[test]
fn a_report_has_bounds() {
    let mut checker = Checker::new(Policy::default());
    let long = "x".repeat(5000);
    checker.feed(format!("data: {CREATED}\n\n").as_bytes());
    for number in 0..3000 {
        let item = format!(r#"{{"type":"message","id":"{long}{number}"}}"#);
        for kind in ["added", "done"] {
            let event = format!(
                r#"{{"type":"response.output_item.{kind}","output_index":7,"item":{item}}}"#
            );
            checker.feed(format!("data: {event}\n\n").as_bytes());
        }
    }
    let verdict = checker.finish();
    assert_eq!((verdict.items.len(), verdict.more_items), (1000, 2000));
    assert_eq!(verdict.breaches.len(), 1000);
    let listed: u64 = verdict.breaches.iter().map(|breach| breach.times).sum();
    let counted: u64 = verdict.rules.iter().map(|rule| rule.count).sum();
    assert_eq!(listed + verdict.more_breaches, counted);
    assert!(verdict.to_json().len() < 8 << 20);
}

#[test]
fn beyond_a_limit_it_is_not_judged() {
    let mut checker = Checker::new(Policy {
        max_items: 0,
        ..Policy::default()
    });
    checker.feed(format!("data: {CREATED}\n\ndata: {ADDED}\n\n").as_bytes());
    let verdict = checker.finish();
    assert_eq!(verdict.outcome, Outcome::Limit);
    assert!(verdict.limit.unwrap().contains("more output items"));
}

/// The stream is right exactly where the rewriter changes nothing.
fn agrees(stream: &[crate::model::Numbered], layout: Layout) {
    let mut json: Vec<_> = stream.iter().map(as_json).collect();
    json.insert(0, json!({"type": "response.created", "response": {}}));
    let came = layout.stream(&json);
    let sent = rewritten(&came);
    let verdict = judged_in(usize::MAX, &came);
    assert_eq!(judged_in(5, &came), verdict);
    assert_eq!(
        verdict.breaches.iter().any(|breach| breach.mended),
        sent != came,
        "{:?}\n{}\n{}",
        lines(&verdict),
        String::from_utf8_lossy(&came),
        String::from_utf8_lossy(&sent),
    );
    let after = judged_in(usize::MAX, &sent);
    assert!(
        after.breaches.iter().all(|breach| !breach.mended),
        "{:?}",
        lines(&after)
    );
    let listed: u64 = verdict.breaches.iter().map(|breach| breach.times).sum();
    let counted: u64 = verdict.rules.iter().map(|rule| rule.count).sum();
    assert_eq!(listed, counted);
}

proptest! {
    #[test]
    fn wrong_is_what_the_rewriter_changes(
        stream in any_stream(),
        layout in proptest::sample::select(&LAYOUTS[..]),
    ) {
        agrees(&stream, layout);
    }

    #[test]
    fn a_sound_stream_is_right(
        stream in sound_stream(),
        layout in proptest::sample::select(&LAYOUTS[..]),
    ) {
        let json: Vec<_> = stream.iter().map(as_json).collect();
        let verdict = judged_in(usize::MAX, &layout.stream(&json));
        prop_assert_eq!(lines(&verdict), [""; 0]);
        prop_assert_eq!(verdict.outcome, Outcome::Kept);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let begun = [format!("data: {CREATED}\n\n").as_bytes(), &bytes].concat();
        let outcome = judged_in(usize::MAX, &begun).outcome;
        prop_assert_ne!(outcome, Outcome::NoStream);
        prop_assert_ne!(outcome, Outcome::Kept);
    }
}
