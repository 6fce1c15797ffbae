#include <algorithm>
#include <string_view>
#include <utility>

#include "libprof/base/json_text.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/findings/print.hpp"
#include "libprof/conclude/findings/words.hpp"

namespace gpuprof::findings {
namespace {

using Json = nlohmann::ordered_json;

// Increase it when existing readers would misread the document; see docs/json.md.
constexpr int packet_version = 1;

constexpr std::size_t most_findings = 3, most_parts = 8, most_doubts = 4;
constexpr std::size_t longest_fix = 160, longest_command = 200;
// Of names from the file, in bytes; if the document is too long, the next is tried.
constexpr std::size_t name_lengths[]{64, 24, 8};

std::string shortened(std::string_view name, std::size_t most) {
  const std::string text = printable(name);
  return text.size() > most ? without_middle(text, most / 2, most / 4, "…") : text;
}

// Its first sentence, or the words of that which fit.
std::string short_fix(std::string_view fix) {
  fix = fix.substr(0, fix.find(". "));
  if (fix.ends_with('.')) fix.remove_suffix(1);
  if (fix.size() <= longest_fix) return std::string(fix) + '.';
  return std::string(fix.substr(0, fix.rfind(' ', longest_fix))) + " ...";
}

// That with most work; null: there is none.
const Device* busiest(const Findings& findings) {
  const auto work = [](const Device& device) { return device.time - device.idle(); };
  const auto most = std::ranges::max_element(findings.devices, {}, work);
  return most == findings.devices.end() ? nullptr : &*most;
}

Json account_json(const Device& device) {
  std::vector<std::pair<std::string, std::int64_t>> parts(device.parts.begin(), device.parts.end());
  std::ranges::stable_sort(parts, std::greater{}, &std::pair<std::string, std::int64_t>::second);
  Json account = Json::array();
  std::int64_t others = 0;
  const auto add = [&](const std::string& part, std::int64_t ns) {
    account.push_back({{"part", part},
                       {"duration_ns", ns},
                       {"share", static_cast<double>(ns) / static_cast<double>(device.time)}});
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i < most_parts) {
      add(parts[i].first, parts[i].second);
    } else {
      others += parts[i].second;
    }
  }
  if (others > 0) add("others", others);
  return account;
}

Json device_json(const Device& device, std::size_t most) {
  return {{"device_id", device.id},
          {"name", shortened(device.name, most)},
          {"time_ns", device.time},
          {"account", account_json(device)}};
}

Json short_json(const Finding& finding, std::size_t most) {
  const Rule& rule = *finding.rule;
  const std::string mostly = finding.draws.empty() ? "" : finding.draws.front().what;
  return {{"rule", rule.id},
          {"title", rule.title},
          {"device_id", finding.device},
          {"at_most_ns", finding.at_most},
          {"share", finding.share},
          {"simulated_ns", or_null(finding.simulated)},
          {"confidence", name_of(finding.confidence)},
          {"mostly", mostly.empty() ? Json() : Json(shortened(mostly, most))},
          {"fix", short_fix(rule.fix)}};
}

std::string next_command(const Shown& shown, const Finding* first) {
  const auto command = [&](const std::string& file) {
    std::vector<std::string> words{"gpuprof", first ? "findings" : "account", file};
    words.insert(words.end(), shown.window.begin(), shown.window.end());
    if (first) words.insert(words.end(), {"--explain", std::string(first->rule->id)});
    return printable(shell_line(words));
  };
  std::string text = command(shown.file);
  if (json_text(Json(text), -1, true).size() <= longest_command) return text;
  return std::string("gpuprof ") + (first ? "findings FILE --explain " : "account FILE") +
         (first ? std::string(first->rule->id) : "");
}

std::string document_of(const Findings& findings, const Shown& shown, std::size_t most) {
  const Device* device = busiest(findings);
  Json found = Json::array(), doubts = Json::array();
  std::size_t count = 0;
  const Finding* first = nullptr;
  for (const Finding& finding : findings.findings) {
    if (finding.share < shown.least_share) continue;
    if (!first) first = &finding;
    if (++count <= most_findings) found.push_back(short_json(finding, most));
  }
  for (const std::string& doubt : findings.doubts) {
    if (doubts.size() < most_doubts) doubts.push_back(doubt);
  }
  std::string sentence(nothing_there);
  if (device) {
    Device named = *device;
    named.name = shortened(device->name, most);
    sentence = verdict(named);
  }
  const Json document{{"version", packet_version},
                      {"verdict", sentence},
                      {"window",
                       {{"relative_begin_ns", findings.begin},
                        {"relative_end_ns", findings.end},
                        {"steps", findings.of_steps ? Json(findings.steps) : Json()}}},
                      {"device", device ? device_json(*device, most) : Json()},
                      {"findings", std::move(found)},
                      {"all_findings", count},
                      {"doubts", std::move(doubts)},
                      {"next", next_command(shown, first)}};
  return json_text(document, -1, true) + '\n';  // all ASCII: nothing in it controls a terminal
}

}  // namespace

std::string findings_packet(const Findings& findings, const Shown& shown) {
  std::string document;
  for (const std::size_t most : name_lengths) {
    document = document_of(findings, shown, most);
    if (document.size() <= packet_bytes) break;
  }
  return document;
}

}  // namespace gpuprof::findings
