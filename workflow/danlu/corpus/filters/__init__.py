"""The rules that a document must pass: the basic ones, and the sets that are asked for by name.

A rule of a set is named `set.rule`, as gopher_quality.stop_words. The sets of
corpus.filter.english are for documents whose language is en, those of corpus.filter.chinese
for zh; other languages pass the basic rules only.
"""

from __future__ import annotations

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import compute

from danlu.config import Corpus
from danlu.corpus.decontaminate import EvaluationSets
from danlu.corpus.documents import Document
from danlu.corpus.filters import basic, chinese, gopher, web
from danlu.corpus.filters.vouch import vouched

_SETS = {
    "gopher_quality": (gopher.QUALITY, gopher.quality),
    "gopher_repetition": (gopher.REPETITION, gopher.repetition),
    "c4": (web.C4_RULES, web.c4),
    "fineweb": (web.FINEWEB_RULES, web.fineweb),
    "chinese": (chinese.RULES, chinese.failed),
}


CONTAMINATED = "contaminated"


def names(settings: Corpus) -> tuple[str, ...]:
    """The rules that are in force, in the order in which a document must pass them."""
    asked = dict.fromkeys((*settings.filter.english, *settings.filter.chinese))
    of_sets = tuple(f"{name}.{rule}" for name in asked for rule in _SETS[name][0])
    return basic.RULES + of_sets + (CONTAMINATED,) * bool(settings.decontaminate)


class Rules:
    """The rules that are in force."""

    def __init__(self, settings: Corpus):
        """Raises DanluError where an evaluation set of corpus.decontaminate cannot be read."""
        self.names = names(settings)
        self._settings = settings.filter
        self._by_language = {"en": settings.filter.english, "zh": settings.filter.chinese}
        self._evaluated = EvaluationSets(settings.decontaminate)

    def pass_for_sure(
        self, batch: pyarrow.RecordBatch
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """For each cleaned document, whether it passes the basic rules for sure; whether all rules.

        batch: of `store.SCHEMA`.
        """
        basic_ones = vouched(
            batch.column("text"), batch.column("controls").to_numpy(), self._settings
        )
        if self._evaluated:
            return basic_ones, np.zeros(len(basic_ones), np.bool_)
        asked = pyarrow.array(
            [lang for lang, sets in self._by_language.items() if sets], pyarrow.string()
        )
        more = compute.is_in(batch.column("lang"), asked).to_numpy(zero_copy_only=False)
        return basic_ones, basic_ones & ~more

    def failed(self, document: Document, controls: int, passes_basic: bool = False) -> str | None:
        """The first of the rules that a cleaned document fails, or None.

        controls: how many control characters cleaning dropped from it.
        """
        if not passes_basic and (rule := basic.failed(document.text, controls, self._settings)):
            return rule
        for name in self._by_language.get(document.lang, ()):
            limits = getattr(self._settings.sets, name)
            if rule := _SETS[name][1](document.text, limits):
                return f"{name}.{rule}"
        return CONTAMINATED if self._evaluated.overlaps(document.text) else None
