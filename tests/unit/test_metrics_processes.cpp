// Who is who over the runs of a target.
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "libprof/metrics/processes.hpp"

using gpuprof::metrics::Processes;
using gpuprof::wire::Fields;

namespace {

Fields hello(const std::string& executable, const std::string& rank = {}) {
  Fields fields;
  fields.set("executable", executable);
  fields.set("command_line", executable + " -x");
  if (!rank.empty()) fields.set("rank", rank);
  return fields;
}

}  // namespace

TEST_CASE("a process of a later run is the one of its command and its place among them") {
  Processes processes;
  processes.begin_run(0);
  CHECK(processes.meet(7, hello("/a")).process == 0);
  CHECK(processes.meet(8, hello("/b")).process == 1);
  CHECK(processes.meet(9, hello("/a")).process == 2);
  CHECK(processes.find(9).recorded_stream == 9);
  // The recorder knows streams that never said hello.
  CHECK(processes.find(3).recorded_stream == 3);

  processes.begin_run(1);
  CHECK(processes.find(9).process == ~0u);
  CHECK_FALSE(processes.find(9).recorded_stream);
  const auto b = processes.meet(20, hello("/b"));
  CHECK(b.run == 1);
  CHECK(b.process == 1);
  CHECK(b.recorded_stream == 8);
  CHECK(processes.meet(21, hello("/a")).recorded_stream == 7);
  CHECK(processes.meet(22, hello("/a")).recorded_stream == 9);
  const auto third = processes.meet(23, hello("/a"));
  CHECK(third.process == 3);
  CHECK_FALSE(third.recorded_stream);
}

TEST_CASE("a run that is made again meets its processes again") {
  Processes processes;
  processes.begin_run(0);
  processes.meet(1, hello("/a", "0"));
  processes.meet(2, hello("/a", "1"));
  for (int attempt = 0; attempt < 2; ++attempt) {
    processes.begin_run(1);
    CHECK(processes.meet(11, hello("/a", "1")).recorded_stream == 2);
    CHECK(processes.meet(12, hello("/a", "0")).recorded_stream == 1);
  }
}
