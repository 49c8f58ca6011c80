//! C1 and C2 where a server repeats itself: which item an event means.

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
fn a_repeated_call_is_dropped_whatever_it_says_the_second_time() {
    let first = call("fc_1", "call_1", "f", r#"{"a":1}"#);
    let second = call("fc_1", "call_1", "f", r#"{"a":2}"#);
    let played = kept(
        [
            lifecycle(0, &first),
            vec![added(1, second.clone()), done(1, second.clone())],
            vec![terminal([first.clone(), second])],
        ]
        .concat(),
    );
    assert_eq!(played.output(), [first]);
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
    assert!(played.lines()[2].starts_with("output_text.delta 1 "));
    assert_eq!(played.lines()[3], "output_text.delta 0 same one");
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
    assert_eq!(played.sent.len(), 7);
    assert!(played.lines()[4].starts_with("output_text.delta 1 "));
}

#[test]
fn a_close_under_a_new_id_is_a_new_item_even_if_it_says_the_same() {
    let played = kept(
        [
            lifecycle(0, &message("a", "x")),
            vec![done(0, message("b", "x"))],
            vec![terminal([message("a", "x")])],
        ]
        .concat(),
    );
    assert_eq!(played.lines()[3], "added 1 message=b");
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
    assert_eq!(played.lines()[1], "output_text.delta 0 a x");
    assert_eq!(played.output().len(), 1);
}
