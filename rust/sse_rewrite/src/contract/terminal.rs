//! The end of a response: what is open is closed, what is missing is announced or put back, and
//! the output becomes the list of what was streamed (C4, C5, C6, C13).

use std::collections::HashSet;

use crate::contract::catalogue::{Role, is_call, item_type};
use crate::contract::engine::{Draft, Engine, Phase, Planned, Ref};
use crate::contract::event::{Action, Changes, Fate, Listed};
use crate::contract::identity::Identity;
use crate::contract::ids;
use crate::contract::inserted::Inserted;
use crate::contract::item::Item;
use crate::contract::item_state::ItemState;
use crate::contract::observer::{Entry, Observer};
use crate::contract::pairing::{self, Candidate};
use crate::contract::policy::GaveUp;
use crate::contract::report::{Change, Told};
use crate::contract::waiting::missing;
use crate::json::{edit, scan};

impl<O: Observer> Engine<O> {
    /// Decides on the terminal output before the terminal event comes, which sends the rest.
    ///
    /// # Errors
    ///
    /// [`GaveUp`] where a limit of the policy is passed.
    pub fn reconcile(&mut self, failed: bool, output: &[Item]) -> Result<Vec<Listed>, GaveUp> {
        self.begin_count();
        let mut draft = self.end(failed, output)?;
        let listed = match &mut draft.this {
            Fate::Send(changes) => changes.output.take(),
            _ => None,
        };
        self.reconciled = Some(draft);
        Ok(listed.unwrap_or_default())
    }

    /// The events that [`Engine::reconcile`] has decided to insert, which come with the terminal
    /// event.
    pub fn reconciled(&self) -> impl Iterator<Item = &Inserted> {
        let steps = self.reconciled.iter().flat_map(|draft| &draft.steps);
        steps.filter_map(|step| match step {
            Planned::Insert(event) => Some(event),
            Planned::Release { .. } | Planned::Discard(_) => None,
        })
    }

    /// The server has broken off, and the caller ends the response as failed: what is open is
    /// closed as unfinished, with what it has said (C13).
    ///
    /// # Errors
    ///
    /// [`GaveUp`] where a limit of the policy is passed.
    pub fn break_off(&mut self) -> Result<Action, GaveUp> {
        self.begin_count();
        let mut draft = Draft::default();
        self.settle_waiting(&mut draft.steps)?;
        for at in 0..self.items.len() {
            if !self.items.get(at).is_some_and(ItemState::is_open) {
                continue;
            }
            match self.streamed(at, true) {
                Some(json) => self.close_late(at, json, &mut draft.steps)?,
                None => self.count(Change::LeftOpen),
            }
        }
        self.phase = Phase::Failed;
        Ok(self.numbered(draft, None))
    }

    /// `response.completed`, `.incomplete` or `.failed`.
    pub(super) fn terminal(&mut self, failed: bool, output: &[Item]) -> Result<Draft, GaveUp> {
        self.observer.ends();
        let draft = match self.reconciled.take() {
            Some(draft) => draft,
            None => self.end(failed, output)?,
        };
        self.phase = Phase::Ended;
        Ok(draft)
    }

