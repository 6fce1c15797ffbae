#include <pthread.h>

#include <catch2/catch.hpp>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/base/pattern.hpp"

using gpuprof::Pattern;

TEST_CASE("patterns are found in texts, or fit them as a whole") {
  CHECK(Pattern("gemm").found_in("void cutlass_gemm<4>(int)"));
  CHECK_FALSE(Pattern("^gemm").found_in("void cutlass_gemm<4>(int)"));
  CHECK(Pattern("").found_in(""));
  CHECK(Pattern("").found_in("all"));
  CHECK(Pattern("1|23").fits("23"));
  CHECK_FALSE(Pattern("1|23").fits("123"));
  CHECK_FALSE(Pattern("1|23").fits("2"));
  CHECK(Pattern("[[:digit:]]+").fits("0123456789"));
}

TEST_CASE("case matters unless it is said not to") {
  CHECK_FALSE(Pattern("Gemm").found_in("gemm"));
  CHECK(Pattern("Gemm", true).found_in("GEMM"));
  CHECK_FALSE(Pattern("Gemm", true).found_in("axpy"));
}

TEST_CASE("the syntax is ECMAScript's") {
  CHECK(Pattern("^(?!.*copy).*(saxpy|axpy)\\b").found_in("saxpy(float)"));
  CHECK_FALSE(Pattern("^(?!.*copy).*saxpy").found_in("copy_saxpy(float)"));
  CHECK(Pattern("(a+)b\\1$").found_in("xaabaa"));
  CHECK(Pattern("\\u0041\\x42").fits("AB"));
  CHECK_FALSE(Pattern("[]").found_in("anything]"));
  CHECK_FALSE(Pattern("a$").found_in("a\n"));
  CHECK_FALSE(Pattern("a.b").found_in("a\nb"));
  for (const char* wrong : {"(", "*a", "[a", "a{2,1}", "(?<", "\\", "(*UTF)a"}) {
    CAPTURE(wrong);
    try {
      const Pattern pattern(wrong);
      CHECK(false);
    } catch (const gpuprof::Error& error) {
      CHECK(std::string(error.what()).size() > 10);
      CHECK(error.exit_code() == gpuprof::ExitCode::bad_option);
    }
  }
}

TEST_CASE("a long text takes no stack") {
  const std::string text = std::string(1'000'000, 'x') + "gemm";
  struct Search {
    const std::string& text;
    bool found = false;
  } search{text};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                auto& wanted = *static_cast<Search*>(argument);
                wanted.found = Pattern(".*gemm").found_in(wanted.text) &&
                               Pattern("(x|y)+gemm").found_in(wanted.text.substr(990'000));
                return nullptr;
              },
              &search) == 0);
  pthread_join(thread, nullptr);
  CHECK(search.found);
}

TEST_CASE("what takes too long does not fit, and is counted") {
  const Pattern pattern("(a+)+b.*(a|aa)+$");
  CHECK(pattern.found_in("aabaa"));
  CHECK_FALSE(pattern.found_in(std::string(40, 'a') + "b" + std::string(200, 'a') + "c"));
  CHECK(pattern.gave_up() == 1);
  CHECK(pattern.found_in("aabaa"));
  CHECK(pattern.gave_up() == 1);
}
