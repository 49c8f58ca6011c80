//! The contract's pairing, written down without any thought for speed.
//!
//! Where a step leaves a choice (several common orders of the same length), every choice is
//! followed: the result is the set of all pairings that the contract allows.

use sse_rewrite::contract::pairing::Candidate;

/// For each streamed item its rebuilt item.
pub(crate) type Pairing = Vec<Option<usize>>;

/// Every pairing of `streamed` with `rebuilt` that the contract allows.
pub(crate) fn allowed(streamed: &[Candidate], rebuilt: &[Candidate]) -> Vec<Pairing> {
    let sides = Sides { streamed, rebuilt };
    let mut pairing = vec![None; streamed.len()];
    sides.by_call_id(&mut pairing);
    sides.by_id(&mut pairing, true);
    sides.by_id(&mut pairing, false);
    let mut all = Vec::new();
    for mut pairing in sides.by_payload_in_order(&pairing) {
        sides.by_payload_across(&mut pairing);
        for anchors in longest_rising(&pairing) {
            let mut pairing = pairing.clone();
            sides.by_name_in_gaps(&mut pairing, &anchors);
            for anchors in longest_rising(&pairing) {
                let mut pairing = pairing.clone();
                sides.by_position_in_gaps(&mut pairing, &anchors);
                all.push(pairing);
            }
        }
    }
    all
}

struct Sides<'a> {
    streamed: &'a [Candidate<'a>],
    rebuilt: &'a [Candidate<'a>],
}

impl Sides<'_> {
    /// Pairs each open streamed item with the first open rebuilt one that `fits`.
    fn first_come<F>(&self, pairing: &mut Pairing, fits: F)
    where
        F: Fn(usize, &Candidate, usize, &Candidate) -> bool,
    {
        for (left, item) in self.streamed.iter().enumerate() {
            for (right, other) in self.rebuilt.iter().enumerate() {
                let free = pairing[left].is_none() && !pairing.contains(&Some(right));
                if free && fits(left, item, right, other) {
                    pairing[left] = Some(right);
                }
            }
        }
    }

    fn by_call_id(&self, pairing: &mut Pairing) {
        self.first_come(pairing, |_, item, _, other| {
            is_call(item)
                && item.identity.kind == other.identity.kind
                && item.identity.call_id.is_some()
                && item.identity.call_id == other.identity.call_id
        });
    }

    /// An id pairs two items where no third has it.
    fn by_id(&self, pairing: &mut Pairing, same_kind: bool) {
        let before = pairing.clone();
        let has = |item: &Candidate, id: &str| {
            [&item.identity.id, &item.upstream.id].contains(&&Some(id.to_owned()))
        };
        for (left, item) in self.streamed.iter().enumerate() {
            for id in [&item.identity.id, &item.upstream.id].into_iter().flatten() {
                let alike = |other: &Candidate| {
                    has(other, id) && (!same_kind || other.identity.kind == item.identity.kind)
                };
                let lefts: Vec<usize> = (0..self.streamed.len())
                    .filter(|&at| before[at].is_none() && alike(&self.streamed[at]))
                    .collect();
                let rights: Vec<usize> = (0..self.rebuilt.len())
                    .filter(|&at| !before.contains(&Some(at)) && alike(&self.rebuilt[at]))
                    .collect();
                let (&[_], &[right]) = (lefts.as_slice(), rights.as_slice()) else {
                    continue;
                };
                let stands =
                    item.payload.is_some() && (is_call(item) || !is_call(&self.rebuilt[right]));
                let free = pairing[left].is_none() && !pairing.contains(&Some(right));
                if free && (same_kind || stands) {
                    pairing[left] = Some(right);
                }
            }
        }
    }

    /// Every way to pair as many items of one type, name and payload as keep their order.
    fn by_payload_in_order(&self, pairing: &Pairing) -> Vec<Pairing> {
        let mut ways = vec![(pairing.clone(), None)];
        for (left, item) in self.streamed.iter().enumerate() {
            if pairing[left].is_some() {
                continue;
            }
            for (way, last) in ways.clone() {
                for (right, other) in self.rebuilt.iter().enumerate() {
                    let rises = last.is_none_or(|last| right > last);
                    if rises && !way.contains(&Some(right)) && same_payload(item, other, true) {
                        let mut longer = way.clone();
                        longer[left] = Some(right);
                        ways.push((longer, Some(right)));
                    }
                }
            }
        }
        longest(ways.into_iter().map(|(way, _)| way), |way| {
            way.iter().flatten().count()
        })
    }

    fn by_payload_across(&self, pairing: &mut Pairing) {
        self.first_come(pairing, |_, item, _, other| same_payload(item, other, true));
        // An item whose name was not announced may be the one of any name.
        self.first_come(pairing, |_, item, _, other| {
            item.identity.name.is_none() && same_payload(item, other, false)
        });
        self.first_come(pairing, |_, item, _, other| {
            other.identity.name.is_none() && same_payload(item, other, false)
        });
    }

    fn by_name_in_gaps(&self, pairing: &mut Pairing, anchors: &[(usize, usize)]) {
        let here = |left, item: &Candidate, right, other: &Candidate| {
            gap_left(anchors, left) == gap_right(anchors, right)
                && item.identity.kind == other.identity.kind
        };
        self.first_come(pairing, |left, item, right, other| {
            here(left, item, right, other) && item.identity.name == other.identity.name
        });
        self.first_come(pairing, |left, item, right, other| {
            here(left, item, right, other) && item.identity.name.is_none()
        });
        self.first_come(pairing, |left, item, right, other| {
            here(left, item, right, other) && other.identity.name.is_none()
        });
    }

    fn by_position_in_gaps(&self, pairing: &mut Pairing, anchors: &[(usize, usize)]) {
        let mut next = 0;
        for (left, item) in self.streamed.iter().enumerate() {
            if pairing[left].is_some() {
                continue;
            }
            let found = (next..self.rebuilt.len()).find(|&right| {
                !pairing.contains(&Some(right))
                    && gap_left(anchors, left) == gap_right(anchors, right)
                    && restates(item, &self.rebuilt[right])
            });
            if let Some(right) = found {
                pairing[left] = Some(right);
                next = right + 1;
            }
        }
    }
}

