#include "libprof/terminal/overview.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/findings/words.hpp"
#include "libprof/read/step_times.hpp"
#include "libprof/report/account.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/paragraph.hpp"
#include "libprof/terminal/account_bar.hpp"
#include "libprof/terminal/short_names.hpp"
#include "schema/traits.hpp"

namespace gpuprof::terminal {
namespace {

using findings::percent_words;
using findings::time_words;

constexpr std::size_t most_gpus = 4, most_findings = 3, most_work = 10, most_calls = 3;
// Finding what can be mended takes half a second of CPU time for each million records.
constexpr std::int64_t most_judged = 3'000'000;

double share_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

struct GpuTimes {
  std::int64_t id = 0;
  Times times = {};
};

std::vector<GpuTimes> gpus_of(const findings::Findings& found) {
  std::vector<GpuTimes> gpus;
  for (const findings::Device& device : found.devices) {
    GpuTimes& gpu = gpus.emplace_back(GpuTimes{.id = device.id});
    for (const auto& [part, ns] : device.parts) gpu.times.add(part, ns);
  }
  return gpus;
}

std::vector<GpuTimes> gpus_of(const report::TimeAccount& account) {
  std::vector<GpuTimes> gpus;
  for (const report::GpuAccount& each : account.gpus) {
    GpuTimes& gpu = gpus.emplace_back(GpuTimes{.id = each.id});
    for (const report::AccountRow& row : each.rows) gpu.times.add(row.what, row.duration);
  }
  return gpus;
}

std::int64_t count_records(report::Session& session) {
  std::int64_t count = 0;
  const auto add = [&](std::string_view kind) {
    if (!session.has_column(kind, "_id_")) return;
    auto last = session.select(kind, {"max(_id_)"});
    if (last.step()) count = saturating_add(count, last.integer(0));
  };
  for (const auto& work : schema::gpu_kinds) add(work.kind);
  for (const auto& calls : schema::api_kinds) add(calls.kind);
  return count;
}

class Overview {
 public:
  explicit Overview(report::Session& session)
      : session_(session), style_(style_of(session.options())) {}

  std::string text() {
    add_verdict();
    add_work();
    add_calls();
    add_steps();
    add_commands();
    return std::move(text_);
  }

 private:
  static Style style_of(const report::ReportOptions& options) {
    constexpr std::size_t narrowest = 40, widest = 120, usual = 80;
    return {.width = options.columns == 0 ? usual : std::clamp(options.columns, narrowest, widest),
            .blocks = options.blocks,
            .colours = options.colours};
  }

  void add(std::string_view line) { text_.append(line) += '\n'; }
  void add_sentence(std::string_view text) { text_ += report::paragraph("", text, style_.width); }
  std::string bold(std::string_view line) const {
    return style_.colours > 0 ? "\033[1m" + std::string(line) + "\033[0m" : std::string(line);
  }
  // After a blank line, a heading.
  void begin(std::string_view line) {
    if (!text_.empty()) text_ += '\n';
    add(bold(line));
  }
  void begin_sentence(std::string_view sentence) {
    if (!text_.empty()) text_ += '\n';
    const std::string lines = report::paragraph("", sentence, style_.width);
    for (const std::string& line : split(trimmed(lines), '\n')) add(bold(line));
  }

  void add_verdict() {
    if (count_records(session_) > most_judged) return add_stored_account();
    store::Database& database = session_.database();
    const findings::Findings found =
        findings::read_findings(database, {}, {}, [&] { database.check_watch(); });
    if (found.devices.empty()) return;
    const auto least = std::ranges::min_element(
        found.devices, {}, [](const auto& each) { return share_of(each.compute, each.time); });
    begin_sentence(findings::verdict(*least));
    add_bars(gpus_of(found));
    if (found.of_steps) add_sentence(steps_words(found));
    add_findings(found);
  }

  // What was computed at the end of the run, for files whose findings take long.
  void add_stored_account() {
    const auto account = report::stored_account(session_.database());
    if (!account) return;
    begin_sentence(printable(report::verdict_of(*account)));
    add_bars(gpus_of(*account));
  }

  void add_bars(const std::vector<GpuTimes>& gpus) {
    if (gpus.size() == 1) {
      add(bar(gpus[0].times, style_.width, style_));
      text_ += legend(gpus[0].times, style_);
      return;
    }
    Times all;
    for (const GpuTimes& gpu : gpus) all.add(gpu.times);
    for (std::size_t i = 0; i < std::min(gpus.size(), most_gpus); ++i) {
      const Times& times = gpus[i].times;
      const std::string name = "GPU " + std::to_string(gpus[i].id) + " ";
      const std::string share =
          " " +
          report::right_aligned(percent_words(share_of(times[Doing::compute], times.all())), 7);
      const std::size_t used = name.size() + share.size();
      add(name + bar(times, style_.width - std::min(style_.width, used), style_) + share);
    }
    if (gpus.size() > most_gpus) {
      add_sentence("and " + count_of(gpus.size() - most_gpus, "more GPU") +
                   "; of all of them, as in the bars:");
    }
    text_ += legend(all, style_);
  }

