//! A stream that is joined after its start, as a replay with `starting_after` gives it.

use serde_json::Value;

use crate::model::{
    Event, Numbered, added, blank, call, done, lifecycle, message, reasoning, scoped, show,
    terminal, unplaced,
};
use crate::wire::encoding::{PLAIN, as_json, modelled_stream, rewritten};

fn from(first: u64, events: Vec<Event>) -> Vec<Numbered> {
    (first..).map(Some).zip(events).collect()
}

fn bytes(stream: &[Numbered]) -> Vec<u8> {
    let json: Vec<Value> = stream.iter().map(as_json).collect();
    PLAIN.stream(&json)
}

fn lines(stream: &[Numbered]) -> Vec<String> {
    let sent = rewritten(&bytes(stream));
    assert_eq!(rewritten(&sent), sent);
    let sent = modelled_stream(&sent);
    sent.iter().map(|(_, event)| show(event)).collect()
}

/// A whole stream without fault: three items, the second and third interleaved.
fn whole() -> Vec<Numbered> {
    let items = [
        reasoning("rs_1", "why"),
        call("fc_2", "call_2", "f", "{}"),
        message("msg_3", "so"),
    ];
    let mut events = vec![Event::Created];
    events.extend(lifecycle(0, &items[0]));
    events.extend([
        added(1, blank(&items[1])),
        added(2, blank(&items[2])),
        scoped("content_part.added", 2, "msg_3", ""),
        scoped("function_call_arguments.delta", 1, "fc_2", "{}"),
        scoped("output_text.delta", 2, "msg_3", "so"),
        done(2, items[2].clone()),
        done(1, items[1].clone()),
        terminal(items),
    ]);
    from(0, events)
}

#[test]
fn a_sound_stream_joined_anywhere_is_the_same_bytes() {
    let whole = whole();
    for start in 0..whole.len() {
        let joined = bytes(&whole[start..]);
        assert_eq!(
            String::from_utf8_lossy(&rewritten(&joined)),
            String::from_utf8_lossy(&joined),
            "joined at {start}"
        );
    }
}

#[test]
fn what_is_seen_of_an_item_is_kept_to_its_end() {
    let stream = from(
        9,
        vec![
            scoped("output_text.delta", 2, "msg_3", "so"),
            scoped("output_text.delta", 2, "other", "so"),
            done(2, message("msg_4", "so")),
            terminal([
                reasoning("rs_1", "why"),
                call("fc_2", "call_2", "f", "{}"),
                message("msg_5", "so"),
            ]),
        ],
    );
    assert_eq!(
        lines(&stream),
        [
            "output_text.delta 2 msg_3 so",
            "output_text.delta 2 msg_3 so",
            "done 2 message=msg_3",
            "terminal reasoning=rs_1 | function_call=fc_2/call_2 | message=msg_3",
        ]
    );
}

#[test]
fn once_an_announcement_is_seen_the_indices_must_go_on() {
    let stream = from(
        5,
        [
            lifecycle(2, &message("msg_3", "so")),
            lifecycle(4, &message("msg_5", "and so")),
            vec![terminal([
                reasoning("rs_1", "why"),
                call("fc_2", "call_2", "f", "{}"),
                message("msg_3", "so"),
                message("msg_9", "and so"),
            ])],
        ]
        .concat(),
    );
    let lines = lines(&stream);
    assert_eq!(lines[0], "added 2 message=msg_3");
    assert_eq!(lines[4], "added 3 message=msg_5");
    assert_eq!(
        lines[8],
        "terminal reasoning=rs_1 | function_call=fc_2/call_2 | message=msg_3 | message=msg_5"
    );
}

#[test]
fn an_id_that_two_items_show_is_the_first_ones() {
    let stream = from(
        5,
        vec![
            scoped("output_text.delta", 2, "same", "so"),
            added(0, reasoning("same", "")),
            done(2, message("same", "so")),
            terminal([]),
        ],
    );
    let lines = lines(&stream);
    assert_eq!(lines[0], "output_text.delta 2 same so");
    assert!(lines[1].starts_with("added 0 reasoning=rs_"), "{lines:?}");
    assert_eq!(lines[2], "done 2 message=same");
}

#[test]
fn what_shows_no_place_passes() {
    let stream = from(
        5,
        vec![
            unplaced("output_text.delta", Some("m"), "so"),
            Event::Done {
                index: None,
                item: message("m", "so"),
            },
            Event::Added {
                index: None,
                item: message("n", ""),
            },
            terminal([message("m", "so"), message("n", "")]),
        ],
    );
    assert_eq!(rewritten(&bytes(&stream)), bytes(&stream));
}

#[test]
fn a_stream_without_a_beginning_is_joined_whatever_its_numbers() {
    let stream = from(0, vec![scoped("output_text.done", 0, "m", "x")]);
    assert_eq!(lines(&stream), ["output_text.done 0 m x"]);
}

#[test]
fn a_stream_that_begins_with_its_progress_is_not_joined() {
    for begin in ["queued", "in_progress"] {
        let begin = format!("data: {{\"type\":\"response.{begin}\",\"response\":{{}}}}\n\n");
        let close = bytes(&from(1, vec![done(0, message("m", ""))]));
        let sent = rewritten(&[begin.as_bytes(), &close].concat());
        let sent = modelled_stream(&sent);
        assert_eq!(show(&sent[1].1), "added 0 message=m");
    }
}
