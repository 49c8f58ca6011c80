# The proxy alone, without Python and without a shell. From the root of a clone:
#
#     docker build --file deploy/docker/proxy.Dockerfile --tag vllm-stable-ids-proxy:0.1.0 .
#     docker run --publish 8001:8001 vllm-stable-ids-proxy:0.1.0 --upstream http://vllm:8000 --listen 0.0.0.0:8001
FROM rust:1.88-slim-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock clippy.toml ./
COPY rust rust
RUN cargo build --locked --release --package vllm-stable-ids-proxy

# It has the C library that the program is linked to, certificates, and a user who is not root.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/target/release/vllm-stable-ids-proxy /usr/local/bin/
EXPOSE 8001 9001
# Nothing in here could ask: /health at the --admin address is for whoever runs the container.
HEALTHCHECK NONE
ENTRYPOINT ["/usr/local/bin/vllm-stable-ids-proxy"]