    fn end(&mut self, failed: bool, output: &[Item]) -> Result<Draft, GaveUp> {
        for item in output {
            self.check(&item.identity)?;
        }
        if self.phase == Phase::Ended {
            return Ok(self.ended_again(output));
        }
        if failed || self.phase == Phase::Failed {
            return self.failed(output);
        }
        let mut draft = Draft::default();
        let steps = &mut draft.steps;
        self.settle_named(steps)?;
        let pairs = self.pair(output);
        let mut is_listed = vec![false; output.len()];
        let mut list = |pair: Option<usize>| {
            if let Some(listed) = pair.and_then(|pair| is_listed.get_mut(pair)) {
                *listed = true;
            }
        };
        pairs.items.iter().for_each(|pair| list(*pair));
        let mut listed = Vec::with_capacity(pairs.items.len());
        for (at, pair) in pairs.items.iter().enumerate() {
            let rebuilt = pair.and_then(|pair| Some((pair, output.get(pair)?)));
            self.settle(at, rebuilt, steps, &mut listed)?;
        }
        let keys: Vec<u64> = self.waiting.keys().copied().collect();
        let mut unnamed = Vec::new();
        for (key, pair) in keys.into_iter().zip(pairs.waiting) {
            let entry = pair.and_then(|pair| Some((pair, output.get(pair)?)));
            if self.name_waiting(key, entry) {
                unnamed.push((key, entry));
                list(pair);
            } else if let Some(first) = self.repetition_at_end(key) {
                self.discard(key, first, steps);
            } else {
                self.settle_released(key, entry, steps, &mut listed)?;
                list(pair);
            }
        }
        let gaps = self.gaps(output.len());
        let left = output.iter().enumerate().zip(is_listed);
        let left = left.filter(|(_, is_listed)| !is_listed);
        let mut left: Vec<(usize, &Item)> = left.map(|(entry, _)| entry).collect();
        // A call that nobody names goes out last; another under its call_id may name it.
        for _ in 0..2 {
            for (position, entry) in std::mem::take(&mut left) {
                if self.is_unnamed(entry) {
                    left.push((position, entry));
                } else {
                    self.add_unannounced(position, entry, &gaps, steps, &mut listed)?;
                }
            }
        }
        for (key, entry) in unnamed {
            let first = self.repeats_unnamed(key).filter(|_| entry.is_none());
            if let Some(first) = first {
                self.discard(key, first, steps);
            } else {
                self.name_as_further(key);
                self.settle_released(key, entry, steps, &mut listed)?;
            }
        }
        for (position, entry) in left {
            self.add_unannounced(position, entry, &gaps, steps, &mut listed)?;
        }
        if O::LISTENS {
            self.observe_order(&listed);
        }
        draft.this = Fate::Send(Changes {
            output: Some(listed),
            ..Changes::default()
        });
        Ok(draft)
    }

    /// The response has failed: items keep their identity, and nothing else is done (C13).
    fn failed(&mut self, output: &[Item]) -> Result<Draft, GaveUp> {
        let mut draft = Draft::default();
        self.settle_failed(&mut draft.steps)?;
        self.phase = Phase::Failed;
        let pairs = self.pair_alike(output);
        draft.this = Fate::Send(Changes {
            output: Some(self.relisted(output, &pairs)),
            ..Changes::default()
        });
        Ok(draft)
    }

    /// The end is told twice: the second one lists the same items.
    fn ended_again(&mut self, output: &[Item]) -> Draft {
        let pairs = self.pair_alike(output);
        Draft::send(Changes {
            output: Some(self.relisted(output, &pairs)),
            ..Changes::default()
        })
    }

    /// The output as it is, each entry under the identity that its item was announced with.
    fn relisted(&mut self, output: &[Item], pairs: &Pairs) -> Vec<Listed> {
        let mut listed = Vec::with_capacity(output.len());
        for (position, entry) in output.iter().enumerate() {
            let item = pairs.items.iter().position(|pair| *pair == Some(position));
            let corrections = item.map_or_else(Vec::new, |at| {
                self.observe_entry(at, position, entry, Entry::Same);
                self.correct(at, &entry.identity, Told::Terminal)
            });
            listed.push(Listed::Rebuilt {
                position,
                corrections,
            });
        }
        listed
    }

    /// Lists the item at `at`, and closes it if it is open.
    fn settle(
        &mut self,
        at: usize,
        rebuilt: Option<(usize, &Item)>,
        steps: &mut Vec<Planned>,
        listed: &mut Vec<Listed>,
    ) -> Result<(), GaveUp> {
        let Some(item) = self.items.get(at) else {
            return Ok(());
        };
        if item.is_unseen() {
            if let Some((position, entry)) = rebuilt {
                self.observe_entry(at, position, entry, Entry::Same);
                listed.push(Listed::Rebuilt {
                    position,
                    corrections: self.correct(at, &entry.identity, Told::Terminal),
                });
            }
            return Ok(());
        }
        let was_open = item.is_open();
        let is_known = item.is_closed() || !item.is_joined || is_known_from_its_middle(item);
        if was_open {
            self.observer.never_closed(at);
        }
        let kept = rebuilt.filter(|(_, entry)| match self.differs(at, entry) {
            Entry::Same => true,
            // What an open call says is known from the entry alone, whatever that calls it.
            Entry::OtherName => was_open,
            Entry::OtherType | Entry::OtherPayload => false,
        });
        if let Some((position, entry)) = rebuilt {
            self.observe_entry(at, position, entry, self.differs(at, entry));
        } else if is_known {
            self.observer.missing(at);
        }
        if let Some((position, entry)) = kept {
            self.learn(at, &entry.identity);
            let item = self.items.get(at).filter(|_| was_open);
            if item.is_some_and(|item| item.is_left_out_of(entry)) {
                self.count(Change::LeftOpen);
            } else if was_open {
                let json = edit::corrected(entry.json, &self.corrections(at, &entry.identity));
                let json = json.unwrap_or_else(|| entry.json.to_vec());
                self.close_late(at, json, steps)?;
            }
            listed.push(Listed::Rebuilt {
                position,
                corrections: self.correct(at, &entry.identity, Told::Terminal),
            });
            return Ok(());
        }
        if was_open {
            match self.streamed(at, false).filter(|_| is_known) {
                Some(json) => self.close_late(at, json, steps)?,
                None => self.count(Change::LeftOpen),
            }
        }
        if rebuilt.is_some() {
            self.count(Change::StreamedStands);
        } else if is_known {
            self.count(Change::PutBack);
        }
        if let Some(item) = self.items.get(at).filter(|_| is_known) {
            listed.push(Listed::Streamed {
                index: at,
                json: item.json.clone(),
            });
        }
        Ok(())
    }

