//! Each way to break a rule: what the checker calls it, and how often it is seen.

use serde_json::{Value, json};
use sse_rewrite::Outcome;

use crate::model::{
    End, Event, added, blank, call, code, done, ended, lifecycle, message, reasoning, scoped,
    terminal, unplaced, with, without,
};
use crate::wire::checker::{judged, lines, response};

fn one() -> Value {
    message("msg_1", "text")
}

fn two() -> Value {
    message("msg_2", "more")
}

fn called() -> Value {
    call("fc_1", "call_1", "f", "{}")
}

fn whole(item: &Value) -> Vec<Event> {
    lifecycle(0, item)
}

fn both() -> Vec<Event> {
    [lifecycle(0, &one()), lifecycle(1, &two())].concat()
}

/// Wants of each stream what is wrong with it.
fn check(cases: Vec<(Vec<Event>, &[&str])>) {
    for (events, want) in cases {
        let verdict = judged(events);
        assert_eq!(lines(&verdict), want);
        assert_eq!(verdict.outcome, Outcome::Broken);
    }
}

#[test]
fn what_an_item_is_called() {
    check(vec![
        (
            response(
                vec![
                    added(0, blank(&one())),
                    scoped("content_part.added", 0, "msg_1", ""),
                    scoped("output_text.delta", 0, "msg_9", "text"),
                    done(0, one()),
                ],
                vec![one()],
            ),
            &["C1 Identity 0 item_id msg_1 msg_9 x1"],
        ),
        (
            response(whole(&called()), vec![with(called(), "name", "g")]),
            &["C1 Identity 0 name f g x1"],
        ),
        (
            response(both(), vec![one(), with(two(), "id", "msg_1")]),
            &["C1 Identity 1 id msg_2 msg_1 x1"],
        ),
        (
            response(
                [
                    lifecycle(0, &one()),
                    lifecycle(1, &with(two(), "id", "msg_1")),
                ]
                .concat(),
                vec![one(), with(two(), "id", "msg_1")],
            ),
            &[
                "C11 Taken 1 id - msg_1 x3",
                "C11 Taken 1 item_id - msg_1 x2",
            ],
        ),
        (
            response(
                lifecycle(0, &without(called(), "call_id")),
                vec![without(called(), "call_id")],
            ),
            &["C12 Unusable 0 call_id - - x1"],
        ),
    ]);
}

#[test]
fn how_an_item_lives() {
    check(vec![
        (
            response(lifecycle(2, &one()), vec![one()]),
            // Announcement, part, delta and close.
            &["C2 Index 0 output_index 0 2 x4"],
        ),
        (
            response(
                vec![unplaced("output_text.delta", None, "text"), done(0, one())],
                vec![one()],
            ),
            &[
                "C2 Unannounced 0 - - - x1",
                "C2 Index 0 output_index 0 - x1",
                "C11 Unnamed 0 item_id - - x1",
                "C12 PartUnopened 0 - - - x1",
                "C2 Part 0 content_index 0 - x1",
                "C1 Identity 0 id - msg_1 x1",
                "C1 Identity 0 id - msg_1 x1",
            ],
        ),
        (
            response([whole(&one()), vec![done(0, one())]].concat(), vec![one()]),
            &["C2 ClosedAgain - - - - x1"],
        ),
        (
            response([vec![added(0, one())], whole(&one())].concat(), vec![one()]),
            &["C2 AnnouncedAgain - - - - x1"],
        ),
        (
            response(
                [vec![added(0, Value::Null)], whole(&one())].concat(),
                vec![one()],
            ),
            &["C2 NoItem - - - - x1"],
        ),
        (
            response(vec![added(0, one())], vec![one()]),
            &["C2 NeverClosed 0 - - - x1"],
        ),
        (
            response([vec![Event::Created], whole(&one())].concat(), vec![one()]),
            &["C7 BeginsAgain - - - - x1"],
        ),
    ]);
}

