//! Bodies: one length, or chunks.

use super::{BAD, Case, Close, HELLO, Pass, Refuse, UNKNOWN, hold};

const LENGTHS: &[Case] = &[
    ("one", post!("content-length: 5||hello"), HELLO),
    ("none", "POST /a HTTP/1.1|host: x||", Pass(&["POST /a"])),
    (
        "none, and a request behind it",
        "POST /a HTTP/1.1|host: x||GET /b HTTP/1.1|host: x||",
        Pass(&["POST /a", "GET /b"]),
    ),
    (
        "nothing, and a request behind it",
        post!("content-length: 0||GET /b HTTP/1.1|host: x||"),
        Pass(&["POST /a", "GET /b"]),
    ),
    (
        "two",
        post!("content-length: 5|content-length: 6||hello"),
        BAD,
    ),
    (
        "two, the shorter one last",
        post!("content-length: 6|content-length: 5||hello"),
        BAD,
    ),
    (
        "two in different case",
        post!("Content-Length: 5|CONTENT-LENGTH: 6||hello"),
        BAD,
    ),
    (
        "two equal",
        post!("content-length: 5|content-length: 5||hello"),
        HELLO,
    ),
    (
        "two equal, one with a zero before it",
        post!("content-length: 5|content-length: 05||hello"),
        HELLO,
    ),
    (
        "one and an empty one",
        post!("content-length: 5|content-length:||hello"),
        BAD,
    ),
    (
        "a list of different ones",
        post!("content-length: 5, 6||hello"),
        BAD,
    ),
    (
        "a list of equal ones",
        post!("content-length: 5, 5||hello"),
        BAD,
    ),
    ("a list with a gap", post!("content-length: 5,||hello"), BAD),
    ("plus", post!("content-length: +5||hello"), BAD),
    ("minus", post!("content-length: -5||hello"), BAD),
    ("minus nothing", post!("content-length: -0||hello"), BAD),
    ("hexadecimal", post!("content-length: 0x5||hello"), BAD),
    ("a fraction", post!("content-length: 5.0||hello"), BAD),
    ("an exponent", post!("content-length: 5e0||hello"), BAD),
    ("two numbers", post!("content-length: 5 5||hello"), BAD),
    ("an underscore", post!("content-length: 0_5||hello"), BAD),
    ("empty", post!("content-length:||hello"), BAD),
    ("quoted", post!("content-length: \"5\"||hello"), BAD),
    (
        "a superscript digit",
        post!("content-length: \u{b2}||hello"),
        BAD,
    ),
    (
        "zeros before it",
        post!("content-length: 005||hello"),
        HELLO,
    ),
    (
        "too long for a number",
        post!("content-length: 18446744073709551621||hello"),
        BAD,
    ),
    (
        "spaces around it",
        post!("content-length: \t 5 \t||hello"),
        HELLO,
    ),
    (
        "a space before the colon",
        post!("content-length : 5||hello"),
        BAD,
    ),
    (
        "a tab before the colon",
        post!("content-length\t: 5||hello"),
        BAD,
    ),
    (
        "a vertical tab before it",
        post!("content-length: \u{b}5||hello"),
        BAD,
    ),
    ("a NUL behind it", post!("content-length: 5\0||hello"), BAD),
    (
        "an underscore in the name",
        post!("content_length: 5||GET /b HTTP/1.1|host: x||"),
        Pass(&["POST /a", "GET /b"]),
    ),
    (
        "named by Connection",
        post!("connection: content-length|content-length: 5||hello"),
        HELLO,
    ),
    (
        "of a GET",
        get!("content-length: 5||hello"),
        Pass(&["GET /a hello"]),
    ),
    (
        "of a HEAD",
        "HEAD /a HTTP/1.1|host: x|content-length: 5||hello",
        Pass(&["HEAD /a hello"]),
    ),
    (
        "in HTTP/1.0",
        "POST /a HTTP/1.0|connection: keep-alive|content-length: 5||hello",
        HELLO,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn lengths() {
    hold(LENGTHS).await;
}

const CODINGS: &[Case] = &[
    ("chunked", chunks!("5|hello|0||"), HELLO),
    (
        "in capitals",
        post!("Transfer-Encoding: CHUNKED||5|hello|0||"),
        HELLO,
    ),
    (
        "a length before it",
        post!("content-length: 3|transfer-encoding: chunked||5|hello|0||"),
        Close(&["POST /a hello"]),
    ),
    (
        "a length behind it",
        post!("transfer-encoding: chunked|content-length: 3||5|hello|0||"),
        Close(&["POST /a hello"]),
    ),
    (
        "two lengths behind it",
        post!("transfer-encoding: chunked|content-length: 3|content-length: 4||5|hello|0||"),
        Close(&["POST /a hello"]),
    ),
    ("gzip before it", coded!("gzip, chunked"), UNKNOWN),
    (
        "gzip before it on another line",
        post!("transfer-encoding: gzip|transfer-encoding: chunked||5|hello|0||"),
        UNKNOWN,
    ),
    ("twice", coded!("chunked, chunked"), UNKNOWN),
    (
        "twice on two lines",
        post!("transfer-encoding: chunked|transfer-encoding: chunked||5|hello|0||"),
        UNKNOWN,
    ),
    ("identity before it", coded!("identity, chunked"), UNKNOWN),
    ("nothing before it", coded!(", chunked"), UNKNOWN),
    ("identity behind it", coded!("chunked, identity"), BAD),
    (
        "identity on the line behind it",
        post!("transfer-encoding: chunked|transfer-encoding: identity||5|hello|0||"),
        BAD,
    ),
    ("nothing behind it", coded!("chunked,"), BAD),
    ("identity", both!("identity"), BAD),
    ("gzip", both!("gzip"), BAD),
    (
        "empty",
        post!("transfer-encoding:|content-length: 5||hello"),
        BAD,
    ),
    ("a letter before it", both!("xchunked"), BAD),
    ("a letter behind it", both!("chunkedx"), BAD),
    ("a parameter", both!("chunked;q=1"), BAD),
    ("quoted", both!("\"chunked\""), BAD),
    (
        "a tab before it",
        post!("transfer-encoding:\tchunked||5|hello|0||"),
        HELLO,
    ),
    ("a vertical tab before it", both!("\u{b}chunked"), BAD),
    ("a NUL behind it", both!("chunked\0"), BAD),
    (
        "a NUL in the name",
        post!("transfer-encoding\0: chunked|content-length: 5||hello"),
        BAD,
    ),
    ("a no-break space before it", both!("\u{a0}chunked"), BAD),
    (
        "a space before the colon",
        post!("transfer-encoding : chunked|content-length: 5||hello"),
        BAD,
    ),
    (
        "folded",
        post!("transfer-encoding:| chunked|content-length: 5||hello"),
        BAD,
    ),
    (
        "an underscore in the name",
        post!("transfer_encoding: chunked||0||"),
        Refuse("400", &["POST /a"]),
    ),
    (
        "named by Connection",
        post!("connection: transfer-encoding|transfer-encoding: chunked||5|hello|0||"),
        HELLO,
    ),
    (
        "in HTTP/1.0",
        "POST /a HTTP/1.0|transfer-encoding: chunked||5|hello|0||",
        BAD,
    ),
    (
        "TE is something else",
        post!("te: chunked|content-length: 5||hello"),
        HELLO,
    ),
    (
        "of a GET",
        get!("transfer-encoding: chunked||5|hello|0||"),
        Pass(&["GET /a hello"]),
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn codings() {
    hold(CODINGS).await;
}
