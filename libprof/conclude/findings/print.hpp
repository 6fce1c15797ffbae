// Findings as text, as Markdown and as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "libprof/conclude/findings/findings.hpp"

namespace gpuprof::findings {

struct Shown {
  std::string file;                    // the profile, as the user named it
  std::vector<std::string> window;     // the options that choose a part of it
  double least_share = 0.01;           // findings with less of the device's time are only counted
  std::vector<const Rule*> explained;  // empty: findings of all rules, without their SQL
};

std::string findings_text(const Findings& findings, const Shown& shown);
std::string findings_markdown(const Findings& findings, const Shown& shown);
// At most packet_bytes of JSON, for an agent or a ticket: the three findings that save most,
// without those of less than the least share. docs/json.md describes it.
std::string findings_packet(const Findings& findings, const Shown& shown);
inline constexpr std::size_t packet_bytes = 4096;
// docs/json.md describes it. Only findings of the explained rules, if there are any, with their
// SQL.
std::string findings_json(const Findings& findings, const Shown& shown);

// The page of a rule.
std::string rule_text(const Rule& rule);
// What the rule found in the profile, and the SQL that gives its numbers.
std::string explained_text(const Findings& findings, const Rule& rule);
// A line for each rule.
std::string rules_text();

}  // namespace gpuprof::findings
