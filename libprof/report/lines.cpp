#include "libprof/report/lines.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/output.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

using compute::LineTime;

Cell or_nothing(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

void print_keyed(std::span<const LineTime> lines, Output& output) {
  constexpr Quantity count = Quantity::count;
  Table table(output, "lines",
              {{.heading = "file", .key = "file"},
               {.heading = "line", .quantity = count, .key = "line"},
               {.heading = "function", .key = "function"},
               {.heading = "gpu_ns", .quantity = count, .key = "gpu_ns"},
               {.heading = "kernels", .quantity = count, .key = "kernels"},
               {.heading = "copies", .quantity = count, .key = "copies"},
               {.heading = "idle_ns", .quantity = count, .key = "idle_ns"},
               {.heading = "call_ns", .quantity = count, .key = "call_ns"},
               {.heading = "calls", .quantity = count, .key = "calls"}});
  table.heading();
  for (const LineTime& each : lines) {
    const Cell cells[]{or_nothing(each.line.file),
                       each.line.line > 0 ? Cell(each.line.line) : Cell(),
                       or_nothing(each.line.function),
                       each.gpu,
                       each.kernels,
                       each.copies,
                       each.idle,
                       each.call,
                       each.calls};
    table.row(cells);
  }
}

void add_line(LineTime& sum, const LineTime& line) {
  const auto add_to = [&](std::int64_t LineTime::*part) {
    sum.*part = saturating_add(sum.*part, line.*part);
  };
  for (const auto part : {&LineTime::gpu, &LineTime::kernels, &LineTime::copies, &LineTime::idle,
                          &LineTime::call, &LineTime::calls}) {
    add_to(part);
  }
}

void print_text(std::span<const LineTime> lines, Output& output, std::size_t most) {
  LineTime all, others;
  for (const LineTime& line : lines) add_line(all, line);
  for (const LineTime& line : lines.subspan(std::min(most, lines.size()))) add_line(others, line);
  Table table(output, "lines",
              {{.heading = "Share", .width = 8, .quantity = Quantity::percent},
               {.heading = "GPU time", .width = 11, .quantity = Quantity::time},
               {.heading = "Kernels", .width = 9, .quantity = Quantity::count},
               {.heading = "Copies", .width = 8, .quantity = Quantity::count},
               {.heading = "GPU idle", .width = 11, .quantity = Quantity::time},
               {.heading = "In calls", .width = 11, .quantity = Quantity::time},
               {.heading = "Line"}});
  const auto print = [&](const LineTime& line, const std::string& words) {
    const double share =
        all.gpu > 0 ? 100 * static_cast<double>(line.gpu) / static_cast<double>(all.gpu) : 0;
    const Cell cells[]{share, line.gpu, line.kernels, line.copies, line.idle, line.call, words};
    table.row(cells);
  };
  for (const LineTime& line : lines.first(std::min(most, lines.size()))) {
    print(line, compute::line_words(line.line));
  }
  if (lines.size() > most) {
    print(others, count_of(static_cast<std::int64_t>(lines.size() - most), "other line"));
  }
  print(all, "in all");
}

}  // namespace

void print_lines(std::span<const LineTime> lines, std::ostream& out, const ReportOptions& options) {
  Output output(out, options);
  constexpr std::size_t usual = 20;
  if (output.keyed()) {
    print_keyed(lines, output);
  } else if (std::ranges::none_of(lines, [](const LineTime& each) { return each.recorded > 0; })) {
    output.line(
        "No call has a line of Python. gpuprof records those of a program's first thread, with "
        "--stacks=launches those of all.");
  } else {
    print_text(lines, output, options.top > 0 ? static_cast<std::size_t>(options.top) : usual);
  }
  output.finish();
}

}  // namespace gpuprof::report
