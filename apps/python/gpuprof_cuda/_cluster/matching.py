"""Collectives matched between ranks: by communicator, step and place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Collectives in which nobody can end before all have begun.
CAUSAL = ("AllReduce", "AllGather", "ReduceScatter", "AlltoAll")
MOST_MISMATCHES = 100  # that are described

# A place is matched where all ranks of the communicator that recorded the step are, with one operation. A
# step of a communicator is matched where all its places are: later ones cannot be trusted otherwise.
_TABLES = """
CREATE TEMP TABLE members AS
SELECT communicator, count(DISTINCT rank) AS ranks, bool_and(is_named) AS is_named
FROM collectives GROUP BY 1;
CREATE TEMP TABLE common_steps AS
SELECT step FROM steps WHERE step IS NOT NULL
GROUP BY 1 HAVING count(DISTINCT rank) = (SELECT count(*) FROM ranks);
CREATE TEMP TABLE places AS
SELECT c.communicator, c.step, c.place, count(*) AS ranks, count(DISTINCT c.operation) AS operations
FROM collectives AS c SEMI JOIN common_steps USING (step)
WHERE c.place IS NOT NULL GROUP BY 1, 2, 3;
CREATE TEMP TABLE wrong AS
SELECT p.communicator, p.step, min(p.place) AS place
FROM places AS p JOIN members AS m USING (communicator)
WHERE p.ranks <> m.ranks OR p.operations > 1 GROUP BY 1, 2;
CREATE TEMP TABLE matched AS
SELECT c.communicator, c.step, c.place, c.rank, c.operation, c.start, c."end", c.bytes
FROM collectives AS c JOIN members AS m USING (communicator) SEMI JOIN common_steps USING (step)
ANTI JOIN wrong USING (communicator, step)
WHERE c.place IS NOT NULL AND m.ranks > 1;
"""


# Where a record is missing, places do not agree, and NCCL's sequence numbers do, in that step and the next:
# that is no mismatch, and what has all its records is matched by these numbers.
_BY_SEQUENCE = """
CREATE TEMP TABLE firsts AS
SELECT communicator, step, operation, count(*) AS ranks, count(DISTINCT sequence) AS sequences
FROM (SELECT communicator, step, operation, rank, min(sequence) AS sequence, bool_and(sequence IS NOT NULL) AS known
      FROM collectives SEMI JOIN common_steps USING (step)
      SEMI JOIN (SELECT communicator FROM wrong) USING (communicator) WHERE place IS NOT NULL GROUP BY 1, 2, 3, 4)
WHERE known GROUP BY 1, 2, 3;
CREATE TEMP TABLE incomplete AS
WITH agreeing AS (
  SELECT f.communicator, f.step FROM firsts AS f JOIN members AS m USING (communicator)
  GROUP BY 1, 2 HAVING bool_and(f.ranks = m.ranks AND f.sequences = 1)),
next AS (SELECT step, lead(step) OVER (ORDER BY step) AS following FROM common_steps)
SELECT w.communicator, w.step FROM wrong AS w JOIN next AS n USING (step)
JOIN agreeing AS a ON a.communicator = w.communicator AND a.step = n.following;
DELETE FROM wrong WHERE (communicator, step) IN (SELECT communicator, step FROM incomplete);
INSERT INTO matched
WITH whole AS (
  SELECT c.communicator, c.step, c.operation, c.sequence,
         row_number() OVER (PARTITION BY c.communicator, c.step ORDER BY min(c.place), c.operation) - 1 AS place
  FROM collectives AS c SEMI JOIN incomplete USING (communicator, step) JOIN members AS m USING (communicator)
  WHERE c.sequence IS NOT NULL GROUP BY 1, 2, 3, 4, m.ranks HAVING count(DISTINCT c.rank) = m.ranks)
SELECT c.communicator, c.step, w.place, c.rank, c.operation, c.start, c."end", c.bytes
FROM collectives AS c JOIN whole AS w USING (communicator, step, operation, sequence);
"""

_FEW_STEPS = 3  # as libprof/read/steps_window.cpp judges steps


def warm_up(times: list[int]) -> int:
    """How many steps at the begin are not like those after them: the first, and those that follow it and take
    more than half as long again as the middle one."""
    if len(times) <= _FEW_STEPS:
        return 1 if len(times) == _FEW_STEPS else 0
    middle = sorted(times)[len(times) // 2]
    count = 1
    while count < len(times) // 2 and 2 * times[count] > 3 * middle:
        count += 1
    return count


def match(connection: Any) -> int:
    """Makes the temporary tables members, common_steps, wrong and matched, and compared_steps: common steps
    without those in which the program warmed up. Returns how many these are."""
    connection.execute(_TABLES)
    if connection.execute("SELECT count(*) FROM wrong").fetchone() != (0,):
        connection.execute(_BY_SEQUENCE)
    steps = connection.execute(
        'SELECT step, max("end" - start) FROM steps SEMI JOIN common_steps USING (step) '
        "GROUP BY 1 ORDER BY 1"
    ).fetchall()
    count = warm_up([time or 0 for _, time in steps])
    connection.execute(
        "CREATE TEMP TABLE compared_steps AS SELECT step FROM common_steps ORDER BY step OFFSET ?",
        [count],
    )
    return count


def mismatches(connection: Any) -> tuple[list[dict[str, Any]], int]:
    """Where ranks called different things, first of each step and communicator; and how many there are."""
    (count,) = connection.execute("SELECT count(*) FROM wrong").fetchone()
    found = []
    for communicator, step, place in connection.execute(
        "SELECT communicator, step, place FROM wrong ORDER BY step, communicator LIMIT ?",
        [MOST_MISMATCHES],
    ).fetchall():
        called = connection.execute(
            "SELECT m.rank, min(c.operation) FROM (SELECT DISTINCT rank FROM collectives "
            "WHERE communicator = $1) AS m LEFT JOIN collectives AS c ON c.rank = m.rank AND "
            "c.communicator = $1 AND c.step = $2 AND c.place = $3 GROUP BY 1 ORDER BY 1",
            [communicator, step, place],
        ).fetchall()
        by_call: dict[str | None, list[int]] = {}
        for rank, operation in called:
            by_call.setdefault(operation, []).append(rank)
        usual = max(by_call, key=lambda each: (len(by_call[each]), each is not None, each or ""))
        found.append({"communicator": communicator, "step": step, "place": place, "usual": usual,
                      "others": [{"operation": operation, "ranks": ranks}
                                 for operation, ranks in sorted(by_call.items(), key=lambda item: item[1])
                                 if operation != usual]})  # fmt: skip
    return found, count
