"""What the grid's lines say, for every state of a cell and a pass and every size."""

import time

import pytest
from rich.cells import cell_len

from accuracy_tui.benchmark import Query
from accuracy_tui.runner import ModelFailed, ModelProgress
from accuracy_tui.ui.grid_layout import GAP, first_column, lay_out
from accuracy_tui.ui.grid_lines import GridLines, middle_cut
from accuracy_tui.ui.pass_text import duration, pass_sentence, pass_text, share_done
from accuracy_tui.worker_events import (
    CancelledPass,
    Done,
    EmbeddingWindows,
    Failed,
    Loading,
    ModelWaiting,
    NotRun,
    SavedRun,
    Searching,
    Waiting,
)
from sentrysearch import passes
from support.grids import open_session
from support.runs import ranked, window

VAN, BUS, ROAD = Query("van", "fine"), Query("a bus \x1b[31m[b]", "fine"), Query("road", "floor")
QUERIES = (VAN, BUS, ROAD)


@pytest.fixture
def session(tmp_path):
    runs = {
        "a": {query: [window(0), window(1), window(2)] for query in QUERIES},
        "b": {VAN: [window(1), window(3)], BUS: "service down"},  # ROAD was added later
    }
    with open_session(tmp_path, runs, QUERIES, models=("c",)) as opened:
        yield opened


def lines_of(session, width=80, height=30, model="a", query=None, hit=0, queries=None, grouped=True):
    """Header and rows as text, and the parts they were made of."""
    lines = GridLines(session)
    lines.show(session.queries if queries is None else queries, grouped=grouped)
    lines.fit(width, height)
    header = [list(lines.header(line, model)) for line in range(lines.layout.header)]
    rows = [
        list(lines.row(row, model, hit if row == lines.row_of.get(query) else None))
        for row in range(len(lines.rows))
    ]
    parts = [*header, *rows]
    return ["".join(text for text, _ in line) for line in parts], parts


def columns_of(line, start, stride):
    return [line[at : at + stride].rstrip() for at in range(start, len(line.rstrip()), stride)]


def test_rows_are_queries_by_group_and_columns_are_models(session):
    session.put("van", window(1), True)
    session.put("van", window(0), False)
    text, _ = lines_of(session, 120)
    at = text[0].index("a ")
    stride = text[0].index("b ") - at
    assert columns_of(text[0], at, stride) == ["a", "b", "c"]
    assert text[2].startswith(" P@1 fine")
    assert text[8].startswith(" ── fine · 2 ──")
    assert text[9].startswith(" van ")
    assert columns_of(text[9], at, stride) == ["○●·––  0.20–0.40", "●·–––  0.20–0.40"]
    assert text[11].startswith(" ── floor · 1 ──")


def test_cells_without_hits_say_why(session):
    session.apply(ModelWaiting("c"))
    session.apply(ModelProgress("c", passes.Searched("van", ranked([window(7)]))))
    text, _ = lines_of(session, 120)
    at = text[0].index("a ")
    stride = text[0].index("b ") - at
    _, fine, van, bus, _, road = text[7:]
    assert fine.startswith(" ── fine")
    assert columns_of(van, at, stride)[2] == "·––––  0.00–0.20"
    assert columns_of(bus, at, stride)[1:] == ["! failed", "…"]
    assert columns_of(road, at, stride)[1:] == ["not searched", "…"]


def test_text_from_outside_is_shown_as_it_is_without_control_characters(session):
    text, _ = lines_of(session)
    assert any(line.startswith(r" a bus \x1b[31m[b]") for line in text)
    assert not any("\x1b" in line for line in text)


def test_numbers_keep_their_place_whatever_they_are(session):
    before, _ = lines_of(session, 120)
    for query in QUERIES:
        for number in range(4):
            session.put(query.text, window(number), number == 1)
    after, _ = lines_of(session, 120)
    at = before[2].index("0.00–1.00")
    assert after[2][at : at + 4] == "0.00"
    assert "–" not in after[2][at : at + 9]
    van = before[9].index("0.00–0.60")
    assert after[9][van : van + 9].rstrip() == "0.20"


def test_the_best_of_a_row_is_marked_only_where_the_bounds_settle_it(session):
    assert "★" not in lines_of(session, 120)[0][2]
    for query in QUERIES:
        session.put(query.text, window(0), True)
        session.put(query.text, window(1), False)
    text, parts = lines_of(session, 120)
    assert text[2].count("★") == 1  # P@1 fine: a has 1.00, b 0.00
    marked = next(part for part in parts[2] if "★" in part.text)
    assert marked.style == "best"
    assert text[2].index("★") == text[2].index("1.00") - 2


