// --print-pc-sampling: functions, lines and reasons, and source text that may not be anybody's
// file.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/report/bars.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/source_text.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/printed.hpp"

using namespace gpuprof;
using namespace gpuprof::report;
using gpuprof::test::has;

namespace {

// Two functions; of `slow` two lines are known, and one address has no line.
store::Database samples(const std::string& more = {}) {
  store::Database file = test::empty_tables();
  file.execute(
      "INSERT INTO StringTable(_id_, value, demangled) VALUES(1, '_Z4slowv', 'slow()'), "
      "(2, 'fast', 'fast'), (3, '/src/a.cu', NULL);"
      "INSERT INTO PC_STALL_REASON(id, name, reason, stallReason) VALUES"
      "(1, 'x_long_scoreboard', 'long_scoreboard', 4), (2, 'x_barrier', 'barrier', 6);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_FUNCTION(id, name, processId) VALUES(7, 1, 1), (8, 2, 1), "
      "(7, 2, 2);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR(id, fileName, lineNumber) VALUES(1, 3, 2), "
      "(2, 3, 3);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING(functionId, processId, deviceId, pcOffset, "
      "sourceLocatorId, stallReasonId, stallReason, samples, latencySamples, correlationId) VALUES"
      "(7, 1, 0, 16, 1, 1, 4, 600, 500, 0), (7, 1, 0, 32, 1, 1, 4, 100, 90, 0), "
      "(7, 1, 0, 48, 1, 2, 6, 100, 0, 0), (7, 1, 0, 64, 2, 2, 6, 20, 0, 0), "
      "(7, 1, 0, 80, 0, 2, 6, 30, 10, 0), (8, 1, 0, 16, 0, 1, 4, 100, 0, 0), "
      "(7, 2, 0, 16, 0, 1, 4, 50, 0, 0);" +
      more);
  return file;
}

std::string printed(store::Database& file, ReportOptions options = {}) {
  options.chosen.insert("print-pc-sampling");
  return test::printed(file, options);
}

}  // namespace

TEST_CASE("PC samples are printed by function and line, those with the most first") {
  store::Database file = samples();
  const std::string text = printed(file);
  CHECK(has(text,
            "slow()\n  850 samples on 0, 85.00% of all; in 70.59% the scheduler issued "
            "nothing\n"));
  CHECK(has(text, "     94.12%         800         590  /src/a.cu:2\n"));
  CHECK(has(text, "##################    87.50%  long_scoreboard\n"));
  CHECK(has(text, "      3.53%          30          10  +0x50\n"));
  CHECK(text.find("/src/a.cu:2") < text.find("+0x50"));
  CHECK(text.find("+0x50") < text.find("/src/a.cu:3"));
  // The same function name of two processes is one.
  CHECK(has(text, "fast\n  150 samples on 0, 15.00% of all"));
  // nvprof's table stands before.
  CHECK(text.find("PC SAMPLING SUMMARY:") < text.find("PC samples by source line:"));
  CHECK(has(text, "\nTotal Samples: 850\n"));
}

TEST_CASE("the JSON of PC samples has a row for each place and reason") {
  store::Database file = samples();
  const auto document = nlohmann::json::parse(printed(file, {.layout = Layout::json}));
  const auto& table = document["tables"][1];
  CHECK(table["table"] == "pc_samples");
  CHECK(table["rows"].size() == 5);
  const auto& first = table["rows"][0];
  CHECK(first["function"] == "slow()");
  CHECK(first["file"] == "/src/a.cu");
  CHECK(first["line"] == 2);
  CHECK(first["pc_offset_bytes"].is_null());
  CHECK(first["stall_reason"] == "long_scoreboard");
  CHECK(first["samples"] == 700);
  CHECK(first["not_issued"] == 590);
  CHECK(first["samples_percent"] == Approx(70));
}

TEST_CASE("functions of PC samples are chosen by --top and --kernels") {
  store::Database file = samples();
  const std::string one = printed(file, {.top = 1});
  CHECK(has(one, "and 1 more function (--top N)"));
  CHECK(has(one, "and 2 more places (--top N)"));
  CHECK_FALSE(has(one, "fast"));
  const std::string chosen = printed(file, {.filter = {.kernels = "fast"}});
  CHECK(has(chosen, "150 samples on 0, 100.00% of all"));
  CHECK_FALSE(has(chosen, "slow"));
}

