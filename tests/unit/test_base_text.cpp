#include <catch2/catch.hpp>

#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"

using namespace gpuprof;

namespace {

using Words = std::vector<std::string>;

TEST_CASE("text is split and joined", "[base]") {
  CHECK(split("gpu,,api", ',') == Words{"gpu", "", "api"});
  CHECK(split("", ',') == Words{""});
  CHECK(split(",", ',') == Words{"", ""});
  CHECK(joined(Words{}, ", ").empty());
  CHECK(joined(Words{"", "a"}, ", ") == ", a");
  CHECK(joined(split("a b c", ' '), ",") == "a,b,c");
}

TEST_CASE("alternatives read as a sentence", "[base]") {
  CHECK(alternatives({}).empty());
  CHECK(alternatives({"on"}) == "on");
  CHECK(alternatives({"on", "off"}) == "on or off");
  CHECK(alternatives({"s", "ms", "us"}) == "s, ms or us");
}

TEST_CASE("quotes in quotes are doubled", "[base]") {
  CHECK(double_quoted("") == R"("")");
  CHECK(double_quoted(R"(a "b")") == R"("a ""b""")");
  CHECK(replaced_all("aaa", "a", "aa") == "aaaaaa");
}

TEST_CASE("a line for a shell has its words again") {
  const Words words{"python3", "", "a b", "it's", "-x", "\\n"};
  CHECK(shell_words(shell_line(words)) == words);
  CHECK(shell_words("").empty());
  CHECK(shell_words("  a  'b") == Words{"a", "b"});
  CHECK(shell_words("a\\ b \\") == Words{"a b", "\\"});
}

TEST_CASE("letters of ASCII have another case", "[base]") {
  CHECK(lower("Ab_\xc3\x84Z") == "ab_\xc3\x84z");
}

}  // namespace
