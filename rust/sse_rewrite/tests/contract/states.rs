//! The life of an item and of a stream, row by row as the engine has them in its tables: the
//! events that come, and those that are sent.

use crate::driver::play;
use crate::judge::faults;
use crate::model::{
    End, Event, added, blank, call, done, ended, lifecycle, message, numbered, reasoning, scoped,
    terminal, unnumbered, without,
};

/// Plays the events, wants the contract kept, and returns what is sent, one line each.
fn sent(events: Vec<Event>) -> Vec<String> {
    let played = play(&numbered(events));
    assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
    played.lines()
}

/// Wants the events to become these lines.
fn becomes(events: Vec<Event>, want: &[&str]) {
    assert_eq!(sent(events), want);
}

const TEXT: &str = r#"{"a":1}"#;

fn called(id: &str, text: &str) -> serde_json::Value {
    call(id, "call_1", "f", text)
}

/// A call that was announced and closed.
fn closed_call() -> Vec<Event> {
    lifecycle(0, &called("fc_1", TEXT))
}

const CLOSED_CALL: [&str; 3] = [
    "added 0 function_call=fc_1/call_1",
    r#"function_call_arguments.delta 0 fc_1 {"a":1}"#,
    "done 0 function_call=fc_1/call_1",
];

/// What comes of a closed call and these events.
fn after_closed_call(events: Vec<Event>, want: &[&str]) {
    let lines = sent([closed_call(), events].concat());
    assert_eq!(lines[..3], CLOSED_CALL);
    let minted: Vec<String> = lines[3..].iter().map(|line| unminted(line)).collect();
    assert_eq!(minted, want);
}

/// The line with a star for each name that was made here.
fn unminted(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let parts = word.split_inclusive(['=', '/']);
        let parts = parts.map(|part| {
            let name = part.trim_end_matches(['=', '/']);
            let end = &part[name.len()..];
            let digits = name.rsplit('_').next().unwrap();
            let is_minted = digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            format!("{}{end}", if is_minted { "*" } else { name })
        });
        parts.collect::<String>()
    });
    words.collect::<Vec<_>>().join(" ")
}

mod none {
    use super::*;

    #[test]
    fn an_announcement_is_sent_at_the_next_index_under_an_id_of_its_own() {
        let lines = sent(vec![
            added(3, message("a", "")),
            added(3, reasoning("a", "")),
            added(3, message("", "")),
        ]);
        let lines: Vec<String> = lines.iter().map(|line| unminted(line)).collect();
        assert_eq!(
            lines,
            [
                "added 0 message=a",
                "added 1 reasoning=*",
                "added 2 message=*"
            ]
        );
    }

    #[test]
    fn the_announcement_of_a_call_that_is_not_named_waits() {
        for missing in ["name", "call_id"] {
            let bare = without(called("fc_1", ""), missing);
            let events = vec![
                added(0, bare),
                added(1, message("m", "")),
                done(0, called("fc_1", TEXT)),
            ];
            becomes(
                events,
                &[
                    "added 0 message=m",
                    "added 1 function_call=fc_1/call_1",
                    "done 1 function_call=fc_1/call_1",
                ],
            );
        }
    }

    #[test]
    fn the_announcement_of_a_call_under_a_call_id_that_is_taken_waits() {
        after_closed_call(
            vec![
                added(1, called("fc_2", "")),
                added(2, message("m", "")),
                done(1, called("fc_2", "{}")),
            ],
            &[
                "added 1 message=m",
                "added 2 function_call=fc_2/*",
                "done 2 function_call=fc_2/*",
            ],
        );
    }

    #[test]
    fn an_event_of_an_item_that_was_not_announced_has_it_announced_and_its_part_opened() {
        becomes(
            vec![scoped("output_text.delta", 0, "m", "x")],
            &[
                "added 0 message=m",
                "content_part.added 0 m",
                "output_text.delta 0 m x",
            ],
        );
        becomes(
            vec![scoped("mcp_call_arguments.delta", 0, "c", "x")],
            &["added 0 mcp_call=c", "mcp_call_arguments.delta 0 c x"],
        );
    }

    #[test]
    fn an_event_of_a_call_that_was_not_announced_waits() {
        becomes(
            vec![
                scoped("function_call_arguments.delta", 0, "fc_1", TEXT),
                added(1, message("m", "")),
                done(0, called("fc_1", TEXT)),
            ],
            &[
                "added 0 message=m",
                "added 1 function_call=fc_1/call_1",
                r#"function_call_arguments.delta 1 fc_1 {"a":1}"#,
                "done 1 function_call=fc_1/call_1",
            ],
        );
    }

