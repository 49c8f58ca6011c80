//! Each step of the pairing with its right values, and all of them against a slow reference.

use proptest::prelude::*;
use serde_json::Value;
use sse_rewrite::contract::pairing::{Candidate, pair};
use sse_rewrite::{Identity, Item, Payload};

use crate::model::{call, code, custom, mcp, message, reasoning, search, with, without};
use crate::pairing_reference::allowed;
use crate::random::any_item;

/// What pairing sees of an item.
struct Read {
    identity: Identity,
    payload: Payload,
}

fn read(items: &[Value]) -> Vec<Read> {
    let items = items.iter().map(|item| {
        let json = item.to_string();
        let item = Item::read(json.as_bytes()).unwrap();
        Read {
            identity: item.identity,
            payload: item.payload,
        }
    });
    items.collect()
}

fn candidates(items: &[Read]) -> Vec<Candidate<'_>> {
    items
        .iter()
        .map(|item| Candidate {
            identity: &item.identity,
            upstream: &item.identity,
            payload: Some(item.payload),
        })
        .collect()
}

/// Pairs two lists of closed items.
fn paired(streamed: &[Value], rebuilt: &[Value]) -> Vec<Option<usize>> {
    pair(&candidates(&read(streamed)), &candidates(&read(rebuilt)))
}

mod step_1_identity {
    use super::*;

    #[test]
    fn a_call_id_settles_calls_of_one_type_whatever_they_say() {
        let streamed = [call("a", "1", "f", "x"), call("b", "2", "f", "y")];
        let rebuilt = [call("p", "2", "g", "x"), call("q", "1", "g", "y")];
        assert_eq!(paired(&streamed, &rebuilt), [Some(1), Some(0)]);
    }

    #[test]
    fn a_call_id_says_nothing_across_types() {
        let streamed = [call("a", "1", "f", "x")];
        let rebuilt = [custom("p", "1", "f", "y")];
        assert_eq!(paired(&streamed, &rebuilt), [None]);
    }

    #[test]
    fn an_id_pairs_before_payload() {
        let streamed = [message("a", "x"), message("b", "y")];
        let rebuilt = [message("b", "x"), message("a", "y")];
        assert_eq!(paired(&streamed, &rebuilt), [Some(1), Some(0)]);
    }

    #[test]
    fn an_id_upstream_gave_pairs_although_another_was_announced() {
        let (streamed, rebuilt) = (read(&[message("msg_a", "x")]), read(&[message("a", "y")]));
        let upstream = read(&[message("a", "x")]);
        let streamed = [Candidate {
            upstream: &upstream[0].identity,
            ..candidates(&streamed)[0]
        }];
        assert_eq!(pair(&streamed, &candidates(&rebuilt)), [Some(0)]);
    }

    #[test]
    fn an_id_that_several_items_share_proves_nothing() {
        let streamed = [message("same", "x"), message("same", "y")];
        let rebuilt = [message("same", "y"), message("same", "x")];
        assert_eq!(paired(&streamed, &rebuilt), [Some(1), Some(0)]);
    }

    #[test]
    fn an_id_pairs_across_types_except_into_a_call() {
        let thought = [reasoning("a", "x")];
        assert_eq!(paired(&thought, &[message("a", "y")]), [Some(0)]);
        assert_eq!(paired(&thought, &[call("a", "1", "f", "y")]), [None]);
    }
}

mod step_2_payload {
    use super::*;

    #[test]
    fn equal_payload_pairs_in_another_order() {
        let streamed = [message("a", "x"), reasoning("b", "y"), message("c", "z")];
        let rebuilt = [reasoning("p", "y"), message("q", "z"), message("r", "x")];
        assert_eq!(paired(&streamed, &rebuilt), [Some(2), Some(0), Some(1)]);
    }

    #[test]
    fn of_equal_items_those_in_order_pair_first() {
        // "x" could pair with the first one, too; then "y" would have to cross.
        let streamed = [message("a", "y"), message("b", "x")];
        let rebuilt = [message("p", "x"), message("q", "y"), message("r", "x")];
        assert_eq!(paired(&streamed, &rebuilt), [Some(1), Some(2)]);
    }

    #[test]
    fn names_must_agree_where_both_have_one() {
        let (f, g) = (mcp("a", "f", "{}"), mcp("b", "g", "{}"));
        let rebuilt = [with(g.clone(), "id", "p"), with(f.clone(), "id", "q")];
        assert_eq!(paired(&[f, g], &rebuilt), [Some(1), Some(0)]);
    }

    #[test]
    fn an_item_without_a_name_may_have_any() {
        let named = [mcp("b", "f", "{}")];
        let bare = [without(mcp("a", "f", "{}"), "name")];
        assert_eq!(paired(&bare, &named), [Some(0)]);
        assert_eq!(paired(&named, &bare), [Some(0)]);
    }
}

mod step_3_type_and_order {
    use super::*;

    #[test]
    fn what_changed_pairs_by_type_and_name_in_order() {
        let streamed = [message("a", "x"), reasoning("b", "y"), message("c", "z")];
        let rebuilt = [reasoning("p", "1"), message("q", "2"), message("r", "3")];
        assert_eq!(paired(&streamed, &rebuilt), [Some(1), Some(0), Some(2)]);
    }

