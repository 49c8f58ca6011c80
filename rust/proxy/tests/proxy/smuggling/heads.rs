//! Heads: the first line, and the headers.

use super::{BAD, Case, Close, HELLO, Pass, hold};

const LINES: &[Case] = &[
    ("folded", get!("x: 1| y: 2||"), BAD),
    ("folded with a tab", get!("x: 1|\ty: 2||"), BAD),
    ("folded at once", "GET /a HTTP/1.1| host: x||", BAD),
    ("no colon", get!("x||"), BAD),
    ("no name", get!(": 1||"), BAD),
    ("a space in a name", get!("x y: 1||"), BAD),
    ("a byte in a name", get!("x\u{e9}: 1||"), BAD),
    ("a parenthesis in a name", get!("x(y): 1||"), BAD),
    ("NUL in a value", get!("x: a\0b||"), BAD),
    ("CR in a value", get!("x: a\rb||"), BAD),
    ("two CR", get!("x: 1\r||"), BAD),
    ("DEL in a value", get!("x: a\u{7f}b||"), BAD),
    ("a byte in a value", get!("x: \u{e9}||"), Pass(&["GET /a"])),
    (
        "LF alone",
        "GET /a HTTP/1.1\nhost: x\n\n",
        Pass(&["GET /a"]),
    ),
    (
        "LF alone, and a body",
        "POST /a HTTP/1.1\nhost: x\ncontent-length: 5\n\nhello",
        HELLO,
    ),
    (
        "LF alone at one place",
        get!("x: 1\ncontent-length: 5||hello"),
        Pass(&["GET /a hello"]),
    ),
    ("CR alone", "GET /a HTTP/1.1\rhost: x\r\r", BAD),
    (
        "empty lines before it",
        "||GET /a HTTP/1.1|host: x||",
        Pass(&["GET /a"]),
    ),
    ("no host", "GET /a HTTP/1.1||", BAD),
    ("two hosts", get!("host: y||"), BAD),
    ("two equal hosts", get!("host: x||"), BAD),
    (
        "an empty host",
        "GET /a HTTP/1.1|host:||",
        Pass(&["GET /a"]),
    ),
    ("a host with a space", "GET /a HTTP/1.1|host: x y||", BAD),
    ("a host with a path", "GET /a HTTP/1.1|host: x/y||", BAD),
    ("a host with a user", "GET /a HTTP/1.1|host: u@x||", BAD),
    ("a list of hosts", "GET /a HTTP/1.1|host: x, y||", BAD),
    (
        "a host named by Connection",
        get!("connection: host||"),
        Pass(&["GET /a"]),
    ),
    (
        "an offer of HTTP/2",
        get!("connection: upgrade, http2-settings|upgrade: h2c|http2-settings: AAMAAABk||"),
        Pass(&["GET /a"]),
    ),
    (
        "HTTP/2 afterwards",
        get!("|PRI * HTTP/2.0||SM||"),
        Close(&["GET /a"]),
    ),
    (
        "a body that was not waited for",
        post!("expect: 100-continue|content-length: 5||hello"),
        HELLO,
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn lines() {
    hold(LINES).await;
}

const FIRST_LINES: &[Case] = &[
    (
        "another method",
        "get /a HTTP/1.1|host: x||",
        Pass(&["get /a"]),
    ),
    ("a method that is none", "G(T /a HTTP/1.1|host: x||", BAD),
    ("a space before it", " GET /a HTTP/1.1|host: x||", BAD),
    ("two spaces", "GET  /a HTTP/1.1|host: x||", BAD),
    ("a tab", "GET\t/a HTTP/1.1|host: x||", BAD),
    ("a space in the path", "GET /a b HTTP/1.1|host: x||", BAD),
    ("a space behind it", "GET /a HTTP/1.1 |host: x||", BAD),
    ("a tab in the path", "GET /a\tb HTTP/1.1|host: x||", BAD),
    ("NUL in the path", "GET /a\0b HTTP/1.1|host: x||", BAD),
    ("CR in the path", "GET /a\rb HTTP/1.1|host: x||", BAD),
    ("DEL in the path", "GET /a\u{7f} HTTP/1.1|host: x||", BAD),
    ("a byte in the path", "GET /\u{e9} HTTP/1.1|host: x||", BAD),
    (
        "a letter in the path",
        "GET /\u{c3}\u{a9} HTTP/1.1|host: x||",
        Pass(&["GET /\u{c3}\u{a9}"]),
    ),
    (
        "a request in the path",
        "GET /a%0D%0AGET%20/b HTTP/1.1|host: x||",
        Pass(&["GET /a%0D%0AGET%20/b"]),
    ),
    (
        "a fragment",
        "GET /a#b HTTP/1.1|host: x||",
        Pass(&["GET /a"]),
    ),
    ("no slash", "GET a HTTP/1.1|host: x||", BAD),
    (
        "two slashes",
        "GET //elsewhere/ HTTP/1.1|host: x||",
        Pass(&["GET //elsewhere/"]),
    ),
    ("dots", "GET /../a HTTP/1.1|host: x||", Pass(&["GET /../a"])),
    (
        "a whole URL",
        "GET http://elsewhere/a HTTP/1.1|host: x||",
        Pass(&["GET /a"]),
    ),
    (
        "a whole URL without a path",
        "GET http://elsewhere HTTP/1.1|host: x||",
        Pass(&["GET /"]),
    ),
    (
        "a whole URL with a user",
        "GET http://u@elsewhere/a HTTP/1.1|host: x||",
        BAD,
    ),
    (
        "a URL of another kind",
        "GET file:///a HTTP/1.1|host: x||",
        BAD,
    ),
    ("a star", "OPTIONS * HTTP/1.1|host: x||", BAD),
    (
        "a tunnel",
        "CONNECT elsewhere:443 HTTP/1.1|host: elsewhere:443||",
        BAD,
    ),
    ("a tunnel to a path", "CONNECT /a HTTP/1.1|host: x||", BAD),
    ("HTTP/0.9", "GET /a|", BAD),
    ("HTTP/1.2", "GET /a HTTP/1.2|host: x||", BAD),
    ("HTTP/2", "GET /a HTTP/2.0|host: x||", BAD),
    ("HTTP/1.10", "GET /a HTTP/1.10|host: x||", BAD),
    ("HTTP in small letters", "GET /a http/1.1|host: x||", BAD),
    ("no HTTP", "GET /a|host: x||", BAD),
];

#[tokio::test(flavor = "multi_thread")]
async fn first_lines() {
    hold(FIRST_LINES).await;
}
