#include <algorithm>
#include <cstdio>
#include <ranges>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {
namespace {

constexpr int most_gaps = 10;
constexpr std::size_t most_devices = 16, most_account_rows = 10, most_counters = 20;

// Untrusted text in a table cell: formatted as code that it cannot break out of.
std::string code(std::string_view text, std::size_t most = 100) {
  std::string plain = shortened(printable(text), most);
  plain = replaced_all(replaced_all(std::move(plain), "`", "'"), "|", "\\|");
  return plain.empty() ? std::string() : "`` " + plain + " ``";
}

std::string time(std::uint64_t ns) { return time_text(static_cast<double>(ns)); }

std::string share(std::uint64_t part, std::uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
  return text;
}

void add_work(std::string& text, const Model& model, const Statistics& statistics, TrackKind kind,
              const char* title, std::size_t most) {
  std::uint64_t whole = 0;
  for (const Statistics::Work& work : statistics.work) {
    if (work.kind == kind) whole += work.time;
  }
  std::size_t shown = 0, names = 0;
  std::string rows;
  for (const Statistics::Work& work : statistics.work) {
    if (work.kind != kind) continue;
    ++names;
    if (shown == most) continue;
    ++shown;
    rows += "| " + code(model.names[work.name].label) + " | " + time(work.time) + " | " +
            share(work.time, whole) + " | " + std::to_string(work.count) + " | " +
            time(work.longest) + " |\n";
  }
  if (names == 0) return;
  text += "\n### " + std::string(title) + "\n\n| name | time | of all | count | longest |\n" +
          "|---|--:|--:|--:|--:|\n" + rows;
  if (names > shown) text += "\nand " + std::to_string(names - shown) + " more names\n";
}

void add_ranges(std::string& text, const RunSummary& summary) {
  const RangeTable& table = summary.ranges;
  if (table.rows.empty()) return;
  text +=
      "\n### NVTX ranges on the GPU\n\n| name | GPU busy | share | span | ranges | launches |\n"
      "|---|--:|--:|--:|--:|--:|\n";
  for (const RangeTable::Row& row : table.rows) {
    text += "| ";
    for (std::size_t i = 0; i < row.depth; ++i) text += "&emsp;";
    text += code(row.name) + " | " + time(row.busy) + " | " +
            share(row.busy, summary.window.length()) + " | " + time(row.span) + " | " +
            std::to_string(row.ranges) + " | " + std::to_string(row.work) + " |\n";
  }
  if (table.left_out > 0) text += "\nand " + std::to_string(table.left_out) + " more names\n";
}

void add_untimed(std::string& text, const UntimedWork& work, std::size_t most) {
  if (work.groups.empty()) return;
  text += "\n### GPU work without times\n\n| name | process | count |\n|---|--:|--:|\n";
  std::int64_t more = work.left_out;
  std::size_t shown = 0;
  for (const Untimed& each : work.groups) {
    if (++shown > most) {
      more += each.count;
      continue;
    }
    text += "| " + code(each.name) + " | " + std::to_string(each.process) + " | " +
            std::to_string(each.count) + " |\n";
  }
  if (more > 0) text += "\nand " + std::to_string(more) + " more records\n";
}

// Idle time in small parts is summed up.
void add_account(std::string& text, const report::TimeAccount& account) {
  if (account.gpus.empty()) return;
  const auto whole = static_cast<std::uint64_t>(account.time);
  text += "\n### Where the time went\n";
  for (const report::GpuAccount& gpu : account.gpus | std::views::take(most_devices)) {
    text += "\n" + code(gpu.name) + "\n\n| it | time | share | intervals |\n|---|--:|--:|--:|\n";
    const auto add = [&](const std::string& what, std::uint64_t part, std::int64_t intervals) {
      text += "| " + what + " | " + time(part) + " | " + share(part, whole) + " | " +
              (intervals > 0 ? std::to_string(intervals) : "") + " |\n";
    };
    std::uint64_t left = 0;
    std::size_t rows = 0, left_out = 0;
    for (const report::AccountRow& row : gpu.rows) {
      const auto its = static_cast<std::uint64_t>(row.duration);
      if (++rows <= most_account_rows || is_work(row)) {
        add(code(report::words_of(row)), its, row.intervals);
      } else {
        left += its;
        ++left_out;
      }
    }
    if (left_out > 0) add(std::to_string(left_out) + " smaller parts", left, 0);
    add("in all", whole, 0);
  }
}

void add_counters(std::string& text, const Model& model, const RunSummary& summary) {
  if (summary.counters.empty()) return;
  text += "\n### Over time\n\n| | of | least | mean | most | at |\n|---|---|--:|--:|--:|--:|\n";
  std::size_t shown = 0;
  for (const CounterSummary& each : summary.counters) {
    if (++shown > most_counters) break;
    const std::string& unit = each.track->counter.unit;
    text += "| " + code(each.track->path.back()) + " | " +
            code(each.track->path[0] + ", " + each.track->path[1]) + " | " +
            counter_text(each.least, unit) + " | " + counter_text(each.mean, unit) + " | " +
            counter_text(each.most, unit) + " | " +
            time_text(static_cast<double>(saturating_subtract(each.most_at, model.zero))) + " |\n";
  }
  if (summary.counters.size() > most_counters) {
    text += "\nand " + std::to_string(summary.counters.size() - most_counters) + " more\n";
  }
}

// "`` no CUDA call `` for 3.55 s (99.9 %), `` cudaMalloc `` for 52 µs (0.1 %)"
std::string host_text(const Gap& gap) {
  std::vector<std::string> parts;
  for (const HostPart& part : gap.host) {
    const auto ns = static_cast<std::uint64_t>(part.time);
    parts.push_back(code(part.name) + " for " + time(ns) + " (" +
                    share(ns, static_cast<std::uint64_t>(gap.time)) + ")");
  }
  return parts.empty() ? "not recorded" : joined(parts, ", ");
}

void add_metrics(std::string& text, const MetricTable& table) {
  if (table.kernels.empty() || table.metrics.empty()) return;
  text += "\n### Metrics, means of launches\n\n| kernel | launches |";
  for (const std::string& name : table.metrics) text += " " + code(name, 60) + " |";
  text += "\n|---|--:|";
  for (std::size_t i = 0; i < table.metrics.size(); ++i) text += "--:|";
  text += "\n";
  for (const MetricTable::Kernel& kernel : table.kernels) {
    text += "| " + code(kernel.name) + " | " + std::to_string(kernel.launches) + " |";
    for (const std::string& value : kernel.values) text += " " + code(value, 40) + " |";
    text += "\n";
  }
  if (table.kernels_left_out > 0) {
    text += "\nand " + std::to_string(table.kernels_left_out) + " more kernels\n";
  }
  if (table.metrics_left_out > 0) {
    text += "\nand " + std::to_string(table.metrics_left_out) + " more metrics\n";
  }
}

}  // namespace

