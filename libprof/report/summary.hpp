// nvprof's default report: time by name, GPU activities and API calls.
#pragma once

#include <ostream>
#include <string>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

struct SummaryOptions {
  bool gpu = true;
  bool api = true;
  std::string prefix = "======== ";  // before headings and warnings; "==pid== " in live runs
};

// Reads everything in one read transaction, so that it is right beside a process that writes, and
// prints after that transaction is over. Tables that are missing count as empty. What was lost
// (view `losses`) is printed behind the tables.
void print_summary(store::Database& database, std::ostream& out, const SummaryOptions& options);

}  // namespace gpuprof::report
