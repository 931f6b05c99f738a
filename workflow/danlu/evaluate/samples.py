"""samples.md: how the model goes on from fixed prompts, for people to read."""

from __future__ import annotations

import re
from dataclasses import dataclass

from danlu.config import Evaluation

# What Markdown would take for markup inside running text.
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&$])")


@dataclass(frozen=True)
class Sample:
    """A prompt and its two continuations."""

    prompt: str
    greedy: str
    sampled: str


def render(run: str, samples: list[Sample], settings: Evaluation, seed: int) -> str:
    """The samples as Markdown: the prompt in bold, what the model said after it."""
    parts = [
        f"# Samples of {run}\n",
        "What the model (fp32, in onnxruntime) says after each prompt, which stands in bold: "
        f"at most {settings.max_new_tokens} tokens. Greedy takes the most likely token each "
        f"time; sampled draws at temperature {settings.temperature:g} from the most likely "
        f"{settings.top_p:.0%} (seed {seed}).\n",
    ]
    for sample in samples:
        parts.append(f"## {_escape(_line(sample.prompt))}\n")
        for name, text in (("Greedy", sample.greedy), ("Sampled", sample.sampled)):
            parts.append(f"{name}\n\n{_quote(sample.prompt, text)}\n")
    return "\n".join(parts)


def _line(text: str) -> str:
    return " ".join(text.split())


def _quote(prompt: str, text: str) -> str:
    first, *rest = text.rstrip().split("\n")
    bold = f"**{_escape(_line(prompt))}**"
    shown = [f"{bold}{_escape(first)}", *(_escape(line) for line in rest)]
    return "\n".join(f"> {line}".rstrip() for line in shown)


def _escape(text: str) -> str:
    return MARKUP.sub(r"\\\1", text)
