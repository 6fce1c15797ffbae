// What a run has measured again and again: memory that is allocated, samples of counters, clocks,
// temperature and power.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "libprof/read/tables.hpp"
#include "libprof/read/window.hpp"

namespace gpuprof::reading {

struct Counter {
  enum class Of { memory, samples, environment };
  Of of = Of::memory;
  std::string name = {};
  std::string unit = {};  // empty: a plain number
  std::int64_t device = 0;
  std::int64_t process = 0;           // of memory; else 0: of the device
  std::array<std::int64_t, 4> key{};  // tells counters of a sort apart, and puts them in an order
};

// Calls visit(counter, time, value) for each finite value, those of one sort in the order of time;
// memory that is there when the window begins has a value then.
// `check` now and then. Beyond 256 counters of a sort, as only forged files have them, none is
// visited. Counters live as long as the visit.
void visit_counters(store::Database& database, const Window& window,
                    const std::function<void()>& check,
                    const std::function<void(const Counter&, std::int64_t time, double)>& visit);

}  // namespace gpuprof::reading
