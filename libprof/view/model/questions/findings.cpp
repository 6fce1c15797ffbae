#include "libprof/conclude/findings/findings.hpp"

#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/conclude/findings/words.hpp"
#include "libprof/view/model/account_answer.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/question.hpp"

namespace gpuprof::view::questions {
namespace {

using nlohmann::json;

constexpr std::size_t most_findings = 3, longest_name = 400;
constexpr double least_share = 0.01;  // of the device's time, as gpuprof findings

json finding_json(const findings::Findings& all, const findings::Finding& finding) {
  json answer = {{"title", finding.rule->title},
                 {"fix", finding.rule->fix},
                 {"saving", findings::saving(all, finding)},
                 {"device", finding.device},
                 {"at_most", finding.at_most},
                 {"simulated", finding.simulated ? json(*finding.simulated) : json()},
                 {"share", finding.share},
                 {"what", ""}};
  for (const findings::Draw& draw : finding.draws) {
    if (!draw.first || !draw.last) continue;
    answer["from"] = *draw.first;
    answer["to"] = *draw.last;
    answer["what"] = shortened(draw.what, longest_name);
    break;
  }
  return answer;
}

// Of the steps, which is what the findings refer to.
json account_json(const findings::Findings& all) {
  report::TimeAccount judged{.begin = all.begin, .time = all.end - all.begin, .gpus = {}};
  for (const findings::Device& device : all.devices) {
    judged.gpus.push_back({.id = device.id, .name = device.name, .rows = device.rows});
  }
  json answer = account_answer(judged);
  // Where kernels were measured, idle time says nothing, and neither does that of the sentence.
  if (!all.devices.empty() && all.devices.front().measured) {
    answer["verdict"] = findings::verdict(all.devices.front());
  }
  answer["judged"] = findings::judged_words(all) + ".";
  return answer;
}

}  // namespace

// What can be mended, as gpuprof findings: the three findings that save most, each with the place
// of the most expensive of it. With the account of what is judged, if that is not the run.
std::string findings(const Asked& asked) {
  const findings::Findings all =
      gpuprof::findings::read_findings(asked.database, {}, {}, asked.check);
  json found = json::array();
  for (const auto& finding : all.findings) {
    if (found.size() == most_findings) break;
    if (finding.share >= least_share) found.push_back(finding_json(all, finding));
  }
  json answer{{"begin", all.begin}, {"end", all.end}, {"findings", std::move(found)}};
  if (all.of_steps) answer["account"] = account_json(all);
  return json_text(answer);
}

}  // namespace gpuprof::view::questions
