//! Requests of HTTP/2 that would be others in HTTP/1.1.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bed::{Proxy, soon};
use crate::strict::Strict;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    let head = [
        length[1], length[2], length[3], kind, flags, 0, 0, 0, stream,
    ];
    [&head, payload].concat()
}

/// Headers as HPACK has them literally.
fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("short"));
            block.extend_from_slice(text.as_bytes());
        }
    }
    assert!(block.len() < 16384);
    block
}

fn get(path: &str) -> Vec<(&str, &str)> {
    vec![
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "x"),
        (":path", path),
    ]
}

/// A request on stream 1, whole; with a body it ends without one more word, or with trailers.
fn request(headers: &[(&str, &str)], body: &str, trailers: &[(&str, &str)]) -> Vec<u8> {
    if body.is_empty() {
        return frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(headers));
    }
    let head = frame(HEADERS, END_HEADERS, 1, &block(headers));
    if trailers.is_empty() {
        return [head, frame(DATA, END_STREAM, 1, body.as_bytes())].concat();
    }
    let end = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(trailers));
    [head, frame(DATA, 0, 1, body.as_bytes()), end].concat()
}

/// Sends a request, and then a good one. Returns whether the first was answered with 200.
async fn is_answered(proxy: &Proxy, request: &[u8]) -> bool {
    let mut stream = TcpStream::connect(proxy.address).await.expect("it listens");
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let last = frame(HEADERS, END_HEADERS | END_STREAM, 3, &block(&get("/end")));
    let settings = frame(SETTINGS, 0, 0, &[]);
    let sent = [preface, settings, request.to_vec(), last].concat();
    stream.write_all(&sent).await.expect("sent");
    let (mut first, mut second) = (None, false);
    let mut head = [0; 9];
    while !(second && first.is_some()) && soon(stream.read_exact(&mut head)).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).expect("short")];
        if soon(stream.read_exact(&mut payload)).await.is_err() || head[3] == GOAWAY {
            break;
        }
        match (head[8], head[3]) {
            // 200 is the eighth of the static table.
            (1, HEADERS) => first = Some(payload[0] == 0x88),
            (1, DATA) => {}
            (1, _) => first = first.or(Some(false)),
            (3, HEADERS) => second = true,
            _ => {}
        }
    }
    first == Some(true)
}

/// What is sent: what its headers are, its body and its trailers; and what arrives.
type Case<'a> = (
    &'a str,
    Vec<(&'a str, &'a str)>,
    &'a str,
    &'a [(&'a str, &'a str)],
    Option<&'a str>,
);

/// A `POST` with these headers besides.
fn post<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut headers = get("/a");
    headers[0] = (":method", "POST");
    headers.extend(more);
    headers
}

/// A `POST` with another header in the place of this one, or without it.
fn changed<'a>(name: &str, to: Option<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let headers = post(&[]).into_iter();
    headers
        .filter_map(|header| if header.0 == name { to } else { Some(header) })
        .collect()
}

