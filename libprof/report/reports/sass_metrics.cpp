// --print-sass-metrics: what each function's instructions did, by source line.
#include <cstdio>

#include "libprof/report/report.hpp"
#include "libprof/report/report_table.hpp"
#include "libprof/report/sass_lines.hpp"

namespace gpuprof::report {
namespace {

// "12.34", or "-" if the divisor is 0.
std::string quotient(std::int64_t of, std::int64_t by) {
  if (by <= 0) return "-";
  char text[48];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(of) / static_cast<double>(by));
  return text;
}

Cell quotient_cell(std::int64_t of, std::int64_t by) {
  return by > 0 ? Cell(static_cast<double>(of) / static_cast<double>(by)) : Cell();
}

// --- Text: functions, and what stands out in each

class SassMetricText {
 public:
  SassMetricText(Session& session, const SassLines& lines, PlacePrinter& places)
      : session_(session),
        output_(session.output()),
        lines_(lines),
        places_(places),
        most_(most_rows(session)) {}

  void print() {
    output_.heading("SASS metrics by source line:");
    const auto& functions = lines_.functions();
    for (std::size_t i = 0; i < functions.size() && i < most_; ++i) {
      if (i > 0) output_.line();
      print(functions[i]);
    }
    say_of_the_rest(output_, functions.size(), most_, "function", "functions");
  }

 private:
  void print(const SassFunction& function) {
    output_.line(session_.names().kernel(function.name));
    const SassCounts& all = function.all.of(SassSection::instructions);
    if (all.there) {
      output_.line("  " + std::to_string(all.executed) + " instructions executed by warps, " +
                   format_percent(percent(all.executed, lines_.executed())) + " of all, with " +
                   quotient(all.counted, all.executed) + " threads on average");
    }
    print(function, SassSection::instructions, "Executed%", "Executed", "Threads", "Instructions",
          [&](const SassCounts& counts) {
            return line(format_percent(percent(counts.executed, all.executed)),
                        std::to_string(counts.executed), quotient(counts.counted, counts.executed));
          });
    print(function, SassSection::branches, "Diverged%", "Diverged", "Branches",
          "Branches at which threads went different ways", [&](const SassCounts& counts) {
            return line(format_percent(percent(counts.counted, counts.executed)),
                        std::to_string(counts.counted), std::to_string(counts.executed));
          });
    print(function, SassSection::global_accesses, "Times ideal", "Sectors", "Ideal",
          "Accesses to global memory that are not coalesced", times_ideal);
    print(function, SassSection::shared_accesses, "Times ideal", "Wavefronts", "Ideal",
          "Accesses to shared memory with bank conflicts", times_ideal);
  }

  // Prints nothing if no place has weight.
  template <typename Numbers>
  void print(const SassFunction& function, SassSection section, const char* first,
             const char* second, const char* third, const std::string& what, Numbers numbers) {
    auto order = function.order(section);
    std::erase_if(order, [&](const auto* entry) { return entry->second.weight(section) == 0; });
    if (order.empty()) return;
    output_.line(line(first, second, third) + what);
    for (std::size_t i = 0; i < order.size() && i < most_; ++i) {
      output_.line(numbers(order[i]->second.of(section)) + places_.text(order[i]->first));
      places_.print_source(order[i]->first, indent);
    }
    say_of_the_rest(output_, order.size(), most_, "place", "places");
  }

  static std::string times_ideal(const SassCounts& counts) {
    return line(quotient(counts.counted, counts.beside), std::to_string(counts.counted),
                std::to_string(counts.beside));
  }

  static std::string line(const std::string& first, const std::string& second,
                          const std::string& third) {
    return right_aligned(first, 13) + "  " + right_aligned(second, 12) + "  " +
           right_aligned(third, 12) + "  ";
  }

  static constexpr std::size_t indent = 43;

  Session& session_;
  Output& output_;
  const SassLines& lines_;
  PlacePrinter& places_;
  const std::size_t most_;
};

// --- CSV and JSON: one table per section, with all places

class SassMetricRows {
 public:
  SassMetricRows(Session& session, const SassLines& lines, PlacePrinter& places)
      : session_(session), lines_(lines), places_(places) {}

