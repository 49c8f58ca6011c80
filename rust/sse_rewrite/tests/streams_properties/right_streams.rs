//! A stream that keeps the contract is sent byte for byte as it came (C9).

use proptest::prelude::*;

use crate::event::show_all;
use crate::facts::{End, Facts};
use crate::right::right;
use crate::rules;
use crate::wire::{Rewritten, parse, rewritten};

/// Reads the number of cases from the environment, and writes no files.
pub(crate) fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

/// Fails with both streams, event by event, where they differ.
fn same(sent: &[u8], came: &[u8]) -> Result<(), TestCaseError> {
    let shown = |bytes| show_all(&parse(bytes));
    prop_assert!(
        sent == came,
        "out:\n{}{}",
        shown(sent),
        String::from_utf8_lossy(sent)
    );
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_generator_makes_no_faults(case in right()) {
        let facts = Facts::of(&case.stream);
        let mut found = rules::faults(&case.stream, &facts);
        found.extend(crate::kept::losses(&case.stream, &case.stream, &facts));
        found.extend(crate::kept::altered(&case.stream, &case.stream, &facts));
        if facts.end == End::Complete {
            prop_assert_eq!(facts.unnamed, 0);
        }
        prop_assert_eq!(found, [""; 0]);
    }

    #[test]
    fn leaves_as_it_came(case in right()) {
        let sent = Rewritten::of([&case.bytes[..]]);
        same(&sent.bytes(), &case.bytes)?;
        prop_assert!(sent.rewriter.report().is_untouched(), "{:?}", sent.rewriter.report());
        prop_assert!(sent.rewriter.gave_up().is_none());
    }

    #[test]
    fn leaves_frame_by_frame_without_delay(case in right()) {
        let frames = case.layout.frames(&case.stream);
        let sent = Rewritten::of(frames.iter().map(Vec::as_slice));
        let whole = frames.len() - usize::from(case.layout.without_blank_line);
        for (place, (sent, frame)) in sent.sent.iter().zip(&frames).take(whole).enumerate() {
            prop_assert_eq!(
                String::from_utf8_lossy(sent),
                String::from_utf8_lossy(frame),
                "frame {}",
                place
            );
        }
    }

    #[test]
    fn leaves_as_it_came_wherever_the_body_ends(case in right(), at: prop::sample::Index) {
        let cut = &case.bytes[..at.index(case.bytes.len() + 1)];
        same(&rewritten(cut), cut)?;
    }

    #[test]
    fn leaves_as_it_came_wherever_it_is_joined(case in right(), at: prop::sample::Index) {
        let first = case.stream.iter().position(|event| event.owner.is_some());
        if let Some(first) = first {
            let at = first + at.index(case.stream.len() - first);
            let joined = case.layout.bytes(&case.stream[at..]);
            same(&rewritten(&joined), &joined)?;
        }
    }
}
