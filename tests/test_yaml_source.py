"""YAML from people and git: what is read, with its lines, and what is refused, with its reason."""

import os

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from accuracy_tui import yaml_source
from accuracy_tui.yaml_quoting import quoted, unquoted
from accuracy_tui.yaml_source import load_with_lines
from sentrysearch.errors import BadInput


@pytest.fixture(params=["C", "pure"])
def parser(request, monkeypatch):
    """Both of PyYAML's parsers: the pure one is used where it was built without libyaml."""
    monkeypatch.setattr(yaml_source, "_Loader", yaml.CSafeLoader if request.param == "C" else yaml.SafeLoader)


def plain(located):
    if isinstance(located.value, dict):
        return {str(key): plain(value) for key, value in located.value.items()}
    if isinstance(located.value, list):
        return [plain(value) for value in located.value]
    return located.value


@pytest.mark.usefixtures("parser")
def test_values_and_lines(tmp_path):
    path = tmp_path / "b.yaml"
    path.write_text(
        '# top\nname: clip\nwindow: {length: 30, overlap: 0.5}\nqueries:\n  fine:\n  - "a b"\n  - no\n'
    )
    root = load_with_lines(path)
    assert plain(root) == {
        "name": "clip",
        "window": {"length": 30, "overlap": 0.5},
        "queries": {"fine": ["a b", "no"]},
    }
    queries = root.as_mapping("the file")["queries"]
    assert [key.line for key in root.as_mapping("the file")] == [2, 3, 4]
    assert [item.line for item in queries.as_mapping("queries")["fine"].as_list("fine")] == [6, 7]
    assert str(queries.error("is odd")) == f"{path}:5: is odd"


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "written", ["no", "on", "yes", "off", "1:30", "010", "2001-01-01", "0x10", "1_000", "0o7", "=", "y"]
)
def test_words_that_yaml_1_1_would_turn_into_something_else_stay_text(tmp_path, written):
    located = load_with_lines(tmp_path / "f", f"[{written}, {{{written}: 1}}]")
    assert plain(located) == [written, {written: 1}]


@pytest.mark.usefixtures("parser")
def test_types(tmp_path):
    text = "[~, null, true, False, 12, -3, 1.5, 1e3, .inf, '12', \"true\", 00.5]"
    assert plain(load_with_lines(tmp_path / "f", text)) == [
        *(None, None, True, False, 12, -3, 1.5, 1000.0, float("inf"), "12", "true", "00.5")
    ]
    root = load_with_lines(tmp_path / "f", "{n: nothing, i: 1.5, b: 1, x: .nan, e: }").as_mapping("")
    for name, method in [("n", "as_number"), ("i", "as_integer"), ("b", "as_boolean"), ("x", "as_number")]:
        with pytest.raises(BadInput, match=r"f:1: it must be a|f:1: it must be (true|a finite)"):
            getattr(next(value for key, value in root.items() if key == name), method)("it")
    with pytest.raises(BadInput, match="must be text, not nothing"):
        root["e"].as_text("it")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: 1\nb: 2\na: 3", 3, '"a" stands twice, first on line 1'),
        ("a: 1\n1: 2\n'1': 3", 3, '"1" stands twice'),
        ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x", 2, "merge-conflict marker"),
        ("a: 1\r\n=======\r\nb: 1", 2, "merge-conflict marker"),
        ("a: 1\n||||||| base\n", 2, "merge-conflict marker"),
        ("a: &x 1", 1, "an anchor"),
        ("a: 1\nb: *x", 2, "an alias"),
        ("<<: {a: 1}", 1, "a merge key"),
        ("a: !!python/object:os.system x", 1, "a tag"),
        ("a: !x 1", 1, "a tag"),
        ("a: 1\n---\nb: 1", 2, "a second document"),
        ("[a, b]: 1", 1, "a list or mapping as a key"),
        ("a: [1,\n", 2, "not valid YAML"),
        ("a: 1\n\tb: 2", 2, "not valid YAML"),
        ("a: \x07", 1, r"character \x07"),
        ("a: 1\nb: x\u2028y", 2, r"character \u2028"),
        ("a: 1\nb: '\x85'", 2, r"character \x85"),
        ("- " * 40 + "a", 1, "deep"),
        ("[" * 100_000, 1, "deep|depth|nested"),
        ('a: "\\ud800"', 1, "surrogate|character escape"),
    ],
)
def test_refused(tmp_path, text, line, reason):
    path = tmp_path / "f.yaml"
    path.write_text(text, newline="")
    with pytest.raises(BadInput, match=reason.replace("\\", "\\\\")) as caught:
        load_with_lines(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_an_alias_bomb_is_refused_at_its_first_anchor(tmp_path):
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    with pytest.raises(BadInput, match="anchor"):
        load_with_lines(tmp_path / "f", bomb)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a: 1\nb: \xff\n", ":2: is not UTF-8"),
        ("a: 1".encode("utf-16"), "is not UTF-8"),
        (b"a: 1\n\0", r":2: character"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, data, reason):
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(BadInput, match=reason):
        load_with_lines(tmp_path / "f")


def test_a_byte_order_mark_and_empty_files(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    assert plain(load_with_lines(tmp_path / "f")) == {"a": 1}
    for text in ("", "\n", "# only a comment\n", "---\n", "~"):
        assert load_with_lines(tmp_path / "f", text).value is None


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in [("pipe", "not a file"), (".", "not a file|directory"), ("none", "no such file")]:
        with pytest.raises(BadInput, match=reason):
            load_with_lines(tmp_path / name)


@given(st.text())
@example("".join(map(chr, range(0x300))) + "\u2028\u2029\ufeff\ufffe\uffff\U0001f600\U0010ffff")
def test_quoted_text_is_one_line_that_any_parser_reads_back(text):
    line = quoted(text)
    assert (len(line.splitlines()) == 1 and line.isprintable()) or not text.isprintable()
    assert len(line.splitlines()) == 1
    assert unquoted(line[1:-1]) == text
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        assert yaml.load(f"- {line}\n", loader) == [text]  # noqa: S506


@given(st.text() | st.text(alphabet=":-?[]{}#&*!|>'\"%@` \n\tab1<=", max_size=60))
def test_any_text_is_read_as_yaml_reads_it_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    try:
        located = load_with_lines(path, text)
    except BadInput as error:
        assert "\n" not in str(error)
        return
    theirs = yaml.load(text, yaml.CBaseLoader)  # noqa: S506

    def strings(node):
        if isinstance(node.value, dict):
            return {str(key): strings(value) for key, value in node.value.items()}
        if isinstance(node.value, list):
            return [strings(value) for value in node.value]
        return node.text

    assert strings(located) == theirs or (located.value is None and not theirs)
