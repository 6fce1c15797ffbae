#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "libprof/base/json_text.hpp"

using gpuprof::json_string;

TEST_CASE("bytes that are no UTF-8 do not break JSON") {
  CHECK(json_string("a\xff"
                    "b") ==
        "\"a\xef\xbf\xbd"
        "b\"");
}

TEST_CASE("a JSON string is its text again, and nothing in it controls a terminal") {
  CHECK(json_string("") == "\"\"");
  CHECK(json_string("void f<int>(char *)") == "\"void f<int>(char *)\"");
  CHECK(json_string("\xc3\xa4") == "\"\xc3\xa4\"");
  std::string all = "\xc3\xa4 \xe2\x80\xae";  // the last changes the writing direction
  for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
  for (const std::string& text : {all, all.substr(2), std::string("\"\\/"), std::string("a\n")}) {
    const std::string quoted = json_string(text);
    CHECK(nlohmann::json::parse(quoted) == text);
    CHECK(quoted == gpuprof::printable(quoted));
  }
}
