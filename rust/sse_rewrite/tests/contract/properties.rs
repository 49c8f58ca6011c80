//! What must hold of every stream, however it is mixed up.

use proptest::prelude::*;
use sse_rewrite::Policy;

use crate::driver::{play, play_under};
use crate::judge::faults;
use crate::losses::losses;
use crate::model::{End, Event, Numbered};
use crate::random::{any_stream, sound_stream};

fn conventional() -> Policy {
    Policy {
        conventional_ids: true,
        ..Policy::default()
    }
}

/// The stream without the output of a failed response.
///
/// That is not made anew: an entry whose id two items had pairs otherwise once they have ids of
/// their own.
fn without_failed_output(mut stream: Vec<Numbered>) -> Vec<Numbered> {
    let mut has_failed = false;
    for (_, event) in &mut stream {
        has_failed |= *event == Event::Error;
        if let Event::Terminal { end, output } = event
            && (has_failed || *end == End::Failed)
        {
            output.clear();
        }
    }
    stream
}

/// Whether the response ends without a failure.
fn ends_well(stream: &[Numbered]) -> bool {
    stream.iter().all(|(_, event)| {
        let has_failed = matches!(
            event,
            Event::Terminal {
                end: End::Failed,
                ..
            }
        );
        *event != Event::Error && !has_failed
    })
}

proptest! {
    #[test]
    fn any_stream_comes_out_keeping_the_contract(stream in any_stream()) {
        let played = play(&stream);
        prop_assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
        prop_assert_eq!(losses(&stream, &played.sent), [""; 0], "{:#?}", played.lines());
    }

    #[test]
    fn numbers_that_came_contiguous_leave_contiguous(stream in any_stream()) {
        let sent = play(&stream).sent;
        let numbers: Vec<u64> = sent.iter().filter_map(|(number, _)| *number).collect();
        let count = if stream[0].0.is_some() { sent.len() } else { 0 };
        prop_assert_eq!(numbers, (0..count as u64).collect::<Vec<_>>());
    }

    #[test]
    fn conventional_ids_keep_the_contract_too(stream in any_stream()) {
        let played = play_under(conventional(), &stream);
        prop_assert_eq!(faults(&played.sent), [""; 0], "{:#?}", played.lines());
        let again = play_under(conventional(), &played.sent);
        prop_assert_eq!(
            without_failed_output(again.sent),
            without_failed_output(played.sent)
        );
    }

    #[test]
    fn a_second_pass_changes_nothing(stream in any_stream()) {
        let played = play(&stream);
        let again = play(&played.sent);
        prop_assert!(again.report.is_untouched() || !ends_well(&stream), "{:?}", again.report);
        prop_assert_eq!(
            without_failed_output(again.sent),
            without_failed_output(played.sent)
        );
    }

    #[test]
    fn what_is_reported_untouched_is_unchanged(stream in any_stream()) {
        let played = play(&stream);
        if played.report.is_untouched() {
            // A second `response.created` is the caller's to drop and to report.
            let created = |(_, event): &&Numbered| *event == Event::Created;
            if stream.iter().filter(created).count() < 2 {
                prop_assert_eq!(played.sent, stream);
            }
        }
    }

    #[test]
    fn a_sound_stream_is_left_as_it_is(stream in sound_stream()) {
        prop_assert_eq!(faults(&stream), [""; 0], "the generator is wrong");
        let played = play(&stream);
        prop_assert_eq!(&played.sent, &stream);
        prop_assert!(played.report.is_untouched(), "{:?}", played.report);
    }
}