def test_judged_is_a_share_that_is_whole_only_when_nothing_is_left(session):
    def judged():
        return lines_of(session, 120)[0][7]

    assert judged().startswith(" Judged@5") and "0 %" in judged()
    for query in QUERIES:
        for number in range(3):
            assert "100 %" not in judged()
            session.put(query.text, window(number), True)
    assert "100 %" in judged()


def test_the_cursor_is_seen_without_colour(session):
    _, parts = lines_of(session, 120, model="a", query="van", hit=1)
    line = next(line for line in parts if line[0].text.startswith("▸"))
    assert line[0].text.startswith("▸van")
    chosen = [part for part in line if "chosen" in part.style]
    assert [part.text for part in chosen] == ["·"] and line.index(chosen[0]) == 2
    _, parts = lines_of(session, 120, model="c", query="van")  # no run: a block where the glyphs would be
    line = next(line for line in parts if line[0].text.startswith("▸"))
    assert [part.text for part in line if "chosen" in part.style] == [" "]
    assert [part.text for part in parts[0] if "here" in part.style] == ["c"]


def test_more_ranks_than_there_is_room_for_follow_the_chosen_one(tmp_path):
    found = {VAN: [window(number) for number in range(20)]}
    with open_session(tmp_path, {"a": found}, [VAN], k=20) as session:
        session.put("van", window(18), True)
        text, _ = lines_of(session, query="van", hit=0)
        assert "·" * 12 + "  0.05–1.00" in text[-1]
        text, parts = lines_of(session, query="van", hit=18)
        assert "·" * 10 + "●·" + "  0.05–1.00" in text[-1]
        assert [part.text for part in parts[-1] if "chosen" in part.style] == ["●"]


def test_a_hit_below_rank_k_is_pointed_at_beside_the_glyphs(tmp_path):
    found = {VAN: [window(number) for number in range(5)]}
    with open_session(tmp_path, {"a": found}, [VAN], k=5) as session:
        session.grid.k = 3  # a run may go deeper than the benchmark does today
        _, parts = lines_of(session, query="van", hit=4)
        assert [part.text for part in parts[-1] if "chosen" in part.style] == ["›"]


@pytest.mark.parametrize(("width", "height"), [(80, 14), (80, 24), (120, 30), (200, 50), (38, 10), (20, 6)])
@pytest.mark.parametrize("k", [1, 5, 10, 30])
def test_every_line_fits_and_columns_line_up(tmp_path, width, height, k):
    found = {query: [window(number) for number in range(min(k, 5))] for query in QUERIES}
    with open_session(tmp_path, {f"model-{n}": found for n in range(6)}, QUERIES, k=k) as session:
        lines = GridLines(session)
        lines.show(session.queries, grouped=True)
        lines.fit(width, height)
        layout = lines.layout
        whole = layout.query + layout.columns * layout.stride
        for first in range(len(session.models) - layout.columns + 1):
            lines.first = first
            text, _ = lines_of_fitted(lines)
            assert {cell_len(line) for line in text} <= {whole, whole - GAP}
        if width >= 60:
            assert whole <= width
        assert height - layout.header >= min(4, height - 2)


def lines_of_fitted(lines):
    parts = [list(lines.header(line, "model-0")) for line in range(lines.layout.header)]
    parts += [list(lines.row(row, "model-0", 0 if row == 1 else None)) for row in range(len(lines.rows))]
    return ["".join(text for text, _ in line) for line in parts], parts


def test_models_that_have_no_room_are_counted(tmp_path):
    found = {VAN: [window(0)]}
    with open_session(tmp_path, {f"model-{n}": found for n in range(6)}, [VAN]) as session:
        lines = GridLines(session)
        lines.show(session.queries, grouped=True)
        lines.fit(80, 24)
        corners = []
        for lines.first in (0, 2, 3):
            corners.append(next(lines.header(0, None)).text.rstrip())
        assert corners == [" models 1–3 of 6 ›", "‹models 3–5 of 6 ›", "‹models 4–6 of 6"]
        lines.fit(200, 24)
        lines.first = 0
        assert next(lines.header(0, None)).text.strip() == ""