#[test]
fn what_the_end_tells() {
    check(vec![
        (
            response(both(), vec![two(), one()]),
            &[
                "C4 Position 0 position 0 1 x1",
                "C4 Position 1 position 1 0 x1",
            ],
        ),
        (
            response(both(), vec![two()]),
            &["C5 Missing 0 - - - x1", "C4 Position 1 position 1 0 x1"],
        ),
        (
            response(whole(&one()), vec![one(), called()]),
            &["C5 OnlyAtEnd 1 - - - x1"],
        ),
        (
            response(whole(&one()), vec![one(), message("msg_7", "")]),
            &["C4 Unstreamed - type - message x1"],
        ),
        (
            response(whole(&one()), vec![one(), json!(5)]),
            &["C4 NotAnItem - - - - x1"],
        ),
        (
            response(whole(&one()), vec![message("msg_1", "other")]),
            &["C6 Payload 0 payload - - x1"],
        ),
        (
            [
                response(whole(&one()), vec![one()]),
                vec![terminal([one()])],
            ]
            .concat(),
            &["End EndsTwice - - - - x1"],
        ),
        (
            [response(whole(&one()), vec![one()]), vec![done(0, one())]].concat(),
            &["End AfterEnd - - - - x1"],
        ),
    ]);
}

#[test]
fn an_item_of_another_type_at_the_end_is_one_breach() {
    let code = code("ci_1", "1+1");
    let verdict = judged(response(
        lifecycle(0, &code),
        vec![reasoning("rs_1", "1+1")],
    ));
    assert_eq!(
        lines(&verdict),
        ["C4 Type 0 type code_interpreter_call reasoning x1"]
    );
    let last = verdict.items[0].terminal.as_ref().unwrap();
    assert_eq!(last.differs, ["id", "type"]);
}

/// The first part of a message, whose events have these numbers.
fn parts(numbers: &[(&str, u64)]) -> Vec<Event> {
    let mut events = vec![added(0, blank(&one()))];
    for &(kind, number) in numbers {
        let text = match kind {
            "output_text.delta" => "t",
            "content_part.added" => "",
            _ => "text",
        };
        let mut event = scoped(kind, 0, "msg_1", text);
        if let Event::Scoped { part, .. } = &mut event {
            *part = Some(number);
        }
        events.push(event);
    }
    events.push(done(0, one()));
    response(events, vec![one()])
}

#[test]
fn each_wrong_number_of_a_part_is_one_breach_however_often_it_comes() {
    let (opens, says) = ("content_part.added", "output_text.delta");
    let (ends, closes) = ("output_text.done", "content_part.done");
    for (numbers, want) in [
        // One is wrong within a run of deltas.
        (
            vec![
                (opens, 0),
                (says, 0),
                (says, 0),
                (says, 7),
                (says, 0),
                (ends, 0),
                (closes, 0),
            ],
            vec!["C2 Part 0 content_index 0 7 x1"],
        ),
        // All are counted from 1, and two of them otherwise.
        (
            vec![
                (opens, 1),
                (says, 1),
                (says, 1),
                (says, 2),
                (says, 5),
                (ends, 1),
                (closes, 1),
            ],
            vec![
                "C2 Part 0 content_index 0 1 x5",
                "C2 Part 0 content_index 0 2 x1",
                "C2 Part 0 content_index 0 5 x1",
            ],
        ),
        // Another run has another wrong number, and the close has a third.
        (
            vec![
                (opens, 0),
                (says, 1),
                (says, 1),
                (says, 2),
                (says, 2),
                (ends, 0),
                (closes, 3),
            ],
            vec![
                "C2 Part 0 content_index 0 1 x2",
                "C2 Part 0 content_index 0 2 x2",
                "C2 Part 0 content_index 0 3 x1",
            ],
        ),
    ] {
        let verdict = judged(parts(&numbers));
        assert_eq!(lines(&verdict), want);
    }
}

