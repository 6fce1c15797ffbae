#include <catch2/catch.hpp>
#include <string>

#include "libprof/base/printable.hpp"

using gpuprof::printable;
using gpuprof::printable_lines;

TEST_CASE("ordinary text stays as it is") {
  for (const char* text : {"", "void f<int=3>(char const *, float*)", "a\\x1b b", "\"quoted\"",
                           "\xc3\xbc\xe2\x82\xac\xf0\x9f\x9a\x80", "\xe6\xb0\xb4"}) {
    CHECK(printable(text) == text);
    CHECK(printable_lines(text) == text);
  }
}

TEST_CASE("what steers a terminal does not reach it") {
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable("a\r\nb\tc") == "a\\x0d\\x0ab\\x09c");
  CHECK(printable(std::string("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\xc2\\x9b31m");  // CSI, as UTF-8
  CHECK(printable("\x9b"
                  "31m") == "\\x9b31m");  // and as Latin-1
  CHECK(printable("a\xe2\x80\xae"
                  "b") ==
        "a\\xe2\\x80\\xae"
        "b");  // right to left
  CHECK(printable("\xe2\x81\xa6") == "\\xe2\\x81\\xa6");
  CHECK(printable_lines("a\n\x1b\r") == "a\n\\x1b\\x0d");
}

TEST_CASE("bytes that are no UTF-8 are shown one by one") {
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc3") == "\\xc3");  // cut short
  CHECK(printable("\xe2\x82"
                  "a") ==
        "\\xe2\\x82"
        "a");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");           // longer than needed
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half a surrogate pair
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("\xc3\xbc\xc3") == "\xc3\xbc\\xc3");
}
