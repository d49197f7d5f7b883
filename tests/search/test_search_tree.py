"""The tree of unit vectors: its layout, and the bounds by which it leaves pairs out."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.operators.similarity import CosineScorer
from cvpl.operators.similarity.measure import inner
from cvpl.search.best import TIE
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from cvpl.search.tree import kernel, rounding, tree_layout
from cvpl.search.tree.simd import LANES
from cvpl.search.tree.tree import block_directions, build_tree, chunks, pairs_behind
from cvpl.search.tree.tree_search import search_tree
from search_checks import SHAPES, assert_same, every_pair, units

SQUARE = kernel.UNIT**2


class Rounded:
    """Candidates and queries as integers, and the facts about each query, as the kernel reads them."""

    def __init__(self, a, b):
        turn, behind = block_directions(b), pairs_behind(b)
        self.whole = np.empty((len(b), kernel.CLOSE + 2 * behind + 2), dtype=np.int16)
        self.offsets, bounds = np.empty(len(b), dtype=np.int32), np.zeros(3)
        rounding.round_candidates(turn(b), turn.shift, turn.used, self.whole, self.offsets, bounds)
        self.bounds, self.moved = bounds, turn(b)[:-1] - turn.shift[:, None]
        self.used = turn.used
        reach = np.sqrt(bounds) * (1 + 1e-5) + (0, 0, 0.01)
        words = np.empty((len(a), kernel.CLOSE_ROWS + behind + kernel.BOX_PAIRS), dtype=np.int32)
        facts = np.empty((len(a), kernel.FACTS), dtype=np.int64)
        settings = turn.shift, turn.centre, turn.used, *reach, TIE
        rounding.round_queries(turn(a), *settings, words.view(np.int16), facts)
        self.doubt, self.tie, self.slack, self.base = facts.T
        queries, whole = words.view(np.int16).astype(np.int64), self.whole.astype(np.int64)
        front = np.arange(kernel.CLOSE)
        box = queries[:, -2 * kernel.BOX_PAIRS :] ^ -(1 << 15)
        self.box = box, np.hstack([whole[:, : kernel.FRONT], whole[:, -1:]])
        self.close = queries[:, front] @ whole[:, front].T + self.offsets
        self.norms = queries[:, kernel.CLOSE, None] * whole[:, -2]
        rest = queries[:, 2 * kernel.CLOSE_ROWS : -2 * kernel.BOX_PAIRS]
        self.scores = self.close + rest @ whole[:, kernel.CLOSE : -2].T
        self.last = queries[:, [kernel.CLOSE - 1, 2 * kernel.CLOSE_ROWS - 2, 2 * kernel.CLOSE_ROWS - 1]]
        self.scale = 1 / np.maximum(np.linalg.norm(turn(a)[: turn.used], axis=0), 0.25)


KINDS = [("spread", 3), ("clustered", 13), ("flat", 30), ("few values", 30), ("nearly tied", 13), ("one apart", 30)]


@pytest.fixture(params=KINDS, ids=str)
def rounded(request):
    shape, width = request.param
    rng = np.random.default_rng([width, len(shape)])
    a, b = units(rng, 40, width, "spread"), units(rng, 1_500 if shape == "one apart" else 150, width, shape)
    if shape == "one apart":  # beyond the directions that the others need
        b[:, 13:] = 0.0
        b[7, 20] = 0.35
        b /= np.linalg.norm(b, axis=1)[:, None]
    a[:10] = b[:10]
    return a, b, Rounded(a, b)


def test_rounding_moves_the_difference_of_two_scores_by_no_more_than_the_doubt(rounded):
    a, b, found = rounded
    error = found.scores - found.scale[:, None] * SQUARE * (a @ b.T)
    moved = error.max(axis=1) - error.min(axis=1)
    assert np.all(moved <= found.doubt)
    assert np.median(found.doubt) < 0.02 * SQUARE, "a doubt that is too large would list every candidate"


def test_the_norm_of_the_other_coordinates_bounds_their_products(rounded):
    _, _, found = rounded
    assert np.all(found.close + found.norms >= found.scores - (found.slack + found.doubt)[:, None])


def test_a_box_is_within_reach_of_a_query_if_a_candidate_in_it_has_the_score(rounded):
    _, _, found = rounded
    mine, theirs = found.box
    gaps = ((mine[:, None] - theirs) ** 2).sum(axis=2)
    floor, base = found.scores - found.doubt[:, None], found.base[:, None]
    reach = base + (8 * np.sqrt(np.maximum(0.0, base - 2 * floor))).astype(np.int64) + 17 - 2 * floor
    assert np.all(gaps <= reach)


def test_a_tie_is_as_wide_in_integers_as_in_scores(rounded):
    _, _, found = rounded
    assert np.all(found.tie >= TIE * found.scale * SQUARE)
    assert np.all(found.tie <= TIE * found.scale * SQUARE + 2)


def test_the_last_close_coordinate_stands_beside_a_zero_again(rounded):
    _, _, found = rounded
    np.testing.assert_array_equal(found.last[:, 0], found.last[:, 1])
    assert not found.last[:, 2].any()


def test_the_bounds_of_the_candidates_are_those_of_the_longest_one(rounded):
    _, _, found = rounded
    squares = found.moved.astype(np.float64) ** 2
    rounding_error = found.moved * np.float64(kernel.UNIT) - np.rint(found.moved * np.float64(kernel.UNIT))
    wanted = [part.sum(axis=0).max() for part in (squares[found.used :], squares, rounding_error**2)]
    np.testing.assert_allclose(found.bounds, wanted, rtol=0.02, atol=1e-9)


def test_the_doubt_is_the_sum_of_what_rounding_and_turning_may_move():
    """Twice each rounding error times the length of the other vector, and the error of sums of 32-bit numbers."""
    rng = np.random.default_rng(5)
    width, used, longest_cut, longest, moved = 20, 14, 0.9, 1.3, 2.0
    turned = np.vstack([rng.normal(size=(width, 12)) / 4, np.zeros(12)]).astype(np.float32)
    shift = rng.normal(size=width).astype(np.float32) / 20
    words = np.empty((12, kernel.CLOSE_ROWS + pairs_behind(turned[:-1].T) + kernel.BOX_PAIRS), dtype=np.int32)
    facts = np.empty((12, kernel.FACTS), dtype=np.int64)
    settings = shift, 0.0, used, longest_cut, longest, moved, TIE
    rounding.round_queries(turned, *settings, words.view(np.int16), facts)
    scale = 1 / np.linalg.norm(turned[:used], axis=0)
    stretched = turned[:-1] * scale.astype(np.float64)
    placed = kernel.UNIT * (stretched - shift[:, None])
    errors, lost = placed - np.rint(placed), np.linalg.norm(stretched[used:], axis=0)
    blur = (np.linalg.norm(errors[:used], axis=0) + 0.1) * (kernel.UNIT * longest + moved)
    blur += (np.linalg.norm(errors[used:], axis=0) + 0.1) * (kernel.UNIT * longest_cut + moved)
    blur += (np.linalg.norm(placed[:used], axis=0) + kernel.UNIT * lost) * moved + 1
    bit, turning = 2.0**-24, np.sqrt(width) * (width + 3) * 2.0**-24
    step = 2 * (width + 4) * bit * (3 + lost) + 2 * turning * (scale * (longest + 2) + lost + 4)
    np.testing.assert_allclose(facts[:, 0], 2 * blur + step * SQUARE, rtol=3e-4)


@pytest.mark.parametrize("size", [1, 2, 3, 40, 127, 128, 400])
def test_selecting_puts_the_key_in_its_place_and_touches_no_other_range(size):
    rng = np.random.default_rng(size)
    for place in {3, 3 + size // 3, 2 + size}:
        keys = rng.permutation(size + 6)
        before = keys.copy()
        tree_layout.select_place(keys, 3, 3 + size, place)
        ordered = np.sort(before[3 : 3 + size])
        assert keys[place] == ordered[place - 3]
        assert np.all(keys[3:place] < keys[place])
        assert np.all(keys[place + 1 : 3 + size] > keys[place])
        np.testing.assert_array_equal(np.sort(keys[3 : 3 + size]), ordered)
        np.testing.assert_array_equal(keys[:3], before[:3])
        np.testing.assert_array_equal(keys[3 + size :], before[3 + size :])


@pytest.mark.parametrize("count", [1, 16, 17, 100, 300])
def test_a_tree_is_cut_in_two_at_full_leaves_and_leads_every_candidate_home(count):
    rng = np.random.default_rng(count)
    whole = rng.permutation(20 * count)[: 16 * count].reshape(count, 16).astype(np.int16)
    order, along, cuts, height = tree_layout.grow(whole)
    assert sorted(order) == list(range(count))
    leaves = -(-count // LANES)
    assert 1 << height >= leaves > (1 << height) // 2
    queries = np.zeros((count, 32), dtype=np.int16)
    queries[:, : kernel.FRONT] = whole[:, : kernel.FRONT]
    asked, homes = tree_layout.find_homes(queries, along, cuts, height, leaves)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    np.testing.assert_array_equal(homes, place[asked] // LANES)
    assert np.all(np.diff(homes) >= 0)
    assert sorted(asked) == list(range(count))


def test_the_levels_of_a_tree_by_hand():
    """17 leaves have 2 nodes above them and 1 above these; 4,097 have 257, 17, 2 and 1."""
    for leaves, starts, nodes in ((1, [0], 1), (16, [0], 1), (17, [0, 2], 3), (4_097, [0, 257, 274, 276], 277)):
        found = tree_layout.levels_above(leaves)
        assert (found[0].tolist(), found[1]) == (starts, nodes)


def test_twins_are_counted_within_their_leaf():
    """Of sixteen rows four are equal, three of which have an earlier twin; the next sixteen are all different."""
    whole = np.arange(32 * 3).reshape(32, 3).astype(np.int16)
    whole[[2, 5, 9, 15]] = 7
    assert tree_layout.share_of_twins(whole, np.arange(32)) == 3 / 32
    assert tree_layout.share_of_twins(whole, np.arange(16)) == 3 / 16
    assert tree_layout.share_of_twins(whole[:5], np.arange(5)) == 0


@pytest.mark.parametrize(("count", "width"), [(20, 4), (300, 18)])
def test_a_box_holds_the_candidates_below_it_and_no_more(count, width):
    vectors = units(np.random.default_rng(count), count, width, "clustered")
    tree = build_tree(vectors, keep_copies=True)
    whole = Rounded(vectors[:1], vectors).whole.astype(np.int64)
    points = np.hstack([whole[:, : kernel.FRONT], whole[:, -1:]])[tree.order] + (1 << 15)
    boxes = tree.boxes.view(np.uint16).astype(np.int64).reshape(-1, kernel.BOX_PAIRS, 2, LANES, 2)
    per = LANES
    for level, start in enumerate(tree.starts):
        for child in range(-(-count // per)):
            members = points[child * per : (child + 1) * per]
            box = boxes[start + child // LANES, :, :, child % LANES]
            np.testing.assert_array_equal(box[:, 0].ravel(), members.min(axis=0), err_msg=f"{level}")
            np.testing.assert_array_equal(box[:, 1].ravel(), members.max(axis=0), err_msg=f"{level}")
        per *= LANES


def test_leaves_hold_the_coordinates_of_their_candidates():
    vectors = units(np.random.default_rng(1), 50, 18, "spread")
    tree, found = build_tree(vectors, keep_copies=True), Rounded(vectors[:1], vectors)
    close = tree.close.reshape(-1, kernel.CLOSE_ROWS, LANES)
    halves = tree.close.view(np.int16).reshape(-1, kernel.CLOSE_ROWS, LANES, 2)
    rest = tree.rest.view(np.int16).reshape(len(close), -1, LANES, 2)
    for place, row in enumerate(tree.order):
        leaf, lane = divmod(place, LANES)
        assert close[leaf, 0, lane] == found.offsets[row]
        wanted = [*found.whole[row, : kernel.CLOSE], found.whole[row, -2]]
        np.testing.assert_array_equal(halves[leaf, 1:, lane].ravel(), wanted)
        np.testing.assert_array_equal(rest[leaf, :, lane].ravel(), found.whole[row, kernel.CLOSE : -2])
    assert np.all(close[-1, 0, 50 % LANES :] == kernel.NOWHERE)


def test_a_sample_of_queries_is_spread_over_all_of_them():
    rng = np.random.default_rng(2)
    vectors, nothing = units(rng, 200, 4, "spread"), np.zeros(0, dtype=np.int64)
    here = search_tree(build_tree(vectors, keep_copies=True), vectors, nothing, nothing, 1.0, keep_copies=True)
    sample = here.sample(40)
    assert len(sample) == 40
    assert (sample[0], sample[-1]) == (0, 199)
    assert here.sample(1).tolist() == [0, 1, 2, 3]
    assert [(at.start, at.stop) for at in chunks(5_000)] == [(0, 4_096), (4_096, 5_000)]


@pytest.mark.parametrize("width", [4, 20])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.usefixtures("always_trees")
def test_a_tree_finds_the_best_of_few_candidates(shape, width, left_out):
    """270 candidates have 17 leaves, one more than a node holds; 500 have 32. The three nearest are left out."""
    rng, count = np.random.default_rng([width, SHAPES.index(shape)]), 500 if left_out else 270
    scorer = CosineScorer(units(rng, 18, width, "spread"), units(rng, count, width, shape))
    scorer.a[:9] = scorer.b[rng.integers(count, size=9)]
    partition = Partition(np.zeros(18, dtype=np.int64), np.zeros(count, dtype=np.int64))
    nearest = np.argsort(-(scorer.a @ scorer.b.T), axis=1)[:, :3]
    skips = LeftOut(np.repeat(np.arange(18), 3), nearest.ravel()) if left_out else None
    found = find_best(scorer, [partition], left_out=skips, budget=Budget(threads=1))
    assert_same(found, every_pair(scorer, partition, skips))


@pytest.mark.parametrize("leaves", [31, 32, 47])
@pytest.mark.usefixtures("always_trees")
def test_a_tree_ends_with_its_last_leaf(leaves):
    """Queries opposite all candidates reach every box, and no further."""
    rng = np.random.default_rng(leaves)
    b = np.abs(units(rng, leaves * LANES, 12, "spread"))
    scorer = CosineScorer(-b[rng.integers(len(b), size=12)], b)
    partition = Partition(np.zeros(12, dtype=np.int64), np.zeros(len(b), dtype=np.int64))
    found = find_best(scorer, [partition], budget=Budget(threads=1))
    assert_same(found, every_pair(scorer, partition))


@pytest.mark.usefixtures("always_trees")
def test_more_ties_than_a_shortlist_holds_are_searched_in_another_way():
    """One query has all candidates at the same distance within a tie; the others have a best one."""
    rng = np.random.default_rng(3)
    b = units(rng, kernel.SHORTLIST + 100, 3, "spread")
    b[: kernel.SHORTLIST + 40] = b[0] + rng.normal(size=(kernel.SHORTLIST + 40, 3)) * 1e-9
    b /= np.linalg.norm(b, axis=1)[:, None]
    scorer = CosineScorer(np.vstack([b[:1], units(rng, 4, 3, "spread")]), b)
    partition = Partition(np.zeros(5, dtype=np.int64), np.zeros(len(b), dtype=np.int64))
    found = find_best(scorer, [partition], budget=Budget(threads=1))
    assert found.ties[0] >= kernel.SHORTLIST + 40
    assert_same(found, every_pair(scorer, partition))


@pytest.mark.usefixtures("always_trees")
def test_shortlists_that_need_more_room_are_listed_again():
    rng = np.random.default_rng(4)
    b = np.array([1.0, 0.4, 0.2]) + rng.normal(size=(120, 3)) * 1e-9
    b /= np.linalg.norm(b, axis=1)[:, None]
    scorer = CosineScorer(b[rng.permutation(120)[:6]].copy(), b)
    partition = Partition(np.zeros(6, dtype=np.int64), np.zeros(120, dtype=np.int64))
    found = find_best(scorer, [partition], budget=Budget(threads=1))
    assert found.ties.min() == 120, "720 places; the first room is for 608"
    assert_same(found, every_pair(scorer, partition))


def test_scores_of_a_tree_stay_within_minus_one_and_one():
    """Some vectors have a product with themselves that is above 1 by rounding."""
    vectors, nothing = units(np.random.default_rng(5), 300, 7, "spread"), np.zeros(0, dtype=np.int64)
    long = vectors[inner(vectors, vectors) > 1][:20]
    assert len(long) == 20
    for queries, wanted in ((long, 1.0), (-long, -1.0)):
        for row, query in enumerate(queries):
            tree = build_tree(long[row : row + 1], keep_copies=True)
            here = search_tree(tree, query[None], nothing, nothing, 1 - 1e-12, keep_copies=True)
            assert here.near(slice(0, 1))[2].tolist() == [wanted]
