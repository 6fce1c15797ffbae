// The output of reports, as text.
#pragma once

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "libprof/report/report.hpp"

namespace gpuprof::test {

inline std::string printed(store::Database& file, const report::ReportOptions& options = {}) {
  std::ostringstream out;
  report::print_reports(file, out, options);
  return out.str();
}

inline bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != text.npos;
}

}  // namespace gpuprof::test
