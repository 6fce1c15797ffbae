// The places in a kernel's code where its warps were sampled (--pc-sampling).
#include <algorithm>
#include <unordered_map>

#include "libprof/report/number.hpp"
#include "libprof/report/pc_samples.hpp"
#include "libprof/view/model/sections.hpp"

namespace gpuprof::view {
namespace {

using report::SampledFunction;
using report::SampledPlace;
using report::SourcePlace;

constexpr std::size_t most_lines = 10;
constexpr std::size_t most_places = 200'000;  // distinct places; no function has that many

class HotLines {
 public:
  explicit HotLines(Subject& subject)
      : subject_(subject), ours_(subject.tables.has(samples_table, "stallReasonId")) {}

  Section find() {
    Section section{.title = "Hot lines of all launches of this function", .rows = {}};
    if (!subject_.is_kernel() || !can_read()) return section;
    // With --pc-serialize, launches are distinguished.
    SampledFunction function = of_launch(subject_.correlation);
    if (function.all.all.samples > 0) {
      section.title = "Hot lines of this launch";
    } else {
      function = of_launch(0);
    }
    const report::StallReasons reasons(subject_.database, ours_);
    const auto order = function.order();
    for (std::size_t i = 0; i < std::min(order.size(), most_lines); ++i) {
      const auto& [place, sampled] = *order[i];
      const std::int64_t samples = sampled.all.samples;
      std::string text = std::to_string(samples) + " samples, " +
                         report::format_percent(report::percent(samples, function.all.all.samples));
      for (const std::int64_t number : sampled.order()) {
        const std::string reason = reasons.name(number);
        if (reason == "selected" || reason == "none") continue;  // the warp was not stalled
        text += ", mostly " + reason;
        break;
      }
      const std::string file = place.file > 0 ? subject_.names.text(place.file) : "";
      section.rows.push_back({report::place_text(place, file), std::move(text)});
    }
    if (order.size() > most_lines) {
      section.rows.push_back({"", "and " + std::to_string(order.size() - most_lines) + " more"});
    }
    return section;
  }

 private:
  static constexpr std::string_view samples_table = "CUPTI_ACTIVITY_KIND_PC_SAMPLING";
  static constexpr std::string_view functions_table = "CUPTI_ACTIVITY_KIND_FUNCTION";
  static constexpr std::string_view lines_table = "CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR";

  bool can_read() {
    reading::Tables& tables = subject_.tables;
    return tables.has(samples_table, "functionId") && tables.has(samples_table, "samples") &&
           tables.has(functions_table, "name");
  }

  // 0: all launches together.
  SampledFunction of_launch(std::int64_t correlation) {
    const auto of_process = [&](std::string_view table) {
      return subject_.tables.has(table, "processId") ? " AND processId = ?3" : " AND ?3 = ?3";
    };
    const std::string device =
        subject_.tables.has(samples_table, "deviceId") ? " AND deviceId = ?4" : " AND ?4 = ?4";
    auto rows = subject_.database.prepare(
        "SELECT sourceLocatorId, pcOffset, samples, latencySamples, " +
        std::string(ours_ ? "stallReasonId" : "stallReason") + " FROM main." +
        std::string(samples_table) + " WHERE functionId IN (SELECT id FROM main." +
        std::string(functions_table) + " WHERE name = ?1" + of_process(functions_table) +
        ") AND correlationId = ?2" + of_process(samples_table) + device);
    rows.bind(1, subject_.name).bind(2, correlation).bind(3, subject_.process);
    rows.bind(4, subject_.device);
    read_lines();
    SampledFunction function;
    while (rows.step()) {
      const std::int64_t samples = rows.integer(2), not_issued = rows.integer(3);
      if (samples < 0 || not_issued < 0) continue;
      const auto line = lines_.find(rows.integer(0));
      const SourcePlace place =
          line == lines_.end() ? SourcePlace{.pc = rows.integer(1)} : line->second;
      function.all.add(0, samples, not_issued);
      if (function.places.size() < most_places || function.places.contains(place)) {
        function.places[place].add(rows.integer(4), samples, not_issued);
      }
    }
    return function;
  }

  // The table has no index, so it is read once.
  void read_lines() {
    if (!lines_.empty() || !subject_.tables.has(lines_table, "fileName") ||
        !subject_.tables.has(lines_table, "lineNumber")) {
      return;
    }
    auto rows = subject_.database.prepare("SELECT id, fileName, lineNumber FROM main." +
                                          std::string(lines_table));
    while (rows.step() && lines_.size() < most_places) {
      if (rows.integer(2) <= 0) continue;
      lines_.try_emplace(
          rows.integer(0),
          SourcePlace{.file = std::max<std::int64_t>(rows.integer(1), 0), .line = rows.integer(2)});
    }
  }

  Subject& subject_;
  const bool ours_;
  std::unordered_map<std::int64_t, SourcePlace> lines_;
};

}  // namespace

Section read_hot_lines(Subject& subject) { return HotLines(subject).find(); }

}  // namespace gpuprof::view
