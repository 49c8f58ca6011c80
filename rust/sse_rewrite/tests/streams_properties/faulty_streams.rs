//! Whatever is wrong with a stream, what is sent keeps the contract, and nothing is lost.

use proptest::prelude::*;

use crate::ends::{added_after_failure, late, misnamed};
use crate::event::{Event, show, show_all};
use crate::facts::{End, Facts};
use crate::faults::{Fault, faulty};
use crate::kept::{altered, losses};
use crate::right::Case;
use crate::right_streams::config;
use crate::rules::faults;
use crate::wire::{Layout, Rewritten, parse, rewritten};

/// Fails with the stream that was sent, event by event.
fn none_of(found: &[String], sent: &[Event]) -> Result<(), TestCaseError> {
    prop_assert!(found.is_empty(), "{found:#?}, out:\n{}", show_all(sent));
    Ok(())
}

/// The faults that begin with one of the `rules`, which are written as in the contract.
fn of(rules: &[&str], mut found: Vec<String>) -> Vec<String> {
    found.retain(|fault| {
        rules
            .iter()
            .any(|rule| fault.split(':').next() == Some(rule))
    });
    found
}

fn breaks(case: &Case, rules: &[&str]) -> Result<(), TestCaseError> {
    let sent = parse(&rewritten(&case.bytes));
    none_of(&of(rules, faults(&sent, &Facts::of(&case.stream))), &sent)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn c1_an_item_has_one_identity_in_all_its_events(case in faulty()) {
        breaks(&case, &["C1"])?;
    }

    #[test]
    fn c2_indices_are_dense_and_items_are_open_between_announcement_and_close(case in faulty()) {
        breaks(&case, &["C2"])?;
    }

    #[test]
    fn c3_numbers_increase(case in faulty()) {
        breaks(&case, &["C3"])?;
    }

    #[test]
    fn c4_the_terminal_output_lists_what_was_announced(case in faulty()) {
        breaks(&case, &["C4"])?;
    }

    #[test]
    fn c11_ids_and_call_ids_are_distinct(case in faulty()) {
        breaks(&case, &["C11"])?;
    }

    #[test]
    fn c12_calls_are_announced_with_names_and_parts_are_opened(case in faulty()) {
        breaks(&case, &["C12"])?;
    }

    #[test]
    fn nothing_is_lost(case in faulty()) {
        let sent = parse(&rewritten(&case.bytes));
        none_of(&losses(&case.stream, &sent, &Facts::of(&case.stream)), &sent)?;
    }

    #[test]
    fn no_payload_is_altered_and_no_close_says_less_than_was_streamed(case in faulty()) {
        let sent = parse(&rewritten(&case.bytes));
        none_of(&altered(&case.stream, &sent, &Facts::of(&case.stream)), &sent)?;
    }

    #[test]
    fn a_second_pass_changes_nothing(case in faulty()) {
        let once = rewritten(&case.bytes);
        let again = Rewritten::of([&once[..]]);
        let twice = again.bytes();
        prop_assert!(
            once == twice,
            "once:\n{}twice:\n{}",
            show_all(&parse(&once)),
            show_all(&parse(&twice))
        );
        // A call that waits until the end is counted, even if nothing comes before it then.
        let unchanged = |(name, count): (&str, u64)| {
            count == 0 || matches!(name, "deferred" | "left_open")
        };
        let report = again.rewriter.report();
        prop_assert!(report.counts().all(unchanged), "{report:?}");
    }

    #[test]
    fn cuts_make_no_difference(case in faulty(), sizes in prop::collection::vec(1..90usize, 1..9)) {
        let whole = rewritten(&case.bytes);
        let mut rest = &case.bytes[..];
        let mut random = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*size).min(rest.len()));
            random.push(piece);
            rest = more;
        }
        for pieces in [case.bytes.chunks(1).collect(), case.bytes.chunks(7).collect(), random] {
            let sent = Rewritten::of(pieces).bytes();
            prop_assert_eq!(String::from_utf8_lossy(&sent), String::from_utf8_lossy(&whole));
        }
    }

    #[test]
    fn what_was_sent_is_never_taken_back(case in faulty(), at: prop::sample::Index) {
        let whole = rewritten(&case.bytes);
        let upto = &case.bytes[..at.index(case.bytes.len() + 1)];
        let sent = Rewritten::of([upto]).sent.concat();
        prop_assert!(whole.starts_with(&sent), "{}", show_all(&parse(&sent)));
    }

    #[test]
    fn only_a_call_without_a_name_of_its_own_waits(case in faulty()) {
        let frames = case.layout.frames(&case.stream);
        let mut sent = Rewritten::of(frames.iter().map(Vec::as_slice)).sent;
        // A last frame without its blank line ends with the body.
        sent.truncate(frames.len() - usize::from(case.layout.without_blank_line));
        let sent: Vec<Vec<Event>> = sent.iter().map(|sent| parse(sent)).collect();
        none_of(&late(&case.stream, &sent, &Facts::of(&case.stream)), &sent.concat())?;
    }

    #[test]
    fn c13_after_a_failure_nothing_is_closed_announced_or_put_back(case in faulty()) {
        if Facts::of(&case.stream).end == End::Complete {
            return Ok(());
        }
        let failure = case.stream.iter().position(Event::is_failure);
        // A last event without its blank line is decided on with the end, but is not the end.
        let layout = Layout { without_blank_line: false, ..case.layout };
        let frames = layout.frames(&case.stream);
        let sent = Rewritten::of(frames.iter().map(Vec::as_slice));
        let before = failure.unwrap_or(frames.len());
        let after = parse(&[sent.sent[before..].concat(), sent.last.clone()].concat());
        let sent = parse(&sent.bytes());
        none_of(&added_after_failure(&case.stream, &sent, &after), &sent)?;
    }

    #[test]
    fn c13_what_a_failed_response_lists_has_its_announced_identity(case in faulty()) {
        let sent = parse(&rewritten(&case.bytes));
        none_of(&misnamed(&case.stream, &sent, &Facts::of(&case.stream)), &sent)?;
    }

    #[test]
    fn in_a_joined_stream_nothing_is_announced_again(case in faulty(), at: u8) {
        let mut joined = case.stream.clone();
        crate::faults::apply_to_numbers(&Fault::Joined(at), &mut joined);
        let facts = Facts::of(&joined);
        let announced = |stream: &[Event]| -> Vec<Event> {
            let announced = stream.iter().filter(|event| event.is_added());
            announced.filter(|event| event.item().is_some()).cloned().collect()
        };
        let (all, after) = (announced(&case.stream), announced(&joined));
        let (before, _) = all.split_at(all.len() - after.len());
        // The first index that is seen tells how many items there are before.
        let first = after.first().and_then(Event::index);
        let counts = first.is_none_or(|first| first == before.len() as u64);
        // Of an entry that nothing announced, nobody knows that it is not one from before.
        let entries: usize = joined.iter().map(|event| event.listed.len()).sum();
        if facts.joined && facts.joined_plainly && counts && entries <= all.len() {
            let sent = parse(&rewritten(&case.layout.bytes(&joined)));
            for event in announced(&sent).iter().filter(|event| event.id().is_some()) {
                let is_in = |events: &[Event]| events.iter().any(|it| it.id() == event.id());
                let again = is_in(before) && !is_in(&after);
                prop_assert!(!again, "{} out:\n{}", show(event), show_all(&sent));
            }
        }
    }
}
