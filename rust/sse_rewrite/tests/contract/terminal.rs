//! C4, C5 and C6: what the terminal event lists, and what is sent before it.

use serde_json::{Value, json};

use crate::driver::{Played, play};
use crate::model::{
    added, call, custom, done, lifecycle, message, numbered, reasoning, scoped, search, terminal,
    with, without,
};
use crate::stream::kept;

/// Streams `items` without fault, ends with `output`, and wants the contract kept.
fn ended(items: &[Value], output: impl IntoIterator<Item = Value>) -> Played {
    let mut events = Vec::new();
    for (index, item) in (0..).zip(items) {
        events.extend(lifecycle(index, item));
    }
    events.push(terminal(output));
    kept(events)
}

mod c4_terminal_is_what_was_streamed {
    use super::*;

    #[test]
    fn an_output_in_another_order_is_put_in_the_order_of_announcement() {
        let items = [
            message("a", "1"),
            reasoning("b", "2"),
            call("c", "call_1", "f", "{}"),
        ];
        let played = ended(
            &items,
            [
                call("z", "call_1", "f", "{}"),
                reasoning("y", "2"),
                message("x", "1"),
            ],
        );
        assert_eq!(played.output(), items);
        assert_eq!(played.sent.len(), 12);
    }

    #[test]
    fn an_end_without_any_item_has_no_output() {
        assert!(ended(&[], []).output().is_empty());
    }
}

mod c5_nothing_is_lost {
    use super::*;

    #[test]
    fn what_only_the_output_has_is_announced_streamed_and_closed() {
        let played = ended(
            &[],
            [
                message("msg_1", "so"),
                custom("ctc_1", "call_1", "sh", "ls"),
            ],
        );
        assert_eq!(
            played.lines(),
            [
                "added 0 message=msg_1",
                "content_part.added 0 msg_1",
                "output_text.delta 0 msg_1 so",
                "output_text.done 0 msg_1 so",
                "content_part.done 0 msg_1 so",
                "done 0 message=msg_1",
                "added 1 custom_tool_call=ctc_1/call_1",
                "custom_tool_call_input.delta 1 ctc_1 ls",
                "custom_tool_call_input.done 1 ctc_1 ls",
                "done 1 custom_tool_call=ctc_1/call_1",
                "terminal message=msg_1 | custom_tool_call=ctc_1/call_1",
            ]
        );
    }

    #[test]
    fn every_kind_of_call_counts_and_empty_texts_do_not() {
        let played = ended(
            &[],
            [
                message("m", ""),
                reasoning("r", ""),
                call("fc", "call_1", "f", ""),
                search("ws", "tides"),
                json!({"type": "reasoning", "id": "e", "summary": [], "encrypted_content": "gA"}),
            ],
        );
        let kinds: Vec<&Value> = played.output().iter().map(|item| &item["type"]).collect();
        assert_eq!(kinds, ["function_call", "web_search_call", "reasoning"]);
    }

    #[test]
    fn what_the_output_lacks_is_put_back_from_its_close() {
        let items = [reasoning("a", "1"), message("b", "2")];
        let played = ended(&items, [message("b", "2")]);
        assert_eq!(played.output(), items);
    }

    #[test]
    fn an_item_still_open_is_closed_with_what_the_output_says() {
        let played = kept(vec![
            added(0, message("a", "")),
            scoped("output_text.delta", 0, "a", "half"),
            terminal([message("z", "half")]),
        ]);
        assert_eq!(played.lines()[3], "done 0 message=a");
        assert_eq!(played.output()[0], message("a", "half"));
    }

    #[test]
    fn an_open_call_under_another_name_still_gets_its_arguments() {
        let played = kept(vec![
            added(0, call("fc_1", "call_1", "repo.list", "")),
            terminal([call("fc_1", "call_1", "list", r#"{"a":1}"#)]),
        ]);
        let want = call("fc_1", "call_1", "repo.list", r#"{"a":1}"#);
        assert_eq!(played.output()[0], want);
    }

    #[test]
    fn a_call_that_nobody_names_goes_out_last_as_far_as_it_is_known() {
        let bare = without(call("fc_1", "", "f", ""), "call_id");
        let events = [
            vec![added(0, bare)],
            lifecycle(1, &message("a", "x")),
            vec![terminal([message("a", "x")])],
        ];
        let played = kept(events.concat());
        assert_eq!(
            played.lines()[4..],
            [
                "added 1 function_call=fc_1",
                "done 1 function_call=fc_1",
                "terminal message=a | function_call=fc_1",
            ]
        );
    }

    #[test]
    fn an_id_does_not_make_a_call_of_a_text_nor_a_text_of_what_said_nothing() {
        ended(&[message("same", "x")], [call("same", "call_1", "f", "{}")]);
        let played = kept(vec![
            added(0, message("same", "")),
            terminal([reasoning("same", "thought")]),
        ]);
        assert_eq!(played.output().len(), 2);
    }

    #[test]
    fn a_second_round_of_the_terminal_event_changes_nothing() {
        let items = [message("a", "1")];
        let stream = numbered(
            [
                lifecycle(0, &items[0]),
                vec![terminal(items.clone()), terminal(items)],
            ]
            .concat(),
        );
        assert_eq!(play(&stream).sent, stream);
    }
}

mod c6_payload_is_sacred {
    use super::*;

    #[test]
    fn a_rebuilt_item_of_the_same_payload_is_kept_with_its_extras() {
        let mut rebuilt = message("z", "so");
        rebuilt["content"][0]["logprobs"] = json!([{"token": "so", "logprob": -0.5}]);
        let played = ended(&[message("a", "so")], [rebuilt.clone()]);
        assert_eq!(played.output()[0], with(rebuilt, "id", "a"));
    }

    #[test]
    fn where_the_payload_differs_the_streamed_item_stands() {
        let streamed = call("a", "call_1", "f", r#"{"a": 1}"#);
        let played = ended(
            std::slice::from_ref(&streamed),
            [call("a", "call_1", "f", r#"{"a":1}"#)],
        );
        assert_eq!(played.output()[0], streamed);
    }

    #[test]
    fn where_the_phase_differs_the_streamed_item_stands() {
        let phased = |phase: &str| with(message("a", "so"), "phase", phase);
        let played = ended(&[phased("commentary")], [phased("final_answer")]);
        assert_eq!(played.output()[0], phased("commentary"));
        let played = ended(&[message("a", "so")], [phased("final_answer")]);
        assert_eq!(played.output()[0], phased("final_answer"));
    }

    #[test]
    fn where_the_name_differs_the_streamed_item_stands() {
        let streamed = call("a", "call_1", "repo.list", "{}");
        let played = ended(
            std::slice::from_ref(&streamed),
            [call("a", "call_1", "list", "{}")],
        );
        assert_eq!(played.output()[0], streamed);
    }

    #[test]
    fn a_second_close_that_says_more_is_not_swallowed() {
        let played = kept(vec![
            added(0, message("a", "")),
            done(0, message("a", "one")),
            done(0, message("a", "two")),
            terminal([message("a", "one")]),
        ]);
        assert_eq!(played.output().len(), 2);
    }
}