    #[test]
    fn never_across_a_pair_that_is_made() {
        let streamed = [message("a", "x"), reasoning("b", "y")];
        let rebuilt = [reasoning("p", "y"), message("q", "other")];
        assert_eq!(paired(&streamed, &rebuilt), [None, Some(0)]);
    }

    #[test]
    fn an_item_that_was_never_closed_pairs_here() {
        let (streamed, rebuilt) = (read(&[message("a", "")]), read(&[message("p", "x")]));
        let open = [Candidate {
            payload: None,
            ..candidates(&streamed)[0]
        }];
        assert_eq!(pair(&open, &candidates(&rebuilt)), [Some(0)]);
    }
}

mod step_4_position {
    use super::*;

    #[test]
    fn code_comes_back_as_reasoning() {
        let streamed = [reasoning("a", "why"), code("b", "print(1)")];
        let rebuilt = [reasoning("p", "why"), reasoning("q", "print(1)")];
        assert_eq!(paired(&streamed, &rebuilt), [Some(0), Some(1)]);
        let other = [reasoning("p", "why"), reasoning("q", "print(2)")];
        assert_eq!(paired(&streamed, &other), [Some(0), None]);
    }

    #[test]
    fn a_hosted_call_comes_back_as_one_of_another_type() {
        let rebuilt = [search("p", "tides")];
        let browse = [mcp("a", "browser.search", r#"{"query":"tides"}"#)];
        assert_eq!(paired(&browse, &rebuilt), [Some(0)]);
        let run_by_the_client = [call("a", "1", "search", r#"{"query":"tides"}"#)];
        assert_eq!(paired(&run_by_the_client, &rebuilt), [None]);
    }

    #[test]
    fn an_entry_that_says_nothing_takes_nothing_away() {
        let streamed = [code("a", "print(1)")];
        assert_eq!(paired(&streamed, &[message("p", "")]), [Some(0)]);
        let encrypted = with(reasoning("p", ""), "encrypted_content", "gAAA");
        assert_eq!(paired(&streamed, &[encrypted]), [None]);
    }

    #[test]
    fn a_dotted_name_comes_back_without_its_server() {
        let streamed = [mcp("a", "repo.list", "{}")];
        assert_eq!(paired(&streamed, &[mcp("p", "list", "{}")]), [Some(0)]);
    }

    #[test]
    fn a_call_that_was_cut_comes_back_as_its_markup() {
        let streamed = [call("a", "1", "f", r#"{"x": "#)];
        let markup = [message("p", "<tool_call>{\"arguments\": {\"x\": ")];
        assert_eq!(paired(&streamed, &markup), [Some(0)]);
    }

    #[test]
    fn a_message_that_says_more_than_the_call_is_one_of_its_own() {
        let streamed = [call("a", "1", "f", r#"{"x": }"#)];
        let spoken = [message("p", "<tool_call>{\"x\": }</tool_call>It is 42.")];
        assert_eq!(paired(&streamed, &spoken), [None]);
    }

    #[test]
    fn a_call_is_no_restated_text_and_nothing_said_proves_nothing() {
        let text = [message("a", "{}")];
        assert_eq!(paired(&text, &[call("p", "1", "f", "{}")]), [None]);
        let silent = [mcp("a", "f", "")];
        assert_eq!(paired(&silent, &[call("p", "1", "f", "")]), [None]);
    }
}

#[test]
fn more_items_than_an_order_is_sought_for_still_pair() {
    let many = |prefix: &str| -> Vec<Value> {
        let ids = 0..1100;
        ids.map(|at| message(&format!("{prefix}{at}"), &format!("text {at}")))
            .collect()
    };
    let (streamed, mut rebuilt) = (many("a"), many("b"));
    rebuilt.reverse();
    let want: Vec<Option<usize>> = (0..1100).rev().map(Some).collect();
    assert_eq!(paired(&streamed, &rebuilt), want);
}

/// A streamed item: its identity, the one upstream gave, and whether it was closed.
fn streamed_side() -> impl Strategy<Value = (Value, Option<&'static str>, bool)> {
    let upstream = proptest::option::weighted(0.2, proptest::sample::select(vec!["a", "b", "u"]));
    (any_item(), upstream, proptest::bool::weighted(0.9))
}

proptest! {
    #[test]
    fn the_pairing_is_one_that_the_contract_allows(
        streamed in proptest::collection::vec(streamed_side(), 0..5),
        rebuilt in proptest::collection::vec(any_item(), 0..5),
    ) {
        let announced = read(&streamed.iter().map(|(item, ..)| item.clone()).collect::<Vec<_>>());
        let upstream: Vec<Read> = read(
            &streamed
                .iter()
                .map(|(item, id, _)| match id {
                    Some(id) => with(item.clone(), "id", *id),
                    None => item.clone(),
                })
                .collect::<Vec<_>>(),
        );
        let mut left = candidates(&announced);
        for ((candidate, upstream), (_, _, closed)) in left.iter_mut().zip(&upstream).zip(&streamed) {
            candidate.upstream = &upstream.identity;
            candidate.payload = candidate.payload.filter(|_| *closed);
        }
        let rebuilt = read(&rebuilt);
        let right = candidates(&rebuilt);
        let got = pair(&left, &right);
        let want = allowed(&left, &right);
        prop_assert!(want.contains(&got), "{got:?} is none of {want:?}");
    }
}