fn is_call(item: &Candidate) -> bool {
    item.identity.kind.ends_with("_call")
}

fn same_payload(item: &Candidate, other: &Candidate, same_name: bool) -> bool {
    let said = |item: &Candidate| item.payload.map(|payload| payload.digest);
    item.identity.kind == other.identity.kind
        && said(item).is_some()
        && said(item) == said(other)
        && (!same_name || item.identity.name == other.identity.name)
}

fn restates(item: &Candidate, other: &Candidate) -> bool {
    let (Some(said), Some(again)) = (item.payload, other.payload) else {
        return false;
    };
    let (old, new) = (&item.identity, &other.identity);
    let hosted = ["mcp_call", "code_interpreter_call", "web_search_call"];
    let both_hosted =
        old.kind != new.kind && [old, new].iter().all(|one| hosted.contains(&&*one.kind));
    let says_nothing = !is_call(other) && again.empty && !again.encrypted;
    let cut = old.kind == "function_call" && new.kind == "message" && said.tail.ends(&again.tail);
    let proves = old.kind == new.kind || !said.empty;
    let both_fit = !is_call(other) || (is_call(item) && proves);
    both_hosted || says_nothing || cut || (both_fit && said.digest == again.digest)
}

/// Every longest choice of the pairs that rises on both sides.
fn longest_rising(pairing: &Pairing) -> Vec<Vec<(usize, usize)>> {
    let mut choices: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
    for (left, right) in pairing.iter().enumerate() {
        let Some(right) = *right else { continue };
        for choice in choices.clone() {
            if choice.last().is_none_or(|&(_, last)| last < right) {
                choices.push([choice, vec![(left, right)]].concat());
            }
        }
    }
    longest(choices, Vec::len)
}

fn longest<T>(all: impl IntoIterator<Item = T>, length: impl Fn(&T) -> usize) -> Vec<T> {
    let all: Vec<T> = all.into_iter().collect();
    let most = all.iter().map(&length).max().unwrap_or(0);
    all.into_iter().filter(|one| length(one) == most).collect()
}

fn gap_left(anchors: &[(usize, usize)], at: usize) -> usize {
    anchors.iter().filter(|&&(left, _)| left < at).count()
}

fn gap_right(anchors: &[(usize, usize)], at: usize) -> usize {
    anchors.iter().filter(|&&(_, right)| right < at).count()
}
