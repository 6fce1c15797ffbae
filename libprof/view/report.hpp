// A run on one page that can be mailed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/view/model.hpp"
#include "libprof/view/stops.hpp"
#include "libprof/view/untimed.hpp"

namespace gpuprof::view {

struct RunSummary {
  std::string title;
  std::vector<Detail> facts;       // what ran, where, with what
  Stops stops;                     // the longest gaps, steps, and losses
  std::vector<std::string> notes;  // of the file
  UntimedWork untimed;
};
RunSummary summarize(store::Database& database, const Model& model, std::string title,
                     std::span<const std::string> notes);

// How files begin that these two make.
inline constexpr std::string_view html_begins = "<!doctype html>\n<!-- gpuprof report -->";
inline constexpr std::string_view markdown_begins = "<!-- gpuprof report -->";

constexpr std::size_t most_html_bytes = 5'000'000, most_bytes_with_all_records = 50'000'000,
                      most_markdown_bytes = 60'000;

// The viewer's page with its data in it: all records where they find room, else the whole run in as
// many pixels as do and the records of the longest gaps and steps. It asks for nothing from
// anywhere. `all_records`: throws Error where they take more than most_bytes_with_all_records.
std::string html_report(const Model& model, const RunSummary& summary, bool all_records = false);
std::string markdown_report(const Model& model, const RunSummary& summary);

// For html_report(): what the page has for a server, as elements. client/report.js reads them.
std::string report_data(const Model& model, const RunSummary& summary, bool all_records);

}  // namespace gpuprof::view