  void add_findings(const findings::Findings& found) {
    if (found.findings.empty()) return begin_sentence(findings::rest_words(0, 0, 0));
    begin_sentence("Findings, and what mending them saves at most");
    std::size_t shown = 0;
    for (const findings::Finding& finding : found.findings) {
      if (++shown > most_findings) break;
      const std::string numbers = report::right_aligned(time_words(finding.at_most), 10) +
                                  report::right_aligned(percent_words(finding.share), 8) + "  ";
      text_ += report::paragraph(numbers, finding.rule->title, style_.width);
    }
    if (found.findings.size() > most_findings) {
      add_sentence("and " + count_of(found.findings.size() - most_findings, "more finding"));
    }
  }

  // Rows of time, share, calls and, where it fits, average, then names.
  void add_rows(const std::string& heading, std::vector<report::SummaryRow> rows,
                std::size_t most) {
    report::sort_by_time(rows);
    std::int64_t all = 0;
    for (const report::SummaryRow& row : rows) all = saturating_add(all, row.total.time);
    const auto cells = [&](const std::string& time, const std::string& share,
                           const std::string& calls, const std::string& average) {
      std::string text = report::right_aligned(time, 10) + report::right_aligned(share, 8);
      if (style_.width >= 50) text += report::right_aligned(calls, 9);
      if (style_.width >= 70) text += report::right_aligned(average, 10);
      return text + "  ";
    };
    const std::string head = cells("time", "share", "calls", "average");
    begin(head + heading);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) names.push_back(rows[i].name);
    names = short_names(names, style_.width - head.size(), style_.blocks);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const report::Total& total = rows[i].total;
      add(cells(time_words(total.time), percent_words(share_of(total.time, all)),
                std::to_string(total.calls), time_words(total.time / total.calls)) +
          names[i]);
    }
    if (rows.size() > most) {
      const std::int64_t shown = time_of_first(rows, most);
      add(cells(time_words(all - shown), percent_words(share_of(all - shown, all)), "", "") + "(" +
          std::to_string(rows.size() - most) + " more)");
    }
  }

  static std::int64_t time_of_first(const std::vector<report::SummaryRow>& rows, std::size_t most) {
    std::int64_t time = 0;
    for (std::size_t i = 0; i < most; ++i) time = saturating_add(time, rows[i].total.time);
    return time;
  }

  void add_work() {
    auto section = read_section(session_, report::gpu_activities);
    if (section.rows.empty())
      return begin(std::string(report::nothing_of(session_, report::gpu_activities)));
    add_rows("GPU work of the run", std::move(section.rows), most_work);
  }

  void add_calls() {
    auto section = read_section(session_, report::api_calls);
    if (!section.rows.empty()) add_rows("calls of CUDA", std::move(section.rows), most_calls);
  }

  // Of the process with most.
  void add_steps() {
    if (!session_.database().has_column("STEP", "stop")) return;
    constexpr std::size_t most_steps = 1'000'000;
    auto steps =
        session_.database().prepare("SELECT start, stop FROM main.STEP WHERE stop > start AND " +
                                    std::string(reading::is_of_main_process) +
                                    " ORDER BY start LIMIT " + std::to_string(most_steps));
    std::vector<std::int64_t> times;
    while (steps.step()) {
      times.push_back(saturating_subtract(steps.integer(1), steps.integer(0)));
    }
    if (times.empty()) return;
    const reading::StepSpread spread = reading::spread_of(std::move(times));
    std::string line = count_of(spread.count, "step");
    if (spread.count > 1) {
      line += ", the longest " + time_words(spread.longest) + " (number " +
              std::to_string(spread.longest_number) + "), the median ";
    } else {
      line += " of ";
    }
    line += time_words(spread.median);
    text_ += '\n';
    add_sentence(line + ".");
  }

  void add_commands() {
    const std::string& file = session_.options().file;
    text_ += '\n';
    if (file.empty()) {
      return add_sentence(
          "-o FILE keeps the run for gpuprof findings, view and report; --nvprof prints nvprof's "
          "summary.");
    }
    const std::string name = printable(shell_line({file}));
    add_sentence("How to mend it: gpuprof findings " + name);
    add_sentence("The timeline: gpuprof view " + name);
    add_sentence("All names, as nvprof prints them: gpuprof --nvprof -i " + name);
  }

  report::Session& session_;
  const Style style_;
  std::string text_;
};

}  // namespace

std::string overview(report::Session& session) { return Overview(session).text(); }

}  // namespace gpuprof::terminal
