#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/metrics/selection.hpp"
#include "libprof/wire/measures.hpp"

using gpuprof::metrics::Selection;
using gpuprof::wire::Fields;

namespace {

std::shared_ptr<Selection> selection(const std::vector<Selection::Scope>& scopes,
                                     const std::string& left_out = "",
                                     const std::string& ranges = "") {
  return std::make_shared<Selection>(scopes, left_out, ranges);
}

Fields ask(const std::shared_ptr<Selection>& selection, Fields question) {
  question.set("number", std::int64_t{77});
  const auto answer = std::make_shared<std::promise<Fields>>();
  Selection::answer(selection, question,
                    [answer](const Fields& fields) { answer->set_value(fields); });
  return answer->get_future().get();
}

Fields kernel(const std::shared_ptr<Selection>& selection, const std::string& symbol) {
  Fields question;
  question.set("kernel", symbol);
  return ask(selection, question);
}

std::string numbers(const std::shared_ptr<Selection>& selection, const std::string& what,
                    std::int64_t scope, std::int64_t block) {
  Fields question;
  question.set("numbers", what);
  question.set("scope", scope);
  question.set("block", block);
  question.set("number", std::int64_t{1});
  std::string bits;
  Selection::answer(selection, question, [&](const Fields& answer) { bits = answer.text("fits"); });
  return bits;
}

bool has(const std::string& bits, std::size_t place) {
  return (bits.at(place / 8) >> place % 8 & 1) != 0;
}

}  // namespace

TEST_CASE("collectors are told which kernels are meant") {
  const auto wanted = selection({{.kernels = "^saxpy"}, {}, {.kernels = "float\\*$|\\)$"}}, "copy");
  CHECK(wanted->names_matter());
  const Fields saxpy = kernel(wanted, "_Z5saxpyfPKfPf");
  CHECK(saxpy.text("answer") == "77");
  CHECK(saxpy.text("scopes") == "0,1,2,");
  CHECK(saxpy.integer("left_out", -1) == 0);
  CHECK(saxpy.integer("waits", -1) == 0);
  CHECK(kernel(wanted, "copy").text("scopes") == "1,");
  CHECK(kernel(wanted, "copy").integer("left_out") == 1);
  CHECK(kernel(wanted, "_Z20ncclDevKernel_ReduceP6float4").integer("waits") == 1);
  wanted->leave_out("saxpy(float, float const*, float*)");
  CHECK(kernel(wanted, "_Z5saxpyfPKfPf").integer("left_out") == 1);
}

TEST_CASE("names matter when there is a pattern for them, or one hung") {
  const auto all = selection({{.streams = "7"}});
  CHECK_FALSE(all->names_matter());
  all->leave_out("hung()");
  CHECK(all->names_matter());
  CHECK(selection({{}}, "x")->names_matter());
  CHECK_THROWS_AS(selection({{.kernels = "("}}), gpuprof::Error);
}

TEST_CASE("numbers that fit come by the block") {
  const auto wanted = selection(
      {{.contexts = "1", .streams = "[0-9]*[02468]"}, {.invocations = "2|4097|4294967295"}});
  CHECK(numbers(wanted, "context", 0, 0).size() == gpuprof::wire::numbers_per_block / 8);
  CHECK(has(numbers(wanted, "context", 0, 0), 1));
  CHECK_FALSE(has(numbers(wanted, "context", 0, 0), 11));
  CHECK(has(numbers(wanted, "stream", 0, 3), 12));
  CHECK_FALSE(has(numbers(wanted, "stream", 0, 3), 13));
  CHECK(has(numbers(wanted, "invocation", 1, 0), 2));
  CHECK(has(numbers(wanted, "invocation", 1, 1), 1));
  CHECK(has(numbers(wanted, "invocation", 1, gpuprof::wire::last_number_block), 4095));
  // What makes no sense is not answered.
  CHECK(numbers(wanted, "invocation", 0, 0).empty());
  CHECK(numbers(wanted, "invocation", 2, 0).empty());
  CHECK(numbers(wanted, "invocation", -1, 0).empty());
  CHECK(numbers(wanted, "nothing", 0, 0).empty());
  CHECK(numbers(wanted, "context", 0, -1).empty());
  CHECK(numbers(wanted, "context", 0, std::int64_t{1} << 40).empty());
}

TEST_CASE("collectors are told which ranges are meant") {
  const auto wanted = selection({{}}, "", "step [0-9]+$");
  Fields question;
  question.set("range", "a step 12");
  CHECK(ask(wanted, question).integer("fits") == 1);
  Fields other;
  other.set("range", "a step");
  CHECK(ask(wanted, other).integer("fits", -1) == 0);
}