async fn hold(cases: &[Case<'_>]) {
    let upstream = Strict::new().await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut wrong = Vec::new();
    for (name, headers, body, trailers, want) in cases {
        let answered = is_answered(&proxy, &request(headers, body, trailers)).await;
        let mut came = upstream.take();
        // The connection lives on, or not.
        came.retain(|request| request != "GET /end");
        if answered != want.is_some() || came != want.as_slice() {
            wrong.push(format!("{name}: {want:?}: {came:?}, answered: {answered}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_and_lengths() {
    const HELLO: Option<&str> = Some("POST /a hello");
    let length = |text| post(&[("content-length", text)]);
    hold(&[
        ("a body", post(&[]), "hello", &[], HELLO),
        ("no body", post(&[]), "", &[], Some("POST /a")),
        (
            "a body of a GET",
            get("/a"),
            "hello",
            &[],
            Some("GET /a hello"),
        ),
        ("its length", length("5"), "hello", &[], HELLO),
        ("a shorter length", length("3"), "hello", &[], None),
        ("a longer length", length("7"), "hello", &[], None),
        ("a length of nothing", length("5"), "", &[], None),
        ("a list of lengths", length("5, 5"), "hello", &[], None),
        ("a signed length", length("+5"), "hello", &[], None),
        ("an empty length", length(""), "hello", &[], None),
        (
            "two equal lengths",
            post(&[("content-length", "5"), ("content-length", "5")]),
            "hello",
            &[],
            HELLO,
        ),
        (
            "two lengths",
            post(&[("content-length", "5"), ("content-length", "9")]),
            "hello",
            &[],
            None,
        ),
        (
            "two lengths, the right one last",
            post(&[("content-length", "0"), ("content-length", "5")]),
            "hello",
            &[],
            None,
        ),
        (
            "chunks",
            post(&[("transfer-encoding", "chunked")]),
            "0\r\n\r\nGET /b HTTP/1.1\r\nhost: x\r\n\r\n",
            &[],
            None,
        ),
        (
            "what looks like chunks",
            post(&[]),
            "0\r\n\r\nGET /b",
            &[],
            Some("POST /a 0\r\n\r\nGET /b"),
        ),
        ("a trailer", post(&[]), "hello", &[("x-sum", "1")], HELLO),
        (
            "a trailer with a length",
            post(&[("trailer", "content-length")]),
            "hello",
            &[("content-length", "9")],
            HELLO,
        ),
        (
            "a trailer with a path",
            post(&[]),
            "hello",
            &[(":path", "/b")],
            HELLO,
        ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fields() {
    let more = |name, value| post(&[(name, value)]);
    let good = Some("POST /a");
    hold(&[
        ("connection", more("connection", "close"), "", &[], None),
        ("keep-alive", more("keep-alive", "timeout=5"), "", &[], None),
        (
            "proxy-connection",
            more("proxy-connection", "close"),
            "",
            &[],
            None,
        ),
        ("upgrade", more("upgrade", "websocket"), "", &[], None),
        ("te", more("te", "gzip"), "", &[], None),
        ("te: trailers", more("te", "trailers"), "", &[], good),
        ("capitals in a name", more("X-A", "1"), "", &[], None),
        ("a space in a name", more("x a", "1"), "", &[], None),
        ("a colon in a name", more("x:a", "1"), "", &[], None),
        ("a line in a name", more("x: 1\r\ny", "1"), "", &[], None),
        (
            "a line in a value",
            more("x", "1\r\ncontent-length: 5"),
            "",
            &[],
            None,
        ),
        ("LF in a value", more("x", "1\ny: 2"), "", &[], None),
        ("CR in a value", more("x", "1\ry: 2"), "", &[], None),
        ("NUL in a value", more("x", "a\0b"), "", &[], None),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pseudo_headers() {
    let more = |name, value| post(&[(name, value)]);
    let path = |path| changed(":path", Some((":path", path)));
    let method = |method| changed(":method", Some((":method", method)));
    let authority = |host| changed(":authority", Some((":authority", host)));
    let good = Some("POST /a");
    hold(&[
        ("an unknown pseudo-header", more(":x", "1"), "", &[], None),
        ("that of an answer", more(":status", "200"), "", &[], None),
        (
            "a pseudo-header at the end",
            post(&[("x", "1"), (":path", "/b")]),
            "",
            &[],
            None,
        ),
        ("two paths", more(":path", "/b"), "", &[], None),
        ("no path", changed(":path", None), "", &[], None),
        ("an empty path", path(""), "", &[], None),
        ("no slash", path("a"), "", &[], None),
        ("a star", path("*"), "", &[], None),
        ("a space in the path", path("/a b"), "", &[], None),
        (
            "a request in the path",
            path("/a HTTP/1.1\r\nhost: x\r\n\r\nGET /b"),
            "",
            &[],
            None,
        ),
        ("NUL in the path", path("/a\0"), "", &[], None),
        ("a fragment", path("/a#b"), "", &[], good),
        (
            "a whole URL as a path",
            path("http://elsewhere/a"),
            "",
            &[],
            None,
        ),
        ("no method", changed(":method", None), "", &[], None),
        ("a space in the method", method("POST /b"), "", &[], None),
        (
            "a request in the method",
            method("GET /b HTTP/1.1\r\nhost: x\r\n\r\nPOST"),
            "",
            &[],
            None,
        ),
        ("a tunnel", method("CONNECT"), "", &[], None),
        ("a host besides", more("host", "x"), "", &[], good),
        ("another host besides", more("host", "y"), "", &[], None),
        (
            "two hosts",
            post(&[("host", "x"), ("host", "x")]),
            "",
            &[],
            None,
        ),
        (
            "a host alone",
            changed(":authority", Some(("host", "x"))),
            "",
            &[],
            None,
        ),
        ("a user", authority("u@x"), "", &[], None),
        ("a space in the authority", authority("x y"), "", &[], None),
        (
            "a line in the authority",
            authority("x\r\ny: 1"),
            "",
            &[],
            None,
        ),
        ("a path in the authority", authority("x/b"), "", &[], None),
    ])
    .await;
}