  void print() {
    print("sass_instructions", SassSection::instructions,
          {{"Executed(%)", Quantity::percent, "executed_percent"},
           {"Executed", Quantity::count, "executed"},
           {"Threads", Quantity::count, "threads"},
           {"Threads with true predicate", Quantity::count, "threads_predicate_true"},
           {"Threads each time", Quantity::real, "threads_per_execution"}},
          [&](const SassCounts& counts) {
            return std::vector<Cell>{percent(counts.executed, lines_.executed()), counts.executed,
                                     counts.counted, counts.beside,
                                     quotient_cell(counts.counted, counts.executed)};
          });
    print("sass_branches", SassSection::branches,
          {{"Branches", Quantity::count, "branches"}, {"Diverged", Quantity::count, "diverged"}},
          [](const SassCounts& counts) {
            return std::vector<Cell>{counts.executed, counts.counted};
          });
    print_accesses("sass_global_accesses", SassSection::global_accesses, "Sectors", "sectors");
    print_accesses("sass_shared_accesses", SassSection::shared_accesses, "Wavefronts",
                   "wavefronts");
  }

 private:
  struct Number {
    std::string heading;
    Quantity quantity;
    std::string key;
  };

  void print_accesses(const char* table, SassSection section, const std::string& heading,
                      const std::string& key) {
    print(table, section,
          {{"Executed", Quantity::count, "executed"},
           {heading, Quantity::count, key},
           {"Ideal", Quantity::count, key + "_ideal"},
           {"Times ideal", Quantity::real, "times_ideal"}},
          [](const SassCounts& counts) {
            return std::vector<Cell>{counts.executed, counts.counted,
                                     counts.beside > 0 ? Cell(counts.beside) : Cell(),
                                     quotient_cell(counts.counted, counts.beside)};
          });
  }

  template <typename Cells>
  void print(const char* name, SassSection section, const std::vector<Number>& numbers,
             Cells cells) {
    std::vector<Column> columns{{.heading = "Function", .key = "function"}};
    PlacePrinter::add_columns(columns);
    for (const Number& number : numbers) {
      columns.push_back(
          {.heading = number.heading, .quantity = number.quantity, .key = number.key});
    }
    places_.add_source_column(columns);
    Table table(session_.output(), name, std::move(columns));
    table.without_units();
    const auto& functions = lines_.functions();
    std::size_t left = session_.options().top > 0 ? most_rows(session_) : functions.size();
    for (const SassFunction& function : functions) {
      if (left-- == 0) break;
      for (const auto* entry : function.order(section)) {
        std::vector<Cell> row{session_.names().kernel(function.name)};
        places_.add_cells(row, entry->first);
        for (Cell& cell : cells(entry->second.of(section))) row.push_back(std::move(cell));
        places_.add_source_cell(row, entry->first);
        table.row(row);
      }
    }
  }

  Session& session_;
  const SassLines& lines_;
  PlacePrinter& places_;
};

void print_sass_metrics(Session& session) {
  Output& output = session.output();
  if (!has_sass_metrics(session)) {
    output.heading("No SASS metrics are in the profile; --source-level-analysis collects them.");
    return;
  }
  const Filter& filter = session.options().filter;
  if (filter.from.given() || filter.to.given()) {
    output.warning("SASS metrics have no times: they are of the whole run.");
  }
  if (!filter.devices.empty()) output.warning("SASS metrics are sums of all devices.");
  const SassLines lines(session);
  PlacePrinter places(session);
  output.text() ? SassMetricText(session, lines, places).print()
                : SassMetricRows(session, lines, places).print();
  places.say_changed();
}

}  // namespace

extern const Report sass_metrics{
    .option = "print-sass-metrics",
    .help =
        "SASS metrics: what instructions did, by source line\n"
        "Of each function the lines that warps executed most instructions of, and with how many "
        "threads; branches at which threads went different ways; accesses to global memory that "
        "took more sectors, and to shared memory that took more wavefronts, than they would at "
        "best. Of functions and lines 10, or --top. --source prints the lines themselves. A run "
        "counts all of it, or what --source-level-analysis says.",
    .ours = true,
    .phase = Phase::extra,
    .order = 5,
    .top = true,
    .collected = {.sass_metrics = true},
    .does = Printer{print_sass_metrics},
};

}  // namespace gpuprof::report
