#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/metrics/formula.hpp"

using gpuprof::edit_distance;
using gpuprof::nearest;
using gpuprof::metrics::Formula;

namespace {

double value(const char* text, const std::vector<double>& counters = {}) {
  return Formula(text).value(counters);
}

std::string problem(const char* text) {
  try {
    Formula{text};
  } catch (const gpuprof::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("formulas are computed as written") {
  CHECK(value("2 + 3 * 4") == 14);
  CHECK(value("(2 + 3) * 4") == 20);
  CHECK(value("2 - 3 - 4") == -5);
  CHECK(value("64 / 4 / 2") == 8);
  CHECK(value("100*-(1+2)/.5") == -600);
  CHECK(value("--1e3") == 1000);
  CHECK(value("a.sum", {7}) == 7);
  CHECK(value("2 * (a.sum + b__x.avg.pct_of_peak) / c_1", {1, 2, 3}) == 2);
}

TEST_CASE("counters of a formula come once each, in its order") {
  const Formula formula("(b.sum - a.sum) / b.sum + CTC.Triage.ctc__x.sum * 2");
  CHECK(formula.counters() == std::vector<std::string>{"b.sum", "a.sum", "CTC.Triage.ctc__x.sum"});
  CHECK(formula.value(std::vector<double>{4, 3, 10}) == 20.25);
  CHECK(Formula("1").counters().empty());
}

TEST_CASE("nothing by nothing is nothing, something by nothing has no value") {
  CHECK(value("a / b", {0, 0}) == 0);
  CHECK(value("100 * a / (b - c)", {0, 2, 2}) == 0);
  CHECK(std::isnan(value("a / b", {1, 0})));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(value("a + 1", {nan})));
  CHECK(std::isnan(value("a / b", {nan, 0})));
  CHECK(std::isnan(value("a / b", {0, nan})));
}

TEST_CASE("what is not a formula is reported with its place") {
  CHECK(problem("") == "formula \"\": a number or a name is missing at character 1");
  CHECK(problem("a +") == "formula \"a +\": a number or a name is missing at character 4");
  CHECK(problem("(a") == "formula \"(a\": a closing parenthesis is missing at character 3");
  CHECK(problem("a b") == "formula \"a b\": an operator is missing at character 3");
  CHECK(problem("a)") == "formula \"a)\": an operator is missing at character 2");
  CHECK(problem("3 % 2") == "formula \"3 % 2\": an operator is missing at character 3");
  CHECK(problem("* 2") == "formula \"* 2\": a number or a name is missing at character 1");
  CHECK(problem(". + 1") == "formula \". + 1\": not a number at character 1");
  CHECK(problem((std::string(1000, '(') + "1" + std::string(1000, ')')).c_str())
            .find("too many parentheses") != std::string::npos);
  CHECK(problem((std::string(1000, '-') + "1").c_str()).find("too many") != std::string::npos);
}

TEST_CASE("edit distance") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("sum", "smu") == 1);
  CHECK(edit_distance("dram__bytes", "dram__byte") == 1);
}

TEST_CASE("names that may have been meant") {
  const std::vector<std::string> names{"achieved_occupancy", "dram_read_bytes", "dram_write_bytes",
                                       "ipc", "issued_ipc"};
  using Found = std::vector<std::string>;
  CHECK(nearest("acheived_ocupancy", names) == Found{"achieved_occupancy"});
  CHECK(nearest("dram_raed_bytes", names) == Found{"dram_read_bytes"});
  CHECK(nearest("dram_rite_bytes", names) == Found{"dram_write_bytes", "dram_read_bytes"});
  CHECK(nearest("dram_rite_bytes", names, 1) == Found{"dram_write_bytes"});
  CHECK(nearest("occupancy", names) == Found{"achieved_occupancy"});
  CHECK(nearest("something_else", names).empty());
  CHECK(nearest("", names).empty());
}
