// Values of a device's counters while its kernels ran: table PM_KERNEL.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"
#include "schema/sampled.hpp"

namespace gpuprof::compute {

// A sweep over samples and kernels in start order. Memory: what is open at a time; the rest waits
// in files. Used by one thread.
class PmKernels {
 public:
  // Costs nothing for files without samples.
  void read(store::Database& database, store::Snapshot& snapshot,
            const std::function<void()>& check);
  // Fills the table, inside the caller's transaction.
  void write(store::Database& database);

 private:
  static constexpr std::int32_t no_part = -1;
  static constexpr std::size_t most_open = 1024;  // concurrent kernels of a device

  using Values = std::array<double, schema::pm_values_per_row>;

  // A sample or a kernel.
  struct Event {
    std::int64_t device = 0, begin = 0, end = 0;
    std::int64_t correlation = 0;
    std::int32_t name = 0;
    std::int32_t part = no_part;  // of a sample
    Values values{};              // of a sample; NaN: none
    bool operator<(const Event& other) const {
      return std::tie(device, begin) < std::tie(other.device, other.begin);
    }
  };
  // For one kernel and part.
  struct Means {
    Event kernel;
    std::int32_t part = 0;
    std::int64_t samples = 0;
    Values sums{}, weights{};
    bool operator<(const Means& other) const { return kernel < other.kernel; }
  };
  struct Open {
    Event kernel;
    std::vector<Means> parts;
  };

  void take(const Event& event);
  static void count(Open& open, const Event& sample);
  void close_until(std::int64_t device, std::int64_t time);

  std::optional<Sorted<Event>> events_;  // nullopt: there are no samples
  std::vector<Open> open_;
  std::vector<Event> recent_;  // samples that have not ended yet
  std::int64_t device_ = 0;    // of both
  Sorted<Means> found_;
};

}  // namespace gpuprof::compute
