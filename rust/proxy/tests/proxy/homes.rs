//! A stored response is asked of the upstream that made it, however it is named.

use std::net::SocketAddr;

use stable_ids_proxy::server::Config;

use crate::bed::{Proxy, config, until};
use crate::client::{ask, get};
use crate::fake::Fake;

/// An upstream whose answers are its name. It makes responses of the id that it is told.
async fn named(name: &'static str) -> Fake {
    Fake::new(move |request, mut wire| async move {
        let told = String::from_utf8_lossy(&request.body).into_owned();
        match told.strip_prefix("{\"request_id\":\"") {
            Some(rest) => {
                let id = rest.split('"').next().unwrap_or_default();
                let body = format!("{{\"id\":\"{id}\",\"made by\":\"{name}\"}}");
                let json = "content-type: application/json\r\n";
                wire.answer("200 OK", json, body).await;
            }
            None => wire.answer("200 OK", "", name).await,
        }
        Some(wire)
    })
    .await
}

fn post(body: &str) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Has a response made; returns the name of the upstream that made it.
async fn make(proxy: SocketAddr, id: &str) -> String {
    let answer = ask(proxy, post(&format!("{{\"request_id\":\"{id}\"}}"))).await;
    let body = String::from_utf8(answer.body).expect("text");
    let (_, name) = body.rsplit_once(":\"").expect("a name");
    name.trim_end_matches("\"}").to_owned()
}

/// How often the home of a response is asked for it: by chance half of the time.
const TIMES: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_body_names_it_as_python_reads_it() {
    let (a, b) = (named("a").await, named("b").await);
    let proxy = Proxy::before(&[a.address, b.address]).await;
    let home = make(proxy.address, "resp_1").await;
    let long = "x".repeat(3 << 20);
    for body in [
        r#"{"previous_response_id":"resp_1"}"#,
        r#"{"top_p":NaN,"x":[-Infinity,Infinity],"previous_response_id":"resp_1"}"#,
        "\u{feff}{\"previous_response_id\":\"resp_1\"}",
        r#"{"previous_response_id":null,"previous_response_id":"resp_1"}"#,
        r#"{"previous_response_id":"resp_0","previous_response_id":"resp_1"}"#,
        r#"{"previous\u005fresponse_id":"resp\u005F1"}"#,
        &format!(r#"{{"input":"{long}","previous_response_id":"resp_1"}}"#),
        &format!(
            r#"{{"input":{}1{},"previous_response_id":"resp_1"}}"#,
            "[".repeat(300),
            "]".repeat(300)
        ),
    ] {
        for _ in 0..TIMES {
            let answer = ask(proxy.address, post(body)).await;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert_eq!(text, home, "{}", body.get(..80).unwrap_or(body));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_names_it_as_servers_read_it() {
    let (a, b) = (named("a").await, named("b").await);
    let proxy = Proxy::before(&[a.address, b.address]).await;
    let home = make(proxy.address, "resp_1").await;
    for path in [
        "/v1/responses/resp_1",
        "/v1/responses/resp%5F1",
        "/v1/responses/resp%5f1/input_items",
        "/v1/responses/%72esp_1",
        "/v1/%72esponses/resp_1?stream=true",
        "/v1%2Fresponses%2Fresp_1",
    ] {
        for _ in 0..TIMES {
            let answer = get(proxy.address, path).await;
            assert_eq!(String::from_utf8_lossy(&answer.body), home, "{path}");
        }
    }
    // It is passed on as it came.
    let came = [a.requests(), b.requests()].concat();
    assert!(
        came.iter()
            .any(|came| came.is_for("GET /v1/responses/resp%5f1/input_items"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_rewritten_however_its_path_is_written() {
    let torn = [
        &crate::bed::opening("resp_1")[..],
        &crate::bed::opening("resp_1"),
    ]
    .concat();
    let upstream = Fake::streaming(torn.clone()).await;
    let proxy = Proxy::before(&[upstream.address]).await;
    let request = "POST /v1/%72esponses HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    let answer = ask(proxy.address, request).await;
    assert_eq!(answer.body, crate::bed::rewritten(&torn));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_moves_it_who_knows_its_id() {
    let (a, b) = (named("a").await, named("b").await);
    let proxy = Proxy::before(&[a.address, b.address]).await;
    let home = make(proxy.address, "resp_1").await;
    // Somebody chooses the same id, until another upstream has made a response of it, too.
    until(|| async { make(proxy.address, "resp_1").await != home }).await;
    for _ in 0..TIMES {
        let answer = get(proxy.address, "/v1/responses/resp_1").await;
        assert_eq!(String::from_utf8_lossy(&answer.body), home);
        let next = ask(proxy.address, post("{\"previous_response_id\":\"resp_1\"}")).await;
        assert_eq!(String::from_utf8_lossy(&next.body), home);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_beyond_the_limit_passes_unread_and_is_counted() {
    let (a, b) = (named("a").await, named("b").await);
    let proxy = Proxy::with(Config {
        body_limit: 100,
        ..config(&[a.address, b.address])
    })
    .await;
    let body = |length: usize| {
        let body = format!(
            r#"{{"previous_response_id":"resp_1","input":"{:length$}"}}"#,
            ""
        );
        body.replace("  ", "xx")
    };
    let chunked = |body: &str| {
        let head = "POST /v1/responses HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
        let (first, second) = body.split_at(body.len() / 2);
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        format!("{head}{}{}0\r\n\r\n", chunk(first), chunk(second))
    };
    let (short, long) = (body(20), body(200));
    assert!(short.len() < 100 && long.len() > 100);
    for request in [
        post(&short),
        chunked(&short).into(),
        post(&long),
        chunked(&long).into(),
    ] {
        assert_eq!(ask(proxy.address, request).await.status(), "200");
    }
    let page = get(proxy.admin, "/metrics").await.body;
    let page = String::from_utf8(page).expect("text");
    assert!(
        page.contains("stable_ids_requests_unread_total 2\n"),
        "{page}"
    );
    // They arrive whole.
    let came = [a.requests(), b.requests()].concat();
    let whole = |request: &crate::fake::Request| {
        let body = String::from_utf8_lossy(&request.body);
        [&short, &long].iter().any(|sent| body == sent.as_str()) || body.ends_with("0\r\n\r\n")
    };
    assert!(came.len() == 4 && came.iter().all(whole));
}
