// Reports on an untrusted database: how they are chosen, and what must hold for their output.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "libprof/report/report.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {

// A selection of reports, with a layout, a unit and filters, all derived from the number.
inline report::ReportOptions options_of(std::uint32_t number) {
  const auto take = [&number](std::uint32_t choices) {
    const std::uint32_t choice = number % choices;
    number = number / choices * 2654435761u ^ number >> 11;
    return choice;
  };
  report::ReportOptions options;
  constexpr report::Layout layouts[] = {report::Layout::json, report::Layout::csv,
                                        report::Layout::text};
  options.layout = layouts[take(3)];
  // Traces and summaries are mutually exclusive.
  const bool traces = take(2) != 0;
  if (take(7) != 0) {
    for (const report::Report* report : report::reports()) {
      const auto excluded = traces ? report::Phase::summary : report::Phase::trace;
      if (!report->option.empty() && report->phase != excluded) {
        options.chosen.emplace(report->option);
      }
    }
  }
  options.statistics = take(2) != 0;
  options.top = take(2) != 0 ? 2 : 0;
  if (take(5) == 0) options.unit = report::Unit::column;
  options.cpu.mode = static_cast<report::CpuMode>(take(3));
  options.cpu.show_library = take(2) != 0;
  options.cpu.by_thread = take(2) != 0;
  options.cpu.show_ccff = take(2) != 0;
  if (take(8) == 0) {
    options.filter.from = {10};
    options.filter.to = {100'000'000};
  }
  if (take(8) == 0) options.filter.kernels = "k|v";
  if (take(8) == 0) options.filter.devices = {0, 1};
  return options;
}

// Checks a complete output.
inline void check_report(const std::string& text, report::Layout layout) {
  if (layout == report::Layout::json && !text.empty() && !nlohmann::json::accept(text)) {
    finding("a report in JSON is no JSON: " + text.substr(0, 2000));
  }
}

}  // namespace gpuprof::fuzz
