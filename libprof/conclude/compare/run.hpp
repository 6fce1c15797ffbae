// A run as figures that can be compared with those of another: times per step, which add up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "libprof/read/profile.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compare {

struct KernelUse {
  double time = 0;  // ns
  double launches = 0;
  std::string function = {};  // its name alone; empty: the file does not say
  // "grid 128x1x1, block 256x1x1", several joined by "; ". Empty: not known, or too many.
  std::string shape = {};
};

// Class and cause, as in a row of the account.
using PartName = std::pair<std::string, std::string>;

// All times are those of a step, of the mean device. Without steps, the whole window is one.
struct Run {
  std::string file;
  // What makes runs comparable; empty or 0: the file does not say.
  std::string devices;  // models, in the order of their ids
  std::string driver;
  std::int64_t cupti = 0;
  std::int64_t processes = 0;
  std::int64_t device_count = 0;  // with timed work
  bool lost = false;              // records are missing
  std::int64_t kernels_without_times = 0;
  std::int64_t memory_peak = 0;  // bytes of device memory, of the fullest device; 0: not recorded

  std::int64_t steps = 0;                    // 0: it has none
  double time = 0;                           // ns
  std::map<PartName, double> parts;          // ns; add up to the time
  std::map<std::string, KernelUse> kernels;  // by name
  double least_kernel = 0;      // kernels of a smaller share of the time may be missing
  bool names_abridged = false;  // see abridge_names()

  bool has_work() const { return device_count > 0; }
};

// Shortens kernels' names of more than 800 bytes; some have ten thousand. Equal names stay equal,
// and others different.
void abridge_names(Run& run);

// The shape in which all runs that have the kernel launch it, as in KernelUse; empty if they
// differ.
std::string shape_in(const std::vector<Run>& runs, const std::string& kernel);

// Whether the part is one of those in which the GPU was idle.
bool is_idle(const PartName& part);

// What read_run() compares: steps, if they are judged from start to start; otherwise what was
// chosen, or without an edge the run.
reading::JudgedWindow compared_period(store::Database& database, const reading::Filter& chosen);

// `window` restricts it to a part of the run, which then is one step. Otherwise the steps are those
// of reading::judged_window(), if there are at least four. Without steps it is the time from the
// first to the last work of a GPU. `check` is called now and then and may throw.
Run read_run(store::Database& database, const reading::Filter& window,
             const std::function<void()>& check);

}  // namespace gpuprof::compare
