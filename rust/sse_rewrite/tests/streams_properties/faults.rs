//! Faults, and how each is put into a stream.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::event::{CLIENT_CALLS, Event, Stream};
use crate::repeats::{Shared, Twice};
use crate::right::{Case, any_story};
use crate::wire::Layout;
use crate::{names, repeats};

/// Which items a fault strikes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Who {
    All,
    /// The item of this number, counted round.
    Nth(u8),
}

/// How a name is missing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Blank {
    Empty,
    Null,
    Absent,
}

/// Which names of a call come late.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Late {
    CallId,
    Name,
    Both,
}

/// Where a name that comes late is shown first.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(crate) enum Shown {
    ArgumentsDone,
    Close,
    Terminal,
    Never,
}

/// What a repeated announcement or close says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Says {
    Same,
    Nothing,
    More,
    Other,
}

/// A fault; more than one can be put into a stream.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    IdsFreshInTerminal,
    IdsFreshEverywhere,
    IdsEmpty(Blank),
    IdsSame,
    CallIdsFreshAtEnd {
        in_close: bool,
    },
    CallNamedLate {
        who: Who,
        late: Late,
        blank: Blank,
        shown: Shown,
    },
    NameEmptyInClose(Who),
    AnnouncementMissing(Who),
    AnnouncementNull(Who),
    PartNeverOpened(Who),
    ContentIndexCarriedOver,
    ContentIndexPerDelta {
        who: Who,
        opened: bool,
    },
    CloseMissing(Who),
    DeltasOnly(Who),
    StatusAfterClose(Who),
    TerminalEmpty,
    TerminalShuffled(u8),
    TerminalPartial(Who),
    OnlyInTerminal {
        who: Who,
        gap: bool,
    },
    AnnouncementAgain {
        who: Who,
        says: Says,
        after_close: bool,
    },
    CloseAgain {
        who: Who,
        says: Says,
        late: bool,
    },
    CallTwice {
        who: Who,
        how: Twice,
    },
    CallClosedEmptyFirst(Who),
    IndexColliding(Who, Who),
    IndexGap(Who),
    IndexMissing(Who),
    ItemIdMissing(Who),
    NumberStandsStill(u8),
    NumberGoesBack(u8),
    CreatedAgain {
        at: u8,
        restart: bool,
    },
    Joined(u8),
}

fn any_who() -> impl Strategy<Value = Who> {
    prop_oneof![2 => any::<u8>().prop_map(Who::Nth), 1 => Just(Who::All)]
}

fn any_blank() -> impl Strategy<Value = Blank> {
    prop_oneof![Just(Blank::Empty), Just(Blank::Null), Just(Blank::Absent)]
}

fn any_twice() -> impl Strategy<Value = Twice> {
    let shared = prop_oneof![
        Just(Shared::Nothing),
        Just(Shared::Id),
        Just(Shared::Index),
        Just(Shared::Both),
    ];
    (any::<bool>(), shared, any::<bool>()).prop_map(|(other, shared, listed)| Twice {
        other,
        shared,
        listed,
    })
}