TEST_CASE("PC samples with numbers that cannot be are skipped or bounded") {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  store::Database file = samples(
      "INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING(functionId, processId, samples, latencySamples, "
      "stallReasonId, stallReason, correlationId) VALUES(7, 1, -5, 0, 1, 4, 0), (99, 1, " +
      most + ", " + most + ", 55, 99, 0), (99, 1, " + most + ", 0, 55, 99, 0)");
  const std::string text = printed(file);
  CHECK(has(text, "<kernel name 0>\n  " + most + " samples"));
  CHECK(has(text, "<reason 55>"));
  CHECK(has(text, "1 record skipped"));
}

TEST_CASE("a profile without PC samples says how to have some") {
  store::Database file = test::empty_tables();
  CHECK(has(printed(file), "No PC samples are in the profile"));
}

TEST_CASE("source text is printed when it is asked for") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "src");
  std::ofstream(folder / "src/a.cu") << "first\n\tx = y[i];  // \x1b[31m\r\nthird";
  store::Database file = samples();
  CHECK_FALSE(has(printed(file), "x = y[i]"));
  CHECK(has(printed(file, {.source = true, .source_root = folder / "src"}),
            "| x = y[i];  // \\x1b[31m\n"));
}

TEST_CASE("source text is of source files only, and beneath the root only") {
  const TemporaryFolder folder;
  const std::string here = folder / "";
  std::filesystem::create_directories(folder / "root/deep");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  };
  write("secret", "secret\n");
  write("outside.cu", "outside\n");
  write("root/a.cu", "a\n");
  write("root/deep/b.cu", "b\n");
  std::filesystem::create_symlink(folder / "outside.cu", folder / "root/link.cu");
  std::filesystem::create_symlink(folder / "secret", folder / "root/secret.cu");
  std::filesystem::create_directories(folder / "root/folder.cu");

  SourceText anywhere("", 0);
  CHECK(anywhere.line(here + "outside.cu", 1) == "outside");
  CHECK_FALSE(anywhere.line(here + "outside.cu", 2));
  CHECK_FALSE(anywhere.line(here + "outside.cu", 0));
  CHECK_FALSE(anywhere.line(here + "outside.cu", -1));
  CHECK_FALSE(anywhere.line(here + "secret", 1));
  CHECK_FALSE(anywhere.line(here + "root/folder.cu", 1));
  CHECK_FALSE(anywhere.line("a.cu", 1));  // of which folder?
  CHECK_FALSE(anywhere.line("", 1));
  CHECK_FALSE(anywhere.line(std::string("/a\0.cu", 6), 1));

  SourceText beneath(folder / "root", 0);
  CHECK(beneath.line("/home/someone/a.cu", 1) == "a");
  CHECK(beneath.line("/home/deep/b.cu", 1) == "b");
  CHECK_FALSE(beneath.line("/home/b.cu", 1));
  CHECK_FALSE(beneath.line("../outside.cu", 1));
  CHECK_FALSE(beneath.line(here + "outside.cu", 1));
  CHECK_FALSE(beneath.line("/x/link.cu", 1));
  CHECK_FALSE(beneath.line("/x/secret.cu", 1));
  CHECK(beneath.changed().empty());
  CHECK_FALSE(SourceText(folder / "none", 0).line("a.cu", 1));

  SourceText later(folder / "root", 1);
  CHECK(later.line("a.cu", 1) == "a");
  CHECK(later.changed() == std::vector<std::string>{"a.cu"});
}

TEST_CASE("bars and charts show shares") {
  CHECK(bar(0.5, 4, false) == "##  ");
  CHECK(bar(1, 3, true) == "███");
  CHECK(bar(2, 3, true) == "███");
  CHECK(bar(0, 2, true) == "  ");
  CHECK(bar(1e-9, 2, true) == "▏ ");
  CHECK(bar(0.5625, 2, true) == "█▏");
  CHECK(bar(std::numeric_limits<double>::quiet_NaN(), 2, false) == "  ");
  const double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(chart(std::vector<double>{0, 0.5, 1, none, 7}, true) == "▁▅█ █");
  CHECK(chart(std::vector<double>{0, 0.5, 1, none, -7}, false) == "_=# _");
}
