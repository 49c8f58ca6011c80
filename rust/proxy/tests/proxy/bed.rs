//! The proxy under test, and what it is sent.

use std::net::SocketAddr;
use std::time::Duration;

use stable_ids_proxy::server::{Config, Server};
use tokio::sync::oneshot;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(120);

/// A proxy in this process. It ends when it is dropped.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    _end: oneshot::Sender<()>,
}

impl Proxy {
    pub(crate) async fn before(upstreams: &[SocketAddr]) -> Self {
        Self::with(config(upstreams)).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        let server = Server::bind(config).await.expect("it listens");
        let address = server.address().expect("an address");
        let admin = server.admin_address().expect("an address").expect("one");
        let (end, ends) = oneshot::channel();
        tokio::spawn(server.run(async move { drop(ends.await) }));
        Self {
            address,
            admin,
            _end: end,
        }
    }
}

pub(crate) fn config(upstreams: &[SocketAddr]) -> Config {
    let url = |address: &SocketAddr| format!("http://{address}").parse().expect("a URL");
    Config {
        admin: Some(([127, 0, 0, 1], 0).into()),
        health_interval: Duration::from_millis(50),
        ..Config::new(upstreams.iter().map(url).collect())
    }
}

/// Waits for something that is to happen soon.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, what)
        .await
        .expect("it did not happen")
}

/// Waits until something is so.
pub(crate) async fn until<F: Future<Output = bool>>(mut is: impl FnMut() -> F) {
    soon(async {
        while !is().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

/// An event as vLLM writes it.
pub(crate) fn delta(number: usize, text: &str) -> Vec<u8> {
    // Three events open the response.
    let number = number + 1;
    format!(
        "event: response.output_text.delta\ndata: {{\"content_index\":0,\"delta\":\"{text}\",\"item_id\":\"msg_1\",\
         \"logprobs\":[],\"output_index\":0,\"sequence_number\":{number},\"type\":\"response.output_text.delta\"}}\n\n"
    )
    .into_bytes()
}

/// The first events of a response.
pub(crate) fn opening(id: &str) -> Vec<u8> {
    format!(
        "event: response.created\ndata: {{\"response\":{{\"id\":\"{id}\",\"output\":[]}},\"sequence_number\":0,\"type\":\"response.created\"}}\n\n\
         event: response.output_item.added\ndata: {{\"item\":{{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"in_progress\",\"content\":[]}},\
         \"output_index\":0,\"sequence_number\":1,\"type\":\"response.output_item.added\"}}\n\n\
         event: response.content_part.added\ndata: {{\"content_index\":0,\"item_id\":\"msg_1\",\"output_index\":0,\
         \"part\":{{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}},\"sequence_number\":2,\"type\":\"response.content_part.added\"}}\n\n"
    )
    .into_bytes()
}

/// What the core makes of a stream.
pub(crate) fn rewritten(stream: &[u8]) -> Vec<u8> {
    let mut rewriter = sse_rewrite::SseRewriter::new(sse_rewrite::Policy {
        openai_vocabulary: true,
        ..sse_rewrite::Policy::default()
    });
    let mut out = rewriter.feed(stream);
    out.extend(rewriter.finish());
    out
}
