// What takes how long when a run is over: computes it anew for a file of ours.
//
//   bench_end FILE     drops FILE's indexes, and computes and makes all again
//
// A line for each step: CPU time of all threads, wall time, and the peak of resident memory so far.
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/memory/process_memory.hpp"
#include "libprof/store/nvtx_ranges.hpp"

using namespace gpuprof;

namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

long peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stol(line.substr(6)) / 1024;
  }
  return 0;
}

class Step {
 public:
  explicit Step(std::string_view name) : name_(name) {}
  ~Step() {
    std::printf("%-38s %7.2f s CPU %7.2f s wall %6ld MiB\n", name_.c_str(),
                seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_, seconds(CLOCK_MONOTONIC) - wall_,
                peak_mib());
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  const std::string& name() const { return name_; }

 private:
  std::string name_;
  double cpu_ = seconds(CLOCK_PROCESS_CPUTIME_ID), wall_ = seconds(CLOCK_MONOTONIC);
};

void measure(const char* path) {
  store::Database database(path, store::Database::Mode::read_write);
  for (const char* setting : {"synchronous = OFF", "cache_size = -65536", "secure_delete = OFF"}) {
    database.execute(std::string("PRAGMA ") + setting);
  }
  for (const schema::Index& index : schema::indexes) {
    database.execute("DROP INDEX IF EXISTS INDEX_" + std::string(index.table));
  }
  const Step all("all");
  {
    const Step step("pairing NVTX ranges");
    database.execute("BEGIN");
    store::compute_nvtx_ranges(database);
    database.execute("COMMIT");
  }
  std::optional<Step> step;
  compute::compute(database, {.indexes = schema::indexes,
                              .progress =
                                  [&](std::string_view what) {
                                    if (step && step->name() == what) return;
                                    step.reset();
                                    step.emplace(what);
                                  },
                              .more = memory::write_process_memory});
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: bench_end FILE\n", stderr);
    return 2;
  }
  try {
    measure(words[1]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_end: %s\n", error.what());
    return 1;
  }
}
