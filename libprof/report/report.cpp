#include "libprof/report/report.hpp"

#include <algorithm>

#include "libprof/base/printable.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/left_out.hpp"
#include "libprof/report/metrics.hpp"
#include "libprof/report/output.hpp"
#include "libprof/report/value_trace.hpp"

namespace gpuprof::report {

std::span<const Report* const> reports() {
  static const std::vector<const Report*> all = [] {
    std::vector<const Report*> list{
#define GPUPROF_REPORT(name) &name,
#include "libprof/report/all_reports.inc"
#undef GPUPROF_REPORT
    };
    std::ranges::stable_sort(list, [](const Report* a, const Report* b) {
      return a->phase != b->phase ? a->phase < b->phase : a->order < b->order;
    });
    return list;
  }();
  return all;
}

namespace {

void print_phase(Session& session, Phase phase) {
  for (const Report* report : reports()) {
    const auto* printer = std::get_if<Printer>(&report->does);
    if (!printer || report->phase != phase) continue;
    if (report->option.empty() || session.chosen(report->option)) printer->print(session);
  }
}

void print_traces(Session& session) {
  TraceParts parts;
  for (const Report* report : reports()) {
    const auto* traced = std::get_if<Traced>(&report->does);
    if (traced && session.chosen(report->option)) parts.*traced->part = true;
  }
  if (parts.gpu && has_kernel_values(session)) return print_value_trace(session, parts.api);
  print_trace(session, parts);
}

void print_per_device(Session& session) {
  Output& output = session.output();
  const std::vector<std::int64_t> devices = session.names().devices();
  if (devices.empty()) output.line("No devices are in the profile.");
  for (const std::int64_t id : devices) {
    session.device = id;
    output.context({{"device", session.names().device(id)}});
    output.line();
    output.heading("Device \"" + session.names().device(id) + "\"");
    std::vector<SummarySection> sections;
    for (const Report* report : reports()) {
      const auto* section = std::get_if<Section>(&report->does);
      if (section && section->per_device) sections.push_back(read_section(session, *report));
    }
    print_sections(session, std::move(sections));
    for (const Report* report : reports()) {
      const auto* printer = std::get_if<Printer>(&report->does);
      if (printer && printer->per_device) printer->print(session);
    }
  }
  output.context({});
  session.device.reset();
}

// If only kernels were measured there are no calls, and nvprof prints no summary.
bool shows_summary(Session& session) {
  return session.output().keyed() || !has_values(session) || has_other_records(session);
}

void print_heading_of_values(Session& session) {
  print_phase(session, Phase::values);
  if (session.values_printed && shows_summary(session)) {
    session.output().heading("Trace result:");
  }
}

void print_losses(Session& session) {
  store::Database& database = session.database();
  // A foreign file may have something else under that name, and a damaged one may lack its tables.
  if (!database.has_table("STATISTIC") || !database.has_table("STATISTIC_DOC")) return;
  for (const std::string_view column : {"process_id", "kind", "name", "value", "help"}) {
    if (!database.has_column("losses", column)) return;
  }
  const bool reasons = database.has_column("losses", "reason");
  auto losses =
      database.prepare("SELECT value, name, kind, process_id, " +
                       std::string(reasons ? "coalesce(reason, help)" : "help") + " FROM losses");
  while (losses.step()) {
    std::string line(losses.text(0));
    line.append(" ").append(losses.text(1));
    std::string where(losses.text(2));
    if (!losses.is_null(3)) {
      where.append(where.empty() ? "" : ", ").append("process ").append(losses.text(3));
    }
    if (!where.empty()) line.append(" (").append(where).append(")");
    if (!losses.text(4).empty()) line.append(": ").append(losses.text(4));
    session.output().warning(printable(line));
  }
}

bool any_chosen(const Session& session, Phase phase) {
  return std::ranges::any_of(reports(), [&](const Report* report) {
    return report->phase == phase && session.chosen(report->option);
  });
}

// Our own reports that follow other reports are printed alone if no others were chosen.
bool stands_alone(const Session& session) {
  const auto& chosen = session.options().chosen;
  return !chosen.empty() && std::ranges::all_of(chosen, [](const std::string& option) {
    const auto report = std::ranges::find(reports(), option, &Report::option);
    return report != reports().end() && (*report)->ours && (*report)->phase == Phase::extra;
  });
}

// C++ names: nvprof's style in nvprof's layouts, unambiguous ones in our own, short ones on a page.
NameStyle name_style(const ReportOptions& options, bool as_page) {
  if (options.names) return *options.names;
  if (as_page) return NameStyle::display;
  const bool ours = options.layout == Layout::json || options.layout == Layout::plain_csv ||
                    options.statistics || std::ranges::any_of(reports(), [&](const Report* report) {
                      return report->ours && options.chosen.contains(std::string(report->option));
                    });
  return ours ? NameStyle::modern : NameStyle::compatible;
}

}  // namespace

SummarySection read_section(Session& session, const Report& report) {
  const auto& section = std::get<Section>(report.does);
  return {.label = section.label(session),
          .rows = section.rows(session),
          .nothing = nothing_of(session, report)};
}

std::string nothing_of(const Session& session, const Report& report) {
  const auto& section = std::get<Section>(report.does);
  const bool silent = section.nothing_if_asked && !session.chosen(report.option);
  return silent ? "" : std::string(section.nothing);
}

std::vector<const Report*> chosen_sections(const Session& session) {
  std::vector<const Report*> chosen;
  const auto add = [&](bool asked) {
    for (const Report* report : reports()) {
      const auto* section = std::get_if<Section>(&report->does);
      if (!section || session.chosen(report->option) != asked) continue;
      if (asked || section->by_default) chosen.push_back(report);
    }
  };
  add(true);
  const bool per_device = session.chosen(summary_per_gpu.option);
  if (!per_device && (chosen.empty() || session.chosen(print_summary.option))) add(false);
  return chosen;
}

bool shows_section(const Session& session, const Report& report) {
  const auto chosen = chosen_sections(session);
  return std::ranges::find(chosen, &report) != chosen.end();
}

std::string wrong_combination(const ReportOptions& options) {
  bool summary = false, trace = false, top = false;
  std::string_view missing;
  for (const Report* report : reports()) {
    if (!options.chosen.contains(std::string(report->option))) continue;
    summary |= report->phase == Phase::summary;
    trace |= report->phase == Phase::trace;
    top |= report->top;
    const Report* needs = report->needs;
    if (needs && !options.chosen.contains(std::string(needs->option))) missing = report->missing;
  }
  if (options.two_layouts) return "Use one of --csv, --csv=plain and --json.";
  if (options.top > 0 && trace && !summary && !top) {
    return "--top is for summaries; a trace has all rows.";
  }
  const auto from = options.filter.from.ns, to = options.filter.to.ns;
  if (from && to && *from >= *to) {
    return "--from is not before --to.";
  }
  if (summary && trace) {
    return "Use either the print summary options or the print trace options.";
  }
  return std::string(missing);
}

Collected collected_for(const ReportOptions& options) {
  Collected all;
  for (const Report* report : reports()) {
    if (!options.chosen.contains(std::string(report->option))) continue;
    all.all_calls |= report->collected.all_calls;
    all.dependencies |= report->collected.dependencies;
    all.pc_samples |= report->collected.pc_samples;
    all.pm_samples |= report->collected.pm_samples;
    all.sass_metrics |= report->collected.sass_metrics;
    all.memory |= report->collected.memory;
  }
  return all;
}

bool is_for_a_person(const ReportOptions& options) {
  const Filter& filter = options.filter;
  return options.for_a_person && !options.nvprof && options.chosen.empty() &&
         options.layout == Layout::text && options.unit == Unit::automatic && !options.names &&
         !options.statistics && options.top == 0 && !filter.from.given() && !filter.to.given() &&
         filter.kernels.empty() && filter.devices.empty();
}

void print_reports(store::Database& database, std::ostream& out, const ReportOptions& options,
                   std::string (*page)(Session&)) {
  Output output(out, options);
  const bool as_page = page && is_for_a_person(options);
  Session session(database, options, output, name_style(options, as_page));
  check_devices(session);
  if (options.cpu.show_ccff && !options.cpu.by_instruction) {
    output.warning("Showing CCFF messages implies collapsing the graph by instruction address.");
  }
  // With event and metric values, nvprof prints the summary instead of all traces but one.
  const bool trace = any_chosen(session, Phase::trace) &&
                     (session.chosen(gpu_trace.option) || !has_values(session));
  const bool alone = stands_alone(session);
  const bool per_gpu = session.chosen(summary_per_gpu.option);
  if (alone) {
    print_phase(session, Phase::extra);
  } else if (as_page) {
    print_phase(session, Phase::values);
    const std::string text = page(session);
    session.warn_of_odd_records();
    output.stream() << text;
  } else if (trace) {
    session.begin_result();
    print_heading_of_values(session);
    print_traces(session);
  } else {
    std::vector<SummarySection> sections;
    for (const Report* report : chosen_sections(session)) {
      sections.push_back(read_section(session, *report));
    }
    session.begin_result();
    const auto print_all = [&] {
      if (per_gpu) print_per_device(session);
      // With a summary per GPU, nvprof omits the detail reports.
      if (per_gpu && !sections.empty()) output.line();
      print_sections(session, sections);
      if (!per_gpu) print_phase(session, Phase::detail);
    };
    // With values at points in time nvprof prints everything twice; with values of kernels only, it
    // prints just what else was traced.
    if (has_device_values(session) && !output.keyed()) print_all();
    print_heading_of_values(session);
    if (shows_summary(session)) print_all();
  }
  if (!alone) {
    print_phase(session, Phase::behind);
    print_phase(session, Phase::extra);
    print_phase(session, Phase::always);
  }
  report_left_out(session);
  session.report_skipped();
  print_losses(session);
  output.finish();
}

}  // namespace gpuprof::report
