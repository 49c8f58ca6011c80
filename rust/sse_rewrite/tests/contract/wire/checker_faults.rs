//! Each way to break a rule: what the checker calls it, and how often it is seen.

use serde_json::{Value, json};
use sse_rewrite::Outcome;

use crate::model::{
    Event, added, blank, call, code, done, lifecycle, message, reasoning, scoped, terminal,
    unplaced, with, without,
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
