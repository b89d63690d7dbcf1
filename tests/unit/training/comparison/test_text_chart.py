from dehusk.training.comparison.summary import summaries
from dehusk.training.comparison.tables import text_chart
from tests.unit.training.comparison.judged import judgement, page


def chart(**scores):
    judgements = {name: judgement(f1, milliseconds=time) for name, (f1, time) in scores.items()}
    (found,) = summaries([page(1, **judgements)], {})
    return text_chart(found.whole).splitlines()


def place(lines, letter):
    """The line and the column of a point."""
    (found,) = [
        (number, line[8:].index(letter)) for number, line in enumerate(lines[1:15]) if letter in line[8:]
    ]
    return found


def test_points_stand_by_score_and_by_the_logarithm_of_their_time():
    lines = chart(slow=(0.9, 100.0), good=(1.0, 10.0), fast=(0.8, 1.0))
    assert lines[0] == "a: word F1 by ms/page"
    assert place(lines, "a") == (0, 36)
    assert place(lines, "b")[1] == 71
    assert place(lines, "c") == (13, 0)
    assert lines[16].split() == ["1", "10", "100", "ms"]
    assert [line.split() for line in lines[17:]] == [
        ["a", "1.000", "10.00", "ms", "good"],
        ["b", "0.900", "100.00", "ms", "slow"],
        ["c", "0.800", "1.00", "ms", "fast"],
    ]


def test_points_in_one_place_stand_side_by_side():
    lines = chart(one=(0.9, 2.0), other=(0.9, 2.0))
    assert place(lines, "a")[0] == place(lines, "b")[0]
    assert abs(place(lines, "a")[1] - place(lines, "b")[1]) == 1


def test_a_single_point_of_no_measurable_time_has_a_chart():
    assert place(chart(one=(0.0, 0.0)), "a") == (13, 0)


def test_who_was_trained_on_the_collection_is_marked():
    pages = [page(1, one=judgement(0.9, milliseconds=2.0), two=judgement(0.8, milliseconds=2.0))]
    (found,) = summaries(pages, {"a": {"one"}})
    names = [line.split()[4:] for line in text_chart(found.whole).splitlines()[17:]]
    assert names == [["one", "*"], ["two"]]