def test_on_a_low_screen_the_most_telling_numbers_stay(session):
    def labels(height):
        return [
            line.split("  ")[0].strip() for line in lines_of(session, 120, height)[0][2:] if " ──" not in line
        ]

    assert labels(30)[:6] == ["P@1 fine", "P@3 fine", "P@5 fine", "MRR fine", "P@1 floor", "Judged@5"]
    assert labels(8)[:2] == ["P@5 fine", "MRR fine"]
    assert labels(9)[:3] == ["P@1 fine", "P@5 fine", "MRR fine"]


def test_sorted_queries_have_no_rules(session):
    text, _ = lines_of(session, queries=[ROAD, VAN], grouped=False)
    assert [line.split()[0] for line in text[8:]] == ["road", "van"]


def test_the_leftmost_column_moves_as_little_as_possible():
    assert first_column(0, 2, 3, 6) == 0
    assert first_column(0, 3, 3, 6) == 1
    assert first_column(3, 4, 3, 6) == 3
    assert first_column(3, 1, 3, 6) == 1
    assert first_column(3, 1, 8, 6) == 0  # a wider screen


def test_columns_widen_only_where_queries_need_no_room():
    def fit(width, models):
        return lay_out(width, 40, longest=30, models=models, k=5, numbers=6)

    assert fit(200, 3).column == 24
    assert fit(120, 4).column - fit(100, 3).column < 8
    assert fit(200, 3).query == 33


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (NotRun(), "no run"),
        (SavedRun("2026-11-30T10:00:00+00:00", 12.0), "run 2026-11-30"),
        (Waiting(), "waiting"),
        (EmbeddingWindows(71, 100, 1.74, 48.0), "71% 1.7/s 48s"),
        (EmbeddingWindows(71, 100, 123.4, 3700.0), "71% 123/s 1h01m"),
        (EmbeddingWindows(0, 0, 0.0, None), "0% 0.0/s"),
        (Searching(3, 12), "searching 3/12"),
        (Done(252.0), "done in 4m12s"),
        (CancelledPass(), "cancelled"),
        (Failed("no key: set DASHSCOPE_API_KEY"), "! no key: set D…"),
    ],
)
def test_the_state_of_a_pass_fits_the_narrowest_column(state, text):
    assert pass_text(state, 16) == text


def test_how_long_a_model_has_been_loading():
    assert pass_text(Loading(time.monotonic() - 75), 16) == "loading 1m15s"


def test_where_there_is_room_a_pass_says_all():
    assert pass_sentence(EmbeddingWindows(71, 100, 1.74, 48.0)) == (
        "embedding 71 of 100 windows, 1.7 windows/s, 48s left"
    )
    assert pass_sentence(Failed("no key")) == "failed: no key"
    assert pass_text(Failed("no key: set DASHSCOPE_API_KEY"), 40) == "! no key: set DASHSCOPE_API_KEY"


def test_the_bar_of_a_pass_is_as_long_as_its_share(session):
    session.apply(ModelWaiting("c"))
    session.apply(ModelProgress("c", passes.Embedding(30, 40, 1.5, 4.0)))
    assert share_done(session.passes["c"]) == 0.75
    _, parts = lines_of(session, 80)
    filled = next(part for part in parts[1] if "filled" in part.style)
    empty = next(part for part in parts[1] if "empty" in part.style)
    whole = len(filled.text) + len(empty.text)
    assert len(filled.text) == round(0.75 * whole)
    assert (filled.text + empty.text).startswith("75% 1.5/s 4s")
    session.apply(ModelFailed("c", "out of memory"))
    assert "! out of memory" in lines_of(session, 80)[0][1]


def test_durations():
    assert [duration(seconds) for seconds in (0, 59.4, 59.6, 252, 3599, 3900)] == [
        "0s",
        "59s",
        "1m00s",
        "4m12s",
        "59m59s",
        "1h05m",
    ]


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        ("qwen8b", "qwen8b"),
        ("sentence-transformers/clip-ViT-L-14", "sentenc…ViT-L-14"),
        ("自転車に乗る人と自転車に乗る人", "自転車…に乗る人"),
    ],
)
def test_names_are_cut_in_the_middle(name, cut):
    assert middle_cut(name, 16) == cut
    assert cell_len(middle_cut(name, 16)) <= 16
    assert [cell_len(middle_cut(name, width)) <= width for width in range(1, 30)] == [True] * 29
