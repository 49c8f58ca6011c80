//! What is no event stream of a response passes as it is.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::bed::{Proxy, delta, opening, soon, until};
use crate::client::{Client, ask, create, get};
use crate::fake::{Fake, Wire, header};

#[tokio::test(flavor = "multi_thread")]
async fn plain_answers_are_the_same_to_the_byte() {
    let upstream = Fake::new(|request, mut wire| async move {
        let headers = "date: Thu, 01 Jan 1970 00:00:00 GMT\r\nserver: uvicorn\r\n";
        let json = format!("{headers}content-type: application/json\r\n");
        if request.is_for("GET /v1/models") {
            wire.answer("200 OK", &json, "{\"data\": [ ] }\n").await;
        } else if request.is_for("POST /v1/chat/completions") {
            wire.answer("400 Bad Request", &json, request.body).await;
        } else if request.is_for("POST /v1/responses") {
            wire.answer("200 OK", &json, "{\"id\":\"resp_1\",\"output\":[]}")
                .await;
        } else if request.is_for("DELETE /v1/responses/resp_1") {
            wire.send(format!("HTTP/1.1 204 No Content\r\n{headers}\r\n"))
                .await;
        } else if request.is_for("HEAD /v1/models") {
            wire.send(format!(
                "HTTP/1.1 200 OK\r\n{json}content-length: 15\r\n\r\n"
            ))
            .await;
        } else {
            wire.answer("404 Not Found", &json, "{\"detail\":\"Not Found\"}")
                .await;
        }
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let body = "{\"x\": \"\u{e9}\"}";
    for request in [
        "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "GET /v1/nothing?a=%20b&c HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "DELETE /v1/responses/resp_1 HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "OPTIONS /v1/models HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "PURGE /anything HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
        create(""),
    ] {
        let direct = ask(upstream.address, &request).await;
        let through = ask(proxy.address, &request).await;
        assert_eq!(through.body, direct.body, "{request}");
        let lines = |head: &str| {
            let mut lines: Vec<_> = head.lines().map(str::to_lowercase).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&through.head), lines(&direct.head), "{request}");
    }
    let mut client = Client::new(proxy.address).await;
    client
        .send(
            "HEAD /v1/models HTTP/1.1\r\nhost: x\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
        )
        .await;
    assert_eq!(header(&client.head().await, "content-length"), Some("15"));
    assert_eq!(
        client.answer().await.expect("an answer").body,
        b"{\"data\": [ ] }\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_other_routes_are_not_touched() {
    let torn = [&opening("resp_1")[..], &opening("resp_1"), &delta(9, "x")].concat();
    assert_ne!(crate::bed::rewritten(&torn), torn);
    let upstream = Fake::streaming(torn.clone()).await;
    let proxy = Proxy::before(&[upstream.address]).await;
    for request in [
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\ncontent-length: 0\r\n\r\n",
        "GET /v1/responses HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\n\r\n",
        "PUT /v1/responses/resp_1 HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\ncontent-length: 0\r\n\r\n",
    ] {
        assert_eq!(ask(proxy.address, request).await.body, torn, "{request}");
        let last = upstream.requests().pop().expect("a request");
        assert_eq!(last.header("accept-encoding"), Some("gzip"));
    }
    assert_ne!(ask(proxy.address, create("")).await.body, torn);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_says_reaches_upstream() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.answer("200 OK", "", "").await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let request = "POST /v1/embeddings?q=%2F HTTP/1.1\r\nhost: there\r\nauthorization: Bearer s\r\n\
                   connection: x-mine, keep-alive\r\nx-mine: 1\r\nx-kept: a\r\nx-kept: b\r\n\
                   transfer-encoding: chunked\r\ntrailer: x-sum\r\nte: trailers\r\n\r\n\
                   3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n";
    assert_eq!(ask(proxy.address, request).await.status(), "200");
    let came = upstream.requests().pop().expect("a request");
    assert!(came.is_for("POST /v1/embeddings?q=%2F"));
    assert_eq!(came.header("authorization"), Some("Bearer s"));
    assert_eq!(came.body, b"3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n");
    assert_eq!(came.header("x-mine"), None);
    assert_eq!(came.head.matches("x-kept:").count(), 2);
    assert_eq!(
        came.header("host"),
        Some(upstream.address.to_string().as_str())
    );
    assert_eq!(came.header("x-forwarded-host"), Some("there"));
    assert_eq!(came.header("x-forwarded-for"), Some("127.0.0.1"));
    let via = came.header("via").expect("a header");
    assert!(via.starts_with("1.1 vllm-stable-ids-"), "{via}");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_kept_on_both_sides() {
    let upstream = Fake::new(|request, mut wire: Wire| async move {
        let port = wire.stream.peer_addr().expect("an address").port();
        let body = format!("{port} {}", request.head.lines().next().expect("a line"));
        wire.answer("200 OK", "", body).await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    let mut ports = Vec::new();
    for _ in 0..5 {
        client
            .send("GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
            .await;
        let body = client.answer().await.expect("an answer").body;
        ports.push(
            body.split(|&byte| byte == b' ')
                .next()
                .expect("a port")
                .to_vec(),
        );
    }
    ports.dedup();
    assert_eq!(ports.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_streamed() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let proxy = Proxy::before(&[listener.local_addr().expect("an address")]).await;
    let mut client = Client::new(proxy.address).await;
    client
        .send(
            "POST /v1/audio HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
        )
        .await;
    // The admin address asks for health, too.
    let mut came = soon(async {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut read = Vec::new();
            while !read.ends_with(b"3\r\nabc\r\n") && !read.starts_with(b"GET /health") {
                assert!(stream.read_buf(&mut read).await.expect("bytes") > 0);
            }
            if read.starts_with(b"POST") {
                return stream;
            }
        }
    })
    .await;
    client.send("0\r\n\r\n").await;
    let mut end = [0; 5];
    soon(came.read_exact(&mut end)).await.expect("the end");
    assert_eq!(&end, b"0\r\n\r\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_is_passed_both_ways() {
    let upstream = Fake::new(|request, mut wire: Wire| async move {
        assert_eq!(request.header("connection"), Some("upgrade"));
        assert_eq!(request.header("upgrade"), Some("websocket"));
        let accept = request.header("sec-websocket-key").expect("a key").to_owned();
        wire.send(format!("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\nhello")).await;
        let mut bytes = [0; 1024];
        while let Ok(length @ 1..) = wire.stream.read(&mut bytes).await {
            wire.send(&bytes[..length]).await;
        }
        None
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let mut client = Client::new(proxy.address).await;
    client.send("GET /v1/realtime HTTP/1.1\r\nhost: x\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: k==\r\n\r\n").await;
    let head = client.head().await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert_eq!(header(&head, "upgrade"), Some("websocket"));
    assert_eq!(header(&head, "sec-websocket-accept"), Some("k=="));
    // Bytes of every kind, frames or not.
    let sent: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    client.send(&sent).await;
    client.stream.shutdown().await.expect("half closed");
    let came = client.rest().await;
    assert!(came == [b"hello", &sent[..]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_may_begin_before_its_request_ends() {
    const LARGE: usize = 32 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut bytes = vec![0; 1 << 16];
        let mut stream = loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let length = stream.read(&mut bytes).await.expect("a request");
            // Others ask for its health.
            if bytes[..length].starts_with(b"POST") {
                break stream;
            }
        };
        let (mut read, mut write) = stream.split();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n");
        let answer = async {
            write.write_all(head.as_bytes()).await.expect("sent");
            write.write_all(&vec![b'a'; LARGE]).await.expect("sent");
        };
        let request = async { while matches!(read.read(&mut bytes).await, Ok(1..)) {} };
        tokio::join!(answer, request);
    });
    let proxy = Proxy::before(&[address]).await;
    let mut client = Client::new(proxy.address).await;
    let head = format!("POST /v1/files HTTP/1.1\r\nhost: x\r\ncontent-length: {LARGE}\r\n\r\n");
    client.send(head).await;
    // It reads nothing until it has sent all.
    client.send(vec![b'q'; LARGE]).await;
    assert_eq!(client.answer().await.expect("all").body.len(), LARGE);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_is_refused_is_an_answer() {
    let upstream = Fake::new(|_, mut wire| async move {
        wire.answer("426 Upgrade Required", "x-why: no\r\n", "no")
            .await;
        Some(wire)
    })
    .await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let answer = ask(
        proxy.address,
        "GET /v1/realtime HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n",
    )
    .await;
    assert_eq!((answer.status(), &answer.body[..]), ("426", &b"no"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_tell_of_streams_and_of_nobody() {
    let torn = [
        &opening("resp_secret")[..],
        &opening("resp_secret"),
        &delta(9, "x"),
        &String::from_utf8(delta(10, "y"))
            .unwrap()
            .replace("msg_1", "msg_2")
            .into_bytes(),
    ]
    .concat();
    let upstream = Fake::streaming(torn).await;
    let proxy = Proxy::before(&[upstream.address]).await;
    ask(proxy.address, create("authorization: Bearer secret\r\n")).await;
    let counted = "stable_ids_streams_total{end=\"complete\"} 1\n";
    until(|| async { page(&proxy).await.contains(counted) }).await;
    let page = page(&proxy).await;
    for line in [
        "stable_ids_requests_total 1\n",
        "stable_ids_streams_open 0\n",
        // A second beginning is dropped, the deltas after it are numbered anew.
        "stable_ids_frames_total{outcome=\"passed\"} 3\n",
        "stable_ids_frames_total{outcome=\"rewritten\"} 5\n",
        "stable_ids_changes_total{kind=\"dropped\"} 2\n",
        "stable_ids_changes_total{kind=\"identity_kept\"} 1\n",
        "stable_ids_identities_changed_total{event=\"mentioned\",field=\"id\"} 1\n",
        "stable_ids_identities_changed_total{event=\"terminal\",field=\"call_id\"} 0\n",
        "stable_ids_streams_gave_up_total{reason=\"frame_too_long\"} 0\n",
        "stable_ids_first_event_added_seconds_count 1\n",
        &format!(
            "stable_ids_upstream_up{{upstream=\"http://{}\"}} 1\n",
            upstream.address
        ),
        "# EOF\n",
    ] {
        assert!(page.contains(line), "{line} is not in {page}");
    }
    assert!(!page.contains("secret"));
    assert!(page.lines().filter(|line| line.contains('{')).all(|line| {
        [
            "end=",
            "event=",
            "kind=",
            "outcome=",
            "reason=",
            "le=",
            "upstream=",
        ]
        .iter()
        .any(|label| line.contains(label))
    }));
    for (path, status) in [("/health", "200"), ("/ready", "200"), ("/", "404")] {
        assert_eq!(get(proxy.admin, path).await.status(), status, "{path}");
    }
    // It is not on the address that clients see.
    assert_ne!(get(proxy.address, "/metrics").await.body, page.as_bytes());
}

async fn page(proxy: &Proxy) -> String {
    let answer = get(proxy.admin, "/metrics").await;
    String::from_utf8(answer.body).expect("text")
}
