#include <algorithm>
#include <string_view>

#include "libprof/base/printable.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/findings/print.hpp"
#include "libprof/conclude/findings/words.hpp"
#include "libprof/report/paragraph.hpp"

namespace gpuprof::findings {
namespace {

using report::paragraph;

std::string draws_text(const Finding& finding) {
  std::string text;
  for (const Draw& draw : finding.draws) {
    text += paragraph("   ", amount(draw));
    const std::string name = what(draw), when = where(draw);
    if (name.empty() && when.empty()) continue;
    text += paragraph("     most: ", name + (name.empty() || when.empty() ? "" : ", ") + when);
  }
  return text;
}

std::string explaining_command(const Shown& shown, const Rule& rule) {
  std::vector<std::string> words{"gpuprof", "findings", shown.file};
  words.insert(words.end(), shown.window.begin(), shown.window.end());
  words.insert(words.end(), {"--explain", std::string(rule.id)});
  return printable(shell_line(words));
}

}  // namespace

std::string findings_text(const Findings& findings, const Shown& shown) {
  if (findings.devices.empty()) {
    return std::string(nothing_there) + '\n';
  }
  std::string text;
  for (const Device& device : findings.devices) text += paragraph("", verdict(device));
  if (findings.of_steps) text += paragraph("", steps_words(findings));
  for (const std::string& doubt : findings.doubts) {
    text += paragraph("", doubt_words(doubt));
  }
  std::size_t number = 0, hidden = 0;
  for (const Finding& finding : findings.findings) {
    if (finding.share < shown.least_share) {
      ++hidden;
      continue;
    }
    const Rule& rule = *finding.rule;
    text += '\n' + paragraph(std::to_string(++number) + ". ", rule.title);
    text += paragraph("   ", saving(findings, finding) + simulated_words(finding) +
                                 "; confidence " + std::string(name_of(finding.confidence)));
    text += draws_text(finding);
    if (const std::string did = host_words(findings, finding); !did.empty()) {
      text += paragraph("   ", did);
    }
    text += paragraph("   Fix: ", rule.fix);
    text += "   " + explaining_command(shown, rule) + '\n';
  }
  for (const Together& each : findings.together) {
    text += '\n' + paragraph("", together_words(findings, each));
  }
  for (const std::string& note : findings.notes) text += '\n' + paragraph("", note);
  if (const std::string rest = rest_words(number, hidden, shown.least_share); !rest.empty()) {
    text += '\n' + paragraph("", rest);
  }
  const auto unjudged = abstentions(findings);
  if (!unjudged.empty()) text += "\nNot judged:\n";
  for (const Abstention& each : unjudged) {
    text += paragraph("  ", each.rules + ": " + each.reason);
  }
  return text;
}

std::string rule_text(const Rule& rule) {
  std::string text = paragraph("", std::string(rule.id) + ": " + std::string(rule.title)) + '\n';
  text += paragraph("Counts:     ", std::string(rule.when) + ".");
  text += paragraph("Finding:    ",
                    "From " + percent_words(rule.least_share) + " of the time of the device on.");
  text += paragraph("Saves:      ", "At most that. " + std::string(rule.bound));
  text += paragraph("Confidence: ",
                    std::string(name_of(rule.confidence)) + ". " + std::string(rule.reason));
  text += paragraph("Fix:        ", rule.fix);
  text += paragraph("Read:       ", rule.link);
  text += paragraph("Mistaken:   ", rule.mistaken);
  return text +
         paragraph("Tests:      ", "tests/cli/test_findings_rules.py, test_findings_kernels.py");
}

std::string explained_text(const Findings& findings, const Rule& rule) {
  const auto judgement = std::ranges::find(findings.judgements, &rule, &Judgement::rule);
  if (judgement == findings.judgements.end()) {
    return std::string(nothing_there) + '\n';
  }
  std::string text;
  for (const Finding& finding : findings.findings) {
    if (finding.rule != &rule) continue;
    text += paragraph("", "Here: " + saving(findings, finding) + " (" +
                              std::to_string(finding.at_most) + " ns)" + simulated_words(finding) +
                              "; confidence " + std::string(name_of(finding.confidence)) + ".");
    text += draws_text(finding);
  }
  if (!judgement->abstains.empty()) {
    return text + paragraph("", "Not judged: " + printable(judgement->abstains));
  }
  if (text.empty()) text = "No finding here.\n";
  return text + "\nThe SQL that gives the number, at_most_ns:\n\n" + judgement->sql;
}

std::string rules_text() {
  std::size_t width = 0;
  for (const Rule* rule : rules()) width = std::max(width, rule->id.size());
  std::string text;
  for (const Rule* rule : rules()) {
    text.append(rule->id).append(width + 2 - rule->id.size(), ' ').append(rule->title) += '\n';
  }
  return text + "\ngpuprof findings --explain RULE describes one.\n";
}

}  // namespace gpuprof::findings
