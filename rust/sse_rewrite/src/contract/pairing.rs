//! Pairs the terminal output that a server rebuilt with the items it streamed.
//!
//! The steps are those of the contract, in its order; each item is paired at most once:
//! identity, then type, name and payload, then type and name inside the gaps, then position
//! inside what is left of a gap. What stays unpaired is the caller's to announce or put back.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::contract::catalogue::{Role, is_call, item_type};
use crate::contract::identity::Identity;
use crate::contract::item::Payload;

/// Above this many comparisons, equal items pair first come first served instead of by the
/// longest common order; only streams of over a thousand different items get there.
const ORDER_BUDGET: usize = 1 << 20;

/// One item on either side of the pairing.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its identity: the announced one, or the one the terminal output gives it.
    pub identity: &'a Identity,
    /// The identity upstream announced, where another was sent on; else the same.
    pub upstream: &'a Identity,
    /// Its payload; `None` for an item that was announced and never closed.
    pub payload: Option<Payload>,
}

impl<'a> Candidate<'a> {
    fn key(&self) -> (&'a str, Option<&'a str>) {
        (self.identity.kind.as_str(), self.identity.name.as_deref())
    }

    fn is_call(&self) -> bool {
        is_call(&self.identity.kind)
    }

    fn is_unnamed(&self) -> bool {
        self.identity.name.is_none()
    }

    /// The announced id, and the one upstream gave.
    fn ids(&self) -> impl Iterator<Item = &'a str> {
        let announced = self.identity.id.as_deref();
        let upstream = self.upstream.id.as_deref();
        announced
            .into_iter()
            .chain(upstream.filter(|_| upstream != announced))
    }
}

/// For each streamed item, the position of the rebuilt item it is, if there is one.
#[must_use]
pub fn pair(streamed: &[Candidate], rebuilt: &[Candidate]) -> Vec<Option<usize>> {
    let mut pairs = Pairs::new(streamed, rebuilt);
    pairs.by_identity();
    pairs.by_payload();
    pairs.by_key_in_gaps();
    pairs.by_position_in_gaps();
    pairs.of_streamed
}

/// The same where an item of another type is another item.
#[must_use]
pub fn pair_alike(streamed: &[Candidate], rebuilt: &[Candidate]) -> Vec<Option<usize>> {
    let mut pairs = Pairs::new(streamed, rebuilt);
    pairs.by_identity_of_type();
    pairs.by_payload();
    pairs.by_key_in_gaps();
    pairs.of_streamed
}

/// The same of a stream that was joined: entries may be of items that were not seen, so that
/// what no identity and no payload pairs must be at the same position.
#[must_use]
pub fn pair_in_place(streamed: &[Candidate], rebuilt: &[Candidate]) -> Vec<Option<usize>> {
    let mut pairs = Pairs::new(streamed, rebuilt);
    pairs.by_identity_of_type();
    pairs.by_payload();
    for (place, (item, other)) in streamed.iter().zip(rebuilt).enumerate() {
        if pairs.is_open(place, place) && item.key() == other.key() {
            pairs.join(place, place);
        }
    }
    pairs.of_streamed
}