    #[test]
    fn the_close_of_an_item_that_was_not_announced_has_all_of_it_streamed() {
        becomes(
            vec![done(0, called("fc_1", TEXT))],
            &[
                CLOSED_CALL[0],
                CLOSED_CALL[1],
                r#"function_call_arguments.done 0 fc_1 {"a":1}"#,
                CLOSED_CALL[2],
            ],
        );
        becomes(
            vec![done(0, message("m", "x"))],
            &[
                "added 0 message=m",
                "content_part.added 0 m",
                "output_text.delta 0 m x",
                "output_text.done 0 m x",
                "content_part.done 0 m x",
                "done 0 message=m",
            ],
        );
    }
}

mod waiting {
    use super::*;

    fn delta(text: &str) -> Event {
        scoped("function_call_arguments.delta", 0, "fc_1", text)
    }

    #[test]
    fn its_events_wait_and_its_late_announcement_names_it() {
        becomes(
            vec![delta("{}"), added(0, called("fc_1", "")), delta(" ")],
            &[
                CLOSED_CALL[0],
                "function_call_arguments.delta 0 fc_1 {}",
                "function_call_arguments.delta 0 fc_1",
            ],
        );
    }

    #[test]
    fn an_event_that_names_it_releases_it() {
        use serde_json::json;
        use sse_rewrite::{Policy, SseRewriter};

        use crate::encoding::{PLAIN, events};

        let bare = without(called("fc_1", ""), "name");
        let came = [
            json!({"type": "response.created", "response": {}}),
            json!({"type": "response.output_item.added", "output_index": 0, "item": bare}),
            json!({"type": "response.function_call_arguments.done", "output_index": 0,
                "item_id": "fc_1", "arguments": TEXT, "name": "f"}),
        ];
        let mut rewriter = SseRewriter::new(Policy::default());
        let sent = events(&rewriter.feed(&PLAIN.stream(&came)));
        assert_eq!(sent.len(), 3);
        assert_eq!(sent[1]["item"]["name"], "f");
        assert_eq!(sent[2], came[2]);
    }

