// Steps that take much longer than the others.
#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

extern const Rule slow_steps{
    .id = "slow_steps",
    .title = "A few steps take much longer than the others",
    .order = 45,
    .needs = {{.table = "STEP",
               .otherwise = "The run has fewer than 12 steps.",
               .rows = true,
               .where = "(SELECT count(*) > 11 FROM STEP)"}},
    .when =
        "Of at least 10 judged steps, those of a tenth at most that take over 1.2 times the median "
        "and over the median and 7.4 median absolute deviations, the 8 longest; what of each part "
        "they have more than the other steps on average",
    .least_share = 0.01,
    .sql = R"(  WITH more AS (
    SELECT device, part, first, last, ns - usual AS ns,
           sum(ns - usual) OVER w AS longer, sum(max(0, ns - usual)) OVER w AS positive
    FROM slow_steps
    WINDOW w AS (PARTITION BY device, first))
  SELECT device, part, CAST(1.0 * ns * longer / positive AS INTEGER) AS ns, 1 AS count, first,
         last, NULL AS what
  FROM more
  WHERE ns > 0 AND longer > 0)",
    .bound = "If these steps were like the others, that would not be there.",
    .mends = simulate::slow_steps,
    .confidence = Confidence::medium,
    .reason = "Whether these steps have more to do is not recorded.",
    .fix =
        "The part says where to look. In no call: checkpoints, evaluation, garbage collection "
        "(gc.freeze), a data loader that starts again; computing: the clock, another process; "
        "communicating: another rank; calls: memory or code that is needed for the first time.",
    .link = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    .mistaken = "Steps that are meant to do more, such as every hundredth with an evaluation.",
};

}  // namespace gpuprof::findings