struct Pairs<'a> {
    streamed: &'a [Candidate<'a>],
    rebuilt: &'a [Candidate<'a>],
    of_streamed: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> Pairs<'a> {
    fn new(streamed: &'a [Candidate<'a>], rebuilt: &'a [Candidate<'a>]) -> Self {
        Self {
            streamed,
            rebuilt,
            of_streamed: vec![None; streamed.len()],
            taken: vec![false; rebuilt.len()],
        }
    }

    fn join(&mut self, left: usize, right: usize) {
        if let (Some(pair), Some(taken)) =
            (self.of_streamed.get_mut(left), self.taken.get_mut(right))
        {
            *pair = Some(right);
            *taken = true;
        }
    }

    fn open_streamed(&self) -> Vec<(usize, Candidate<'a>)> {
        let open = self.streamed.iter().zip(&self.of_streamed).enumerate();
        open.filter_map(|(index, (item, pair))| pair.is_none().then_some((index, *item)))
            .collect()
    }

    fn open_rebuilt(&self) -> Vec<(usize, Candidate<'a>)> {
        let open = self.rebuilt.iter().zip(&self.taken).enumerate();
        open.filter_map(|(index, (item, taken))| (!taken).then_some((index, *item)))
            .collect()
    }

    /// Step 1: the same `call_id` on calls of one type, or the same id.
    fn by_identity(&mut self) {
        self.by_identity_of_type();
        // Of another type, the streamed item stands: it must have said something, and a call
        // that is not streamed must reach the client (C5).
        self.join_same_id(
            |_| "",
            |item, other| item.payload.is_some() && (item.is_call() || !other.is_call()),
        );
    }

    /// The same of items of one type.
    fn by_identity_of_type(&mut self) {
        let call = |item: &Candidate<'a>| match &item.identity.call_id {
            Some(call_id) if item.is_call() => {
                Some((item.identity.kind.as_str(), call_id.as_str()))
            }
            _ => None,
        };
        // Where a server has used a call_id twice, the id or the payload tells the calls apart.
        self.join_equal(|_, item| Some((call(item)?, item.upstream.id.as_deref()?)));
        self.join_equal(|_, item| Some((call(item)?, item.payload?.digest)));
        self.join_equal(|_, item| call(item));
        self.join_same_id(|item| item.identity.kind.as_str(), |_, _| true);
    }

    /// An id names an item where exactly one on each side has it; shared, it proves nothing.
    fn join_same_id<K, F>(&mut self, kind: K, may: F)
    where
        K: Fn(&Candidate<'a>) -> &'a str,
        F: Fn(&Candidate<'a>, &Candidate<'a>) -> bool,
    {
        let mut owners: HashMap<(&str, &str), Owners> = HashMap::new();
        let streamed = self.open_streamed();
        for (index, item) in &streamed {
            for id in item.ids() {
                let owners = owners.entry((kind(item), id)).or_default();
                owners.streamed.push(*index);
            }
        }
        for (index, item) in self.open_rebuilt() {
            for id in item.ids() {
                let owners = owners.entry((kind(&item), id)).or_default();
                owners.rebuilt.push(index);
            }
        }
        for (left, item) in &streamed {
            for id in item.ids() {
                let right = match owners.get(&(kind(item), id)) {
                    Some(owners) if owners.streamed.len() == 1 => owners.rebuilt.as_slice(),
                    _ => continue,
                };
                let &[right] = right else { continue };
                if self.is_open(*left, right)
                    && self
                        .rebuilt
                        .get(right)
                        .is_some_and(|other| may(item, other))
                {
                    self.join(*left, right);
                }
            }
        }
    }

    fn is_open(&self, left: usize, right: usize) -> bool {
        self.of_streamed.get(left).is_some_and(Option::is_none)
            && self.taken.get(right).is_some_and(|taken| !taken)
    }

    /// Step 2: the same type, name and payload; first what keeps its order, then the rest.
    fn by_payload(&mut self) {
        let key = |item: &Candidate<'a>| Some((item.key(), item.payload?.digest));
        let left: Vec<_> = self.open_streamed();
        let right: Vec<_> = self.open_rebuilt();
        let left_keys: Vec<_> = left.iter().map(|(_, item)| key(item)).collect();
        let right_keys: Vec<_> = right.iter().map(|(_, item)| key(item)).collect();
        for (a, b) in common_order(&left_keys, &right_keys) {
            if let (Some(&(left, _)), Some(&(right, _))) = (left.get(a), right.get(b)) {
                self.join(left, right);
            }
        }
        self.join_equal(|_, item| key(item));
        self.join_unnamed(|_, item| Some((item.identity.kind.as_str(), item.payload?.digest)));
    }

    /// Step 3: the same type and name, in order, inside the gaps between paired items.
    fn by_key_in_gaps(&mut self) {
        let gaps = self.gaps();
        self.join_equal(|side, item| Some((gaps.of(side), item.key())));
        self.join_unnamed(|side, item| Some((gaps.of(side), item.identity.kind.as_str())));
    }

    /// Step 4: position inside a gap, where the rebuilt item restates the streamed one.
    fn by_position_in_gaps(&mut self) {
        let gaps = self.gaps();
        let rebuilt = self.open_rebuilt();
        let mut next = 0;
        for (index, item) in self.open_streamed() {
            let gap = gaps.of(Side::Streamed(index));
            let found = rebuilt
                .iter()
                .enumerate()
                .skip(next)
                .find(|(_, (other, candidate))| {
                    gaps.of(Side::Rebuilt(*other)) == gap && restates(&item, candidate)
                });
            if let Some((position, &(right, _))) = found {
                next = position + 1;
                self.join(index, right);
            }
        }
    }

    /// Joins open items of equal key, first come first served.
    fn join_equal<K, F>(&mut self, key: F)
    where
        K: Hash + Eq,
        F: Fn(Side, &Candidate<'a>) -> Option<K>,
    {
        let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (index, item) in self.open_rebuilt() {
            if let Some(key) = key(Side::Rebuilt(index), &item) {
                waiting.entry(key).or_default().push_back(index);
            }
        }
        for (index, item) in self.open_streamed() {
            let found = key(Side::Streamed(index), &item)
                .and_then(|key| waiting.get_mut(&key))
                .and_then(VecDeque::pop_front);
            if let Some(right) = found {
                self.join(index, right);
            }
        }
    }

    /// Joins open items of equal key where one side does not say the name: it may be any.
    fn join_unnamed<K, F>(&mut self, key: F)
    where
        K: Hash + Eq,
        F: Fn(Side, &Candidate<'a>) -> Option<K>,
    {
        for unnamed_is_streamed in [true, false] {
            self.join_equal(|side, item| {
                let must = matches!(side, Side::Streamed(_)) == unnamed_is_streamed;
                (!must || item.is_unnamed()).then(|| key(side, item))?
            });
        }
    }

    fn gaps(&self) -> Gaps {
        let pairs: Vec<(usize, usize)> = self
            .of_streamed
            .iter()
            .enumerate()
            .filter_map(|(left, right)| right.map(|right| (left, right)))
            .collect();
        Gaps {
            anchors: longest_rising(&pairs),
        }
    }
}

/// The open items that have one id.
#[derive(Default)]
struct Owners {
    streamed: Vec<usize>,
    rebuilt: Vec<usize>,
}

/// Whether `rebuilt` is what became of `streamed` although its type or name changed.
///
/// Only where nothing is lost by it (C5): the same text, an entry that says nothing, or two calls
/// that the server runs. So code comes back as reasoning, and the markup of a call that was cut
/// as a message, which then ends with the arguments. A message that says more after them is one
/// of its own, and a call that was not streamed must reach the client.
fn restates(streamed: &Candidate, rebuilt: &Candidate) -> bool {
    let (Some(said), Some(other)) = (streamed.payload, rebuilt.payload) else {
        return false;
    };
    let same = other.digest == said.digest;
    if rebuilt.is_call() {
        let is_hosted = |item: &Candidate| item_type(&item.identity.kind).role == Role::HostedCall;
        let same_type = streamed.identity.kind == rebuilt.identity.kind;
        // Two calls of different types that say nothing have nothing in common.
        let proves = same_type || !said.empty;
        return (!same_type && is_hosted(streamed) && is_hosted(rebuilt))
            || (streamed.is_call() && same && proves);
    }
    let was_cut = streamed.identity.kind == "function_call"
        && rebuilt.identity.kind == "message"
        && said.tail.ends(&other.tail);
    same || was_cut || (other.empty && !other.encrypted)
}

/// The stretches between paired items that keep their order on both sides.
struct Gaps {
    anchors: Vec<(usize, usize)>,
}

/// A place on one of the two sides.
#[derive(Clone, Copy)]
enum Side {
    Streamed(usize),
    Rebuilt(usize),
}

impl Gaps {
    fn of(&self, side: Side) -> usize {
        self.anchors.partition_point(|&(left, right)| match side {
            Side::Streamed(index) => left < index,
            Side::Rebuilt(index) => right < index,
        })
    }
}

/// The longest selection of `pairs` (rising in the first place) that also rises in the second.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Patience sorting: `piles` holds, for each length, the pair with the smallest end.
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let end = |index: usize| pairs.get(index).map_or(0, |&(_, right)| right);
    for (index, &(_, right)) in pairs.iter().enumerate() {
        let length = piles.partition_point(|&top| end(top) < right);
        before.push(
            length
                .checked_sub(1)
                .and_then(|last| piles.get(last))
                .copied(),
        );
        if let Some(top) = piles.get_mut(length) {
            *top = index;
        } else {
            piles.push(index);
        }
    }
    let mut chosen = Vec::new();
    let mut next = piles.last().copied();
    while let Some(index) = next {
        chosen.extend(pairs.get(index));
        next = before.get(index).copied().flatten();
    }
    chosen.reverse();
    chosen
}

/// Index pairs of a longest common subsequence; `None` equals nothing.
fn common_order<K: PartialEq>(left: &[Option<K>], right: &[Option<K>]) -> Vec<(usize, usize)> {
    let equal = |(a, b): (&Option<K>, &Option<K>)| a.is_some() && a == b;
    let head = left
        .iter()
        .zip(right)
        .take_while(|&pair| equal(pair))
        .count();
    let (left_rest, right_rest) = (
        left.get(head..).unwrap_or(&[]),
        right.get(head..).unwrap_or(&[]),
    );
    let tail = left_rest
        .iter()
        .rev()
        .zip(right_rest.iter().rev())
        .take_while(|&pair| equal(pair))
        .count();
    let rows = left_rest.len() - tail;
    let columns = right_rest.len() - tail;
    let mut found: Vec<(usize, usize)> = (0..head).map(|index| (index, index)).collect();
    if rows.saturating_mul(columns) <= ORDER_BUDGET {
        let width = columns + 1;
        let mut lengths = vec![0u32; (rows + 1) * width];
        let at = |lengths: &[u32], row: usize, column: usize| {
            lengths.get(row * width + column).copied().unwrap_or(0)
        };
        let same = |row: usize, column: usize| match (left_rest.get(row), right_rest.get(column)) {
            (Some(a), Some(b)) => equal((a, b)),
            _ => false,
        };
        for row in (0..rows).rev() {
            for column in (0..columns).rev() {
                let length = if same(row, column) {
                    at(&lengths, row + 1, column + 1) + 1
                } else {
                    at(&lengths, row + 1, column).max(at(&lengths, row, column + 1))
                };
                if let Some(cell) = lengths.get_mut(row * width + column) {
                    *cell = length;
                }
            }
        }
        let (mut row, mut column) = (0, 0);
        while row < rows && column < columns {
            if same(row, column) {
                found.push((head + row, head + column));
                row += 1;
                column += 1;
            } else if at(&lengths, row + 1, column) >= at(&lengths, row, column + 1) {
                row += 1;
            } else {
                column += 1;
            }
        }
    }
    found.extend((0..tail).map(|index| (head + rows + index, head + columns + index)));
    found
}
