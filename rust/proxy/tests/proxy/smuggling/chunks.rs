//! Bodies in chunks.

use super::{BAD, Case, HELLO, Pass, hold};

const CHUNKS: &[Case] = &[
    (
        "two, and a request behind them",
        chunks!("2|he|3|llo|0||GET /b HTTP/1.1|host: x||"),
        Pass(&["POST /a hello", "GET /b"]),
    ),
    ("none", chunks!("0||"), Pass(&["POST /a"])),
    (
        "a size with zeros before it",
        chunks!("00005|hello|000||"),
        HELLO,
    ),
    (
        "a size in capitals",
        chunks!("A|hellohello|0||"),
        Pass(&["POST /a hellohello"]),
    ),
    ("spaces behind the size", chunks!("5 \t|hello|0||"), HELLO),
    ("an extension", chunks!("5;a=b|hello|0;c||"), HELLO),
    (
        "an extension with a request",
        chunks!("5;GET /b HTTP/1.1|hello|0||"),
        HELLO,
    ),
    ("an extension with LF", chunks!("5;a\nb|hello|0||"), BAD),
    ("an extension with CR", chunks!("5;a\rb|hello|0||"), BAD),
    ("0x", chunks!("0x5|hello|0||"), BAD),
    ("plus", chunks!("+5|hello|0||"), BAD),
    ("minus", chunks!("-5|hello|0||"), BAD),
    ("an underscore", chunks!("0_5|hello|0||"), BAD),
    ("a space before the size", chunks!(" 5|hello|0||"), BAD),
    ("a space in the size", chunks!("0 5|hello|0||"), BAD),
    ("no size", chunks!("|hello|0||"), BAD),
    ("a size that is no number", chunks!("z|hello|0||"), BAD),
    (
        "a size that is too long",
        chunks!("10000000000000005|hello|0||"),
        BAD,
    ),
    ("a quoted size", chunks!("\"5\"|hello|0||"), BAD),
    ("LF alone behind the size", chunks!("5\nhello|0||"), BAD),
    ("CR alone behind the size", chunks!("5\rhello|0||"), BAD),
    ("more than the size says", chunks!("3|hello|0||"), BAD),
    ("less than the size says", chunks!("7|hello|0||GET"), BAD),
    ("LF alone behind a chunk", chunks!("5|hello\n0||"), BAD),
    ("nothing behind a chunk", chunks!("5|hello0||"), BAD),
    (
        "LF alone behind the last size",
        chunks!("5|hello|0\n|"),
        BAD,
    ),
    (
        "a request behind the last size",
        chunks!("5|hello|0|GET /b HTTP/1.1|host: x||"),
        BAD,
    ),
    ("a trailer", chunks!("5|hello|0|x-sum: 7||"), HELLO),
    (
        "a trailer with a length",
        post!("trailer: content-length|transfer-encoding: chunked||5|hello|0|content-length: 9||"),
        HELLO,
    ),
    (
        "a trailer with a host",
        post!("trailer: host|transfer-encoding: chunked||5|hello|0|host: y||"),
        HELLO,
    ),
    (
        "a trailer that is folded",
        chunks!("5|hello|0|x: 1| y||"),
        BAD,
    ),
    ("a trailer without a colon", chunks!("5|hello|0|x||"), BAD),
    ("a trailer with a space", chunks!("5|hello|0|x : 1||"), BAD),
];

#[tokio::test(flavor = "multi_thread")]
async fn chunks() {
    hold(CHUNKS).await;
}