    /// How the entry of the terminal output differs from the streamed item, which it is sent in
    /// place of where it does not (C6).
    fn differs(&self, at: usize, entry: &Item) -> Entry {
        let Some(item) = self.items.get(at) else {
            return Entry::Same;
        };
        if item.identity.kind != entry.identity.kind {
            return Entry::OtherType;
        }
        if !item.is_kept_by(entry) {
            return Entry::OtherPayload;
        }
        let name = &item.identity.name;
        if name.is_some() && *name != entry.identity.name {
            return Entry::OtherName;
        }
        Entry::Same
    }

    /// The open item at `at` with what it has said; `None` where that is not known.
    ///
    /// It is finished where all of its texts were summed up, unless it was `broken_off`.
    fn streamed(&self, at: usize, broken_off: bool) -> Option<Vec<u8>> {
        let item = self.items.get(at).filter(|item| item.said.is_known())?;
        let kind = &item.identity.kind;
        let blank = self.events_of(at, item).blank().into_bytes();
        let is_unannounced = item.json.is_empty();
        let json = item
            .said
            .item(kind, if is_unannounced { &blank } else { &item.json });
        let is_whole = item.said.is_whole() && !broken_off;
        let whole = is_whole.then_some("completed");
        let status = item.said.status().filter(|_| !broken_off).or(whole);
        let status = status.unwrap_or(item_type(kind).unfinished);
        let has_status = scan::member(&json, "status").and_then(|span| json.get(span));
        if has_status.is_none_or(|status| status == b"null") {
            return Some(json);
        }
        Some(edit::with_members(
            &json,
            &[("status", edit::quoted(status))],
        ))
    }

    /// Inserts the close of an item that the server left open.
    fn close_late(
        &mut self,
        at: usize,
        json: Vec<u8>,
        steps: &mut Vec<Planned>,
    ) -> Result<(), GaveUp> {
        self.count(Change::ClosedLate);
        let Ok(item) = Item::read(&json) else {
            return Ok(());
        };
        if let Some(open) = self.items.get(at) {
            let events = self.events_of(at, open);
            // Of an item that was joined, only its close can be known to be owed.
            let mut owed = if open.is_joined {
                Vec::new()
            } else {
                events.owed(&json, &open.said)
            };
            owed.push(events.close(&json));
            steps.extend(owed.into_iter().map(Planned::Insert));
        }
        self.shut(at, &item, false);
        self.keep(at, json)
    }

