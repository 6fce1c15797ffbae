#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "libprof/report/output.hpp"
#include "libprof/report/report_table.hpp"

using namespace gpuprof::report;

namespace {

const std::vector<Column> columns{{"Type", 10, Quantity::text, "", "type"},
                                  {"Time", 8, Quantity::time, "", "time_ns"},
                                  {"Size", 8, Quantity::size, "", "bytes"},
                                  {"Grid Size", 14, Quantity::dimensions, "Grid", "grid"},
                                  {"Share", 7, Quantity::percent, "", "percent"},
                                  {"Name", 0, Quantity::text, "", "name"},
                                  {"Correlation_ID", 0, Quantity::count, "", "id", {}, true}};

const std::vector<std::vector<Cell>> rows{
    {"a", std::int64_t{1'500'000}, std::int64_t{4096}, Dimensions{64, 1, 1}, 12.5, "f(int, \"x\")",
     std::int64_t{7}},
    {"b", std::int64_t{900}, Cell(), Cell(), 0.0, "", Cell()},
};

std::string printed(ReportOptions options) {
  std::ostringstream text;
  Output output(text, options);
  print_table(output, "test", columns, rows);
  output.warning("a \"warning\"", "more of it");
  output.finish();
  return text.str();
}

}  // namespace

TEST_CASE("text: each value in its own unit, the last cell as it comes, CSV's columns left out") {
  CHECK(printed({}) ==
        "      Type      Time      Size       Grid Size    Share  Name\n"
        "         a  1.5000ms  4.0000KB        (64 1 1)   12.50%  f(int, \"x\")\n"
        "         b     900ns         -               -    0.00%\n"
        "======== Warning: a \"warning\"\nmore of it\n");
}

TEST_CASE("a unit per column, chosen by its largest value, stands under the heading") {
  CHECK(printed({.unit = Unit::column}) ==
        "      Type      Time      Size       Grid Size    Share  Name\n"
        "                  ms        KB                        %\n"
        "         a  1.500000  4.000000        (64 1 1)    12.50  f(int, \"x\")\n"
        "         b  9.00e-04         -               -     0.00\n"
        "======== Warning: a \"warning\"\nmore of it\n");
}

TEST_CASE("CSV has six decimals, three columns for dimensions, quotes that are doubled") {
  CHECK(printed({.layout = Layout::csv, .unit = Unit::us}) ==
        "\"Type\",\"Time\",\"Size\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Share\",\"Name\","
        "\"Correlation_ID\"\n"
        ",us,KB,,,,%,,\n"
        "\"a\",1500.000000,4.000000,64,1,1,12.500000,\"f(int, \"\"x\"\")\",7\n"
        "\"b\",0.900000,,,,,0.000000,\"\",\n"
        "======== Warning: a \"warning\"\nmore of it\n");
}

TEST_CASE("JSON is one document with plain numbers") {
  CHECK(printed({.layout = Layout::json}) ==
        "{\"version\":1,\"tables\":[\n"
        "{\"table\":\"test\",\"rows\":[\n"
        "{\"type\":\"a\",\"time_ns\":1500000,\"bytes\":4096,\"grid\":[64,1,1],"
        "\"percent\":12.500000,\"name\":\"f(int, \\\"x\\\")\",\"id\":7},\n"
        "{\"type\":\"b\",\"time_ns\":900,\"bytes\":null,\"grid\":null,\"percent\":0.000000,"
        "\"name\":\"\",\"id\":null}]}],\n"
        "\"warnings\":[\n\"a \\\"warning\\\" more of it\"]}\n");
}

TEST_CASE("a document without tables is one, too") {
  std::ostringstream text;
  Output output(text, {.layout = Layout::json});
  output.line("nothing");
  output.heading("nothing");
  output.finish();
  CHECK(text.str() == "{\"version\":1,\"tables\":[],\n\"warnings\":[]}\n");
}
