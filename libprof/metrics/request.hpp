// What the user wants measured, and how.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuprof::metrics {

// Metrics and events, with the scope in which they are wanted.
struct Request {
  std::vector<std::string> metrics = {};
  std::vector<std::string> events = {};
  std::vector<std::string> sets = {};       // of schema::metric_sets, with metrics
  std::vector<std::uint32_t> devices = {};  // empty: all
  std::string contexts = {};                // regular expressions; empty: all
  std::string streams = {};
  std::string kernels = {};
  std::string invocations = {};
  std::uint64_t skip = 0;   // launches of the scope
  std::uint64_t count = 0;  // 0: all

  // Whether the request is limited to some launches.
  bool chooses() const {
    return !devices.empty() || !contexts.empty() || !streams.empty() || !kernels.empty() ||
           !invocations.empty() || skip > 0 || count > 0;
  }
};

enum class Replay { application, multiplex, kernel, range };

struct PlanOptions {
  std::vector<Request> requests;
  Replay replay = Replay::application;
  bool one_run = false;  // application replay: no more than one run
  int overhead_permille = 200;
  int samples = 32;  // multiplex: per kernel shape
  int batch = 0;     // ranges per counter data image; 0: chosen to suit the run
  int hang_seconds = 10;
  bool reset_caches = true;
  bool keep_counter_data = false;
  std::string left_out;
  std::string range;  // NVTX ranges; empty: cudaProfilerStart to cudaProfilerStop
};

}  // namespace gpuprof::metrics
