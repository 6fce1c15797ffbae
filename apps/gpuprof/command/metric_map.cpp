#include <iostream>
#include <memory>
#include <thread>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/sets.hpp"
#include "schema/metric_sets.hpp"

namespace gpuprof::app {
namespace {

using schema::NvprofFormula;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? "\\|" : std::string(1, c);
  return result;
}

void print_table(std::string_view heading, std::span<const NvprofFormula> table) {
  std::cout << "| " << heading << " | unit | formula; the next where a chip lacks it | note |\n"
            << "|---|---|---|---|\n";
  for (const NvprofFormula& metric : table) {
    std::string formulas;
    for (const std::string_view formula : metric.formulas) {
      if (formula.empty()) break;
      formulas += (formulas.empty() ? "`" : "<br>`") + std::string(formula) + "`";
    }
    std::cout << "| `" << metric.name << "` | " << schema::unit_of(metric) << " | " << formulas
              << " | " << escaped(metric.note) << " |\n";
  }
}

std::string column(const std::shared_ptr<const cupti::HostLibrary>& library,
                   const std::string& name, std::span<const NvprofFormula* const> rows) try {
  const cupti::HostChip chip(library, name);
  const metrics::Catalogue catalogue(chip);
  std::string choices;
  for (const NvprofFormula* row : rows) {
    const auto choice = catalogue.formula_for(*row);
    choices += choice ? static_cast<char>('1' + *choice) : '-';
  }
  return choices;
} catch (const Error&) {
  // CUPTI 13.0 lists chips that it does not know.
  return std::string(rows.size(), '-');
}

// The number of the formula for each chip, as columns: "1", "2" …; "-": none can be collected.
void print_by_chip(const std::string& cupti) {
  const auto library = std::make_shared<const cupti::HostLibrary>(host_cupti_candidates(cupti));
  const std::vector<std::string> chips = library->chips();
  std::vector<const NvprofFormula*> rows;
  for (const NvprofFormula& row : schema::nvprof_metric_formulas) rows.push_back(&row);
  const std::size_t metrics = rows.size();
  for (const NvprofFormula& row : schema::nvprof_event_formulas) rows.push_back(&row);

  std::vector<std::string> columns(chips.size());
  {
    std::vector<std::jthread> threads;
    const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t first = 0; first < count; ++first) {
      threads.emplace_back([&, first] {
        for (std::size_t i = first; i < chips.size(); i += count) {
          columns[i] = column(library, chips[i], rows);
        }
      });
    }
  }
  std::cout << "kind\tname";
  for (const std::string& chip : chips) std::cout << "\t" << chip;
  std::cout << "\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row]->computable()) continue;
    std::cout << (row < metrics ? "metric\t" : "event\t") << rows[row]->name;
    for (const std::string& column : columns) std::cout << "\t" << column[row];
    std::cout << "\n";
  }
}

// What each chip has of each set, and why it lacks something.
void print_sets(const std::string& cupti) {
  const auto library = std::make_shared<const cupti::HostLibrary>(host_cupti_candidates(cupti));
  std::cout << "chip\tset\tmetrics\tleft out\n";
  for (const std::string& name : library->chips()) {
    const cupti::HostChip chip(library, name);
    const metrics::Catalogue catalogue(chip);
    for (const schema::MetricSet& set : schema::metric_sets) {
      const metrics::SetOnChip found = metrics::set_on_chip(catalogue, set);
      std::cout << name << "\t" << set.name << "\t"
                << joined(found.metrics, ",", &metrics::Metric::name) << "\t"
                << joined(found.left_out, "; ",
                          [](const auto& left) {
                            return joined(left.second, ",") + ": " + left.first;
                          })
                << "\n";
    }
  }
}

struct MetricMapArguments {
  bool by_chip = false, sets = false;
  std::string cupti;
};

int print_metric_map(MetricMapArguments& arguments) {
  if (arguments.by_chip) {
    print_by_chip(arguments.cupti);
    return 0;
  }
  if (arguments.sets) {
    print_sets(arguments.cupti);
    return 0;
  }
  print_table("nvprof's metric", schema::nvprof_metric_formulas);
  std::cout << "\n";
  print_table("nvprof's event", schema::nvprof_event_formulas);
  return 0;
}

void declare_metric_map(Grammar& grammar, MetricMapArguments& arguments) {
  grammar.take("--by-chip", &arguments.by_chip,
               "Which formula each chip takes, as a table with tabs");
  grammar.take("--sets", &arguments.sets, "The metrics of each set on each chip, likewise");
  grammar.take("--cupti", &arguments.cupti, "The libcupti to ask");
}

}  // namespace

// For the tests and docs/metrics.md.
extern const Subcommand metric_map_command{
    .name = "metric-map",
    .declare = command<MetricMapArguments, declare_metric_map, print_metric_map>};

}  // namespace gpuprof::app
