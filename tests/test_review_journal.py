"""The journal: nothing is lost, nothing is changed, and it knows its table."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from pivotal.review._journal import Journal, JournalEntry, JournalError, Proposal, check_journal
from pivotal.review._record import Record

FACTS = {"fingerprint": "abc", "table": "train.csv", "label": "y", "rows": "9"}


@pytest.fixture
def opened():
    """Open journals that are closed again."""
    journals = []

    def open_one(path, facts=FACTS):
        journals.append(Journal(path, facts))
        return journals[-1]

    yield open_one
    for journal in journals:
        journal.close()


def proposal(row, action="fix", label="cat", **more):
    return Proposal(row, action, "dog", label, "cat", 0.9, 0.1, "suspects", **more)


def ruled(*batches):
    """Return the record of batches of (reviewer, batch, proposals)."""
    record, number = Record(), 0
    for reviewer, batch, proposals in batches:
        entries = []
        for one in proposals:
            number += 1
            entries.append(_entry(one, number, reviewer, batch))
        record.add(entries)
    return record


def _entry(one, number, reviewer, batch):
    return JournalEntry(**asdict(one), id=number, at="2026-01-01T00:00:00", reviewer=reviewer, batch=batch)


def test_what_was_written_is_read_again(tmp_path, opened):
    path = tmp_path / "j.db"
    journal = opened(path)
    written = journal.append([proposal(3), proposal(5, "drop", None, note="a copy")], reviewer="ann", batch="1")
    assert [entry.row for entry in written] == [3, 5]
    journal.close()
    again = opened(path)
    assert again.since(0) == written
    assert again.since(written[0].id) == written[1:]
    assert written[1].note == "a copy"
    assert written[0].at.endswith("+00:00")


def test_a_batch_is_written_once_however_often_it_is_sent(tmp_path, opened):
    journal = opened(tmp_path / "j.db")
    assert len(journal.append([proposal(1)], reviewer="ann", batch="same")) == 1
    assert journal.append([proposal(1)], reviewer="ann", batch="same") == []
    assert len(journal.since(0)) == 1


def test_a_batch_is_written_as_a_whole_or_not_at_all(tmp_path, opened):
    journal = opened(tmp_path / "j.db")
    with pytest.raises(sqlite3.IntegrityError):
        journal.append([proposal(1), proposal(2), proposal(1)], reviewer="ann", batch="1")
    assert journal.since(0) == []
    assert len(journal.append([proposal(1)], reviewer="ann", batch="2")) == 1


def test_other_content_is_refused_and_left_alone(tmp_path, opened):
    path = tmp_path / "j.db"
    journal = opened(path)
    journal.append([proposal(1)], reviewer="ann", batch="1")
    journal.close()
    with pytest.raises(JournalError, match="other content than train"):
        Journal(path, {**FACTS, "fingerprint": "abd"})
    assert len(opened(path).since(0)) == 1


def test_files_that_are_no_journals_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "notes.db"
    text.write_bytes(b"x" * 5000)
    with pytest.raises(JournalError, match="is not a journal"):
        Journal(text, FACTS)
    assert text.read_bytes() == b"x" * 5000
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as base:
        base.execute("CREATE TABLE cities (name TEXT)")
    base.close()
    with pytest.raises(JournalError, match="another program"):
        Journal(other, FACTS)
    with pytest.raises(OSError, match="cannot be made there"):
        Journal(tmp_path / "no" / "j.db", FACTS)
    with pytest.raises(OSError, match="cannot be made there"):
        Journal(tmp_path, FACTS)


def test_a_journal_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "j.db"
    Journal(path, FACTS).close()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE facts SET content = '99' WHERE name = 'format'")
    base.close()
    with pytest.raises(JournalError, match="format 99"):
        Journal(path, FACTS)


def test_a_damaged_journal_is_refused_and_left_alone(tmp_path, opened):
    path = tmp_path / "j.db"
    journal = opened(path)
    for number in range(40):
        journal.append([proposal(row, note="words " * 50) for row in range(9)], reviewer="ann", batch=str(number))
    journal.close()
    whole = path.read_bytes()
    assert len(whole) > 60_000
    for damaged in (whole[:20_480], whole[:12_288] + b"\xff" * 8192 + whole[20_480:]):
        path.write_bytes(damaged)
        with pytest.raises(JournalError, match="is damaged"):
            Journal(path, FACTS)
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    assert len(opened(path).since(0)) == 360


def test_a_journal_is_checked_before_it_is_needed(tmp_path, opened):
    path = tmp_path / "j.db"
    check_journal(path, FACTS)
    assert not path.exists()  # nothing is made
    with pytest.raises(OSError, match="cannot be made there"):
        check_journal(tmp_path / "no" / "j.db", FACTS)
    opened(path)
    check_journal(path, FACTS)
    with pytest.raises(JournalError, match="other content than train"):
        check_journal(path, {**FACTS, "fingerprint": "abd"})


def test_a_full_disk_takes_nothing_and_leaves_all_that_was_there(tmp_path, opened):
    journal = opened(tmp_path / "j.db")
    pages = journal._base.execute("PRAGMA page_count").fetchone()[0]
    journal._base.execute(f"PRAGMA max_page_count = {pages + 2}")
    journal.append([proposal(1)], reviewer="ann", batch="1")
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        journal.append([proposal(row, note="words " * 1000) for row in range(9)], reviewer="ann", batch="2")
    assert [entry.row for entry in journal.since(0)] == [1]
    journal._base.execute(f"PRAGMA max_page_count = {pages + 1000}")
    assert len(journal.append([proposal(8)], reviewer="ann", batch="later")) == 1


def test_two_processes_on_one_journal_see_each_other(tmp_path, opened):
    one, two = opened(tmp_path / "j.db"), opened(tmp_path / "j.db")
    first = one.append([proposal(1)], reviewer="ann", batch="1")
    second = two.append([proposal(1, "keep", "dog")], reviewer="bob", batch="2")
    assert one.since(0) == [*first, *second] == two.since(0)


def test_the_last_decision_holds_and_undo_takes_them_back_one_by_one():
    batches = [("ann", str(number), [proposal(1, label=f"label {number}", action="label")]) for number in range(5)]
    record = ruled(*batches)
    assert record.ruling(1).label == "label 4"
    for number in (4, 3, 2, 1, 0):
        (last,) = record.to_undo("ann")
        assert last.label == f"label {number}"
        record.add([_entry(proposal(1, "undo", None, undoes=last.id), 100 - number, "ann", f"undo {number}")])
    assert record.ruling(1) is None
    assert record.to_undo("ann") == []


def test_undo_takes_back_a_whole_batch_and_only_ones_own():
    record = ruled(("ann", "a", [proposal(1), proposal(2)]), ("bob", "b", [proposal(3)]))
    assert [entry.row for entry in record.to_undo("ann")] == [1, 2]
    assert [entry.row for entry in record.to_undo("bob")] == [3]
    assert record.to_undo("eve") == []


def test_conflicts_and_agreement():
    record = ruled(
        ("ann", "a", [proposal(row) for row in range(4)]),
        ("bob", "b", [proposal(0), proposal(1), proposal(2), proposal(3, "keep", "dog"), proposal(9)]),
        ("bob", "c", [proposal(2, "unsure", None)]),
    )
    assert record.conflicts() == [3]
    assert record.ruling(3).reviewer == "bob"
    (agreement,) = record.agreements()
    assert agreement.reviewers == ("ann", "bob")
    assert (agreement.n_rows, agreement.share) == (4, 0.75)
    assert agreement.kappa == pytest.approx(0.0)  # ann always says cat, so that chance would agree as often
    alike = ruled(
        ("ann", "a", [proposal(0), proposal(1, "keep", "dog")]), ("bob", "b", [proposal(0), proposal(1, "keep", "dog")])
    )
    assert alike.agreements()[0].kappa == pytest.approx(1.0)


def test_a_conflict_ends_when_the_one_who_differs_takes_it_back():
    record = ruled(("ann", "a", [proposal(1)]), ("bob", "b", [proposal(1, "drop", None)]))
    assert record.is_conflict(1)
    (last,) = record.to_undo("bob")
    record.add([_entry(proposal(1, "undo", None, undoes=last.id), 10, "bob", "u")])
    assert not record.is_conflict(1)
    assert record.ruling(1).reviewer == "ann"


def test_the_latest_decisions_are_those_that_still_hold():
    record = ruled(
        ("ann", "a", [proposal(1)]),
        ("ann", "b", [proposal(2, "unsure", None)]),
        ("ann", "c", [proposal(1, "keep", "dog")]),
    )
    assert [entry.action for entry in record.latest(20, "suspects")] == ["keep"]
    assert record.latest(20, "random") == []


WRITER = """
import sys
from pathlib import Path
from pivotal.review._journal import Journal, Proposal
journal = Journal(Path(sys.argv[1]), {"fingerprint": "abc", "table": "t", "label": "y", "rows": "9"})
for number in range(100000):
    rows = [Proposal(10 * number + i, "fix", "a", "b", "b", 0.9, 0.1, "suspects", "n" * 500) for i in range(7)]
    journal.append(rows, reviewer="ann", batch=str(number))
    print(number, flush=True)
"""


@pytest.mark.faults
@pytest.mark.parametrize("delay", [0.02, 0.11, 0.27, 0.4, 0.63])
def test_a_killed_process_loses_at_most_the_decision_in_flight(tmp_path, opened, delay):
    path = tmp_path / "j.db"
    environment = {**os.environ, "PYTHONPATH": str(Path(sys.modules["pivotal"].__file__).parents[1])}
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        first = writer.stdout.readline()
        time.sleep(delay)
        writer.send_signal(signal.SIGKILL)
        told = [int(line) for line in [first, *writer.stdout.read().splitlines()] if line.strip().isdigit()]
    journal = opened(path)
    entries = journal.since(0)
    batches = [int(batch) for batch in dict.fromkeys(entry.batch for entry in entries)]
    assert batches == list(range(len(batches)))
    assert len(entries) == 7 * len(batches)  # whole batches only
    assert told[-1] + 1 <= len(batches) <= told[-1] + 2  # all that was answered, and at most the one in flight
    assert len(journal.append([proposal(1)], reviewer="ann", batch="after")) == 1
