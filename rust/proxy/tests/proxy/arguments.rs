//! The program's arguments, and what it says of those that make no sense.

use std::net::TcpListener;

use tokio::net::TcpStream;

use crate::bed::{soon, until};
use crate::client::get;
use crate::fake::Fake;
use crate::process::{program, text};

const UPSTREAM: [&str; 2] = ["--upstream", "http://127.0.0.1:1"];

/// Holds that the program ends at once, with this status, and says all of this.
async fn refused(args: &[&str], status: i32, messages: &[&str]) {
    let output = soon(program(args).output()).await.expect("it runs");
    let said = text(&output);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
    for message in messages {
        assert!(said.contains(message), "{message:?}: {args:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_none_is_explained() {
    refused(&[], 2, &["--upstream"]).await;
    refused(&["--upsteam", "http://x"], 2, &["--upstream"]).await;
    for (url, message) in [
        ("127.0.0.1:8000", "such as http://127.0.0.1:8000"),
        ("a", "such as http://127.0.0.1:8000"),
        ("", "such as http://127.0.0.1:8000"),
        ("http://", "such as http://127.0.0.1:8000"),
        ("http:///", "such as http://127.0.0.1:8000"),
        ("http://a b", "such as http://127.0.0.1:8000"),
        ("ftp://x", "http or https is wanted, not ftp"),
        ("http://x/v1", "a path, query or fragment has no place here"),
        ("http://x/v1", "write http://x\n"),
        ("http://x:8000?v1", "write http://x:8000\n"),
        ("http://x/#v1", "write http://x\n"),
        ("http://a#x", "write http://a\n"),
        ("https://a:8000#", "write https://a:8000\n"),
        ("http://u:p@x", "a user or password"),
        ("http://u:p@x", "write http://x\n"),
        ("http://a:99999", "`99999` is no port"),
        ("http://a:99999", "from 1 to 65535, such as http://a:8000\n"),
        ("https://a:65536", "such as https://a:8000\n"),
        ("http://127.0.0.1:0", "`0` is no port"),
        ("http://127.0.0.1:00", "`00` is no port"),
        ("http://a:", "`` is no port"),
        ("http://a:http", "such as http://"),
        ("http://:8000", "such as http://127.0.0.1:8000"),
        ("http://[::1", "such as http://127.0.0.1:8000"),
        ("http://[::1]x:8000", "such as http://127.0.0.1:8000"),
        ("http://[x]:8000", "`[x]:8000` is no name of a host"),
        ("http://a%20b:8000", "such as http://127.0.0.1:8000"),
        ("http://a,b:8000", "`a,b:8000` is no name of a host"),
    ] {
        let named = format!("'{url}' for '--upstream <http://ADDRESS:PORT>'");
        refused(&["--upstream", url], 2, &[&named, message]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_none_is_explained() {
    for flag in ["--listen", "--admin"] {
        for (address, message) in [
            ("8001", "such as 127.0.0.1:8001"),
            ("localhost", "such as 127.0.0.1:8001"),
            (":8001", "write 0.0.0.0:8001"),
            ("127.0.0.1:", "`` is no port"),
            ("127.0.0.1:65536", "`65536` is no port"),
            ("localhost:+80", "`+80` is no port"),
            ("::1:8001", "[::1]:8001"),
            ("http://127.0.0.1:8001", "`http://127.0.0.1` is no address"),
            ("no-such-host.invalid:8001", "cannot be looked up"),
        ] {
            let named = format!("'{address}' for '{flag} <ADDRESS:PORT>'");
            let args = [&UPSTREAM[..], &[flag, address]].concat();
            refused(&args, 2, &[&named, message]).await;
        }
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let args = [&UPSTREAM[..], &["--listen", &address]].concat();
    refused(&args, 1, &["cannot listen at"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_before_itself_does_not_start() {
    for (upstream, flag, address) in [
        ("http://127.0.0.1:8001", "--listen", "127.0.0.1:8001"),
        ("http://localhost:8001", "--listen", "127.0.0.1:8001"),
        ("http://127.0.0.1:8001", "--listen", "localhost:8001"),
        ("https://127.0.0.1:8001", "--listen", "0.0.0.0:8001"),
        ("http://127.0.0.1:8009", "--admin", "127.0.0.1:8009"),
    ] {
        let args = ["--upstream", "http://127.0.0.1:1", "--upstream", upstream];
        let args = [&args[..], &[flag, address]].concat();
        let message = format!("--upstream {upstream} is this proxy itself ({flag} ");
        refused(&args, 2, &[&message]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_used_are_explained() {
    let no_pem = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let tls = ["--tls-cert", "none", "--tls-key", "none"];
    let with = |args: &[&'static str]| [&UPSTREAM[..], args].concat();
    refused(&with(&["--tls-cert", "x"]), 2, &["--tls-key"]).await;
    refused(&with(&tls), 2, &["cannot read none"]).await;
    let args = ["--upstream", "https://x", "--upstream-ca", no_pem];
    refused(&args, 2, &["no certificate"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_can_be_listened_at() {
    let upstream = Fake::streaming(Vec::new()).await;
    let url = format!("http://localhost:{}", upstream.address.port());
    // Whoever takes a port in this moment makes it fail: there is another.
    for _ in 0..10 {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let listen = format!("localhost:{}", address.port());
        let mut child = program(&["--upstream", &url, "--listen", &listen])
            .spawn()
            .expect("it starts");
        let mut ended = false;
        until(|| {
            ended = child.try_wait().expect("a status").is_some();
            async move { ended || TcpStream::connect(address).await.is_ok() }
        })
        .await;
        if !ended {
            assert_eq!(get(address, "/v1/models").await.status(), "200");
            return;
        }
    }
    panic!("it does not listen");
}

#[tokio::test(flavor = "multi_thread")]
async fn help_names_the_program() {
    let output = soon(program(&["--help"]).output()).await.expect("it runs");
    assert!(output.status.success());
    let said = text(&output);
    assert!(said.contains("Usage: vllm-stable-ids-proxy "), "{said}");
}
