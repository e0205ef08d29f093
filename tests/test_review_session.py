"""A review from the table to the cleaned table, without a browser: decisions, queues, exports, and who may ask."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("starlette", reason="Starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

import pivotal
from pivotal.analysis.label_errors import find_with_voters
from pivotal.cli import main
from pivotal.review import ReviewService, Server, _estimate, review
from pivotal.review._checks import check_rows, findings_of
from pivotal.review._estimate import estimate_left, log_odds, suggest_stop, together
from pivotal.review._export import Outputs, decisions_frame
from pivotal.review._guard import POLICY
from pivotal.review._journal import JournalError
from pivotal.review._queues import Query, first_by_score
from pivotal.review._session import Session
from pivotal.review._subject import Classes, Subject, fingerprint_of_arrays
from pivotal.review._views import Views

N = 240
WRONG = [3, 40, 77, 120, 200]
HOSTILE = "</script><img src=x onerror=alert(1)>"


def data(seed=0):
    rng = np.random.default_rng(seed)
    true = np.repeat(["cat", "dog", "fox"], N // 3)
    X = rng.normal(size=(N, 4)) + 6.0 * np.eye(4)[np.repeat([0, 1, 2], N // 3)]
    given = true.copy()
    for row in WRONG:
        given[row] = {"cat": "dog", "dog": "fox", "fox": "cat"}[true[row]]
    return X, given, true


def subject(**more):
    X, given, _ = data()
    found = find_with_voters(X, given, k=5, n_trees=0)
    return Subject("rows", X, *found, fingerprint_of_arrays(X, given), **more)


@pytest.fixture
def session(tmp_path):
    one = Session(subject(), tmp_path / "j.db")
    yield one
    one.close()


def decide(session, rows, action, label=None, reviewer="ann", note="", queue="suspects"):
    batch = f"{reviewer} {session.record.last} {action}"
    return session.decide(rows, action, label=label, reviewer=reviewer, batch=batch, note=note, queue=queue)


def test_the_queue_begins_with_the_planted_errors(session):
    total, rows = session.select(Query())
    assert set(WRONG) <= set(rows.tolist())
    assert total == len(rows) == len(session.subject.errors.suspects)
    assert (np.diff(session.scores.scores[rows]) >= 0).all()


def test_a_decision_leaves_the_queue_and_what_it_touches_is_computed_again(session):
    before = session.live.accuracy
    _, rows = session.select(Query())
    for row in rows.tolist():
        decide(session, [row], "fix")
    _, left = session.select(Query())
    assert not set(rows.tolist()) & set(left.tolist())
    assert session.live.accuracy > before
    labels = np.array(session.classes.names)[session.live.codes]
    fresh = pivotal.value(session.subject.X, labels, k=5, utility="soft").values
    assert session.live.values() == pytest.approx(fresh, abs=1e-11)
    assert labels[WRONG].tolist() == data()[2][WRONG].tolist()


def test_every_action_does_what_it_says(session):
    decide(session, [0], "keep")
    decide(session, [1], "label", label="fox")
    decide(session, [2], "drop")
    decide(session, [3], "unsure")
    decide(session, [4], "note", note="odd")
    names = np.array(session.classes.names)[session.live.codes]
    assert names[[0, 1, 3, 4]].tolist() == ["cat", "fox", "dog", "cat"]
    assert not session.live.alive[2]
    assert session.decided[[0, 1, 2, 3, 4]].tolist() == [True, True, True, True, False]
    assert session.record.note(4) == "odd"
    assert session.select(Query(kind="unsure"))[1].tolist() == [3]
    assert session.select(Query(kind="decided"))[1].tolist() == [3, 2, 1, 0]


def test_fixing_to_the_given_label_is_keeping_it(session):
    (entry,) = decide(session, [10], "fix")
    assert (entry.action, entry.label) == ("keep", "cat")


def test_undo_is_unlimited_and_restores_everything(session):
    first = (session.live.values(), session.scores.scores.copy(), session.scores.suspect.copy())
    decide(session, [3, 40], "fix")
    decide(session, [77], "drop")
    decide(session, [5], "label", label="owl")
    for number in range(3):
        assert session.undo(reviewer="ann", batch=f"undo {number}")
    assert session.undo(reviewer="ann", batch="undo 4") == []
    assert session.live.values() == pytest.approx(first[0], abs=1e-15)
    assert session.scores.scores == pytest.approx(first[1], abs=1e-12)
    assert np.array_equal(session.scores.suspect, first[2])
    assert not session.decided.any()


def test_all_voters_are_asked_again_about_the_table_as_it_is(tmp_path):
    X, _, true = data()
    asked = []

    def look(rows, labels):
        asked.append((rows, labels))
        return find_with_voters(X[rows], labels, k=5, n_trees=20)

    one = Session(subject(look=look), tmp_path / "j.db")
    with pytest.raises(ValueError, match="cannot be asked again"):
        Session(subject(), tmp_path / "other.db").ask_again()
    decide(one, WRONG[:4], "fix")
    decide(one, [7], "drop")
    decide(one, [8], "label", label="owl")
    before = one.mark
    one.ask_again()
    assert one.mark != before
    rows, labels = asked[0]
    assert 7 not in rows
    assert labels[rows.tolist().index(8)] == "owl"
    assert labels[[rows.tolist().index(row) for row in WRONG[:4]]].tolist() == true[WRONG[:4]].tolist()
    fresh = pivotal.find_label_errors(X[rows], labels, k=5, n_trees=20)
    assert one.scores.scores[rows] == pytest.approx(fresh.scores, abs=1e-6)
    assert set(np.flatnonzero(one.scores.suspect)) == set(rows[fresh.suspects])
    for number in range(3):
        one.undo(reviewer="ann", batch=f"u{number}")  # the table as given, judged by the new opinion and neighbours
    assert one.live.codes.tolist() == one.classes.given.tolist()
    one.close()


def test_starting_again_goes_on(tmp_path, session):
    decide(session, [3], "fix")
    decide(session, [7], "drop")
    decide(session, [8], "label", label="a new label")
    again = Session(subject(), tmp_path / "j.db")
    assert np.array_equal(again.live.codes, session.live.codes)
    assert np.array_equal(again.live.alive, session.live.alive)
    assert again.live.values() == pytest.approx(session.live.values(), abs=1e-15)
    assert again.classes.names == session.classes.names
    again.close()
    X, given, _ = data(seed=1)
    other = Subject("rows", X, *find_with_voters(X, given, k=5, n_trees=0), fingerprint_of_arrays(X, given))
    with pytest.raises(JournalError, match="other content"):
        Session(other, tmp_path / "j.db")


def test_two_sessions_on_one_journal_see_each_others_decisions(tmp_path, session):
    other = Session(subject(), tmp_path / "j.db")
    decide(session, [3], "fix")
    decide(other, [3], "drop", reviewer="bob")
    session.sync()
    assert not session.live.alive[3]
    assert session.record.conflicts() == other.record.conflicts() == [3]
    assert session.select(Query(kind="second", reviewer="ann"))[1].tolist() == []
    decide(session, [4], "keep")
    other.sync()
    assert other.select(Query(kind="second", reviewer="bob"))[1].tolist() == [4]
    strip = Views(session).strip()
    assert strip["conflicts"] == 1
    assert strip["agreement"][0]["share"] == 0.0
    other.close()


@pytest.mark.parametrize(
    ("action", "label", "message"),
    [("burn", None, "action must be"), ("undo", None, "action must be"), ("label", "  ", "must have a name")],
)
def test_decisions_that_make_no_sense_write_nothing(session, action, label, message):
    with pytest.raises(ValueError, match=message):
        decide(session, [1], action, label)
    with pytest.raises(ValueError, match="at least two rows"):
        decide(session, list(range(N - 1)), "drop")
    assert session.record.last == 0


def test_filters(session):
    everything = session.select(Query(kind="all"))[0]
    assert everything == N
    given = session.select(Query(kind="all", given="cat"))[1]
    assert (session.subject.errors.given[given] == "cat").all()
    assert session.select(Query(kind="all", given="no such label"))[0] == 0
    assert session.select(Query(kind="all", rows=(5, 6)))[0] == 2
    assert session.select(Query(kind="all", search="17"))[1].tolist() == [17]
    sure = session.select(Query(confidence=0.99))[1]
    assert (session.scores.confidence[sure] >= 0.99).all()
    with pytest.raises(ValueError, match="kind must be one of"):
        session.select(Query(kind="nothing"))


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"kind": 3},
        {"confidence": 2},
        {"confidence": True},
        {"rows": [N]},
        {"rows": ["1"]},
        {"rows": [True]},
        {"rows": 5},
    ],
)
def test_queries_that_make_no_sense_are_refused(content):
    with pytest.raises(ValueError, match="must be"):
        Query.of(content, N)


def test_the_first_by_score_are_those_of_a_whole_sort():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 30, 5000) / 30.0
    chosen = rng.random(5000) < 0.8
    rows = np.flatnonzero(chosen)
    expected = rows[np.argsort(scores[rows], kind="stable")]
    for most in (1, 10, 200, 4000):
        assert np.array_equal(first_by_score(chosen, scores, most)[:most], expected[:most])


def test_a_page_far_down_a_queue(session):
    views = Views(session)
    whole = [item["row"] for item in views.queue(Query(kind="all"), 0, 240)["items"]]
    for offset in (0, 17, 230, 239):
        page = views.queue(Query(kind="all"), offset, 20)
        assert [item["row"] for item in page["items"]] == whole[offset : offset + 20]
    assert views.queue(Query(kind="all"), 10_000, 5)["items"][0]["row"] == whole[-1]
    assert views.queue(Query(kind="unsure"), 5, 5) == {"total": 0, "offset": 0, "items": []}


def test_confusions_count_the_queue(session):
    told = Views(session).confusion(Query())
    assert sum(cell["count"] for cell in told["cells"]) == told["total"] == session.select(Query())[0]


def test_findings_of_a_check_up_are_further_queues(tmp_path):
    X, given, _ = data()
    X[10], X[90] = X[11], X[91]
    given[10], given[11] = "cat", "fox"
    X[50] += 500.0
    found = pivotal.check(X, given, X[[30, 31]], ids=[f"r{row}" for row in range(N)])
    findings = findings_of(found)
    names = [one.name for one in findings]
    assert {"check-conflicts", "check-duplicates", "check-outliers", "check-leakage"} <= set(names)
    assert not {"check-label_errors", "check-order"} & set(names)
    one = Session(
        Subject("rows", X, *find_with_voters(X, given, k=5, n_trees=0), "f", findings=findings), tmp_path / "j.db"
    )
    views = Views(one)
    assert {"check-conflicts", "conflicts"} <= {queue["name"] for queue in views.about()["queues"]}
    assert one.select(Query(kind="check-conflicts"))[1].tolist() == [10, 11]
    assert set(one.select(Query(kind="check-duplicates"))[1].tolist()) == {10, 11, 90, 91}
    assert one.select(Query(kind="check-outliers"))[1][0] == 50
    reasons = {one["title"]: one["text"] for one in views.item(10)["reasons"]}
    assert reasons["Duplicates with different labels"] == "Together with r11 (fox)."
    assert "Test row 0" in views.item(30)["reasons"][0]["text"]
    before = views.strip()["findings"]["check-duplicates"]
    decide(one, [90], "drop", queue="check-duplicates")
    assert views.strip()["findings"]["check-duplicates"] == before - 1 == 3
    assert 90 not in one.select(Query(kind="check-duplicates"))[1]
    one.close()
    alone = check_rows(X, given, None, n_jobs=1)
    assert {"check-conflicts", "check-duplicates", "check-outliers"} <= {one.name for one in alone}
    with pytest.raises(ValueError, match="must have the same length"):
        review(pivotal.find_label_errors(X[:50], given[:50], n_trees=0), X[:50], check=found, open_page=False)


def test_random_rows_are_no_suspects_and_tell_what_was_missed(session):
    _, rows = session.select(Query(kind="random"))
    assert not session.scores.suspect[rows].any()
    assert len(rows) + session.scores.suspect.sum() == N
    decide(session, rows[:20].tolist(), "keep", queue="random")
    left = Views(session).strip()["left"]
    assert left["sampled"] == 20
    assert left["high"] > left["count"]


def test_new_labels_have_the_type_of_the_others():
    integers = Classes(np.array([1, 2, 3, 2]))
    integers.check_new("7")
    assert integers.label("7") == 7
    assert integers.names == ["1", "2", "3", "7"]
    with pytest.raises(ValueError, match="got 'seven'"):
        integers.check_new("seven")
    assert Classes(np.array(["a", "b"])).label("c") == "c"
    with pytest.raises(ValueError, match="read differently"):
        Classes(np.array([1, "1"], dtype=object))


# ---------------------------------------------------------------------------------------------------------- estimates


def test_estimates_follow_the_decisions():
    odds = np.linspace(3.0, 0.5, 100)
    nothing = np.empty(0)
    first, others = estimate_left(odds, nothing, nothing, 1000, (0, 0))
    assert others is None
    right, _ = estimate_left(odds, np.linspace(4, 3, 40), np.zeros(40), 1000, (0, 0))
    wrong, _ = estimate_left(odds, np.linspace(4, 3, 40), np.ones(40), 1000, (0, 0))
    assert right.count < first.count < wrong.count
    assert right.high - right.low < first.high - first.low
    assert estimate_left(nothing, nothing, nothing, 0, (0, 0))[0].count == 0.0
    _, sampled = estimate_left(odds, nothing, nothing, 1000, (50, 0))
    assert (sampled.count, sampled.low) == (0.0, 0.0)
    assert 20 < sampled.high < 100
    whole = together(first, sampled)
    assert whole.low <= whole.count <= whole.high
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()


def test_intervals_cover_what_is_left():
    """Suspects are decided worst first; how many of the others are wrong lies in the interval as often as it says."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        odds = np.sort(rng.uniform(0.7, 3.5, 300))[::-1]
        intercept, slope = rng.multivariate_normal(_estimate._PRIOR_MEAN, _estimate._PRIOR_COVARIANCE)
        chance = 1 / (1 + np.exp(-intercept - slope * (odds - _estimate._MIDDLE)))
        wrong = (rng.random(300) < chance).astype(float)
        seen = int(rng.integers(20, 150))
        left, _ = estimate_left(odds[seen:], odds[:seen], wrong[:seen], 0, (0, 0))
        covered += left.low <= wrong[seen:].sum() <= left.high
    assert covered >= 0.9 * 200


