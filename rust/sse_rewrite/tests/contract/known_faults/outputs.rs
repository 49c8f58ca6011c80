//! Faults in the terminal output, and items that only it has.

use sse_rewrite::Policy;

use crate::driver::play_under;
use crate::known_faults::{check, check_numbered, joined};
use crate::model::{
    Event, added, call, code, custom, done, lifecycle, mcp, message, numbered, reasoning, scoped,
    terminal, unnumbered, unplaced, with, without,
};

#[test]
fn c09_a_call_never_takes_the_place_of_the_message_that_leaked_it() {
    let markup = "<function=f></function>";
    let stream = joined([
        lifecycle(0, &reasoning("a1", "think")),
        lifecycle(1, &message("a2", markup)),
        vec![terminal([
            reasoning("rs_1", "think"),
            call("fc_1", "chatcmpl-tool-1", "f", r#"{"place":"Oban"}"#),
        ])],
    ]);
    let played = check(
        stream,
        "reasoning=a1 | message=a2 | function_call=fc_1/chatcmpl-tool-1",
    );
    assert_eq!(
        played.lines()[8..12],
        [
            "added 2 function_call=fc_1/chatcmpl-tool-1",
            r#"function_call_arguments.delta 2 fc_1 {"place":"Oban"}"#,
            r#"function_call_arguments.done 2 fc_1 {"place":"Oban"}"#,
            "done 2 function_call=fc_1/chatcmpl-tool-1",
        ]
    );
    assert_eq!(played.output()[1]["content"][0]["text"], markup);
}

#[test]
fn c37_an_id_missing_from_the_close_is_the_announced_one() {
    let item = call("fc_1", "call_1", "f", "{}");
    let nameless = with(without(item.clone(), "id"), "item_id", "fc_1");
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "why")),
        vec![
            added(1, item),
            done(1, nameless.clone()),
            terminal([reasoning("rs_1", "why"), nameless]),
        ],
    ]);
    let played = check(stream, "reasoning=rs_1 | function_call=fc_1/call_1");
    assert_eq!(played.output()[1]["item_id"], "fc_1");
}

#[test]
fn c38_an_empty_output_becomes_what_was_streamed() {
    let items = [reasoning("rs_1", "why"), message("msg_1", "so")];
    let stream = joined([
        lifecycle(0, &items[0]),
        lifecycle(1, &items[1]),
        vec![terminal([])],
    ]);
    let played = check(stream, "reasoning=rs_1 | message=msg_1");
    assert_eq!(played.output(), items);
}

#[test]
fn c40_a_partial_output_keeps_places_and_the_phase() {
    let streamed = with(message("msg_1", "at noon"), "phase", "final_answer");
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "known")),
        lifecycle(1, &streamed),
        vec![terminal([message("msg_9", "at noon")])],
    ]);
    let played = check(stream, "reasoning=rs_1 | message=msg_1");
    assert_eq!(played.output()[1]["phase"], "final_answer");
}

#[test]
fn c50_an_empty_call_id_is_replaced_by_one_that_can_be_answered() {
    let stream = joined([
        lifecycle(0, &message("msg_1", "wait")),
        vec![terminal([
            message("msg_1", "wait"),
            call("fc_2", "", "f", "{}"),
        ])],
    ]);
    let played = check(stream, "message=msg_1 | function_call=fc_2/*");
    let output = played.output();
    let Event::Added { item, .. } = &played.sent[4].1 else {
        panic!("the call is announced late");
    };
    assert_eq!(item["call_id"], output[1]["call_id"]);
}

#[test]
fn c51_a_custom_call_has_two_identities_too() {
    let input = "line\nline";
    let stream = joined([
        lifecycle(0, &custom("ctc_1", "call_1", "sh", input)),
        vec![terminal([custom("ctc_9", "call_9", "sh", input)])],
    ]);
    let played = check(stream, "custom_tool_call=ctc_1/call_1");
    assert_eq!(played.output()[0]["input"], input);
}

