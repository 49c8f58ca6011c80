"""What `vllm-stable-ids check URL` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm_stable_ids.check.keeping import Folder
from vllm_stable_ids.check.live.client import Server, without_secrets
from vllm_stable_ids.check.live.failure import Failed
from vllm_stable_ids.check.live.outcome import LiveVerdict
from vllm_stable_ids.check.live.run import Run
from vllm_stable_ids.check.live.shown import Shown
from vllm_stable_ids.check.redact import Redactor

if TYPE_CHECKING:
    from rich.console import Console

    from vllm_stable_ids.check.live.asking import Asking


def ask(asking: Asking, console: Console) -> LiveVerdict:
    """Send the standard requests to a server and judge what comes.

    Args:
        asking: Whom, and how.
        console: Where progress is shown, if it is a terminal.

    Raises:
        NotKept: Something cannot be saved.
    """
    save = asking.save
    folder = None if save is None else Folder(save)
    if folder is not None:
        folder.check_empty()

    def keep(name: str, content: bytes | dict[str, Any], kind: str) -> None:
        if folder is None:
            return
        if isinstance(content, dict):
            folder.document(f"{name}.{kind}", content)
        else:
            folder.stream(f"{name}.{kind}", content)

    shown = Shown(Redactor() if asking.redact else None)
    try:
        with Server(asking) as server:
            verdict = _go(Run(server, asking.model, keep, shown), console)
    except Failed as failed:
        url, model = without_secrets(asking.url), shown.model(asking.model)
        return LiveVerdict(url, model, stopped=shown.reason(failed.reason))
    for name in shown.unlike:
        console.print(f"vllm-stable-ids: {name} is judged otherwise than what came")
    return verdict


def _go(run: Run, console: Console) -> LiveVerdict:
    if not console.is_terminal:
        return run.go(lambda _: None)
    with console.status("asking for the models") as status:
        return run.go(lambda title: status.update(f"asking: {title}"))
