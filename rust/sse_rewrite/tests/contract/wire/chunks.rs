//! Any cut of the same bytes gives the same bytes, as soon as they can be known.

use proptest::prelude::*;
use sse_rewrite::{Policy, SseRewriter};

use crate::driver::play;
use crate::model::{added, done, lifecycle, message, numbered, scoped, terminal};
use crate::random::any_stream;
use crate::wire::encoding::{LAYOUTS, PLAIN, as_json, rewritten, rewritten_in};

/// A stream with faults in every kind of event.
fn faulty() -> Vec<u8> {
    let mut events = lifecycle(1, &message("msg_é", "naïve 🌊"));
    events.extend([
        added(1, message("msg_2", "")),
        scoped("output_text.delta", 1, "other", "a"),
        scoped("output_text.delta", 1, "other", "b"),
        scoped("output_text.delta", 1, "other", "\u{2028}\\"),
        done(1, message("msg_3", "ab")),
        terminal([message("x", "ab"), message("y", "naïve 🌊")]),
    ]);
    let json: Vec<_> = numbered(events).iter().map(as_json).collect();
    LAYOUTS
        .iter()
        .map(|layout| layout.stream(&json))
        .collect::<Vec<_>>()
        .concat()
}

#[test]
fn a_cut_anywhere_makes_no_difference() {
    let mut stream = b"\xef\xbb\xbf: hello\n\n".to_vec();
    stream.extend(faulty());
    let (whole, report) = rewritten_in(usize::MAX, &stream);
    assert_ne!(whole, stream);
    for chunk in [1, 2, 3, 7, 64, 1400] {
        let (sent, rewriter) = rewritten_in(chunk, &stream);
        assert!(sent == whole, "in pieces of {chunk}");
        assert_eq!(rewriter.report(), report.report());
    }
    for cut in 0..stream.len() {
        let (head, tail) = stream.split_at(cut);
        let mut rewriter = SseRewriter::new(Policy::default());
        let mut sent = rewriter.feed(head);
        sent.extend(rewriter.feed(b""));
        sent.extend(rewriter.feed(tail));
        sent.extend(rewriter.finish());
        assert!(sent == whole, "cut at {cut}");
    }
}

#[test]
fn a_frame_leaves_when_its_last_byte_has_come() {
    let json: Vec<_> = numbered(lifecycle(0, &message("m", "x")))
        .iter()
        .map(as_json)
        .collect();
    for layout in LAYOUTS {
        let mut rewriter = SseRewriter::new(Policy::default());
        for event in &json {
            let frame = layout.frame(event);
            let (last, rest) = frame.as_bytes().split_last().unwrap();
            let sent = rewriter.feed(rest);
            // The blank line of a CRLF frame is complete with its CR.
            assert!(sent.is_empty() || layout.line_end == "\r\n");
            assert!(!rewriter.feed(&[*last]).is_empty());
        }
    }
}

#[test]
fn an_lf_after_the_cr_of_a_dropped_frame_is_dropped_too() {
    let frame = r#"data: {"type":"response.output_item.added","item":null}"#;
    let stream = format!("{frame}\r\n\r\n: next\r\n\r\n");
    for chunk in 1..stream.len() {
        let (sent, _) = rewritten_in(chunk, stream.as_bytes());
        assert_eq!(String::from_utf8_lossy(&sent), ": next\r\n\r\n", "{chunk}");
    }
}

#[test]
fn what_waited_does_not_become_a_part_of_a_last_frame_without_its_blank_line() {
    let created = r#"data: {"type":"response.created","response":{}}"#;
    let call = r#"data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f"}}"#;
    let message = r#"data: {"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"m"}}"#;
    for (last, line_end) in [(message, "\n"), (message, "\r\n"), (": comment", "\r")] {
        for cut in ["", line_end] {
            let blank = line_end.repeat(2);
            let stream = format!("{created}{blank}{call}{blank}{last}{cut}");
            for chunk in [1, 5, usize::MAX] {
                let (sent, _) = rewritten_in(chunk, stream.as_bytes());
                let sent = String::from_utf8(sent).unwrap();
                assert_eq!(sent.matches(&blank).count(), 3, "{sent:?}");
                assert_eq!(rewritten(sent.as_bytes()), sent.as_bytes());
            }
        }
    }
}

#[test]
fn an_announcement_that_comes_late_is_whole_before_what_waited_for_it() {
    let frame = |data: &str| format!("data: {data}\r\n\r\n");
    let stream = [
        frame(r#"{"type":"response.created","response":{}}"#),
        frame(
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":"{}"}"#,
        ),
        frame(
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"n"}}"#,
        ),
        frame(r#"{"type":"response.in_progress","response":{}}"#),
    ];
    let sent = [0, 2, 1, 3].map(|at| &*stream[at]).concat();
    for chunk in 1..400 {
        let (got, _) = rewritten_in(chunk, stream.concat().as_bytes());
        assert_eq!(String::from_utf8_lossy(&got), sent, "{chunk}");
    }
}

#[test]
fn a_run_is_the_same_in_and_out_of_the_fast_path() {
    let mut events = vec![added(0, message("m", ""))];
    for text in ["a", "", "\"", "\\", "longer than a word", "ü", "\n", "z"] {
        events.push(scoped("output_text.delta", 0, "other", text));
    }
    let stream = numbered(events);
    let json: Vec<_> = stream.iter().map(as_json).collect();
    let bytes = PLAIN.stream(&json);
    let (whole, report) = rewritten_in(usize::MAX, &bytes);
    assert_eq!(
        crate::wire::encoding::modelled_stream(&whole),
        play(&stream).sent
    );
    // A comment on every frame makes each another layout.
    let noted: Vec<u8> = (0..)
        .zip(&json)
        .flat_map(|(at, event)| format!(": {at}\n{}", PLAIN.frame(event)).into_bytes())
        .collect();
    let (slow, slow_report) = rewritten_in(usize::MAX, &noted);
    let bare: String = String::from_utf8(slow)
        .unwrap()
        .split_inclusive('\n')
        .filter(|line| !line.starts_with(':'))
        .collect();
    assert_eq!(bare.as_bytes(), whole);
    assert_eq!(slow_report.report(), report.report());
}

proptest! {
    #[test]
    fn any_chunking_of_any_stream_gives_the_same_bytes(
        stream in any_stream(),
        layout in proptest::sample::select(&LAYOUTS[..]),
        sizes in proptest::collection::vec(1..90usize, 1..30),
    ) {
        let json: Vec<_> = stream.iter().map(as_json).collect();
        let bytes = layout.stream(&json);
        let mut rewriter = SseRewriter::new(Policy::default());
        let mut sent = Vec::new();
        let mut rest = &bytes[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (head, tail) = rest.split_at((*size).min(rest.len()));
            sent.extend(rewriter.feed(head));
            rest = tail;
        }
        sent.extend(rewriter.finish());
        prop_assert!(sent == rewritten(&bytes));
    }
}
