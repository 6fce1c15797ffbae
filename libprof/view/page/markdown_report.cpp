// A run for a pull request or a ticket: at most 60 lines.
#include <algorithm>
#include <cstdio>
#include <ranges>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/findings/words.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/page/advice.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_verdicts = 2, most_losses = 2, most_remarks = 3, most_work_rows = 6,
                      most_idle_rows = 4, most_findings = 3, most_work = 5;

// Untrusted text: formatted as code that it cannot break out of.
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

// The command, or else the file; GPUs, time, number of records, and what it cost.
void add_head(std::string& text, const RunSummary& summary) {
  const auto command = std::ranges::find(summary.facts, "command", &Detail::name);
  text += "\n## " + code(summary.title) + "\n\n";
  if (command != summary.facts.end()) text += code(command->value, 300) + "  \n";
  std::size_t gpus = 0;
  for (const Detail& fact : summary.facts) {
    if (fact.name == "GPU" && ++gpus <= 4) text += code(fact.value) + ", ";
  }
  if (gpus > 4) text += count_of(gpus - 4, "more GPU") + ", ";
  text += time(summary.window.length()) + ", " + count_of(summary.records, "record");
  const auto cost = std::ranges::find(summary.facts, "cost", &Detail::name);
  if (cost != summary.facts.end()) text += "; cost of the recording: " + code(cost->value, 400);
  text += '\n';
}

void add_verdicts(std::string& text, const RunSummary& summary) {
  std::vector<std::string> verdicts;
  for (const findings::Device& device : summary.findings.devices) {
    verdicts.push_back(findings::verdict(device));
  }
  if (verdicts.empty()) verdicts.push_back(report::verdict_of(summary.account));
  for (const std::string& verdict : verdicts | std::views::take(most_verdicts)) {
    if (!verdict.empty()) text += "\n" + code(verdict, 400) + "\n";
  }
}

void add_remarks(std::string& text, const Model& model, const RunSummary& summary) {
  std::size_t shown = 0;
  for (const std::string& loss : model.losses | std::views::take(most_losses)) {
    text += "\n**Lost:** " + code(loss, 400) + "\n";
    ++shown;
  }
  for (const std::string& note : summary.notes) {
    if (++shown <= most_remarks) text += "\n" + code(note, 400) + "\n";
  }
}

// Of the first GPU: all kinds of work and the largest other parts; the rest is summed up.
void add_account(std::string& text, const report::TimeAccount& account) {
  if (account.gpus.empty()) return;
  const auto whole = static_cast<std::uint64_t>(account.time);
  const report::GpuAccount& gpu = account.gpus.front();
  text += "\n### Where the time went\n\n| " + code(gpu.name) +
          " | time | share | intervals |\n|---|--:|--:|--:|\n";
  const auto add = [&](const std::string& what, std::uint64_t part, std::int64_t intervals) {
    text += "| " + what + " | " + time(part) + " | " + share(part, whole) + " | " +
            (intervals > 0 ? std::to_string(intervals) : "") + " |\n";
  };
  std::uint64_t left = 0;
  std::size_t left_out = 0, work = 0, idle = 0;
  for (const report::AccountRow& row : gpu.rows) {
    const auto its = static_cast<std::uint64_t>(row.duration);
    if (is_work(row) ? ++work <= most_work_rows : ++idle <= most_idle_rows) {
      add(code(report::words_of(row)), its, row.intervals);
    } else {
      left += its;
      ++left_out;
    }
  }
  if (left_out > 0) add(count_of(left_out, "smaller part"), left, 0);
  add("in all", whole, 0);
  if (account.gpus.size() > 1) {
    text += "\nand " + count_of(account.gpus.size() - 1, "more GPU") + "\n";
  }
}

void add_findings(std::string& text, const RunSummary& summary) {
  text += "\n### Findings\n\n";
  const bool several = summary.findings.devices.size() > 1;
  std::size_t found = 0;
  for (const findings::Finding& finding : summary.findings.findings) {
    if (finding.share < least_share || ++found > most_findings) continue;
    text += std::to_string(found) + ". **" + std::string(finding.rule->title) + "**: at most " +
            findings::time_words(finding.at_most) + ", " + findings::percent_words(finding.share) +
            " of the time" + (several ? " of GPU " + std::to_string(finding.device) : "") +
            findings::simulated_words(finding) + "; confidence " +
            std::string(findings::name_of(finding.confidence)) + ".  \n   " +
            std::string(finding.rule->fix) + "\n";
  }
  if (found == 0) text += "No rule found much that could be saved.\n";
  if (found > most_findings) {
    text += "\nand " + count_of(found - most_findings, "more finding") + "\n";
  }
}

void add_steps(std::string& text, const StepTimes& steps) {
  if (steps.spread.count == 0) return;
  text += "\n" + count_of(steps.spread.count, "step") + ": median " +
          time(static_cast<std::uint64_t>(steps.spread.median)) + ", longest " +
          time(static_cast<std::uint64_t>(steps.spread.longest)) + " (number " +
          std::to_string(steps.spread.longest_number) + ")\n";
}

void add_work(std::string& text, const Model& model, const RunSummary& summary) {
  std::uint64_t whole = 0;
  std::size_t names = 0;
  std::string rows;
  for (const Statistics::Work& work : summary.statistics.work) {
    if (work.kind == TrackKind::stream) whole += work.time;
  }
  for (const Statistics::Work& work : summary.statistics.work) {
    if (work.kind != TrackKind::stream || ++names > most_work) continue;
    rows += "| " + code(model.names[work.name].label) + " | " + time(work.time) + " | " +
            share(work.time, whole) + " | " + std::to_string(work.count) + " | " +
            time(work.longest) + " |\n";
  }
  if (names > 0) {
    text +=
        "\n### GPU work\n\n| name | time | of all | count | longest |\n|---|--:|--:|--:|--:|\n" +
        rows;
    if (names > most_work) text += "\nand " + count_of(names - most_work, "more name") + "\n";
  } else if (!summary.untimed.groups.empty()) {
    text += "\nGPU work has no times.\n";
  }
}

}  // namespace

std::string markdown_report(const Model& model, const RunSummary& summary) {
  std::string text(markdown_begins);
  text += '\n';
  add_head(text, summary);
  add_verdicts(text, summary);
  add_remarks(text, model, summary);
  add_account(text, summary.account);
  add_findings(text, summary);
  add_steps(text, summary.steps);
  add_work(text, model, summary);
  return text;
}

}  // namespace gpuprof::view
