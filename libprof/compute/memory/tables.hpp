// Where the memory went, as tables: the output of gpuprof memory and of Python's run.memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libprof/compute/memory/operations.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::memory {

enum class Type { integer, bytes, real, text };

struct Column {
  std::string name;
  Type type = Type::integer;
};

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

struct Table {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows = {};

  std::size_t place(std::string_view column) const;
};

struct Questions {
  By by = By::library;
  std::size_t points = 0;  // of each place's timeline; 0: none
  std::size_t held = 0;    // of each place: the largest allocations at its peak
};

struct Account {
  // Their columns are listed in docs/memory.md.
  Table devices, peaks, owners, leaks, pools, steps, failures, processes, timeline;
  // As requested: its place, `bytes`, `owner`, `relative_time_ns` of the allocation, and `age_ns`
  // at the peak. Not among all().
  Table held;
  // From --track-memory.
  Table virtual_memory, failed_calls, failure_owners, readings, unaccounted;
  bool any = false;                  // the file has allocations
  bool any_library = false;          // … and some have a requesting library
  std::int64_t zero = 0;             // origin of relative times, ns
  std::int64_t first = 0, last = 0;  // times of operations, ns

  std::vector<const Table*> all() const;
};

// "library", "nvtx", "stack", "kind", "pool"; throws Error for anything else.
By parse_by(std::string_view word);
std::string_view name_of(By by);

// Throws Error if allocations were not recorded. Linear in the file's rows; memory: the allocations
// live at a time, and the tables.
Account account(reading::Profile& profile, const Questions& questions,
                const std::function<void()>& check);

}  // namespace gpuprof::memory
