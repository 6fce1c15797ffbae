// Where the memory went, as tables: what gpuprof memory and Python's run.memory give.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libprof/memory/operations.hpp"
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
};

struct Account {
  // Each has the columns that docs/memory.md lists.
  Table devices, peaks, owners, leaks, pools, steps, failures, processes, timeline;
  // Of --track-memory.
  Table virtual_memory, failed_calls, failure_owners, readings, unaccounted;
  bool any = false;                  // the file has allocations
  bool any_library = false;          // … and says of some which library asked
  std::int64_t zero = 0;             // what relative times count from, ns
  std::int64_t first = 0, last = 0;  // operations, ns

  std::vector<const Table*> all() const;
};

// "library", "nvtx", "stack", "kind", "pool"; throws Error for others.
By parse_by(std::string_view word);
std::string_view name_of(By by);

// Throws Error where allocations were not recorded. Linear in the file's rows; memory: what is
// allocated at a time, and the tables.
Account account(reading::Profile& profile, const Questions& questions,
                const std::function<void()>& check);

}  // namespace gpuprof::memory