pub(crate) fn any_fault() -> BoxedStrategy<Fault> {
    let who = || any_who();
    let flag = || any::<bool>();
    let late = prop_oneof![Just(Late::CallId), Just(Late::Name), Just(Late::Both)];
    let shown = prop_oneof![
        Just(Shown::ArgumentsDone),
        Just(Shown::Close),
        Just(Shown::Terminal),
        Just(Shown::Never),
    ];
    let again = prop_oneof![Just(Says::Same), Just(Says::More), Just(Says::Other)];
    let closed_again = prop_oneof![Just(Says::Same), Just(Says::Nothing), Just(Says::More)];
    // Unions of more than ten are nested.
    let ids = prop_oneof![
        Just(Fault::IdsFreshInTerminal),
        Just(Fault::IdsFreshEverywhere),
        any_blank().prop_map(Fault::IdsEmpty),
        Just(Fault::IdsSame),
        flag().prop_map(|in_close| Fault::CallIdsFreshAtEnd { in_close }),
        who().prop_map(Fault::NameEmptyInClose),
        who().prop_map(Fault::ItemIdMissing),
    ];
    let late = (who(), late, any_blank(), shown).prop_map(|(who, late, blank, shown)| {
        Fault::CallNamedLate {
            who,
            late,
            blank,
            shown,
        }
    });
    let missing = prop_oneof![
        who().prop_map(Fault::AnnouncementMissing),
        who().prop_map(Fault::AnnouncementNull),
        who().prop_map(Fault::PartNeverOpened),
        who().prop_map(Fault::CloseMissing),
        who().prop_map(Fault::DeltasOnly),
        (who(), flag()).prop_map(|(who, gap)| Fault::OnlyInTerminal { who, gap }),
    ];
    let places = prop_oneof![
        Just(Fault::ContentIndexCarriedOver),
        (who(), flag()).prop_map(|(who, opened)| Fault::ContentIndexPerDelta { who, opened }),
        (who(), who()).prop_map(|(one, other)| Fault::IndexColliding(one, other)),
        who().prop_map(Fault::IndexGap),
        who().prop_map(Fault::IndexMissing),
        any::<u8>().prop_map(Fault::NumberStandsStill),
        any::<u8>().prop_map(Fault::NumberGoesBack),
        (any::<u8>(), flag()).prop_map(|(at, restart)| Fault::CreatedAgain { at, restart }),
        any::<u8>().prop_map(Fault::Joined),
    ];
    let terminal = prop_oneof![
        Just(Fault::TerminalEmpty),
        any::<u8>().prop_map(Fault::TerminalShuffled),
        who().prop_map(Fault::TerminalPartial),
    ];
    let repeats = prop_oneof![
        (who(), again, flag()).prop_map(|(who, says, after_close)| Fault::AnnouncementAgain {
            who,
            says,
            after_close
        }),
        (who(), closed_again, flag()).prop_map(|(who, says, late)| Fault::CloseAgain {
            who,
            says,
            late
        }),
        (who(), any_twice()).prop_map(|(who, how)| Fault::CallTwice { who, how }),
        who().prop_map(Fault::CallClosedEmptyFirst),
        who().prop_map(Fault::StatusAfterClose),
    ];
    prop_oneof![7 => ids, 3 => late, 6 => missing, 9 => places, 4 => terminal, 6 => repeats].boxed()
}

/// Streams with one to three faults.
pub(crate) fn faulty() -> impl Strategy<Value = Case> {
    let faults = proptest::collection::vec(any_fault(), 1..4);
    (any_story(true), faults, Layout::any())
        .prop_map(|(story, faults, layout)| Case::new(&story, faults, layout))
}