    /// An entry of the output that is none of the streamed items.
    fn add_unannounced(
        &mut self,
        position: usize,
        entry: &Item,
        gaps: &HashSet<usize>,
        steps: &mut Vec<Planned>,
        listed: &mut Vec<Listed>,
    ) -> Result<(), GaveUp> {
        if self.is_uncounted() {
            // It may well have been announced before the stream was joined.
            listed.push(Listed::Rebuilt {
                position,
                corrections: Vec::new(),
            });
            return Ok(());
        }
        let fills_gap = self.policy.empty_items_in_gaps && gaps.contains(&position);
        let is_wanted = entry.carries_anything() || fills_gap;
        if !is_wanted || self.repeats_a_call(entry) {
            self.observer.extra_entry(&entry.identity);
            self.count(Change::Dropped);
            return Ok(());
        }
        let mut server = entry.identity.clone();
        server.name = self.name_of(entry);
        let at = self.insert_item(None, &server)?;
        if missing(&server).is_some() && server.call_id.is_none() {
            // A client must answer it, and nobody has shown another.
            let call_id = self.usable_call_id(at, None);
            if let Some(item) = self.items.get_mut(at) {
                item.identity.call_id = Some(call_id);
            }
        }
        self.count(Change::AnnouncedLate);
        if let Some(item) = self.items.get(at) {
            self.observer.only_at_end(at, &item.server);
        }
        self.observe_entry(at, position, entry, Entry::Same);
        let json = edit::corrected(entry.json, &self.corrections(at, &entry.identity));
        let json = json.unwrap_or_else(|| entry.json.to_vec());
        self.shut(at, entry, false);
        if let Some(item) = self.items.get(at) {
            let events = self.events_of(at, item);
            let mut whole = events.announce_with_content(&json);
            whole.push(events.close(&json));
            steps.extend(whole.into_iter().map(Planned::Insert));
        }
        self.keep(at, json)?;
        listed.push(Listed::Rebuilt {
            position,
            corrections: self.correct(at, &entry.identity, Told::Terminal),
        });
        Ok(())
    }

    /// Whether an entry is a call that a client cannot run, since nobody names it.
    fn is_unnamed(&self, entry: &Item) -> bool {
        let role = item_type(&entry.identity.kind).role;
        role == Role::ClientCall && self.name_of(entry).is_none()
    }

    /// The name of an entry; a call under the `call_id` of another has the name of that.
    fn name_of(&self, entry: &Item) -> Option<String> {
        let own = entry.identity.name.clone();
        own.or_else(|| {
            let first = self.repeatable_by(&entry.identity).next();
            let first = first.and_then(|at| self.items.get(at))?;
            first.identity.name.clone()
        })
    }

    /// Whether an entry that pairs with nothing only repeats a call that was streamed (C11).
    fn repeats_a_call(&self, entry: &Item) -> bool {
        let candidates = self.repeatable_by(&entry.identity);
        is_call(&entry.identity.kind)
            && candidates
                .filter_map(|at| self.items.get(at))
                .any(|first| first.has_said(&entry.payload))
    }

    /// A call that waits reads its names from the entry that it is paired with; returns whether
    /// it still lacks one.
    fn name_waiting(&mut self, key: u64, entry: Option<(usize, &Item)>) -> bool {
        let Some(waiting) = self.waiting.get_mut(&key) else {
            return false;
        };
        let entry = entry.map(|(_, entry)| &entry.identity);
        if let Some(entry) = entry.filter(|entry| entry.kind == waiting.seen.kind) {
            waiting.seen.fill_from(entry);
        }
        waiting.missing().is_some()
    }

    /// A call that nobody names and that has the id of another is what came after the end of that:
    /// a call of its own, by the same name (C12).
    fn name_as_further(&mut self, key: u64) {
        let Some(waiting) = self.waiting.get(&key) else {
            return;
        };
        let id = waiting.seen.id.as_deref().unwrap_or_default();
        let kind = &waiting.seen.kind;
        let mut owners = self.ids.owners(id).iter();
        let first = owners.find_map(|&at| {
            let first = self.items.get(at)?;
            (first.identity.kind == *kind).then(|| first.identity.name.clone())
        });
        let call_id = ids::call_id(&self.response_id, self.items.len(), 0);
        if let (Some(name), Some(waiting)) = (first, self.waiting.get_mut(&key)) {
            let seen = &mut waiting.seen;
            seen.name = seen.name.take().or(name);
            if seen.call_id.is_none() {
                seen.call_id = Some(call_id);
                self.count(Change::Minted);
            }
        }
    }

    /// Sends a call that has waited to the end, and lists it.
    fn settle_released(
        &mut self,
        key: u64,
        entry: Option<(usize, &Item)>,
        steps: &mut Vec<Planned>,
        listed: &mut Vec<Listed>,
    ) -> Result<(), GaveUp> {
        let at = self.items.len();
        self.release(key, steps)?;
        self.settle(at, entry, steps, listed)
    }

    /// Which entry of the output each item is, and each call that waits, in the order in which
    /// the server began them.
    fn pair(&self, output: &[Item]) -> Pairs {
        let mut pairs = self.pair_by(output, |_, arrival| arrival, pairing::pair);
        self.place_unseen(&mut pairs, output.len());
        pairs
    }

