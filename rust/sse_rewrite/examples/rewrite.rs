//! Rewrites an event stream from standard input to standard output, as its bytes arrive.

use std::io::{self, Read, Write};

use sse_rewrite::{Policy, SseRewriter};

fn main() -> io::Result<()> {
    let mut rewriter = SseRewriter::new(Policy::default());
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = input.read(&mut piece)?;
        let sent = match piece.get(..length) {
            Some([]) | None => rewriter.finish(),
            Some(bytes) => rewriter.feed(bytes),
        };
        output.write_all(&sent)?;
        output.flush()?;
        if length == 0 {
            break;
        }
    }
    for (change, count) in rewriter.report().counts().filter(|(_, count)| *count > 0) {
        eprintln!("{change}: {count}");
    }
    if let Some(reason) = rewriter.gave_up() {
        eprintln!("passed unchanged from there on: {reason}");
    }
    Ok(())
}
