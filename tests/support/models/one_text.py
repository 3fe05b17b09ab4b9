"""The plainest driver of one text, against one session: what a batch of one must come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sfgen.decoding import Ask, AskAgain, Event
from sfgen.decoding.loop import Steps
from sfgen.protocols import ScoresRows, Session


def drive_one(steps: Steps, new_session: Callable[[], Session]) -> Iterator[Event]:
    session, answer = None, None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration:
            return
        answer = None
        if isinstance(step, Ask):
            session = session or new_session()
            if step.keep is not None:
                session.rewind(step.keep)
            if step.rows is None or not isinstance(session, ScoresRows):
                answer = session.extend(step.token_ids)
            else:
                answer = session.extend_rows(step.token_ids, step.rows)
        elif isinstance(step, AskAgain):
            answer = session.score_again(step.rows) if isinstance(session, ScoresRows) else None
        else:
            yield step
