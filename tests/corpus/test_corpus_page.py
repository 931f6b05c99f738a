"""clusters.html: what a person sees of the copies, in a browser."""

from __future__ import annotations

import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from danlu.corpus import losses, page
from danlu.corpus.clusters import Clusters, Pair
from danlu.corpus.documents import Document

SCRIPT = "<script>document.title = 'hacked'</script>"
DOCUMENTS = [
    Document("a/1", f"第一条 公民有权申请。{SCRIPT} & <b>bold</b>", "zh", "law"),
    Document('a/2"><i>', f"第二条 公民有权申请。{SCRIPT} & <b>bold</b>", 'zh"><i>', "<i>web</i>"),
    Document("c", "the old bank of the river", "en", "news"),
]
CLUSTERS = Clusters(
    copies=12,
    near=9,
    by_size=((2, 2, 8), (3, 3, 0), (4, 4, 1)),
    largest=((0, 4), (2, 2)),
    pairs=(Pair(1, 0, 0.7), Pair(1, 2, 0.91234)),
)
READ = {"<i>web</i>": [10, 100], "law": [100, 1000]}
LOST = losses.by_source(READ, {"<i>web</i>": [2, 5, 1], "law": [3, 2, 0]})


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """The page, open in a browser."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "clusters.html").write_text(page.render(CLUSTERS, LOST, DOCUMENTS), "utf-8")
    options = webdriver.ChromeOptions()
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/u"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with webdriver.Chrome(options, service) as opened:
        opened.get(f"file://{folder}/clusters.html")
        yield opened


def texts(browser, selector: str) -> list[str]:
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, selector)]


def test_no_text_of_the_corpus_becomes_markup(browser):
    assert browser.title == "Copies in the corpus"
    assert browser.find_elements(By.CSS_SELECTOR, "script, b, td:not(.bar) i, .pair i, p i") == []
    assert f"第一条 公民有权申请。{SCRIPT} & <b>bold</b>" in texts(browser, ".pair .text")


def test_pairs_stand_side_by_side_and_what_differs_is_marked(browser):
    first, _ = browser.find_elements(By.CSS_SELECTOR, ".pair")
    gone, stays = first.find_elements(By.TAG_NAME, "section")
    assert gone.location["y"] == stays.location["y"]
    assert gone.location["x"] < stays.location["x"]
    marked = [[m.text for m in each.find_elements(By.TAG_NAME, "mark")] for each in (gone, stays)]
    assert marked == [["二"], ["一"]]
    assert texts(browser, ".pair header") == [
        "Jaccard similarity 0.700",
        "Jaccard similarity 0.912",
    ]


def test_clusters_are_counted_by_size_with_bars(browser):
    bars = [each.size["width"] for each in browser.find_elements(By.CSS_SELECTOR, ".bar i")]
    assert bars[0] > bars[2] > bars[1] == 0
    assert "2 8" in texts(browser, "tr")
    assert "12 documents are dropped as copies, 9 of them near copies" in texts(browser, "p")[0]


def test_a_source_that_loses_most_of_its_documents_stands_out(browser):
    assert "<i>web</i> 10 2 5 1 70.0%" in texts(browser, "tr")
    assert "law 100 3 2 0 5.0%" in texts(browser, "tr")
    web, law = [each.size["width"] for each in browser.find_elements(By.CSS_SELECTOR, ".bar i")][
        -2:
    ]
    assert web == pytest.approx(14 * law, rel=0.1)


def test_the_page_needs_nothing_from_elsewhere(browser):
    loaded = browser.execute_script("return performance.getEntriesByType('resource').length")
    assert loaded == 0


def test_without_copies_the_page_says_so():
    nothing = page.render(Clusters(0, 0, (), (), ()), losses.by_source(READ, {}), DOCUMENTS)
    assert "0 documents are dropped as copies" in nothing
    assert "<h2>" not in nothing