    /// The same for an output that is not made anew, but has its identities kept.
    ///
    /// It is paired in the order of the indices and by type, so that a second pass pairs alike.
    fn pair_alike(&self, output: &[Item]) -> Pairs {
        let is_joined = self.is_joined;
        self.pair_by(
            output,
            |index, _| index,
            |streamed, rebuilt| {
                if is_joined {
                    pairing::pair_in_place(streamed, rebuilt)
                } else {
                    pairing::pair_alike(streamed, rebuilt)
                }
            },
        )
    }

    fn pair_by(
        &self,
        output: &[Item],
        place: impl Fn(u64, u64) -> u64,
        pair: impl Fn(&[Candidate], &[Candidate]) -> Vec<Option<usize>>,
    ) -> Pairs {
        let mut order: Vec<(u64, Ref, Candidate)> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let candidate = Candidate {
                identity: &item.identity,
                upstream: &item.server,
                payload: item.payload(),
            };
            let index = u64::try_from(at).unwrap_or(u64::MAX);
            order.push((place(index, item.arrival), Ref::Item(at), candidate));
        }
        for (&key, waiting) in &self.waiting {
            let candidate = Candidate {
                identity: &waiting.seen,
                upstream: &waiting.seen,
                payload: Some(waiting.says()),
            };
            order.push((place(u64::MAX, key), Ref::Waiting(key), candidate));
        }
        order.sort_by_key(|(place, ..)| *place);
        let streamed: Vec<Candidate> = order.iter().map(|(.., candidate)| *candidate).collect();
        let rebuilt: Vec<Candidate> = output
            .iter()
            .map(|item| Candidate {
                identity: &item.identity,
                upstream: &item.identity,
                payload: Some(item.payload),
            })
            .collect();
        let found = pair(&streamed, &rebuilt);
        let mut pairs = Pairs {
            items: vec![None; self.items.len()],
            waiting: Vec::new(),
        };
        for ((_, item, _), pair) in order.iter().zip(found) {
            match *item {
                Ref::Item(at) => {
                    if let Some(place) = pairs.items.get_mut(at) {
                        *place = pair;
                    }
                }
                Ref::Waiting(_) => pairs.waiting.push(pair),
            }
        }
        pairs
    }

    /// Gives the items announced before the stream was joined what is left, in order.
    fn place_unseen(&self, pairs: &mut Pairs, entries: usize) {
        if !self.is_joined {
            return;
        }
        let mut taken = vec![false; entries];
        for at in pairs.items.iter().flatten() {
            if let Some(taken) = taken.get_mut(*at) {
                *taken = true;
            }
        }
        let mut free = (0..).zip(taken).filter(|(_, taken)| !taken);
        for (pair, item) in pairs.items.iter_mut().zip(&self.items) {
            if pair.is_none() && item.is_unseen() {
                *pair = free.next().map(|(at, _)| at);
            }
        }
    }

    /// The positions below `end` that the server counted an `output_index` for and left free.
    fn gaps(&self, end: usize) -> HashSet<usize> {
        let highest = self.by_index.keys().max().copied().unwrap_or(0);
        (0..end)
            .zip(0..highest)
            .filter(|(_, index)| !self.by_index.contains_key(index))
            .map(|(position, _)| position)
            .collect()
    }

    fn observe_entry(&mut self, at: usize, position: usize, entry: &Item, differs: Entry) {
        if let Some(item) = self.items.get(at) {
            let (said, wanted): (&Identity, &Identity) = (&entry.identity, &item.identity);
            self.observer.entry(at, position, said, wanted, differs);
        }
    }

    /// Tells which entries stand at another position than their item's.
    fn observe_order(&mut self, listed: &[Listed]) {
        for (wanted, entry) in listed.iter().enumerate() {
            if let Listed::Rebuilt { position, .. } = *entry
                && position != wanted
            {
                let index = (wanted < self.items.len()).then_some(wanted);
                self.observer.moved(index, position, wanted);
            }
        }
    }
}

/// Whether an open item that was joined can be told without its beginning.
///
/// Its text must be whole, and nothing else be in it, as in a call that nobody has named.
fn is_known_from_its_middle(item: &ItemState) -> bool {
    let is_content = item_type(&item.identity.kind).role == Role::Content;
    item.said.is_whole() && (is_content || !item.json.is_empty())
}

/// The position in the terminal output of each item, and of each call that waits.
#[derive(Debug)]
struct Pairs {
    items: Vec<Option<usize>>,
    waiting: Vec<Option<usize>>,
}
