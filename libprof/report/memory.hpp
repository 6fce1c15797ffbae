// Where the memory went, for gpuprof memory: libprof/memory's tables as text, CSV and JSON.
#pragma once

#include <ostream>

#include "libprof/memory/tables.hpp"
#include "libprof/report/options.hpp"

namespace gpuprof::report {

// What is printed. None: all but the timeline, which JSON has too.
struct MemorySections {
  bool peak = false, leaks = false, timeline = false, owners = false;

  bool none() const { return !peak && !leaks && !timeline && !owners; }
};

// How many points a timeline needs.
std::size_t points_of(const MemorySections& sections, Layout layout);

void print_memory(const memory::Account& account, std::ostream& out, const MemorySections& sections,
                  const Options& options);

}  // namespace gpuprof::report
