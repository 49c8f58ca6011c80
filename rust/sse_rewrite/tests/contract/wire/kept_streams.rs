//! Streams kept as files: what came in and what must go out, and what a fuzzer found.

use std::fs;
use std::path::{Path, PathBuf};

use sse_rewrite::{Policy, SseRewriter};

use crate::fuzzed::{check_bytes, check_events};
use crate::wire::encoding::{rewritten, rewritten_in};

/// The files of a folder of this crate, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).expect("the folder is part of the crate");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{folder:?} is empty");
    files
}

#[test]
fn each_stream_becomes_what_is_written_beside_it() {
    let streams = files("tests/streams");
    let streams = streams
        .iter()
        .filter(|file| file.extension() == Some("sse".as_ref()));
    for file in streams {
        let came = fs::read(file).unwrap();
        let want = fs::read(file.with_extension("expected")).unwrap();
        for chunk in [usize::MAX, 1400, 7, 1] {
            let (sent, _) = rewritten_in(chunk, &came);
            assert_eq!(
                String::from_utf8_lossy(&sent),
                String::from_utf8_lossy(&want),
                "{file:?} in pieces of {chunk}"
            );
        }
        assert_eq!(rewritten(&want), want, "{file:?}");
    }
}

#[test]
fn what_a_fuzzer_found_is_still_right() {
    for file in files("fuzz/corpus/bytes") {
        check_bytes(&fs::read(file).unwrap());
    }
    for file in files("fuzz/corpus/events") {
        println!("{}", file.display());
        check_events(&fs::read(file).unwrap());
    }
}

#[test]
fn the_report_tells_which_fields_were_changed_and_where() {
    let stream = include_bytes!("../../streams/regenerated-at-the-end.sse");
    let mut rewriter = SseRewriter::new(Policy::default());
    let _ = rewriter.feed(stream);
    let changed: Vec<_> = rewriter
        .report()
        .fields()
        .filter(|&(.., count)| count > 0)
        .map(|(told, field, count)| (told.name(), field.key(), count))
        .collect();
    assert_eq!(changed, [("terminal", "id", 2), ("terminal", "call_id", 1)]);
}

#[test]
fn corrections_are_counted_by_item_type_and_insertions_by_event_type() {
    let stream = include_bytes!("../../streams/regenerated-at-the-end.sse");
    let mut rewriter = SseRewriter::new(Policy::default());
    let _ = rewriter.feed(stream);
    let repaired: Vec<_> = rewriter
        .repaired()
        .iter()
        .map(|(&(told, field, kind), &count)| (told.name(), field.key(), kind, count))
        .collect();
    assert_eq!(
        repaired,
        [
            ("terminal", "id", "function_call", 1),
            ("terminal", "id", "reasoning", 1),
            ("terminal", "call_id", "function_call", 1),
        ]
    );
    assert!(rewriter.inserted().is_empty());
}
