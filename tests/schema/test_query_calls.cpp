// The list of functions that only ask, against every name in CUPTI's headers.
#include <catch2/catch.hpp>
#include <cctype>
#include <regex>
#include <set>
#include <string>

#include "schema/query_calls.hpp"

using namespace gpuprof::schema;

namespace {

constexpr std::string_view all_names[] = {
#define RUNTIME(name) #name,
#define DRIVER(name) #name,
#include "tests/function_names.inc"
#undef RUNTIME
#undef DRIVER
};

std::set<std::string_view> all_functions() {
  std::set<std::string_view> functions;
  for (const std::string_view name : all_names) functions.insert(function_of(name));
  return functions;
}

// Whether one of the words is in a name in which each word begins with a capital: "Load" is in
// cuModuleLoadData and not in cuModuleGetLoadingMode.
bool has_word(std::string_view function, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    for (std::size_t at = 0; (at = function.find(word, at)) != function.npos; ++at) {
      const std::size_t end = at + word.size();
      const bool goes_on =
          end < function.size() && std::islower(static_cast<unsigned char>(function[end]));
      if (!goes_on) return true;
    }
    return false;
  });
}

template <class List>
std::set<std::string_view> listed(const List& classes) {
  std::set<std::string_view> functions;
  for (const CallClass& type : classes) {
    CHECK(!type.what.empty());
    CHECK(type.reason.ends_with('.'));
    for (const std::string_view function : type.functions) {
      INFO(function);
      CHECK(functions.insert(function).second);
    }
  }
  return functions;
}

}  // namespace

TEST_CASE("CUPTI's names without versions and default streams") {
  CHECK(function_of("cudaGetDevice_v3020") == "cudaGetDevice");
  CHECK(function_of("cudaStreamGetCaptureInfo_v2_ptsz_v11030") == "cudaStreamGetCaptureInfo");
  CHECK(function_of("cuStreamGetCaptureInfo_v3_ptsz") == "cuStreamGetCaptureInfo");
  CHECK(function_of("cudaMemcpy_ptds_v7000") == "cudaMemcpy");
  CHECK(function_of("cuCtxGetCurrent") == "cuCtxGetCurrent");
  CHECK(function_of("cuArray3DGetDescriptor_v2") == "cuArray3DGetDescriptor");
  CHECK(function_of("cuMemsetD32") == "cuMemsetD32");
  CHECK(function_of("cuda531") == "cuda531");
  CHECK(function_of("").empty());
  CHECK(function_of("_v1").empty());
  CHECK(function_of("12") == "12");
  CHECK(only_asks("cudaGetDevice_v3020"));
  CHECK(only_asks("cudaStreamIsCapturing_ptsz_v10000"));
  CHECK(only_asks("cuGetProcAddress_v2"));
  CHECK_FALSE(only_asks("cudaGetDeviceOrWhatever_v14000"));
  CHECK_FALSE(only_asks("cudaStreamQuery_v3020"));
  CHECK_FALSE(only_asks("cudaLaunchKernel_v7000"));
  CHECK_FALSE(only_asks(""));
}

TEST_CASE("functions that only ask are functions that CUPTI knows") {
  REQUIRE(std::size(all_names) > 1400);
  const auto functions = all_functions();
  for (const std::string_view function : query_functions) {
    INFO(function);
    CHECK(functions.contains(function));
    CHECK(function_of(function) == function);
  }
  for (const std::string_view function : listed(asks_and_is_traced)) {
    INFO(function);
    CHECK(functions.contains(function));
    CHECK_FALSE(only_asks(function));
  }
  CHECK(listed(queries).size() == query_functions.size());
}

TEST_CASE("nothing that works, waits or changes something is left out") {
  // Names of things that are asked about, and that are called after what they do.
  const std::regex nodes(
      "(Kernel|Memcpy|Memset|MemAlloc|MemFree|Host|EventRecord|EventWait|BatchMemOp|ChildGraph|"
      "ExternalSemaphoresSignal|ExternalSemaphoresWait)NodeGet|GetExportTable|FindInClone");
  for (const std::string_view function : query_functions) {
    INFO(function);
    const std::string left = std::regex_replace(std::string(function), nodes, "");
    // Work, and what asks for it.
    CHECK_FALSE(
        has_word(left, {"Launch", "Memcpy", "Memset", "Prefetch", "Discard", "Decompress", "Async",
                        "Signal", "Write", "Begin", "End", "Instantiate", "Upload", "Callback"}));
    // Waits, and what stands for one.
    CHECK_FALSE(has_word(left, {"Synchronize", "Wait", "Query"}));
    // Memory and mappings.
    CHECK_FALSE(has_word(left, {"Alloc", "Malloc", "Free", "Map", "Unmap", "Mapped", "Bind",
                                "Unbind", "Import", "Export", "Open", "Close", "Reserve", "Trim",
                                "Flush", "Advise", "Register", "Unregister"}));
    // Objects and state.
    CHECK_FALSE(has_word(
        left, {"Create", "Destroy", "Set",      "Reset",      "Load",   "Unload",   "Link",
               "Enable", "Disable", "Attach",   "Detach",     "Record", "Start",    "Stop",
               "Update", "Add",     "Remove",   "Push",       "Pop",    "Retain",   "Release",
               "Lock",   "Unlock",  "Init",     "Initialize", "Exit",   "Exchange", "Clone",
               "Copy",   "Split",   "Generate", "Restore",    "Encode"}));
  }
  // The words find what they are for.
  CHECK(has_word("cuMemcpyHtoDAsync", {"Async"}));
  CHECK(has_word("cudaGraphLaunch", {"Launch"}));
  CHECK_FALSE(has_word("cuModuleGetLoadingMode", {"Load"}));
}

TEST_CASE("a function that asks by its name is in one of the two lists") {
  const auto traced = listed(asks_and_is_traced);
  for (const std::string_view function : all_functions()) {
    const bool asks = has_word(function, {"Get", "Peek", "Query", "Is", "Can", "Occupancy",
                                          "Elapsed", "Enumerate", "Choose", "Find", "Current"}) &&
                      !has_word(function, {"Set", "Push", "Pop"});
    // Those of graphics are called by few, and are traced.
    const bool graphics = std::ranges::any_of(
        std::initializer_list<std::string_view>{"D3D", "VDPAU", "WGL", "EGL", "cuGL", "cudaGL"},
        [&](std::string_view part) { return function.find(part) != function.npos; });
    if (!asks || graphics) continue;
    INFO(function);
    CHECK(only_asks(function) != traced.contains(function));
  }
}
