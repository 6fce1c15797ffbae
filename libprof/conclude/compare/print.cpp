#include "libprof/conclude/compare/print.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/json_text.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/compare/words.hpp"
#include "libprof/report/account.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::compare {
namespace {

// Text and Markdown sum up what changed by less than this share of the step, and takes less than
// that.
constexpr double least_change_shown = 0.001, least_time_shown = 0.01;
constexpr std::size_t most_kernels = 20;
constexpr std::size_t most_name = 300;  // bytes of a kernel's name in Markdown

std::string runs_text(const Comparison& sides) {
  const std::size_t a = sides.a.size(), b = sides.b.size();
  return a == b ? count_of(a, "run") + " each" : std::to_string(a) + " and " + count_of(b, "run");
}

bool is_shown(const Comparison& sides, const Change& change) {
  return std::abs(change.difference()) >= least_change_shown * sides.step.a ||
         std::max(change.a, change.b) >= least_time_shown * sides.step.a;
}

std::string title(Verdict verdict) {
  std::string text(verdict_name(verdict));
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string words_of(const PartName& part) {
  return printable(report::words_of({.what = part.first, .cause = part.second}));
}

// What a kernel's verdict says, with where it runs.
std::string state_of(const KernelChange& kernel) {
  if (kernel.launches_a == 0) return "new";
  if (kernel.launches_b == 0) return "gone";
  return kernel.time.verdict == Verdict::unknown ? ""
                                                 : std::string(verdict_name(kernel.time.verdict));
}

// What follows the kernel's name.
std::string text_after(const KernelChange& kernel) {
  if (!kernel.was.empty()) {
    const std::string was = printable(kernel.was);
    return renamed_text(was.size() > 80 ? without_middle(was, 50, 20, "...") : was);
  }
  if (!kernel.shape_changed()) return "";
  return printable(" (shape changed: " + kernel.shape_a + " > " + kernel.shape_b + ")");
}

std::string launches_text(const KernelChange& kernel) {
  const auto text = [](double launches) {
    return number_text(launches, launches == std::floor(launches) ? 0 : 1);
  };
  const std::string a = text(kernel.launches_a), b = text(kernel.launches_b);
  return a == b ? a : a + " > " + b;
}

// Rows as text has them: changes that are small are one row.
struct Row {
  double a = 0, b = 0;
  std::string text;
};

std::vector<Row> rows_of_parts(const Comparison& sides) {
  std::vector<Row> rows;
  Row others, all{.text = "in all"};
  std::size_t count = 0;
  for (const PartChange& part : sides.parts) {
    const Change& time = part.time;
    all.a += time.a;
    all.b += time.b;
    if (is_shown(sides, time)) {
      rows.push_back({time.a, time.b, words_of(part.name)});
      continue;
    }
    others.a += time.a;
    others.b += time.b;
    ++count;
  }
  if (count > 0) {
    others.text = count_of(count, "other part");
    rows.push_back(others);
  }
  rows.push_back(all);
  return rows;
}

// Those that are printed one by one; the others are one row.
std::pair<std::vector<const KernelChange*>, Row> shown_kernels(const Comparison& sides) {
  std::pair<std::vector<const KernelChange*>, Row> result;
  auto& [shown, others] = result;
  for (const KernelChange& kernel : sides.kernels) {
    if (shown.size() < most_kernels && is_shown(sides, kernel.time)) {
      shown.push_back(&kernel);
    } else {
      others.a += kernel.time.a;
      others.b += kernel.time.b;
    }
  }
  if (const std::size_t count = sides.kernels.size() - shown.size()) {
    others.text = count_of(count, "other kernel");
  }
  return result;
}

void print_parts(const Comparison& sides, report::Output& output) {
  report::Table table(output, "parts",
                      {{.heading = "Change", .width = 11},
                       {.heading = "A", .width = 11},
                       {.heading = "B", .width = 11},
                       {.heading = "The GPU"}});
  table.without_units();
  for (const Row& row : rows_of_parts(sides)) {
    const report::Cell cells[]{change_text(row.b - row.a), time_text(row.a), time_text(row.b),
                               row.text};
    table.row(cells);
  }
}

void print_kernels(const Comparison& sides, report::Output& output) {
  const auto [shown, others] = shown_kernels(sides);
  report::Table table(output, "kernels",
                      {{.heading = "Change", .width = 11},
                       {.heading = "A", .width = 11},
                       {.heading = "B", .width = 11},
                       {.heading = "", .width = 8},
                       {.heading = "Launches", .width = 12},
                       {.heading = "Kernel"}});
  table.without_units();
  for (const KernelChange* kernel : shown) {
    const report::Cell cells[]{change_text(kernel->time.difference()),
                               time_text(kernel->time.a),
                               time_text(kernel->time.b),
                               state_of(*kernel),
                               launches_text(*kernel),
                               printable(kernel->display) + text_after(*kernel)};
    table.row(cells);
  }
  if (others.text.empty()) return;
  const report::Cell cells[]{change_text(others.b - others.a),
                             time_text(others.a),
                             time_text(others.b),
                             std::string(),
                             std::string(),
                             others.text};
  table.row(cells);
}

std::string names_of(const std::vector<Run>& runs) {
  std::string text = printable(runs.front().file);
  if (runs.size() > 1) text += " and " + std::to_string(runs.size() - 1) + " more";
  return text;
}

// Text in Markdown: no character of it means anything there, nor calls anybody.
std::string cell(std::string_view text) {
  std::string cell = "<code>";
  for (const char c : printable(text.substr(0, most_name))) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view(" .,()=+-/").find(c) != std::string_view::npos ||
                       static_cast<unsigned char>(c) >= 0x80;
    cell += plain ? std::string(1, c) : "&#" + std::to_string(c) + ";";
  }
  if (text.size() > most_name) cell += "…";
  return cell + "</code>";
}

std::string markdown_row(const Row& row, const std::string& rest) {
  return "| " + change_text(row.b - row.a) + " | " + time_text(row.a) + " | " + time_text(row.b) +
         " | " + rest + " |\n";
}

using Json = nlohmann::ordered_json;

Json json_of(const Change& change) {
  Json json{{"a_ns", change.a},
            {"b_ns", change.b},
            {"difference_ns", change.difference()},
            {"shift_ns", change.shift},
            {"shift_from_ns", nullptr},
            {"shift_to_ns", nullptr},
            {"p", nullptr},
            {"verdict", verdict_name(change.verdict)}};
  if (change.limits) {
    json["shift_from_ns"] = change.limits->first;
    json["shift_to_ns"] = change.limits->second;
  }
  if (change.p) json["p"] = *change.p;
  return json;
}

// Of a figure that is a share.
Json shares_of(const Change& change) {
  return {{"a", change.a},
          {"b", change.b},
          {"shift", change.shift},
          {"p", change.p ? Json(*change.p) : Json()},
          {"verdict", verdict_name(change.verdict)}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const Check& check) {
  constexpr const char* outcomes[]{"kept", "broken", "unknown"};
  return {{"name", check.name},
          {"text", check.text},
          {"outcome", outcomes[static_cast<int>(check.outcome)]}};
}

Json json_of(const std::vector<Run>& runs) {
  Json json = Json::array();
  for (const Run& run : runs) {
    json.push_back({{"file", run.file},
                    {"devices", run.devices},
                    {"driver", run.driver},
                    {"cupti", run.cupti},
                    {"processes", run.processes},
                    {"steps", run.steps},
                    {"memory_peak_bytes", run.memory_peak > 0 ? Json(run.memory_peak) : Json()},
                    {"time_ns", run.time}});
  }
  return json;
}

}  // namespace

std::string headline(const Comparison& sides) {
  const Change& step = sides.step;
  const auto of = [](const std::vector<Run>& runs) {
    return runs.front().steps > 0 ? "step" : "run";
  };
  const std::string what = of(sides.a);
  std::string text = title(sides.verdict) + ": ";
  if (!sides.reason.empty()) text += printable(sides.reason) + ". ";
  if (what != of(sides.b)) {
    return text + "A " + what + " takes " + time_text(step.a) + " in A, a " + of(sides.b) + " " +
           time_text(step.b) + " in B.";
  }
  text += (sides.reason.empty() ? "the " : "The ") + what + " takes " + time_text(step.a) +
          " in A and " + time_text(step.b) + " in B (" +
          change_share_text(step.share(step.difference()));
  if (step.limits) {
    text += ", with 95 % confidence " + change_share_text(step.share(step.limits->first)) + " to " +
            change_share_text(step.share(step.limits->second));
  }
  return text + "; " + runs_text(sides) + ").";
}

std::vector<std::string> remarks(const Comparison& sides) {
  std::vector<std::string> lines;
  const auto is_change = [](const std::optional<Change>& change) {
    return change && (change->verdict == Verdict::slower || change->verdict == Verdict::faster);
  };
  if (is_change(sides.pace)) {
    lines.push_back("All kernels run " + change_share_text(sides.pace->share(sides.pace->shift)) +
                    " longer in B: the GPU's clock may be another.");
  }
  // The runs as such decide if they can.
  if (is_change(sides.at_equal_pace) && sides.step.p && sides.step.verdict != Verdict::same) {
    const Change& change = *sides.at_equal_pace;
    std::string text = "At an equal pace of the kernels, which differs between runs: " +
                       change_share_text(change.share(change.shift));
    if (change.limits) {
      text += " (" + change_share_text(change.share(change.limits->first)) + " to " +
              change_share_text(change.share(change.limits->second)) + ")";
    }
    lines.push_back(text + ".");
  }
  for (const Check& check : sides.checks) {
    if (check.outcome == Check::Outcome::kept) continue;
    const bool broken = check.outcome == Check::Outcome::broken;
    lines.push_back((broken ? "A rule is broken: " : "A rule is not decided: ") +
                    printable(check.text) + ".");
  }
  double memory_a = 0, memory_b = 0;
  for (const Run& run : sides.a) memory_a = std::max(memory_a, double(run.memory_peak));
  for (const Run& run : sides.b) memory_b = std::max(memory_b, double(run.memory_peak));
  if (memory_a > 0 && memory_b > 0) {
    lines.push_back("Device memory: at most " + bytes_text(memory_a) + " in A, " +
                    bytes_text(memory_b) + " in B.");
  }
  return lines;
}

void print_text(const Comparison& sides, std::ostream& out, const report::ReportOptions& options) {
  report::Output output(out, options);
  output.line(headline(sides));
  for (const std::string& remark : remarks(sides)) output.line(remark);
  output.line("A: " + names_of(sides.a) + "; B: " + names_of(sides.b));
  for (const Difference& difference : sides.differences) {
    output.line("The sides differ: " + printable(difference.text));
  }
  output.line();
  print_parts(sides, output);
  if (!sides.kernels.empty()) {
    output.line();
    print_kernels(sides, output);
  }
  output.finish();
}

void print_markdown(const Comparison& sides, std::ostream& out) {
  out << "### " << headline(sides) << "\n\nA: " << cell(names_of(sides.a))
      << ", B: " << cell(names_of(sides.b)) << "\n";
  for (const std::string& remark : remarks(sides)) out << "\n" << cell(remark) << "\n";
  for (const Difference& difference : sides.differences) {
    out << "\nThe sides differ: " << cell(difference.text) << "\n";
  }
  out << "\n| Change | A | B | The GPU |\n|---:|---:|---:|---|\n";
  for (const Row& row : rows_of_parts(sides)) out << markdown_row(row, cell(row.text));
  if (sides.kernels.empty()) return;
  const auto [shown, others] = shown_kernels(sides);
  out << "\n<details><summary>Kernels</summary>\n\n| Change | A | B | | Launches | Kernel |\n"
         "|---:|---:|---:|---|---:|---|\n";
  for (const KernelChange* kernel : shown) {
    out << markdown_row({kernel->time.a, kernel->time.b, {}},
                        state_of(*kernel) + " | " + launches_text(*kernel) + " | " +
                            cell(kernel->display + text_after(*kernel)));
  }
  if (!others.text.empty()) out << markdown_row(others, " | | " + others.text);
  out << "\n</details>\n";
}

void print_json(const Comparison& sides, std::ostream& out) {
  Json parts = Json::array(), kernels = Json::array(), differences = Json::array();
  for (const PartChange& part : sides.parts) {
    Json row{{"class", part.name.first}, {"cause", nullptr}};
    if (!part.name.second.empty()) row["cause"] = part.name.second;
    row.update(json_of(part.time));
    parts.push_back(std::move(row));
  }
  for (const KernelChange& kernel : sides.kernels) {
    Json row{{"name", kernel.name},
             {"was", text_or_null(kernel.was)},
             {"launches_a", kernel.launches_a},
             {"launches_b", kernel.launches_b},
             {"shape_a", text_or_null(kernel.shape_a)},
             {"shape_b", text_or_null(kernel.shape_b)}};
    row.update(json_of(kernel.time));
    kernels.push_back(std::move(row));
  }
  for (const Difference& difference : sides.differences) {
    differences.push_back({{"text", difference.text}, {"matters", difference.matters}});
  }
  Json rules = Json::array();
  for (const Check& check : sides.checks) rules.push_back(json_of(check));
  const Json document{
      {"version", 1},
      {"verdict", verdict_name(sides.verdict)},
      {"reason", sides.reason},
      {"threshold", sides.rules.threshold},
      {"per_step", sides.has_steps()},
      {"time", json_of(sides.step)},
      {"pace", sides.pace ? shares_of(*sides.pace) : Json()},
      {"time_at_equal_pace", sides.at_equal_pace ? json_of(*sides.at_equal_pace) : Json()},
      {"rules", std::move(rules)},
      {"parts", std::move(parts)},
      {"kernels", std::move(kernels)},
      {"differences", std::move(differences)},
      {"a", json_of(sides.a)},
      {"b", json_of(sides.b)}};
  out << json_text(document, 2) << '\n';
}

}  // namespace gpuprof::compare
