#include <algorithm>
#include <cstdio>
#include <ranges>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/view/answers.hpp"
#include "libprof/view/report.hpp"

namespace gpuprof::view {
namespace {

constexpr int most_gaps = 10;

// Text of a file in a cell of a table: as code, of which nothing can get out.
std::string code(std::string_view text, std::size_t most = 100) {
  std::string plain = shortened(printable(text), most);
  plain = replaced_all(replaced_all(std::move(plain), "`", "'"), "|", "\\|");
  return plain.empty() ? std::string() : "`` " + plain + " ``";
}

std::string time(double ns) {
  const char* unit = "ns";
  for (const char* next : {"µs", "ms", "s"}) {
    if (ns < 1000) break;
    ns /= 1000;
    unit = next;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.4g %s", ns, unit);
  return text;
}

std::string time(std::uint64_t ns) { return time(static_cast<double>(ns)); }

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

void add_devices(std::string& text, const Statistics& statistics, std::uint64_t span) {
  if (statistics.devices.empty()) return;
  text +=
      "\n### Where the time went\n\n| GPU | kernels alone | kernels and copies | copies alone | "
      "idle "
      "|\n|---|--:|--:|--:|--:|\n";
  std::size_t shown = 0;
  for (const Statistics::Device& each : statistics.devices) {
    if (++shown > 32) break;
    text += "| " + code(each.name);
    for (const std::uint64_t part :
         {each.compute - each.both, each.both, each.copies - each.both, span - each.busy}) {
      text += " | " + share(part, span) + ", " + time(part);
    }
    text += " |\n";
  }
}

}  // namespace

std::string markdown_report(const Model& model, const RunSummary& summary) {
  const std::int64_t end = std::max(model.end, model.begin + 1);
  const Statistics all = statistics(model, model.begin, end);
  const std::uint64_t span = intervals::length(model.begin, end);
  std::string text(markdown_begins);
  text += "\n## " + code(summary.title) + "\n\n| | |\n|---|---|\n";
  for (const Detail& fact : summary.facts) {
    text += "| " + fact.name + " | " + code(fact.value, 300) + " |\n";
  }
  text += "| time | " + time(span) + " |\n| records | " + std::to_string(model.records) + " |\n";
  std::size_t told = 0;
  for (const std::string& loss : model.losses) {
    if (++told <= 20) text += "\n**Lost:** " + code(loss, 400) + "\n";
  }
  for (const std::string& note : summary.notes) {
    if (++told <= 40) text += "\n" + code(note, 400) + "\n";
  }
  add_devices(text, all, span);
  add_work(text, model, all, TrackKind::stream, "GPU work", 20);
  add_work(text, model, all, TrackKind::range_on_gpu, "NVTX ranges on the GPU", 15);
  add_work(text, model, all, TrackKind::api, "CUDA API", 10);
  add_untimed(text, summary.untimed, 10);
  if (!summary.stops.gaps.empty()) {
    text +=
        "\n### Longest times without GPU work\n\n| before | time | at | host in |\n"
        "|---|--:|--:|---|\n";
    for (const Gap& gap : summary.stops.gaps | std::views::take(most_gaps)) {
      text += "| " + code(gap.behind) + " | " + time(static_cast<double>(gap.time)) + " | " +
              time(static_cast<double>(gap.begin)) + " | " + code(gap.call) + " |\n";
    }
  }
  if (text.size() > most_markdown_bytes) {
    throw Error("the report would have " + std::to_string(text.size()) + " bytes");
  }
  return text;
}

}  // namespace gpuprof::view
