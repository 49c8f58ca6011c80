"""The test bed: a real vLLM whose model says what a test tells it to.

`models` makes two tiny models, `tokens` turns a text into the token ids a test wants to be said,
`scripted` (inside the server) makes the model say them, `server` runs `vllm serve`, `client`
talks to it, and `judge` reads the streams that come back. Nothing here is part of the product, and
nothing of the product is imported here: what judges must not share code with what is judged.
"""
