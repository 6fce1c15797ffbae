#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"

using gpuprof::Error;
using gpuprof::ExitCode;
using gpuprof::expand_name;
using gpuprof::names_process;

namespace {

ExitCode refusal(const char* pattern) {
  try {
    expand_name(pattern, 1);
    return ExitCode::ok;
  } catch (const Error& error) {
    return error.exit_code();
  }
}

}  // namespace

TEST_CASE("placeholders of output names") {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  setenv("GPUPROF_TEST_NAME", "42", 1);
  setenv("GPUPROF_TEST_EMPTY", "", 1);
  CHECK(expand_name("", 1).empty());
  CHECK(expand_name("run.sqlite", 1) == "run.sqlite");
  CHECK(expand_name("run-%p.sqlite", 4711) == "run-4711.sqlite");
  CHECK(expand_name("%p%p", 7) == "77");
  CHECK(expand_name("%h", 1) == host);
  CHECK(expand_name("100%%", 1) == "100%");
  CHECK(expand_name("%%p", 1) == "%p");
  CHECK(expand_name("r%q{GPUPROF_TEST_NAME}-%p", 5) == "r42-5");
  CHECK(expand_name("a%q{GPUPROF_TEST_EMPTY}b", 5) == "ab");
  // What a variable holds is not looked at again.
  setenv("GPUPROF_TEST_NAME", "%p", 1);
  CHECK(expand_name("%q{GPUPROF_TEST_NAME}", 5) == "%p");
}

TEST_CASE("placeholders that are none are refused") {
  unsetenv("GPUPROF_TEST_ABSENT");
  CHECK(refusal("%") == ExitCode::bad_option);
  CHECK(refusal("a%x") == ExitCode::bad_option);
  CHECK(refusal("%q") == ExitCode::bad_option);
  CHECK(refusal("%q{") == ExitCode::bad_option);
  CHECK(refusal("%qNAME}") == ExitCode::bad_option);
  CHECK(refusal("%q{NAME") == ExitCode::bad_option);
  CHECK(refusal("%q{GPUPROF_TEST_ABSENT}") == ExitCode::internal);
}

TEST_CASE("only a real %p asks for a file per process") {
  CHECK(names_process("%p"));
  CHECK(names_process("a%h%p"));
  CHECK(names_process("%%%p"));
  CHECK(!names_process("%%p"));
  CHECK(!names_process("p%"));
  CHECK(!names_process(""));
}
