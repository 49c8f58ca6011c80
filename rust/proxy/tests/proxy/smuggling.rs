//! Requests that two servers could read in two ways: they are refused, or passed in one way.

use crate::bed::Proxy;
use crate::client::Client;
use crate::strict::Strict;

/// What becomes of the requests of a connection. What follows them is a last one, `GET /end`.
#[derive(Debug)]
enum Want {
    /// Upstream has these, and the last one.
    Pass(&'static [&'static str]),
    /// Upstream has these, and then the connection is closed.
    Close(&'static [&'static str]),
    /// The client gets this status and the connection is closed. Upstream has these.
    Refuse(&'static str, &'static [&'static str]),
}

use Want::{Close, Pass, Refuse};

const BAD: Want = Refuse("400", &[]);
const UNKNOWN: Want = Refuse("501", &[]);
const HELLO: Want = Pass(&["POST /a hello"]);

/// A `POST` with these headers and this body.
macro_rules! post {
    ($($rest:literal),*) => {
        concat!("POST /a HTTP/1.1|host: x|", $($rest),*)
    };
}

/// A `POST` in chunks, of this coding.
macro_rules! coded {
    ($coding:literal) => {
        post!("transfer-encoding: ", $coding, "||5|hello|0||")
    };
}

/// A `POST` with a length, and of this coding.
macro_rules! both {
    ($coding:literal) => {
        post!("transfer-encoding: ", $coding, "|content-length: 5||hello")
    };
}

/// A `POST` in these chunks.
macro_rules! chunks {
    ($rest:literal) => {
        post!("transfer-encoding: chunked||", $rest)
    };
}

/// A `GET` with these headers.
macro_rules! get {
    ($rest:literal) => {
        concat!("GET /a HTTP/1.1|host: x|", $rest)
    };
}

mod bodies;
mod chunks;
mod heads;
mod http2;

/// `|` is CR LF, and every other character the byte of that number.
fn bytes(text: &str) -> Vec<u8> {
    let text = text.replace('|', "\r\n");
    let byte = |char| u8::try_from(u32::from(char)).expect("a byte");
    text.chars().map(byte).collect()
}

/// Its name, what is sent, and what becomes of it.
type Case = (&'static str, &'static str, Want);

async fn hold(cases: &[Case]) {
    let upstream = Strict::new().await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut wrong = Vec::new();
    for (name, text, want) in cases {
        let mut client = Client::new(proxy.address).await;
        let last = bytes("GET /end HTTP/1.1|host: x|connection: close||");
        client.send([bytes(text), last].concat()).await;
        let came = client.rest().await;
        let came = String::from_utf8(came).expect("text");
        let statuses = came.split("HTTP/1.").filter_map(|part| part.get(2..5));
        let statuses: Vec<_> = statuses.filter(|&status| status != "100").collect();
        let (requests, status, is_open) = match want {
            Pass(requests) => (requests, None, true),
            Close(requests) => (requests, None, false),
            Refuse(status, requests) => (requests, Some(*status), false),
        };
        let mut taken: Vec<&str> = requests.to_vec();
        taken.extend(is_open.then_some("GET /end"));
        let mut answers = vec!["200"; taken.len()];
        answers.extend(status);
        let upstream = upstream.take();
        if upstream != taken || statuses != answers {
            wrong.push(format!("{name}: {want:?}: {upstream:?} {statuses:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
