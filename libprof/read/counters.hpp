// What a run measured repeatedly: allocated memory, counter samples, clocks, temperature and power.
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
  std::int64_t process = 0;           // for memory; otherwise 0: the device's
  std::array<std::int64_t, 4> key{};  // distinguishes and orders counters of one kind
};

// Calls visit(counter, time, value) for each finite value, in time order per kind of counter;
// memory allocated before the window begins is reported at its start. Calls `check` now and then.
// Counters beyond 256 of a kind, as only forged files have, are ignored. Counters live as long as
// the visit.
void visit_counters(store::Database& database, const Window& window,
                    const std::function<void()>& check,
                    const std::function<void(const Counter&, std::int64_t time, double)>& visit);

}  // namespace gpuprof::reading
