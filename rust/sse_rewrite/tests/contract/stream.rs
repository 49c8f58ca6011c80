//! C1, C2, C3, C9 and C11: what holds while the stream goes on.

use sse_rewrite::{Engine, Event as EngineEvent, GaveUp, Item, Policy};

use crate::driver::{Played, play, play_under};
use crate::judge::faults;
use crate::losses::losses;
use crate::model::{
    Event, added, call, done, lifecycle, message, numbered, reasoning, scoped, terminal, with,
    without,
};

/// Plays the events and wants the contract kept and nothing lost.
pub(crate) fn kept(events: Vec<Event>) -> Played {
    let stream = numbered(events);
    let played = play(&stream);
    assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
    assert_eq!(losses(&stream, &played.sent), [""; 0]);
    played
}

mod c1_the_first_announcement_wins {
    use super::*;

    #[test]
    fn every_later_mention_carries_the_announced_identity() {
        let played = kept(vec![
            added(0, call("fc_1", "call_1", "f", "")),
            scoped("function_call_arguments.delta", 0, "fc_2", "{}"),
            done(0, call("fc_3", "call_3", "f", "{}")),
            terminal([call("fc_4", "call_4", "f", "{}")]),
        ]);
        assert_eq!(
            played.lines(),
            [
                "added 0 function_call=fc_1/call_1",
                "function_call_arguments.delta 0 fc_1 {}",
                "done 0 function_call=fc_1/call_1",
                "terminal function_call=fc_1/call_1",
            ]
        );
    }

    #[test]
    fn a_field_that_appears_later_is_filled_in_then_fixed() {
        let bare = without(without(call("fc_1", "", "", ""), "call_id"), "name");
        let played = kept(vec![
            added(0, bare),
            done(0, call("fc_1", "call_1", "f", "{}")),
            terminal([call("fc_1", "call_2", "g", "{}")]),
        ]);
        assert_eq!(played.output()[0]["call_id"], "call_1");
        assert_eq!(played.output()[0]["name"], "f");
    }

    #[test]
    fn an_empty_or_null_field_is_no_identity() {
        for empty in [serde_json::json!(""), serde_json::json!(null)] {
            let played = kept(vec![
                added(0, call("fc_1", "call_1", "f", "")),
                scoped("function_call_arguments.delta", 0, "", "{}"),
                done(0, with(call("fc_1", "", "f", "{}"), "id", empty.clone())),
                terminal([with(call("fc_1", "", "f", "{}"), "id", empty)]),
            ]);
            assert_eq!(played.lines()[2], "done 0 function_call=fc_1/call_1");
        }
    }

    #[test]
    fn namespace_and_server_label_are_kept_too() {
        let item = |namespace: &str| {
            with(
                with(call("fc_1", "call_1", "f", "{}"), "namespace", namespace),
                "server_label",
                namespace,
            )
        };
        let played = kept(vec![
            added(0, item("a")),
            done(0, item("b")),
            terminal([item("c")]),
        ]);
        assert_eq!(played.output()[0], item("a"));
    }

    #[test]
    fn a_known_id_beats_the_index() {
        let played = kept(vec![
            added(0, message("a", "")),
            added(1, message("b", "")),
            scoped("output_text.delta", 1, "a", "x"),
            done(1, message("a", "x")),
            done(0, message("b", "y")),
            terminal([message("a", "x"), message("b", "y")]),
        ]);
        assert_eq!(played.lines()[3], "output_text.delta 0 a x");
        assert_eq!(played.lines()[4], "done 0 message=a");
    }