#[test]
fn parts_of_a_summary_have_numbers_too() {
    let thought = json!({"type": "reasoning", "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "why"}]});
    let mut announced = thought.clone();
    announced["summary"] = json!([]);
    let mut delta = scoped("reasoning_summary_text.delta", 0, "rs_1", "why");
    let events = vec![added(0, announced), delta.clone(), done(0, thought.clone())];
    let verdict = judged(response(events, vec![thought.clone()]));
    assert_eq!(lines(&verdict), ["C12 PartUnopened 0 - - - x1"]);
    if let Event::Scoped { part, .. } = &mut delta {
        *part = None;
    }
    let events = vec![added(0, thought.clone()), delta, done(0, thought.clone())];
    let verdict = judged(response(events, vec![thought]));
    assert_eq!(
        lines(&verdict),
        [
            "C12 PartUnopened 0 - - - x1",
            "C2 Part 0 summary_index 0 - x1"
        ]
    );
}

#[test]
fn what_only_a_server_can_put_right_is_not_called_mended() {
    // Its close contradicts what was streamed.
    let events = vec![
        added(0, blank(&one())),
        scoped("content_part.added", 0, "msg_1", ""),
        scoped("output_text.delta", 0, "msg_1", "text"),
        done(0, message("msg_1", "")),
    ];
    let verdict = judged(response(events, vec![message("msg_1", "")]));
    assert_eq!(lines(&verdict), ["C6 ClosedOtherwise 0 - - - x1"]);
    assert!(!verdict.breaches[0].mended);
    // A call that nobody names.
    let bare = without(called(), "name");
    let verdict = judged(response(whole(&bare), vec![bare.clone()]));
    assert_eq!(lines(&verdict), ["C12 Unusable 0 name - - x1"]);
    assert!(!verdict.breaches[0].mended);
    // But one that is named later waits for that.
    let events = vec![added(0, bare), done(0, called())];
    let verdict = judged(response(events, vec![called()]));
    assert_eq!(verdict.breaches[0].rule, sse_rewrite::Rule::C12);
    assert!(verdict.breaches.iter().all(|breach| breach.mended));
}

#[test]
fn an_item_that_is_open_after_a_failure_is_no_breach() {
    let open = || {
        vec![
            Event::Created,
            added(0, blank(&one())),
            scoped("content_part.added", 0, "msg_1", ""),
            scoped("output_text.delta", 0, "msg_1", "te"),
        ]
    };
    let failed = [open(), vec![ended(End::Failed, [])]].concat();
    assert_eq!(judged(failed).outcome, Outcome::Kept);
    let error = [open(), vec![Event::Error]].concat();
    assert_eq!(lines(&judged(error)), ["End NoEnd - - - - x1"]);
    assert_eq!(judged(open()).outcome, Outcome::Cut);
    let listed = ended(End::Failed, [message("msg_9", "te")]);
    let verdict = judged([open(), vec![listed]].concat());
    assert_eq!(lines(&verdict), ["C1 Identity 0 id msg_1 msg_9 x1"]);
}

#[test]
fn a_joined_stream_keeps_the_id_it_shows_first() {
    let events = vec![
        scoped("output_text.delta", 0, "msg_1", "text"),
        done(0, one()),
        terminal([with(one(), "id", "msg_9")]),
    ];
    let verdict = judged(events);
    assert!(verdict.joined);
    assert_eq!(lines(&verdict), ["C1 Identity 0 id msg_1 msg_9 x1"]);
}

#[test]
fn a_wrong_id_in_a_run_of_deltas_is_counted_in_each() {
    let one = message("msg_1", &"x".repeat(500));
    let delta = || scoped("output_text.delta", 0, "msg_9", "x");
    let opened = scoped("content_part.added", 0, "msg_1", "");
    let mut events = vec![added(0, blank(&one)), opened];
    events.extend((0..500).map(|_| delta()));
    events.push(done(0, one.clone()));
    let verdict = judged(response(events, vec![one]));
    assert_eq!(lines(&verdict), ["C1 Identity 0 item_id msg_1 msg_9 x500"]);
    assert_eq!(verdict.events, 505);
    assert_eq!(verdict.rules[0].count, 500);
}
