"""Sends the standard requests to a server, and has each answer judged."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from vllm_stable_ids.check.advice import AGAIN
from vllm_stable_ids.check.capture import judge, refused
from vllm_stable_ids.check.live import standard
from vllm_stable_ids.check.live.events import call_id, events_of, is_terminal, response_id
from vllm_stable_ids.check.live.failure import FATAL, NOT_STORED, RESTART, Failed
from vllm_stable_ids.check.live.outcome import LiveVerdict, Outcome
from vllm_stable_ids.check.live.same import (
    number,
    rejoined_verdict,
    stored_verdict,
    unknown_call,
)
from vllm_stable_ids.check.verdict import Reason
from vllm_stable_ids.check.words import plural, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm_stable_ids.check.live.client import Server
    from vllm_stable_ids.check.live.shown import Shown
    from vllm_stable_ids.check.live.standard import Standard
    from vllm_stable_ids.check.verdict import Verdict

UNFINISHED = {"queued", "in_progress"}
POLLS = 10
POLL_S = 0.5
LISTED = 10
NAMED = 100
NO_CALL = Reason(
    "no_call",
    "The model made no call, so there is none to answer.",
    "Ask a model that calls functions, or start vLLM with the --tool-call-parser of the model.",
)
CUT = Reason("cut", "It stops before its end: there is no terminal event.", AGAIN)
NO_ITEMS = Reason(
    "no_items",
    "The model said nothing, so there is no item to judge.",
    "Ask again, or another model.",
)


class Keep(Protocol):
    """Keeps what was sent and what came."""

    def __call__(self, name: str, content: bytes | dict[str, Any], kind: str) -> None:
        """Keep it.

        Args:
            name: Of which request.
            content: Bytes of a stream, or what is sent as JSON.
            kind: What the file's name ends with.
        """


class Run:
    """One run over the standard requests."""

    def __init__(self, server: Server, model: str | None, keep: Keep, shown: Shown) -> None:
        """Ask nothing yet.

        Args:
            server: Whom to ask.
            model: Which model; `None` is the only one that there is.
            keep: Handed all that is sent and comes, as it is shown.
            shown: Makes of what comes what is shown.
        """
        self._server = server
        self._keep = keep
        self._stores = True
        self._model = model
        self._shown = shown
        self.verdict = LiveVerdict(server.base, shown.model(model))

    def go(self, tell: Callable[[str], None]) -> LiveVerdict:
        """Ask everything.

        Args:
            tell: Told what is asked now.
        """
        try:
            self._model = self._model or self._only_model()
            self.verdict.model = self._shown.model(self._model)
            self._ask_all(tell)
        except Failed as failed:
            self.verdict.stopped = self._shown.reason(failed.reason)
        return self.verdict

    def _only_model(self) -> str:
        names = self._server.models()
        if len(names) == 1:
            return names[0]
        raise Failed(
            Reason(
                "model",
                f"The server has {_listed(names)}.",
                "Name one: --model." if names else "Name the model: --model.",
                unquoted=f"The server has {plural(len(names), 'model')}.",
            )
        )

    def _ask_all(self, tell: Callable[[str], None]) -> None:
        called: tuple[str, str] | None = None
        for request in (standard.TEXT, standard.CALL, standard.CALLS):
            tell(request.title)
            events = events_of(self._streamed(request))
            response, call = response_id(events), call_id(events)
            if called is None and response is not None and call is not None:
                called = response, call
        tell("a call, answered")
        self._answer(called)
        tell(standard.BACKGROUND.title)
        self._background()

    def _streamed(
        self, request: Standard, *, to_the_end: bool = True, answered: str | None = None
    ) -> bytes:
        """Send a request, and judge its stream and what is stored of it.

        Args:
            request: It.
            to_the_end: Read until the server ends, not only until the response does.
            answered: The `call_id` that the request answers; the server must know it.
        """
        body = {
            "model": self._model,
            "stream": True,
            "store": True,
            **request.body,
        }
        self._keep(request.name, self._shown.document(body), "request.json")
        try:
            raw, stopped = self._server.stream(body, to_the_end=to_the_end)
        except Failed as failed:
            self._failed(request, failed.reason, answered)
            return b""
        shown = self._shown.stream(raw)
        self._keep(request.name, shown, "sse")
        verdict = self._shown.verdict(judge([shown], request.name), judge([raw], request.name))
        if stopped is not None and verdict.status != "broken":
            verdict = replace(verdict, status="not_judged", reason=stopped, advice=stopped.advice)
        elif verdict.status == "kept" and verdict.stream is not None and not verdict.stream.items:
            verdict = replace(verdict, status="not_judged", reason=NO_ITEMS, advice=NO_ITEMS.advice)
        self._add(request.name, request.title, verdict)
        if stopped is not None:
            raise Failed(stopped)
        self._compare_stored(request, raw, shown)
        return raw

    def _failed(self, request: Standard, reason: Reason, answered: str | None) -> None:
        """Note what gave no stream; pass it on where nothing else would give one."""
        if reason.code == "model":
            reason = replace(reason, message=f"{reason.message} {self._models_there_are()}".strip())
        if reason.code in FATAL:
            raise Failed(reason)
        if reason.code == "not_stored":
            self._stores = False
        shown = self._shown.reason(reason)
        if answered is not None and answered in reason.message:
            verdict = unknown_call(request.name, self._shown.id(answered), shown.message)
        else:
            verdict = refused(request.name, shown)
        self._add(request.name, request.title, verdict)

    def _models_there_are(self) -> str:
        try:
            return f"It has {_listed(self._server.models())}."
        except Failed:
            return ""

    def _compare_stored(self, request: Standard, raw: bytes, shown: bytes) -> None:
        """Compare with what the server has stored, if it stores."""
        events = events_of(raw)
        response = response_id(events)
        if not self._stores or response is None or not is_terminal(events):
            return
        name = f"{request.name}.stored"
        try:
            stored = self._server.stored(response)
            for _ in range(POLLS):
                if stored.get("status") not in UNFINISHED:
                    break
                time.sleep(POLL_S)
                stored = self._server.stored(response)
        except Failed as failed:
            reason = failed.reason
            if reason.code in {"not_stored", "no_route"}:
                self._stores = False
                reason = _does_not_store(reason)
            self._add(name, "stored", refused(name, self._shown.reason(reason)), of=request.name)
            return
        shown_stored = self._shown.document(stored)
        self._keep(request.name, shown_stored, "stored.json")
        verdict = self._shown.verdict(
            stored_verdict(name, shown, shown_stored), stored_verdict(name, raw, stored)
        )
        self._add(name, "stored", verdict, of=request.name)

    def _answer(self, called: tuple[str, str] | None) -> None:
        """Answer a call by the `call_id` that was streamed."""
        if called is None or not self._stores:
            reason = NO_CALL if called is None else Reason("not_stored", NOT_STORED, RESTART)
            self._add("answer", "a call, answered", refused("answer", reason))
            return
        response, call = called
        self._streamed(standard.answer(response, call), answered=call)

    def _background(self) -> None:
        """Stream in the background, and join the stream again in its middle."""
        request = standard.BACKGROUND
        if not self._stores:
            reason = Reason("not_stored", NOT_STORED, RESTART)
            self._add(request.name, request.title, refused(request.name, reason))
            return
        raw = self._streamed(request, to_the_end=False)
        events = events_of(raw)
        response = response_id(events)
        numbers = [found for event in events if (found := number(event)) is not None]
        if response is None or not numbers or not is_terminal(events):
            return
        after = numbers[len(numbers) // 2]
        name = f"{request.name}.rejoined"
        title = f"joined again after {after}"
        try:
            rest, stopped = self._server.rejoined(response, after)
        except Failed as failed:
            self._add(
                name, title, refused(name, self._shown.reason(failed.reason)), of=request.name
            )
            return
        shown_rest = self._shown.stream(rest)
        self._keep(request.name, shown_rest, "rejoined.sse")
        if stopped is not None or not is_terminal(events_of(rest)):
            verdict = refused(name, stopped or CUT, size=len(rest))
        else:
            verdict = self._shown.verdict(
                rejoined_verdict(name, self._shown.stream(raw), after, shown_rest),
                rejoined_verdict(name, raw, after, rest),
            )
        self._add(name, title, verdict, of=request.name)

    def _add(self, name: str, title: str, verdict: Verdict, *, of: str | None = None) -> None:
        self.verdict.outcomes.append(Outcome(name, of, title, verdict))


def _does_not_store(reason: Reason) -> Reason:
    if reason.code == "not_stored":
        return replace(reason, advice=RESTART)
    return Reason("not_stored", NOT_STORED, RESTART)


def _listed(names: list[str]) -> str:
    """The models, as a sentence has them."""
    if not names:
        return "no model that it names"
    named = [shortened(name, NAMED) for name in names[:LISTED]]
    more = f", and {len(names) - LISTED} more" if len(names) > LISTED else ""
    if len(names) == 1:
        return f"the model {named[0]}"
    return f"the models {', '.join(named)}{more}"