def test_intervals_cover_what_is_left_where_the_chance_does_not_follow_the_odds():
    """As many wrong labels among the last suspects as the last decisions found, though the odds promise none."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        odds = np.sort(rng.uniform(0.7, 3.5, 150))[::-1]
        chance = np.where(np.arange(150) < 80, 0.97, rng.uniform(0.02, 0.15))
        wrong = (rng.random(150) < chance).astype(float)
        left, _ = estimate_left(odds[120:], odds[:120], wrong[:120], 0, (0, 0))
        assert left.low <= left.count <= left.high
        covered += np.floor(left.low) <= wrong[120:].sum() <= np.ceil(left.high)
    assert covered >= 0.93 * 200


@pytest.mark.parametrize(
    ("left", "latest", "stop"),
    [(10, (5, 0), False), (10, (20, 10), False), (10, (20, 1), True), (10, (20, 0), True), (0, (3, 3), True)],
)
def test_when_to_stop(left, latest, stop):
    assert bool(suggest_stop(left, latest, 0)) is stop


# ------------------------------------------------------------------------------------------------------------- server


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "j.db"
    service = ReviewService(lambda told: _prepared(path, told), "ann")
    with Server(service) as server:
        assert service.ready.wait(60)
        yield server, service


def _prepared(path, told):
    session = Session(subject(text=[HOSTILE] * N), path, report_progress=told)
    return session, Outputs(session)


def send(server, path, content=None, *, headers=None, method=None, token=None):
    """Send one request as the page would, with some headers changed; None omits a header."""
    parts = urlsplit(server.url)
    method = method or ("GET" if content is None else "POST")
    usual = {"Host": parts.netloc, "Origin": f"http://{parts.netloc}" if method == "POST" else None}
    usual |= {"Content-Type": "application/json"} if content is not None else {}
    body = None if content is None else json.dumps(content)
    usual |= {} if body is None else {"Content-Length": str(len(body.encode()))}
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    try:
        connection.putrequest(
            method, f"/{token or parts.path.strip('/')}/{path}", skip_host=True, skip_accept_encoding=True
        )
        for name, text in {**usual, **(headers or {})}.items():
            if text is not None:
                connection.putheader(name, text)
        connection.endheaders(None if body is None else body.encode())
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


PERSON = {"reviewer": "ann", "queue": "suspects"}
QUEUE = {"query": {}, "offset": 0, "limit": 3}


def test_the_page_and_its_files_are_served_with_a_strict_policy(served):
    server, _ = served
    status, body, headers = send(server, "")
    assert status == 200
    assert b'<script type="module"' in body
    for name, content in {
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
    }.items():
        assert headers[name] == content
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert send(server, "assets/main.js")[0] == 200
    assert send(server, "assets/echarts.min.js")[0] == 200
    for path in ("assets/../_guard.py", "assets/..%2f_guard.py", "assets/README.md", "etc/passwd", "out/..%2fj.db"):
        assert send(server, path)[0] in (404, 405)


def test_nothing_is_answered_without_the_token(served):
    server, _ = served
    token = urlsplit(server.url).path.strip("/")
    assert len(token) >= 43
    for wrong in ("x", token[:-1], token + "a", token.swapcase(), "%2e%2e"):
        for path in ("", "api/about", "out/decisions"):
            status, body, _ = send(server, path, token=wrong)
            assert status == 404
            assert b"cat" not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example", "", None])
def test_other_names_are_refused(served, host):
    """A page of another site that rebinds its name to 127.0.0.1 reaches the server under that name."""
    status, body, _ = send(served[0], "api/about", headers={"Host": host})
    assert status in (400, 421)
    assert b"cat" not in body


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", None, "http://localhost:1"])
def test_other_origins_cannot_decide(served, origin):
    server, service = served
    before = service.session.record.last
    decision = {**QUEUE, "rows": [1], "action": "drop", "reviewer": "eve", "batch": "evil", "queue": "suspects"}
    assert send(server, "api/decide", decision, headers={"Origin": origin})[0] == 403
    assert send(server, "api/queue", QUEUE, headers={"Origin": origin})[0] == 403
    assert service.session.record.last == before


def test_requests_that_a_browser_says_come_from_another_site_are_refused(served):
    for site in ("cross-site", "same-site"):
        assert send(served[0], "api/about", headers={"Sec-Fetch-Site": site})[0] == 403
        assert send(served[0], "api/queue", QUEUE, headers={"Sec-Fetch-Site": site})[0] == 403
    assert send(served[0], "", headers={"Sec-Fetch-Site": "none"})[0] == 200
    assert send(served[0], "api/about", headers={"Sec-Fetch-Site": "same-origin"})[0] == 200
    assert send(served[0], "api/about", headers={"Origin": "http://evil.example"})[0] == 403


def test_other_methods_and_large_requests_are_refused(served):
    server, _ = served
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert send(server, "api/queue", method=method)[0] == 405
    assert send(server, "api/queue", QUEUE, headers={"Content-Length": str(2**30)})[0] == 413
    assert send(server, "api/queue", QUEUE, headers={"Content-Length": None, "Transfer-Encoding": "chunked"})[0] in (
        400,
        413,
    )


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"query": None},
        {**QUEUE, "limit": -1},
        {**QUEUE, "open": N},
        {**QUEUE, "open": "1"},
        {"query": {"kind": "x"}},
    ],
)
def test_nonsense_is_one_sentence(served, content):
    status, body, _ = send(served[0], "api/queue", content)
    assert status == 400
    assert json.loads(body)["error"]


def test_deciding_through_the_server(served):
    server, service = served
    decision = {
        **QUEUE,
        "rows": [3],
        "action": "fix",
        "reviewer": "ann",
        "batch": "b1",
        "queue": "suspects",
        "note": HOSTILE,
    }
    status, body, _ = send(server, "api/decide", decision)
    answer = json.loads(body)
    assert (status, answer["written"]) == (200, 1)
    assert json.loads(send(server, "api/decide", decision)[1])["written"] == 0  # sent twice, taken once
    assert answer["strip"]["decided"] == 1
    assert len(answer["queue"]["items"]) <= 3
    assert len(body) < 50_000
    assert service.session.record.ruling(3).label == "cat"
    assert send(server, "api/decide", {**decision, "reviewer": "", "batch": "b2"})[0] == 400
    assert send(server, "api/decide", {**decision, "rows": [], "batch": "b3"})[0] == 400
    item = json.loads(send(server, "api/item/3")[1])
    assert item["full_text"] == HOSTILE
    assert item["history"][0]["note"] == HOSTILE
    assert send(server, "api/item/999")[0] == 400
    undone = json.loads(send(server, "api/undo", {**QUEUE, "reviewer": "ann", "batch": "u1"})[1])
    assert undone["undone"] == [3]
    assert send(server, "out/decisions")[2]["content-disposition"] == 'attachment; filename="decisions.csv"'
    assert send(server, "out/cleaned")[0] == 404  # there is no table here
    page = send(server, "out/before-after")[1].decode()
    assert HOSTILE not in page


def test_a_journal_that_cannot_be_written_takes_no_decision_and_says_so(served):
    server, service = served
    base = service.session.journal._base
    before = json.loads(send(server, "api/strip")[1])
    base.execute(f"PRAGMA max_page_count = {base.execute('PRAGMA page_count').fetchone()[0]}")
    try:
        decision = {**QUEUE, **PERSON, "rows": list(range(N)), "action": "keep", "batch": "full", "note": "why " * 300}
        status, answer, _ = send(server, "api/decide", decision)
    finally:
        base.execute("PRAGMA max_page_count = 1000000")
    assert status == 507
    assert "disk is full" in json.loads(answer)["error"]
    assert "was not taken" in json.loads(answer)["error"]
    assert json.loads(send(server, "api/strip")[1]) == before
    assert send(server, "api/decide", {**decision, "rows": [0]})[0] == 200  # once there is room again
    send(server, "api/undo", {**QUEUE, **PERSON, "batch": "taken back"})


def test_the_filters_of_a_query_choose_the_points_of_the_map(served):
    server, service = served
    name = service.session.classes.names[0]
    every = json.loads(send(server, "api/map", {"query": {}})[1])
    some = json.loads(send(server, "api/map", {"query": {"kind": "suspects", "given": name}})[1])
    matches = np.frombuffer(base64.b64decode(some["matches"]["data"]), np.uint8)
    assert some["rows"] == every["rows"]
    assert set(base64.b64decode(every["matches"]["data"])) == {1}
    assert matches.tolist() == (service.session.classes.given == 0).astype(int).tolist()
    assert some["ids"] == [str(row) for row in range(N)]


def test_the_machine_itself_is_all_that_the_server_listens_to(served):
    server, _ = served
    assert urlsplit(server.url).hostname == "127.0.0.1"
    assert not server.is_public
    assert server._socket.getsockname()[0] == "127.0.0.1"


def test_small_answers_are_sent_at_once(served):
    """Otherwise every answer waits for the other side to acknowledge its headers, which takes 40 ms on Linux."""
    assert served[0]._socket.proto == socket.IPPROTO_TCP


def test_a_taken_port_is_one_sentence(served):
    with pytest.raises(OSError, match="is taken; choose another"):
        Server(ReviewService(lambda _: None, "x"), port=served[0].port)


# ------------------------------------------------------------------------------------------------- python and shell


def test_reviewing_in_python_returns_the_decisions_when_the_page_is_closed(tmp_path):
    X, given, true = data()
    errors = pivotal.find_label_errors(X, given, k=5, n_trees=0)
    frame = pd.DataFrame({"size": X[:, 0], "colour": ["red", None] * (N // 2)})

    def person(url):
        def work():
            server = type("Address", (), {"url": url})()
            for _ in range(200):
                if json.loads(send(server, "api/progress")[1])["ready"]:
                    break
                time.sleep(0.05)
            send(server, "api/pulse?page=p1")
            decision = {**QUEUE, "rows": WRONG, "action": "fix", "reviewer": "ann", "batch": "b", "queue": "suspects"}
            assert send(server, "api/decide", decision)[0] == 200
            item = json.loads(send(server, "api/item/3")[1])
            assert [cell["name"] for cell in item["cells"]]
            send(server, "api/finish", {})

        threading.Thread(target=work).start()

    found = errors.review(
        X, frame=frame, truth=true, journal=tmp_path / "j.db", reviewer="ann", open_page=False, opened=person
    )
    assert found["row"].tolist() == WRONG
    assert found["to"].tolist() == true[WRONG].tolist()
    assert found["holds"].all()
    with pytest.raises(ValueError, match="must have the same length"):
        review(errors, X[:5], open_page=False)


@pytest.fixture
def table(tmp_path):
    """A table with a byte-order mark, another delimiter, quotes and Windows line ends."""
    X, given, true = data()
    lines = ["a;b;c;d;Notiz;y;true"]
    for row in range(N):
        cells = [f"{number:.4f}" for number in X[row]]
        lines.append(";".join([*cells, f'"é; {row}"', given[row], true[row]]))
    path = tmp_path / "train.csv"
    path.write_bytes(b"\xef\xbb\xbf" + ("\r\n".join(lines) + "\r\n").encode())
    return path


def run_review(table, decisions, *options):
    """Run the command in a process of its own, decide as a page would, and finish."""
    environment = {"PYTHONPATH": str(Path(pivotal.__file__).parents[1])}

    command = [
        sys.executable,
        "-m",
        "pivotal",
        "review",
        str(table),
        "--label",
        "y",
        "--no-open",
        "--trees",
        "0",
        "-k",
        "5",
    ]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        line = process.stdout.readline()
        server = type("Address", (), {"url": line.split()[-1]})()
        while not json.loads(send(server, "api/progress")[1])["ready"]:
            time.sleep(0.05)
        answers = [
            json.loads(
                send(server, "api/decide", {**QUEUE, "reviewer": "ann", "batch": str(i), "queue": "suspects", **one})[1]
            )
            for i, one in enumerate(decisions)
        ]
        cleaned = send(server, "out/cleaned")
        send(server, "api/finish", {})
        said = process.stdout.read()
        assert process.wait(30) == 0
    return answers, cleaned, said


def test_from_the_table_to_the_cleaned_table(table, tmp_path, capsys):
    before = table.read_bytes()
    out, decisions, page = (tmp_path / name for name in ("cleaned.csv", "decisions.csv", "page.html"))
    taken = [
        {"rows": [3, 40], "action": "fix", "note": "looked at it"},
        {"rows": [77], "action": "label", "label": "owl"},
        {"rows": [120], "action": "drop"},
        {"rows": [0], "action": "keep"},
    ]
    answers, (status, downloaded, headers), said = run_review(
        table, taken, "--truth", "true", "-o", str(out), "--decisions", str(decisions), "--report", str(page)
    )
    assert all(answer["written"] for answer in answers)
    assert "5 decided: 3 labels changed, 1 rows dropped, 1 kept" in said
    assert "Of 5 wrong labels that were planted, 4 were caught, 2 of them with the right label" in said
    assert table.read_bytes() == before
    lines = before.split(b"\r\n")
    expected = [line for place, line in enumerate(lines) if place != 121]
    for row, to in ((3, b"cat"), (40, b"cat"), (77, b"owl")):
        cells = lines[row + 1].split(b";")
        cells[-2] = to
        expected[row + 1] = b";".join(cells)
    assert out.read_bytes() == b"\r\n".join(expected)  # to the byte: mark, delimiter, quotes, line ends
    assert (status, downloaded) == (200, out.read_bytes())
    assert headers["content-disposition"] == 'attachment; filename="cleaned.csv"'
    frame = pd.read_csv(decisions)
    assert frame["row"].tolist() == [3, 40, 77, 120, 0]
    assert frame["to"].fillna("").tolist() == ["cat", "cat", "owl", "", "cat"]
    assert frame["why"].fillna("").tolist()[:2] == ["looked at it"] * 2
    assert "before and after" in page.read_text()
    again = tmp_path / "again.csv"
    assert (
        main(["clean", str(table), "--label", "y", "--ignore", "true", "--apply", str(decisions), "--fix", str(again)])
        == 0
    )
    assert again.read_bytes() == out.read_bytes()
    assert "3 labels changed, 1 rows dropped" in capsys.readouterr().out


def test_decisions_about_another_table_are_not_applied(table, tmp_path, capsys):
    decisions = tmp_path / "d.csv"
    out = tmp_path / "out.csv"
    apply = ["clean", str(table), "--label", "y", "--apply", str(decisions), "--fix", str(out)]
    for content, message in (
        ("row,action,from,to\n0,fix,dog,cat\n", "about another table"),
        ("row,action,from,to\n999,fix,dog,cat\n", "must be an integer from 0"),
        ("row,action,from,to\nx,fix,dog,cat\n", "must be an integer from 0"),
        ("row,action,from,to\n0,burn,cat,cat\n", "an action of"),
        ("row,action,from,to\n0,fix,cat,\n", "no label to change to"),
        ("row,action\n0,fix\n", "must have the columns"),
    ):
        decisions.write_text(content)
        assert main(apply) == 2
        assert message in capsys.readouterr().err
        assert not out.exists()
    decisions.write_text("row,action,from,to\n0,fix,cat,dog\n0,keep,cat,cat\n1,note,cat,\n")
    assert main(apply) == 0
    assert out.read_bytes() == table.read_bytes()  # the last word holds
    assert main([*apply, "--check"]) == 2


def test_what_the_command_cannot_do_is_one_sentence(tmp_path, table, capsys):
    assert main(["review", str(table), "--label", "nothing"]) == 2
    assert "no column 'nothing'" in capsys.readouterr().err
    assert main(["review", str(table), "--label", "y", "--port", "99999"]) == 2
    assert main(["review", str(table), "--label", "y", "--truth", "nothing"]) == 2
    capsys.readouterr()
    (tmp_path / "train.csv.review.db").write_bytes(b"no journal" * 600)
    assert main(["review", str(table), "--label", "y", "--no-open", "--quiet", "--trees", "0"]) == 2
    said = capsys.readouterr()
    assert "not a journal of pivotal review" in said.err
    assert "Review at" not in said.out  # before the work, and before there is a page


def test_the_decisions_of_a_session_as_a_frame(session):
    decide(session, [3], "fix")
    decide(session, [3], "keep", reviewer="bob", note="no")
    decide(session, [4], "drop")
    session.undo(reviewer="ann", batch="u")
    decide(session, [3, 5], "note", note="a hint")
    frame = decisions_frame(session)
    assert frame["action"].tolist() == ["fix", "keep", "note", "note"]
    assert frame["why"].tolist() == ["a hint", "no", "a hint", "a hint"]
    frame = frame[frame["action"] != "note"]
    assert frame["row"].tolist() == [3, 3]
    assert frame["holds"].tolist() == [False, True]
    assert frame["reviewer"].tolist() == ["ann", "bob"]
