//! Who is told what is in the bytes of a stream.

use crate::contract::catalogue::EventKind;
use crate::contract::observer::{NoObserver, Observer};
use crate::wire::fields::Fields;

/// An event as it stands in its frame.
#[derive(Debug)]
pub struct RawEvent<'a> {
    /// The data of the frame.
    pub json: &'a [u8],
    /// Where its members lie.
    pub(crate) fields: &'a Fields,
    /// Its type; empty where it has none.
    pub event_type: &'a str,
    /// What its type says of it.
    pub kind: EventKind<'a>,
    /// Its number.
    pub number: Option<u64>,
}

/// Is told what an engine finds, and what is in the frames that it is shown.
pub trait FrameObserver: Observer {
    /// An event comes.
    fn event(&mut self, _event: &RawEvent) {}

    /// An event comes that is like the last one but for its text and number.
    fn again(&mut self, _number: Option<u64>) {}

    /// Data comes that is no JSON object.
    fn unreadable(&mut self, _data: &[u8]) {}

    /// The terminal event has no response.
    fn no_response(&mut self) {}

    /// The terminal output has elements that are no items.
    fn not_an_item(&mut self) {}
}

impl FrameObserver for NoObserver {}
