// --print-pc-sampling: nvprof's table, and the source lines with the most samples.
#include "libprof/report/bars.hpp"
#include "libprof/report/pc_samples.hpp"
#include "libprof/report/pc_summary.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

std::string device_of(Session& session, const SampledFunction& function) {
  return session.names().device(function.device);
}

// ---- Text: functions, their reasons, their lines

class HotLineText {
 public:
  HotLineText(Session& session, const SampledLines& samples, PlacePrinter& places)
      : session_(session), samples_(samples), places_(places), most_(most_rows(session)) {}

  void print() {
    Output& output = session_.output();
    output.heading("PC samples by source line:");
    const auto& functions = samples_.functions();
    for (std::size_t i = 0; i < functions.size() && i < most_; ++i) {
      if (i > 0) output.line();
      print(functions[i]);
    }
    say_of_the_rest(output, functions.size(), most_, "function", "functions");
  }

 private:
  void print(const SampledFunction& function) {
    Output& output = session_.output();
    const SampleCounts& all = function.all.all;
    output.line(session_.names().kernel(function.name));
    output.line(
        "  " + std::to_string(all.samples) + " samples on " + device_of(session_, function) + ", " +
        format_percent(percent(all.samples, samples_.samples())) + " of all; in " +
        format_percent(percent(all.not_issued, all.samples)) + " the scheduler issued nothing");
    print_reasons(function.all, function_reasons, 32, "  ");
    output.line("   Samples%     Samples  Not issued  Where");
    const auto order = function.order();
    for (std::size_t i = 0; i < order.size() && i < most_; ++i) {
      print(*order[i], all.samples);
    }
    say_of_the_rest(output, order.size(), most_, "place", "places");
  }

  void print(const std::pair<const SourcePlace, SampledPlace>& entry, std::int64_t of) {
    const auto& [place, counts] = entry;
    Output& output = session_.output();
    output.line(right_aligned(format_percent(percent(counts.all.samples, of)), 11) + "  " +
                right_aligned(std::to_string(counts.all.samples), 10) + "  " +
                right_aligned(std::to_string(counts.all.not_issued), 10) + "  " +
                places_.text(place));
    places_.print_source(place, indent);
    print_reasons(counts, line_reasons, 20, std::string(indent, ' '));
  }

  void print_reasons(const SampledPlace& place, std::size_t most, std::size_t width,
                     const std::string& before) {
    for (const std::int64_t number : place.order()) {
      const std::int64_t samples = place.reasons.at(number).samples;
      const double share = percent(samples, place.all.samples);
      if (most-- == 0 || share < least_percent) break;
      session_.output().line(before + bar(share / 100, width, session_.options().blocks) + " " +
                             right_aligned(format_percent(share), 7) + "  " +
                             samples_.reason(number));
    }
  }

  static constexpr std::size_t function_reasons = 8, line_reasons = 3;
  static constexpr double least_percent = 1;
  static constexpr std::size_t indent = 37;

  Session& session_;
  const SampledLines& samples_;
  PlacePrinter& places_;
  const std::size_t most_;
};

// --- CSV and JSON: one row per place and reason

void print_rows(Session& session, const SampledLines& samples, PlacePrinter& places) {
  std::vector<Column> columns{{.heading = "Device", .key = "device"},
                              {.heading = "Function", .key = "function"}};
  PlacePrinter::add_columns(columns);
  columns.push_back({.heading = "Stall reason", .key = "stall_reason"});
  columns.push_back(
      {.heading = "Samples(%)", .quantity = Quantity::percent, .key = "samples_percent"});
  columns.push_back({.heading = "Samples", .quantity = Quantity::count, .key = "samples"});
  columns.push_back({.heading = "Not issued", .quantity = Quantity::count, .key = "not_issued"});
  places.add_source_column(columns);
  Table table(session.output(), "pc_samples", std::move(columns));
  table.without_units();
  table.heading();
  std::size_t left = session.options().top > 0 ? most_rows(session) : samples.functions().size();
  for (const SampledFunction& function : samples.functions()) {
    if (left-- == 0) break;
    for (const auto* entry : function.order()) {
      const auto& [place, counts] = *entry;
      for (const std::int64_t number : counts.order()) {
        const SampleCounts& of = counts.reasons.at(number);
        std::vector<Cell> row{device_of(session, function), session.names().kernel(function.name)};
        places.add_cells(row, place);
        row.emplace_back(samples.reason(number));
        row.emplace_back(percent(of.samples, samples.samples()));
        row.emplace_back(of.samples);
        row.emplace_back(of.not_issued);
        places.add_source_cell(row, place);
        table.row(row);
      }
    }
  }
}

void print_pc_hot_lines(Session& session) {
  Output& output = session.output();
  if (!session.has_rows("PC_SAMPLING")) {
    output.heading("No PC samples are in the profile; --pc-sampling collects them.");
    return;
  }
  if (session.options().filter.from.given() || session.options().filter.to.given()) {
    output.warning("PC samples have no times: they are of the whole run.");
  }
  print_pc_summary(session, true);
  const SampledLines samples(session);
  PlacePrinter places(session);
  output.text() ? HotLineText(session, samples, places).print()
                : print_rows(session, samples, places);
  places.say_changed();
}

}  // namespace

extern const Report pc_hot_lines{
    .option = "print-pc-sampling",
    .help =
        "PC samples: source lines at which warps waited, and for what\n"
        "nvprof's table comes first. Of functions, lines and addresses those with the most "
        "samples: 10, or --top. "
        "--source prints the lines themselves.",
    .ours = true,
    .phase = Phase::extra,
    .order = 4,
    .top = true,
    .collected = {.pc_samples = true},
    .does = Printer{print_pc_hot_lines},
};

}  // namespace gpuprof::report
