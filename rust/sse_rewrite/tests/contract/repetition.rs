//! C1 and C2 where a server repeats itself: which item an event means.

use serde_json::{Value, json};

use crate::encoding::rewritten;
use crate::model::{Event, added, call, done, lifecycle, message, scoped, terminal, with};
use crate::stream::kept;

#[test]
fn text_after_the_close_is_kept_although_the_announcement_came_late() {
    let item = message("a", "x");
    let played = kept(vec![
        scoped("output_text.delta", 0, "a", "x"),
        added(0, item.clone()),
        done(0, item.clone()),
        scoped("output_text.delta", 0, "a", "more"),
        terminal([item]),
    ]);
    assert_eq!(played.output().len(), 2);
}

#[test]
fn a_call_that_came_before_its_announcement_can_be_repeated_like_any_other() {
    let item = call("fc_1", "call_1", "f", "{}");
    let played = kept(
        [
            vec![scoped("function_call_arguments.delta", 0, "fc_1", "{}")],
            vec![added(0, item.clone()), done(0, item.clone())],
            vec![added(1, item.clone()), done(1, item.clone())],
            vec![terminal([item])],
        ]
        .concat(),
    );
    assert_eq!(played.output().len(), 1);
}

#[test]
fn a_call_under_a_taken_call_id_that_says_something_else_is_a_call_of_its_own() {
    let first = call("fc_1", "call_1", "f", r#"{"a":1}"#);
    let second = call("fc_1", "call_1", "f", r#"{"a":2}"#);
    let played = kept(
        [
            lifecycle(0, &first),
            lifecycle(1, &second),
            vec![terminal([first.clone(), second])],
        ]
        .concat(),
    );
    assert_eq!(played.output()[0], first);
    assert_eq!(played.output()[1]["arguments"], r#"{"a":2}"#);
    assert_ne!(played.output()[1]["call_id"], "call_1");
}

#[test]
fn a_call_that_says_the_same_is_dropped_whatever_its_id() {
    let first = call("fc_1", "call_1", "f", r#"{"a":1}"#);
    for text in [r#"{"a":1}"#, ""] {
        let second = call("fc_2", "call_1", "f", text);
        let stream = [
            lifecycle(0, &first),
            lifecycle(1, &second),
            vec![terminal([first.clone(), second])],
        ];
        assert_eq!(kept(stream.concat()).output(), std::slice::from_ref(&first));
    }
}

#[test]
fn two_open_calls_with_one_id_at_one_index_are_two() {
    let items = [
        call("same", "call_1", "f", r#"{"a":1}"#),
        call("same", "call_2", "f", r#"{"a":2}"#),
    ];
    let played = kept(vec![
        added(0, items[0].clone()),
        added(0, items[1].clone()),
        done(0, items[1].clone()),
        done(0, items[0].clone()),
        terminal(items),
    ]);
    assert_eq!(played.sent.len(), 5);
    assert!(played.lines()[1].starts_with("added 1 "));
    assert!(played.lines()[2].ends_with("/call_2"));
}

#[test]
fn of_two_open_items_with_one_id_the_index_decides() {
    let played = kept(vec![
        added(0, message("same", "")),
        added(1, message("same", "")),
        scoped("output_text.delta", 1, "same", "two"),
        scoped("output_text.delta", 0, "same", "one"),
        done(1, message("same", "two")),
        done(0, message("same", "one")),
        terminal([message("same", "one"), message("same", "two")]),
    ]);
    assert!(played.lines()[3].starts_with("output_text.delta 1 "));
    assert_eq!(played.lines()[5], "output_text.delta 0 same one");
}

#[test]
fn a_closed_item_announced_again_is_a_new_item() {
    let played = kept(
        [
            lifecycle(0, &message("a", "x")),
            lifecycle(0, &message("a", "y")),
            vec![terminal([message("a", "x"), message("a", "y")])],
        ]
        .concat(),
    );
    assert_eq!(played.sent.len(), 9);
    assert!(played.lines()[6].starts_with("output_text.delta 1 "));
}

#[test]
fn a_close_under_a_new_id_repeats_the_one_at_its_index_if_it_says_the_same() {
    let closed_again = |index| {
        kept(
            [
                lifecycle(0, &message("a", "x")),
                vec![done(index, message("b", "x"))],
                vec![terminal([message("a", "x")])],
            ]
            .concat(),
        )
    };
    assert_eq!(closed_again(0).lines()[4], "terminal message=a");
    assert_eq!(closed_again(1).lines()[4], "added 1 message=b");
}

#[test]
fn an_item_announced_without_index_may_have_one_later() {
    let item = message("a", "x");
    let played = kept(vec![
        Event::Added {
            index: None,
            item: item.clone(),
        },
        scoped("output_text.delta", 0, "b", "x"),
        done(0, with(item.clone(), "id", "c")),
        terminal([item]),
    ]);
    assert_eq!(played.lines()[2], "output_text.delta 0 a x");
    assert_eq!(played.output().len(), 1);
}

/// The same arguments, however a server escapes them and wherever it cuts them.
#[test]
fn a_repetition_may_be_written_in_another_way() {
    let text = "{\"wave\":\"\u{1f30a}\"}";
    let first = [r#"{\"wave\":\"\ud83c\udf0a\"}"#];
    let again = [
        vec![r#"{\u0022wave\":\"\ud83c"#, r#"\udf0a\"}"#],
        vec!["{\\\"wave\\\":\\\"\u{1f30a}", r#"\"}"#],
        vec![r#"{\"wave\":\"\uD83C"#, "", r#"\uDF0A\"}"#],
    ];
    for again in again {
        let sent = repeated(&first, &again, text);
        assert_eq!(sent.matches("output_item.added").count(), 1, "{again:?}");
    }
    let other = repeated(&first, &[r#"{\"wave\":\"\ud83c"#, r#"\udf0b"#], text);
    assert_eq!(other.matches("output_item.added").count(), 2);
}

/// A call whose arguments come in these pieces, as JSON has them, and another under its
/// `call_id`; both are closed with `text`.
fn repeated(first: &[&str], again: &[&str], text: &str) -> String {
    let frame = |event: String| format!("data: {event}\n\n");
    let lifecycle = |id: &str, index: u64, pieces: &[&str]| {
        let event = |kind: &str, item: Value| {
            frame(json!({"type": kind, "output_index": index, "item": item}).to_string())
        };
        let deltas: String = pieces
            .iter()
            .map(|piece| {
                frame(format!(
                    r#"{{"type":"response.function_call_arguments.delta","output_index":{index},"item_id":"{id}","delta":"{piece}"}}"#
                ))
            })
            .collect();
        event("response.output_item.added", call(id, "call_1", "f", ""))
            + &deltas
            + &event("response.output_item.done", call(id, "call_1", "f", text))
    };
    let created = frame(json!({"type": "response.created", "response": {}}).to_string());
    let stream = created + &lifecycle("fc_1", 0, first) + &lifecycle("fc_2", 1, again);
    String::from_utf8(rewritten(stream.as_bytes())).unwrap()
}

#[test]
fn a_call_that_repeats_an_open_one_waits_as_long_as_that_may_still_say_the_same() {
    let delta = "function_call_arguments.delta";
    let stream = |second: &str| {
        vec![
            added(0, call("fc_1", "call_1", "f", "")),
            scoped(delta, 0, "fc_1", "{"),
            added(1, call("fc_2", "call_1", "f", "")),
            scoped(delta, 1, "fc_2", "{\"a\""),
            scoped(delta, 0, "fc_1", "\"a\":1}"),
            done(0, call("fc_1", "call_1", "f", "{\"a\":1}")),
            scoped(delta, 1, "fc_2", second),
            done(1, call("fc_2", "call_1", "f", &format!("{{\"a\"{second}"))),
            terminal([]),
        ]
    };
    assert_eq!(kept(stream(":1}")).output().len(), 1);
    assert_eq!(kept(stream(":2}")).output().len(), 2);
}

#[test]
fn two_calls_that_wait_under_one_call_id_may_repeat_each_other() {
    let delta = "function_call_arguments.delta";
    let whole = |index, id: &str| {
        vec![
            added(index, call(id, "call_1", "f", "")),
            scoped(delta, index, id, "{\"a\":"),
        ]
    };
    let end = |index, id: &str| {
        vec![
            scoped(delta, index, id, "2}"),
            done(index, call(id, "call_1", "f", "{\"a\":2}")),
        ]
    };
    let first = lifecycle(0, &call("fc_1", "call_1", "f", "{\"a\":1}"));
    let stream = [
        first,
        whole(1, "fc_2"),
        whole(2, "fc_3"),
        end(1, "fc_2"),
        end(2, "fc_3"),
        vec![terminal([])],
    ];
    let played = kept(stream.concat());
    assert_eq!(played.output().len(), 2);
    assert_eq!(played.output()[1]["id"], "fc_2");
}

#[test]
fn a_call_that_streamed_another_text_than_its_close_has_said_both() {
    let delta = "function_call_arguments.delta";
    let first = vec![
        added(0, call("fc_1", "call_1", "f", "")),
        scoped(delta, 0, "fc_1", "{ }"),
        done(0, call("fc_1", "call_1", "f", "{}")),
    ];
    for text in ["{ }", "{}"] {
        let again = lifecycle(1, &call("fc_2", "call_1", "f", text));
        let stream = [first.clone(), again, vec![terminal([])]];
        assert_eq!(kept(stream.concat()).output().len(), 1, "{text}");
    }
}