/// The items of a stream.
pub(crate) fn owners(stream: &Stream) -> Vec<usize> {
    let mut owners: Vec<usize> = stream.iter().filter_map(|event| event.owner).collect();
    owners.extend(stream.iter().flat_map(|event| &event.listed));
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// The items among `owners` that `who` means.
pub(crate) fn struck(who: Who, owners: &[usize]) -> Vec<usize> {
    match who {
        Who::All => owners.to_vec(),
        Who::Nth(_) if owners.is_empty() => Vec::new(),
        Who::Nth(nth) => vec![owners[usize::from(nth) % owners.len()]],
    }
}

/// The calls that a client answers.
pub(crate) fn calls(stream: &Stream) -> Vec<usize> {
    let called = |event: &Event| {
        let kind = event.item_type().unwrap_or_default();
        event.owner.filter(|_| CLIENT_CALLS.contains(&kind))
    };
    let mut calls: Vec<usize> = stream.iter().filter_map(called).collect();
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// Whether an event is of one of the items.
pub(crate) fn is_of(event: &Event, owners: &[usize]) -> bool {
    event.owner.is_some_and(|owner| owners.contains(&owner))
}

/// Puts a fault into a stream that has no numbers yet.
pub(crate) fn apply(fault: &Fault, stream: &mut Stream) {
    let all = owners(stream);
    let of = |who: &Who| struck(*who, &all);
    let of_calls = |who: &Who| struck(*who, &calls(stream));
    match fault {
        Fault::IdsFreshInTerminal => names::fresh_ids(stream, false),
        Fault::IdsFreshEverywhere => names::fresh_ids(stream, true),
        Fault::IdsEmpty(blank) => names::set_ids(stream, *blank),
        Fault::IdsSame => names::same_ids(stream),
        Fault::CallIdsFreshAtEnd { in_close } => names::fresh_call_ids(stream, *in_close),
        Fault::CallNamedLate {
            who,
            late,
            blank,
            shown,
        } => names::named_late(stream, &of_calls(who), *late, *blank, *shown),
        Fault::NameEmptyInClose(who) => names::name_empty_in_close(stream, &of(who)),
        Fault::AnnouncementMissing(who) => remove(stream, &of(who), Event::is_added),
        Fault::AnnouncementNull(who) => {
            let struck = of(who);
            for event in stream
                .iter_mut()
                .filter(|it| it.is_added() && is_of(it, &struck))
            {
                event.body["item"] = Value::Null;
            }
        }
        Fault::PartNeverOpened(who) => remove(stream, &of(who), Event::opens_part),
        Fault::ContentIndexCarriedOver => names::content_index_carried(stream),
        Fault::ContentIndexPerDelta { who, opened } => {
            names::content_index_per_delta(stream, &of(who), *opened);
        }
        Fault::CloseMissing(who) => remove(stream, &of(who), Event::is_done),
        Fault::DeltasOnly(who) => remove(stream, &of(who), |event| !event.is_delta()),
        Fault::StatusAfterClose(who) => repeats::status_after_close(stream, &of(who)),
        Fault::TerminalEmpty => list(stream, |_| Vec::new()),
        Fault::TerminalShuffled(by) => list(stream, |listed| {
            let mut places: Vec<usize> = (0..listed.len()).collect();
            places.rotate_left(usize::from(*by) % listed.len().max(1));
            if by % 2 == 1 {
                places.reverse();
            }
            places
        }),
        Fault::TerminalPartial(who) => {
            let struck = of(who);
            list(stream, |listed| {
                let kept = |place: &usize| !struck.contains(&listed[*place]);
                (0..listed.len()).filter(kept).collect()
            });
        }
        Fault::OnlyInTerminal { who, gap } => {
            let struck = of(who);
            if !gap {
                names::close_gaps(stream, &struck);
            }
            remove(stream, &struck, |_| true);
        }
        Fault::AnnouncementAgain {
            who,
            says,
            after_close,
        } => repeats::announcement_again(stream, &of(who), *says, *after_close),
        Fault::CloseAgain { who, says, late } => {
            repeats::close_again(stream, &of(who), *says, *late);
        }
        Fault::CallTwice { who, how } => {
            for owner in of_calls(who) {
                repeats::call_twice(stream, owner, *how);
            }
        }
        Fault::CallClosedEmptyFirst(who) => {
            for owner in of_calls(who) {
                repeats::closed_empty_first(stream, owner);
            }
        }
        Fault::IndexColliding(one, other) => names::collide(stream, &of(one), &of(other)),
        Fault::IndexGap(who) => names::gap(stream, &of(who)),
        Fault::IndexMissing(who) => {
            let struck = of(who);
            for event in stream.iter_mut().filter(|event| is_of(event, &struck)) {
                event.remove("output_index");
            }
        }
        Fault::ItemIdMissing(who) => {
            let struck = of(who);
            for event in stream.iter_mut().filter(|event| is_of(event, &struck)) {
                event.remove("item_id");
            }
        }
        Fault::CreatedAgain { at, restart } => repeats::created_again(stream, *at, *restart),
        Fault::NumberStandsStill(_) | Fault::NumberGoesBack(_) | Fault::Joined(_) => {}
    }
}

/// Puts a fault into a stream that strikes its numbers, or needs them.
pub(crate) fn apply_to_numbers(fault: &Fault, stream: &mut Stream) {
    let numbered: Vec<usize> = (1..stream.len())
        .filter(|place| stream[*place].number().is_some() && stream[*place - 1].number().is_some())
        .collect();
    let nth = |at: u8| {
        numbered
            .get(usize::from(at) % numbered.len().max(1))
            .copied()
    };
    match fault {
        Fault::NumberStandsStill(at) => {
            if let Some(place) = nth(*at) {
                stream[place].body["sequence_number"] = json!(stream[place - 1].number());
            }
        }
        Fault::NumberGoesBack(at) => {
            if let Some(place) = nth(*at) {
                stream[place].body["sequence_number"] = json!(0);
            }
        }
        Fault::Joined(at) => {
            let first = stream.iter().position(|event| event.owner.is_some());
            let last = stream.len() - 1;
            if let Some(first) = first.filter(|first| *first < last) {
                stream.drain(..first + usize::from(*at) % (last - first));
                let begins = ["created", "queued", "in_progress"];
                stream.retain(|event| !begins.contains(&event.name()));
            }
        }
        _ => {}
    }
}

fn remove(stream: &mut Stream, struck: &[usize], what: impl Fn(&Event) -> bool) {
    stream.retain(|event| !(is_of(event, struck) && what(event)));
}

/// Lists in a terminal event the entries that stand at the places which `order` names.
fn list(stream: &mut Stream, order: impl Fn(&[usize]) -> Vec<usize>) {
    for event in stream.iter_mut().filter(|event| event.is_terminal()) {
        let places = order(&event.listed);
        let output = event.output().to_vec();
        event.listed = places.iter().map(|place| event.listed[*place]).collect();
        if let Some(entries) = event.output_mut() {
            *entries = places
                .into_iter()
                .map(|place| output[place].clone())
                .collect();
        }
    }
}
