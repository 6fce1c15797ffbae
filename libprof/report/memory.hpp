// Where the memory went, for gpuprof memory: libprof/memory's tables as text, CSV and JSON.
#pragma once

#include <ostream>
#include <string>

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

// A line about the first call that found no memory, with whose it was then; empty: there is none.
std::string out_of_memory_text(const memory::Account& account);

void print_memory(const memory::Account& account, std::ostream& out, const MemorySections& sections,
                  const Options& options);

}  // namespace gpuprof::report
