#include <algorithm>
#include <string_view>

#include "libprof/conclude/findings/print.hpp"
#include "libprof/conclude/findings/words.hpp"

namespace gpuprof::findings {
namespace {

// As code, in which Markdown has no other special character.
std::string code(std::string text) {
  std::ranges::replace(text, '`', '\'');
  return '`' + text + '`';
}

// Our own sentences with a name of the file in them.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("\\`*_[]<>|~&#").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string findings_markdown(const Findings& findings, const Shown& shown) {
  if (findings.devices.empty()) return std::string(nothing_there) + '\n';
  std::string text;
  for (const Device& device : findings.devices) text += escaped(verdict(device)) + "\n\n";
  if (findings.of_steps) text += steps_words(findings) + "\n\n";
  for (const std::string& doubt : findings.doubts) {
    text += doubt_words(doubt) + "\n\n";
  }
  std::size_t number = 0, hidden = 0;
  for (const Finding& finding : findings.findings) {
    if (finding.share < shown.least_share) {
      ++hidden;
      continue;
    }
    const Rule& rule = *finding.rule;
    text += "### " + std::to_string(++number) + ". " + std::string(rule.title) + "\n\n- " +
            escaped(saving(findings, finding)) + simulated_words(finding) + "; confidence " +
            std::string(name_of(finding.confidence)) + "\n";
    for (const Draw& draw : finding.draws) {
      text += "- " + escaped(amount(draw));
      const std::string name = what(draw), when = where(draw);
      if (!name.empty()) text += "; most: " + code(name);
      if (!when.empty()) text += (name.empty() ? "; most " : ", ") + when;
      text += '\n';
    }
    if (const std::string did = host_words(findings, finding); !did.empty()) {
      text += "- " + escaped(did) + "\n";
    }
    text += "- " + escaped(std::string(rule.fix)) + " ([more](" + std::string(rule.link) +
            "), rule `" + std::string(rule.id) + "`)\n\n";
  }
  for (const Together& each : findings.together) {
    text += escaped(together_words(findings, each)) + "\n\n";
  }
  for (const std::string& note : findings.notes) text += note + "\n\n";
  if (const std::string rest = rest_words(number, hidden, shown.least_share); !rest.empty()) {
    text += rest + "\n\n";
  }
  for (const Abstention& each : abstentions(findings)) {
    text += "Not judged: " + escaped(each.rules + ": " + each.reason) + "\n\n";
  }
  text.pop_back();
  return text;
}

}  // namespace gpuprof::findings
