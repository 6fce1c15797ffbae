// Names and bars in the columns of a terminal.
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "libprof/base/text.hpp"
#include "libprof/terminal/account_bar.hpp"
#include "libprof/terminal/short_names.hpp"

using namespace gpuprof;
using terminal::Doing;
using terminal::Times;

TEST_CASE("names fit, and no two look alike") {
  const std::string same(60, 'x');
  const std::vector<std::string> names{"short",           same + "a" + same, same + "b" + same,
                                       same + "a" + same, "\x1b[2J" + same,  "ä" + same + "ö…"};
  for (const std::size_t most : {3, 5, 12, 40, 200}) {
    for (const bool blocks : {false, true}) {
      const auto shown = terminal::short_names(names, most, blocks);
      REQUIRE(shown.size() == names.size());
      for (const std::string& each : shown) {
        CHECK(characters(each) <= most);
        CHECK(each.find('\x1b') == each.npos);
        CHECK((blocks || each.find("…") == each.npos));
      }
      if (most >= 12)
        CHECK(std::set<std::string>(shown.begin(), shown.end()).size() == names.size());
    }
  }
  CHECK(terminal::short_names(names, 12, true)[0] == "short");
}

TEST_CASE("a bar is as long as wanted, and small parts are seen") {
  Times times;
  times.add("compute", 1'000'000);
  times.add("copy 1", 1);
  times.add("copy 2", 1);
  times.add("no call", 500'000);
  times.add("before", 7'000'000);
  times.add("a class of another version", 10);
  CHECK(times.all() == 1'500'012);
  CHECK(times[Doing::copy] == 2);
  CHECK(times[Doing::idle] == 10);
  for (const std::size_t width : {4, 10, 40, 120}) {
    const std::string bar = terminal::bar(times, width, {.width = width});
    CHECK(bar.size() == width);
    for (const char sign : {'#', '=', '.'}) CHECK(bar.find(sign) != bar.npos);
    CHECK(characters(terminal::bar(times, width, {.width = width, .blocks = true})) == width);
  }
  CHECK(terminal::bar(Times(), 10, {}).size() == 10);
  const std::string legend = terminal::legend(times, {.width = 40, .colours = 256});
  CHECK(legend.find("computing 66.67%") != legend.npos);
  CHECK(legend.find("\033[38;5;") != legend.npos);
  times.add("compute", INT64_MAX);
  times.add("no call", INT64_MAX);
  CHECK(times.all() == INT64_MAX);
  CHECK(terminal::bar(times, 10, {}).size() == 10);
}
