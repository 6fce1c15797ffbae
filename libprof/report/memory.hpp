// Reports of gpuprof memory: the tables of libprof/compute/memory as text, CSV and JSON.
#pragma once

#include <ostream>
#include <string>

#include "libprof/compute/memory/tables.hpp"
#include "libprof/report/options.hpp"
#include "libprof/report/output.hpp"

namespace gpuprof::report {

// What to print. If none is set: everything, though text omits the timeline.
struct MemorySections {
  bool peak = false, leaks = false, timeline = false, owners = false;

  bool none() const { return !peak && !leaks && !timeline && !owners; }
};

// How many points the timeline needs.
std::size_t points_of(const MemorySections& sections, Layout layout);

// A line about the first failed allocation and who owned the memory then; empty if none failed.
std::string out_of_memory_text(const memory::Account& account);

void print_memory(const memory::Account& account, std::ostream& out, const MemorySections& sections,
                  const ReportOptions& options);
// As a part of a document.
void print_memory(const memory::Account& account, Output& output, const MemorySections& sections,
                  const ReportOptions& options);

}  // namespace gpuprof::report