std::string markdown_report(const Model& model, const RunSummary& summary) {
  const Statistics& all = summary.statistics;
  std::string text(markdown_begins);
  text += "\n## " + code(summary.title) + "\n\n| | |\n|---|---|\n";
  for (const Detail& fact : summary.facts) {
    text += "| " + fact.name + " | " + code(fact.value, 300) + " |\n";
  }
  text += "| time | " + time(summary.window.length()) + " |\n| records | " +
          std::to_string(summary.records) + " |\n";
  if (const std::string verdict = report::verdict_of(summary.account); !verdict.empty()) {
    text += "\n" + code(verdict, 400) + "\n";
  }
  std::size_t told = 0;
  for (const std::string& loss : model.losses) {
    if (++told <= 20) text += "\n**Lost:** " + code(loss, 400) + "\n";
  }
  for (const std::string& note : summary.notes) {
    if (++told <= 40) text += "\n" + code(note, 400) + "\n";
  }
  add_account(text, summary.account);
  add_work(text, model, all, TrackKind::stream, "GPU work", 20);
  add_ranges(text, summary);
  add_work(text, model, all, TrackKind::api, "CUDA API", 10);
  add_counters(text, model, summary);
  add_metrics(text, summary.metrics);
  if (!summary.is_part) add_untimed(text, summary.untimed, 10);
  if (!summary.stops.gaps.empty()) {
    text +=
        "\n### Longest times without GPU work\n\n| before | time | at | host in |\n"
        "|---|--:|--:|---|\n";
    for (const Gap& gap : summary.stops.gaps | std::views::take(most_gaps)) {
      text += "| " + code(gap.behind) + " | " + time_text(static_cast<double>(gap.time)) + " | " +
              time_text(static_cast<double>(gap.begin)) + " | " + host_text(gap) + " |\n";
    }
  }
  if (text.size() > most_markdown_bytes) {
    throw Error("the report would have " + std::to_string(text.size()) + " bytes");
  }
  return text;
}

}  // namespace gpuprof::view