#[test]
fn c53_one_id_for_all_leaves_as_many_items_with_ids_of_their_own() {
    let items = [
        message("same", "both"),
        call("same", "call_1", "read", r#"{"p":1}"#),
        call("same", "call_2", "read", r#"{"p":2}"#),
    ];
    let stream = joined([
        lifecycle(0, &items[0]),
        lifecycle(1, &items[1]),
        lifecycle(2, &items[2]),
        vec![terminal(items)],
    ]);
    check(
        stream,
        "message=same | function_call=*/call_1 | function_call=*/call_2",
    );
}

#[test]
fn c53_a_shared_id_does_not_hide_a_message_of_its_own() {
    let stream = joined([
        lifecycle(0, &message("same", "one")),
        lifecycle(1, &message("same", "two")),
        vec![terminal([message("same", "two"), message("same", "three")])],
    ]);
    check(stream, "message=same | message=* | message=*");
}

#[test]
fn c58_deltas_that_name_nothing_make_one_message() {
    let delta = "output_text.delta";
    let stream = unnumbered(vec![
        Event::Created,
        unplaced(delta, None, "I will"),
        unplaced(delta, None, " check."),
        terminal([
            message("msg_1", "I will check."),
            call("fc_2", "call_2", "check", "{}"),
        ]),
    ]);
    let played = check_numbered(&stream, "message=* | function_call=fc_2/call_2");
    let names: Vec<String> = played
        .lines()
        .iter()
        .map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        names[1..7],
        [
            "added 0",
            "content_part.added 0",
            "output_text.delta 0",
            "output_text.delta 0",
            "done 0",
            "added 1",
        ]
    );
}

#[test]
fn c58_arguments_that_name_nothing_become_the_call_the_output_has() {
    let delta = "function_call_arguments.delta";
    let stream = vec![
        scoped(delta, 0, "fc_1", r#"{"a""#),
        scoped(delta, 0, "fc_1", ":1}"),
        terminal([call("fc_9", "call_9", "f", r#"{"a":1}"#)]),
    ];
    check(stream, "function_call=fc_1/call_9");
}

#[test]
fn c64_code_that_comes_back_as_reasoning_stands_as_code() {
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "use python")),
        lifecycle(1, &code("tool_2", "print(6*9)")),
        lifecycle(2, &message("msg_3", "54")),
        vec![terminal([
            reasoning("rs_1", "use python"),
            reasoning("rs_9", "print(6*9)"),
            message("msg_3", "54"),
        ])],
    ]);
    check(
        stream,
        "reasoning=rs_1 | code_interpreter_call=tool_2 | message=msg_3",
    );
}

#[test]
fn c65_text_under_the_id_of_a_reasoning_is_a_message_of_its_own() {
    let stream = joined([
        lifecycle(0, &reasoning("msg_1", "nothing")),
        vec![
            scoped("output_text.done", 1, "msg_1", ""),
            scoped("content_part.done", 1, "msg_1", ""),
            done(1, message("msg_1", "")),
            terminal([reasoning("rs_9", "nothing"), message("msg_9", "")]),
        ],
    ]);
    let played = check(stream, "reasoning=msg_1 | message=*");
    let names: Vec<&str> = played.lines()[4..9]
        .iter()
        .map(|line| line.split(' ').next().unwrap_or_default())
        .map(|name| match name {
            "added" => "added",
            "content_part.added" => "part added",
            "output_text.done" => "text done",
            "content_part.done" => "part done",
            "done" => "done",
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(
        names,
        ["added", "part added", "text done", "part done", "done"]
    );
}

#[test]
fn c66_a_call_without_any_event_is_announced_with_empty_arguments() {
    let stream = joined([
        lifecycle(0, &reasoning("rs_1", "why")),
        vec![terminal([
            reasoning("rs_1", "why"),
            call("fc_2", "call_2", "f", ""),
        ])],
    ]);
    let played = check(stream, "reasoning=rs_1 | function_call=fc_2/call_2");
    let lines = played.lines();
    assert!(
        !lines
            .iter()
            .any(|line| line.starts_with("function_call_arguments.delta"))
    );
    assert_eq!(played.output()[1]["arguments"], "");
}

#[test]
fn c66_an_empty_call_is_not_taken_for_another_empty_call() {
    let stream = joined([
        lifecycle(0, &mcp("mcp_1", "ask", "")),
        vec![terminal([call("fc_2", "call_2", "f", "")])],
    ]);
    check(stream, "mcp_call=mcp_1 | function_call=fc_2/call_2");
}

#[test]
fn c67_an_item_that_only_left_a_gap_comes_last() {
    let stream = joined([
        lifecycle(1, &message("msg_2", "so")),
        vec![terminal([reasoning("rs_1", "why"), message("msg_2", "so")])],
    ]);
    let played = check(stream, "message=msg_2 | reasoning=rs_1");
    assert_eq!(played.lines()[0], "added 0 message=msg_2");
}

#[test]
fn c67_an_empty_item_is_kept_where_a_gap_shows_that_it_was_begun() {
    let stream = |index| {
        joined([
            lifecycle(index, &message("msg_2", "so")),
            vec![terminal([reasoning("rs_1", ""), message("msg_2", "so")])],
        ])
    };
    check(stream(1), "message=msg_2 | reasoning=rs_1");
    check(stream(0), "message=msg_2");
    let in_process = Policy {
        empty_items_in_gaps: false,
        ..Policy::default()
    };
    let played = play_under(in_process, &numbered(stream(1)));
    assert_eq!(played.output(), [message("msg_2", "so")]);
}