    #[test]
    fn under_a_call_id_that_is_taken_it_is_released_as_soon_as_it_says_something_else() {
        after_closed_call(
            vec![
                added(1, called("fc_2", "")),
                scoped("function_call_arguments.delta", 1, "fc_2", r#"{"a""#),
                scoped("function_call_arguments.delta", 1, "fc_2", ":2"),
                added(2, message("m", "")),
            ],
            &[
                "added 1 function_call=fc_2/*",
                r#"function_call_arguments.delta 1 fc_2 {"a""#,
                "function_call_arguments.delta 1 fc_2 :2",
                "added 2 message=m",
            ],
        );
    }

    #[test]
    fn under_a_call_id_that_is_taken_it_is_discarded_if_it_says_the_same_or_nothing() {
        for text in [TEXT, ""] {
            after_closed_call(lifecycle(1, &called("fc_2", text)), &[]);
            after_closed_call(vec![done(1, called("fc_2", text))], &[]);
        }
    }

    #[test]
    fn one_that_says_a_beginning_and_is_closed_is_a_call_of_its_own() {
        after_closed_call(
            lifecycle(1, &called("fc_2", r#"{"a"#)),
            &[
                "added 1 function_call=fc_2/*",
                r#"function_call_arguments.delta 1 fc_2 {"a"#,
                "done 1 function_call=fc_2/*",
            ],
        );
    }

    #[test]
    fn the_ids_of_one_that_was_discarded_lead_to_the_first() {
        let again = lifecycle(1, &called("fc_2", TEXT));
        let status = scoped("function_call.completed", 1, "fc_2", "");
        after_closed_call([again, vec![status]].concat(), &[]);
    }

    #[test]
    fn at_the_end_it_reads_its_name_from_its_entry() {
        for end in [End::Completed, End::Incomplete] {
            let lines = sent(vec![
                delta(TEXT),
                ended(end, [call("fc_9", "call_1", "f", TEXT)]),
            ]);
            assert_eq!(lines[..3], CLOSED_CALL);
            assert!(lines[3].ends_with(" function_call=fc_1/call_1"));
        }
    }

    #[test]
    fn at_the_end_one_that_nobody_names_goes_out_last() {
        let bare = without(called("fc_1", ""), "name");
        becomes(
            vec![
                added(0, bare),
                delta("{}"),
                terminal([message("m", "x"), reasoning("r", "why")]),
            ],
            &[
                "added 0 message=m",
                "content_part.added 0 m",
                "output_text.delta 0 m x",
                "output_text.done 0 m x",
                "content_part.done 0 m x",
                "done 0 message=m",
                "added 1 reasoning=r",
                "content_part.added 1 r",
                "reasoning_text.delta 1 r why",
                "reasoning_text.done 1 r why",
                "content_part.done 1 r why",
                "done 1 reasoning=r",
                "added 2 function_call=fc_1/call_1",
                "function_call_arguments.delta 2 fc_1 {}",
                "done 2 function_call=fc_1/call_1",
                "terminal message=m | reasoning=r | function_call=fc_1/call_1",
            ],
        );
    }

    #[test]
    fn at_the_end_a_beginning_of_what_was_said_is_discarded() {
        let again = vec![
            added(1, called("fc_2", "")),
            scoped("function_call_arguments.delta", 1, "fc_2", r#"{"a"#),
        ];
        for end in [vec![ended(End::Failed, [])], vec![Event::Error], Vec::new()] {
            let want: Vec<String> = end.iter().map(crate::model::show).collect();
            let want: Vec<&str> = want.iter().map(String::as_str).collect();
            after_closed_call([again.clone(), end].concat(), &want);
        }
        let end = terminal([called("fc_1", TEXT)]);
        let want = ["terminal function_call=fc_1/call_1"];
        after_closed_call([again, vec![end]].concat(), &want);
    }

    #[test]
    fn after_a_failure_it_is_released_and_stays_open() {
        let bare = without(called("fc_1", ""), "name");
        for (end, line) in [
            (Some(ended(End::Failed, [])), Some("failed")),
            (Some(Event::Error), Some("error")),
            (None, None),
        ] {
            let mut events = vec![added(0, bare.clone()), delta("{}")];
            events.extend(end);
            let want = [
                "added 0 function_call=fc_1/call_1",
                "function_call_arguments.delta 0 fc_1 {}",
            ];
            let want: Vec<&str> = want.into_iter().chain(line).collect();
            becomes(events, &want);
        }
    }

    #[test]
    fn what_comes_after_its_close_is_a_call_of_its_own() {
        let bare = |text| without(called("fc_1", text), "name");
        let lines = sent(vec![
            done(0, bare(TEXT)),
            delta("more"),
            scoped("function_call.completed", 0, "fc_1", ""),
            done(0, bare("")),
            terminal([]),
        ]);
        let lines: Vec<String> = lines.iter().map(|line| unminted(line)).collect();
        assert_eq!(
            lines,
            [
                "added 0 function_call=fc_1/call_1",
                r#"function_call_arguments.delta 0 fc_1 {"a":1}"#,
                r#"function_call_arguments.done 0 fc_1 {"a":1}"#,
                "done 0 function_call=fc_1/call_1",
                "added 1 function_call=*/*",
                "function_call_arguments.delta 1 * more",
                "function_call.completed 1 *",
                "done 1 function_call=*/*",
                "terminal function_call=fc_1/call_1 | function_call=*/*",
            ]
        );
    }
}

mod open {
    use super::*;

    #[test]
    fn an_event_is_sent_after_its_part_was_opened() {
        becomes(
            vec![
                added(0, message("m", "")),
                scoped("output_text.delta", 0, "m", "x"),
                scoped("content_part.added", 0, "m", ""),
                scoped("output_text.delta", 0, "m", "y"),
            ],
            &[
                "added 0 message=m",
                "content_part.added 0 m",
                "output_text.delta 0 m x",
                "output_text.delta 0 m y",
            ],
        );
    }

    #[test]
    fn announced_again_it_is_the_same() {
        // At another index it waits, and repeats the first.
        for index in [0, 1] {
            let again = added(index, called("fc_1", ""));
            becomes(
                vec![added(0, called("fc_1", "")), again, terminal([])],
                &[
                    "added 0 function_call=fc_1/call_1",
                    "done 0 function_call=fc_1/call_1",
                    "terminal function_call=fc_1/call_1",
                ],
            );
        }
        let lines = sent(vec![added(0, message("m", "")), added(1, message("m", ""))]);
        assert_eq!(unminted(&lines[1]), "added 1 message=*");
    }

    #[test]
    fn what_a_second_announcement_adds_is_in_its_close() {
        let played = play(&numbered(vec![
            added(0, called("fc_1", "")),
            added(0, called("fc_1", TEXT)),
            terminal([]),
        ]));
        assert_eq!(played.lines()[1], "done 0 function_call=fc_1/call_1");
        assert_eq!(played.output()[0]["arguments"], TEXT);
    }

    #[test]
    fn a_close_has_its_identity_and_the_payload_it_came_with() {
        let played = play(&numbered(vec![
            added(0, called("fc_1", "")),
            done(0, call("fc_9", "call_9", "g", TEXT)),
        ]));
        let Event::Done { item, .. } = &played.sent[1].1 else {
            panic!("it is closed");
        };
        assert_eq!(*item, called("fc_1", TEXT));
    }

    #[test]
    fn at_the_end_it_is_closed_with_what_it_has_said() {
        for end in [End::Completed, End::Incomplete] {
            let played = play(&numbered(vec![
                added(0, blank(&called("fc_1", ""))),
                scoped("function_call_arguments.delta", 0, "fc_1", TEXT),
                ended(end, []),
            ]));
            assert_eq!(played.lines()[..3], CLOSED_CALL);
            assert_eq!(played.output()[0]["arguments"], TEXT);
            assert_eq!(played.output()[0]["status"], "incomplete");
        }
    }

    #[test]
    fn after_a_failure_it_stays_open() {
        for end in [Some(ended(End::Failed, [])), Some(Event::Error), None] {
            let mut events = vec![added(0, message("m", ""))];
            events.extend(opened_and_said());
            events.extend(end);
            let stream = unnumbered(events);
            let played = play(&stream);
            assert_eq!(played.sent, stream);
            assert!(played.report.is_untouched());
        }
    }

    fn opened_and_said() -> [Event; 2] {
        [
            scoped("content_part.added", 0, "m", ""),
            scoped("output_text.delta", 0, "m", "x"),
        ]
    }
}

mod closed {
    use super::*;

    #[test]
    fn status_and_text_that_it_has_said_are_dropped() {
        after_closed_call(
            vec![
                scoped("function_call.completed", 0, "fc_1", ""),
                scoped("function_call_arguments.done", 0, "fc_1", TEXT),
                scoped("function_call_arguments.delta", 0, "fc_1", ""),
            ],
            &[],
        );
    }

    #[test]
    fn new_text_is_a_call_of_its_own_under_a_name_that_is_known() {
        after_closed_call(
            vec![scoped("function_call_arguments.delta", 0, "fc_1", "more")],
            &[
                "added 1 function_call=*/*",
                "function_call_arguments.delta 1 * more",
            ],
        );
    }

    #[test]
    fn closed_again_with_the_same_or_nothing_it_is_dropped() {
        for text in [TEXT, ""] {
            after_closed_call(vec![done(0, called("fc_1", text))], &[]);
        }
        let again = [
            lifecycle(0, &message("m", "x")),
            vec![done(0, message("m", ""))],
        ];
        assert_eq!(sent(again.concat()).len(), 4);
    }

    #[test]
    fn closed_again_with_something_else_it_is_a_new_item() {
        after_closed_call(
            vec![done(0, called("fc_1", "{}"))],
            &[
                "added 1 function_call=*/*",
                "function_call_arguments.delta 1 * {}",
                "function_call_arguments.done 1 * {}",
                "done 1 function_call=*/*",
            ],
        );
    }
}

mod stream {
    use super::*;

    #[test]
    fn begun_again_it_goes_on_with_the_next_event_of_an_item() {
        becomes(
            vec![
                Event::Created,
                added(0, message("a", "")),
                Event::Created,
                added(0, message("b", "")),
            ],
            &["created", "added 0 message=a", "added 1 message=b"],
        );
    }

    #[test]
    fn after_the_end_all_passes_up_to_another_response() {
        let item = message("a", "x");
        let one = [
            vec![Event::Created],
            lifecycle(0, &item),
            vec![terminal([item])],
        ]
        .concat();
        let late = lifecycle(7, &reasoning("b", "late"));
        let stream = unnumbered([one.clone(), late, one].concat());
        let played = play(&stream);
        assert_eq!(played.sent, stream);
        assert!(played.report.is_untouched());
    }

    #[test]
    fn after_an_error_what_was_not_announced_passes() {
        let stream = unnumbered(vec![
            added(0, message("a", "")),
            Event::Error,
            scoped("reasoning_text.delta", 5, "b", "x"),
            done(6, called("fc_1", TEXT)),
            ended(End::Completed, [reasoning("c", "why")]),
        ]);
        let played = play(&stream);
        assert_eq!(played.sent, stream);
        assert!(played.report.is_untouched());
    }

    #[test]
    fn a_failed_response_lists_what_it_lists_under_the_announced_identity() {
        becomes(
            vec![
                added(0, message("a", "")),
                ended(End::Failed, [message("z", "x"), reasoning("c", "why")]),
            ],
            &["added 0 message=a", "failed message=a | reasoning=c"],
        );
    }
}
