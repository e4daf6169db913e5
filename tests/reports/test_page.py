from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import polars as pl
import pytest

from einthoven.foundation.errors import DataError
from einthoven.reports.page import write_report
from einthoven.studies.spec import EncoderChoice

_VOID = {"meta", "link", "br", "input"}
_SVG_TAGS = {"svg", "g", "rect", "path", "line", "text", "circle"}


class Page(HTMLParser):
    """The page taken apart: tags with attributes, text outside scripts, and whether every tag is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.script = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data
        elif not self.open or self.open[-1] != "style":
            self.text += data + " "

    def words(self) -> str:
        return re.sub(r"\s+", " ", self.text)


@pytest.fixture(autouse=True)
def _plain(plain_ecg):
    """The example ECG is an empty picture in this module; the real one is on the page of test_page_ecg."""


def test_the_report_is_a_page_and_its_tables(make_study):
    page = write_report(make_study())
    assert page.name == "index.html"
    folder = page.parent
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()) == [
        "index.html", "tables/coverage.csv", "tables/differences.csv", "tables/labels.csv", "tables/macro.csv",
        "tables/probes.csv",
    ]  # fmt: skip
    macro = pl.read_csv(folder / "tables" / "macro.csv")
    assert macro["point"][0] == 0.83


def test_the_page_is_well_formed_and_says_what_was_found(make_study):
    page = Page(write_report(make_study()).read_text())
    assert page.open == []
    words = page.words()
    assert "random-resnet18 (a floor) has the highest macro AUROC, 0.830 [0.800, 0.860]." in words
    assert "INCOMPLETE" not in words
    assert "The ECGs are synthetic" in words
    assert "6 of 20 labels are not judged." in words
    assert ("svg", {"data-drawn": "ecg"}) in page.tags
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {(a["href"] or "")[1:] for tag, a in page.tags if tag == "a" and (a.get("href") or "").startswith("#")}
    assert targets <= set(ids)


def test_nothing_is_fetched_and_only_our_script_may_run(make_study):
    html = write_report(make_study()).read_text()
    page = Page(html)
    for tag, attributes in page.tags:
        assert tag not in {"iframe", "object", "embed", "img", "base"}
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        if tag == "link":
            assert attributes["href"] == "data:,"
    assert "@import" not in html
    assert "url(" not in html
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
    assert policy is not None
    assert "default-src 'none'" in policy
    assert f"'sha256-{digest}'" in policy


def test_linked_tables_are_there(make_study):
    page = write_report(make_study())
    links = {
        a["href"] for tag, a in Page(page.read_text()).tags if tag == "a" and not (a["href"] or "").startswith("#")
    }
    assert links == {f"tables/{name}.csv" for name in ("macro", "differences", "labels", "coverage", "probes")}


def test_tables_are_readable_by_a_screen_reader(make_study):
    page = Page(write_report(make_study()).read_text())
    assert all("scope" in a for tag, a in page.tags if tag == "th")
    for tag, attributes in page.tags:
        if tag == "svg" and "data-drawn" not in attributes:
            assert attributes.get("aria-hidden") == "true" or attributes.get("aria-label")
    assert next(a for tag, a in page.tags if tag == "html") == {"lang": "en"}


def test_an_unfinished_study_says_so_first_and_shows_what_is_there(make_study):
    folder = make_study(
        failed={"probe age-sex on rhythm": "MemoryError: too large\nrecord 17"}, missing=("compare on rhythm",)
    )
    page = Page(write_report(folder).read_text())
    words = page.words()
    assert "INCOMPLETE: 10 of 12 cells finished (1 failed, 1 not run)" in words
    assert words.index("INCOMPLETE") < words.index("Before you quote a number")
    assert "Failed: probe age-sex on rhythm MemoryError: too large record 17" in words
    assert "compare on rhythm – it needs 'probe age-sex on rhythm', which failed" in words
    assert "No result: the cell 'compare on rhythm' has not run" in words
    assert "random-resnet18 (a floor) has the highest macro AUROC" in words
    assert "Traceback" not in words
    assert page.open == []


def test_a_study_of_which_nothing_has_run_has_a_page(make_study, made):
    titles = ["cohort phantom"]
    titles += [f"embed with {e}" for e in made().ids] + [f"compare on {t}" for t in ("super", "rhythm")]
    titles += [f"probe {e} on {t}" for e in made().ids for t in ("super", "rhythm")]
    page = Page(write_report(make_study(missing=tuple(titles))).read_text())
    assert "INCOMPLETE: 0 of 12 cells finished (0 failed, 12 not run)" in page.words()
    assert "No task has results yet." in page.words()
    assert page.open == []


def test_the_same_ledger_gives_the_same_bytes(make_study):
    folder = make_study()
    first = write_report(folder).read_bytes()
    (folder / "report" / "stray.txt").write_text("left by someone")
    assert write_report(folder).read_bytes() == first
    assert not (folder / "report" / "stray.txt").exists()


def test_an_error_leaves_the_old_report(make_study):
    folder = make_study()
    page = write_report(folder)
    before = page.read_bytes()
    result = next(p for p in (folder / "cells").glob("*/result.json") if '"macro"' in p.read_text())
    result.write_text("{}")
    with pytest.raises(DataError):
        write_report(folder)
    assert page.read_bytes() == before


def test_no_folder_of_this_machine_is_in_the_report(make_study):
    folder = make_study(
        failed={"probe age-sex on super": "OSError: /home/ada/private/x.npy"}, missing=("compare on super",),
        notes=("from /srv/hospital/export/ptbxl",),
    )  # fmt: skip
    page = write_report(folder)
    for file in page.parent.rglob("*.*"):
        text = file.read_text()
        for secret in (str(folder), "/home/ada", "/srv/hospital", "/home/someone"):
            assert secret not in text, file


_EVIL = "<script>alert('x')</script><img src=x onerror=\"alert(1)\">"


def test_what_was_not_written_here_is_escaped_everywhere(make_study):
    folder = make_study(
        labels={f"task {_EVIL}": {f"label {_EVIL}": 50, "B": 20, f"rare {_EVIL}": 0}, "lost": {"C": 40}},
        encoders=(EncoderChoice(name=f"first {_EVIL}"), EncoderChoice(name="second", parameters={"seed": _EVIL})),
        skill=(0.8, 0.6), floors=(True, False), baseline=f"first {_EVIL}",
        notes=(_EVIL,), example_note=_EVIL, commits=(_EVIL, "other"),
        failed={"compare on lost": f"DataError: {_EVIL}"},
    )  # fmt: skip
    html = write_report(folder).read_text()
    page = Page(html)
    assert page.open == []
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(tag == "img" for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "<script>alert" not in html
    assert page.words().count(_EVIL) > 20


def test_cells_of_different_commits_are_pointed_out(make_study):
    assert "cells differ" in Page(write_report(make_study(commits=("a", "b"))).read_text()).words()


def test_a_large_study_gives_a_page_that_opens(make_study):
    labels = {f"task{t}": {f"LABEL{i:02d}": 5 + 3 * i for i in range(60)} for t in range(12)}
    page = write_report(make_study(labels=labels))
    assert page.stat().st_size < 2_000_000