    #[test]
    fn an_announcement_that_comes_after_the_first_event_goes_before_it() {
        let item = call("fc_1", "call_1", "f", r#"{"a":1}"#);
        let played = kept(vec![
            scoped("function_call_arguments.delta", 0, "fc_1", r#"{"a":1}"#),
            added(0, item.clone()),
            done(0, without(without(item.clone(), "call_id"), "name")),
            terminal([item]),
        ]);
        assert_eq!(
            played.lines(),
            [
                "added 0 function_call=fc_1/call_1",
                r#"function_call_arguments.delta 0 fc_1 {"a":1}"#,
                "done 0 function_call=fc_1/call_1",
                "terminal function_call=fc_1/call_1",
            ]
        );
    }
}

mod c2_indices {
    use super::*;

    #[test]
    fn a_gap_is_closed_up_and_a_taken_index_moves_on() {
        let played = kept(
            [
                lifecycle(3, &message("a", "1")),
                lifecycle(3, &message("b", "2")),
                lifecycle(9, &message("c", "3")),
                vec![terminal([])],
            ]
            .concat(),
        );
        let announced: Vec<String> = played.lines().into_iter().step_by(4).collect();
        assert_eq!(
            announced,
            [
                "added 0 message=a",
                "added 1 message=b",
                "added 2 message=c",
                "terminal message=a | message=b | message=c",
            ]
        );
    }

    #[test]
    fn a_second_close_that_says_the_same_is_dropped() {
        let item = message("a", "x");
        let played = kept(vec![
            added(0, item.clone()),
            done(0, item.clone()),
            done(0, item.clone()),
            terminal([item]),
        ]);
        assert_eq!(played.sent.len(), 3);
    }

    #[test]
    fn a_status_after_the_close_is_dropped() {
        let item = call("fc_1", "call_1", "f", "{}");
        let played = kept(
            [
                lifecycle(0, &item),
                vec![
                    scoped("function_call.completed", 0, "fc_1", ""),
                    terminal([item]),
                ],
            ]
            .concat(),
        );
        assert_eq!(played.sent.len(), 4);
    }

    #[test]
    fn text_after_the_close_is_a_new_item() {
        let played = kept(
            [
                lifecycle(0, &message("a", "x")),
                vec![
                    scoped("output_text.delta", 0, "a", "more"),
                    scoped("output_text.delta", 0, "a", " and more"),
                    terminal([message("a", "x")]),
                ],
            ]
            .concat(),
        );
        assert_eq!(played.output().len(), 2);
        assert!(played.lines()[4].starts_with("added 1 message=msg_"));
    }

    #[test]
    fn an_open_item_announced_again_is_the_same_item() {
        let played = kept(
            [
                vec![added(0, message("a", ""))],
                lifecycle(0, &message("a", "x")),
                vec![terminal([message("a", "x")])],
            ]
            .concat(),
        );
        assert_eq!(played.output().len(), 1);
    }
}

mod c3_sequence {
    use super::*;

    fn numbers(played: &Played) -> Vec<u64> {
        played
            .sent
            .iter()
            .filter_map(|(number, _)| *number)
            .collect()
    }

    #[test]
    fn numbers_are_contiguous_after_insertions_and_drops() {
        let item = message("a", "x");
        let played = kept(vec![
            Event::Created,
            done(0, item.clone()),
            done(0, item.clone()),
            added(0, serde_json::Value::Null),
            terminal([item]),
        ]);
        // The announcement with its content, and neither the second close nor the empty item.
        assert_eq!(numbers(&played), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_gap_is_closed_up_once_the_stream_is_touched() {
        let item = message("a", "x");
        let events = [
            vec![added(0, serde_json::Value::Null)],
            lifecycle(0, &item),
            vec![terminal([item])],
        ];
        let mut stream = numbered(events.concat());
        stream[5].0 = Some(9);
        assert_eq!(numbers(&play(&stream)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_gap_of_an_untouched_stream_is_left() {
        let item = message("a", "x");
        let mut stream = numbered([lifecycle(0, &item), vec![terminal([item])]].concat());
        stream[4].0 = Some(9);
        assert_eq!(play(&stream).sent, stream);
    }
}

mod c9_touch_nothing_else {
    use super::*;

    #[test]
    fn every_decision_on_a_sound_stream_leaves_it_as_it_is() {
        let items = [
            reasoning("rs_1", "why"),
            call("fc_1", "call_1", "f", "{}"),
            message("msg_1", "so"),
        ];
        let mut events = vec![Event::Created];
        for (index, item) in (0..).zip(&items) {
            events.extend(lifecycle(index, item));
        }
        events.push(terminal(items));
        let stream = numbered(events);
        let played = play(&stream);
        assert_eq!(played.sent, stream);
        assert!(played.report.is_untouched());
    }

    #[test]
    fn a_changed_item_id_is_reported() {
        let item = message("a", "x");
        let played = kept(vec![
            added(0, item.clone()),
            scoped("output_text.delta", 0, "other", "x"),
            done(0, item.clone()),
            terminal([item]),
        ]);
        assert!(!played.report.is_untouched());
    }

    #[test]
    fn a_response_after_the_end_of_another_starts_over() {
        let response = || {
            let items = [message("a", "x"), call("b", "call_1", "f", "{}")];
            let mut events = vec![Event::Created];
            for (index, item) in (0..).zip(&items) {
                events.extend(lifecycle(index, item));
            }
            events.push(terminal(items));
            events
        };
        let stream = numbered([response(), response()].concat());
        let played = play(&stream);
        assert_eq!(played.sent, stream);
        assert!(played.report.is_untouched());
    }
}

mod c11_distinct {
    use super::*;

    #[test]
    fn a_second_item_with_an_id_gets_one_of_its_own() {
        let played = kept(
            [
                lifecycle(0, &message("same", "x")),
                lifecycle(1, &reasoning("same", "y")),
                vec![terminal([message("same", "x"), reasoning("same", "y")])],
            ]
            .concat(),
        );
        assert_eq!(played.output()[0]["id"], "same");
        assert!(played.lines()[6].starts_with("reasoning_text.delta 1 rs_"));
    }

    #[test]
    fn a_second_call_with_a_call_id_gets_one_of_its_own() {
        let items = [
            call("fc_1", "call_1", "f", r#"{"a":1}"#),
            call("fc_2", "call_1", "g", r#"{"a":2}"#),
        ];
        let played = kept(
            [
                lifecycle(0, &items[0]),
                lifecycle(1, &items[1]),
                vec![terminal(items)],
            ]
            .concat(),
        );
        assert_eq!(played.output()[0]["call_id"], "call_1");
        assert_ne!(played.output()[1]["call_id"], "call_1");
        assert_eq!(played.output()[1]["id"], "fc_2");
    }

    #[test]
    fn a_call_id_that_only_the_output_has_is_not_another_calls() {
        let with_call_id = |id: &str, call_id: &str| {
            serde_json::json!({"type": "mcp_call", "id": id, "call_id": call_id, "name": "f",
                "arguments": "{}"})
        };
        kept(
            [
                lifecycle(0, &without(with_call_id("a", ""), "call_id")),
                lifecycle(1, &without(with_call_id("b", ""), "call_id")),
                vec![terminal([with_call_id("a", "k"), with_call_id("b", "k")])],
            ]
            .concat(),
        );
    }

    #[test]
    fn conventional_prefixes_do_not_make_two_ids_one() {
        let policy = Policy {
            conventional_ids: true,
            ..Policy::default()
        };
        let stream = numbered(
            [
                lifecycle(0, &reasoning("msg_1", "why")),
                lifecycle(1, &reasoning("rs_1", "still")),
                lifecycle(2, &message("1", "so")),
                vec![terminal([])],
            ]
            .concat(),
        );
        let played = play_under(policy, &stream);
        assert_eq!(faults(&played.sent), [""; 0]);
        assert_eq!(played.output()[0]["id"], "rs_1");
        assert_eq!(played.output()[2]["id"], "msg_1");
    }
}

#[test]
fn a_stream_beyond_the_limits_is_given_up() {
    let mut engine = Engine::new(Policy {
        max_items: 1,
        max_identity_bytes: 4,
        ..Policy::default()
    });
    engine.take(&EngineEvent::Progress, None).unwrap();
    let mut announce = |index, id: &str| {
        let json = format!(r#"{{"type":"x","id":"{id}"}}"#);
        let item = Item::read(json.as_bytes()).ok();
        let index = Some(index);
        engine
            .take(&EngineEvent::Announced { index, item }, None)
            .map(|_| ())
    };
    assert_eq!(announce(0, "12345"), Err(GaveUp::IdentityTooLong));
    assert_eq!(announce(0, "1234"), Ok(()));
    assert_eq!(announce(1, "2"), Err(GaveUp::TooManyItems));
    assert_eq!(announce(0, "1234"), Ok(()));
}
