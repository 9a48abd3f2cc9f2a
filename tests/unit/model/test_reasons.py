"""Waiting reasons: each has a meaning and a remedy."""

from __future__ import annotations

import pytest

from turnout.model import reasons
from turnout.model.reasons import WAIT_REASONS, WaitReason

WAITS = (
    reasons.NO_CAPACITY,
    reasons.WAITING_FOR_POLLER,
    reasons.NO_WORKER_MATCHES,
    reasons.WAITING_FOR_ITS_WORKER,
    reasons.CLUSTER_UNAVAILABLE,
    reasons.NO_NODE_FITS,
    reasons.BREAKER_OPEN,
    reasons.LIMIT,
    reasons.WAITING_TO_RUN_ALONE,
    reasons.WAITING_TO_RUN_ALONE_ON_A_WORKER,
    reasons.RETRY_AT,
    reasons.DEFERRED,
    reasons.PAUSED,
    reasons.CODE_MISSING,
)


def test_every_reason_of_a_ready_task_is_explained() -> None:
    assert set(WAITS) <= set(WAIT_REASONS)


@pytest.mark.parametrize("reason", WAIT_REASONS.values(), ids=WAIT_REASONS)
def test_a_reason_has_a_meaning_and_a_remedy_of_one_sentence_each(reason: WaitReason) -> None:
    assert all(text[0].isupper() and text.endswith(".") for text in reason)
