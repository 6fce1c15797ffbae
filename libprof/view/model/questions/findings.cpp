#include "libprof/conclude/findings/findings.hpp"

#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/conclude/findings/words.hpp"
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

}  // namespace

// What can be mended, as gpuprof findings: the three findings that save most, each with the place
// of the most expensive of it.
std::string findings(const Asked& asked) {
  const findings::Findings all =
      gpuprof::findings::read_findings(asked.database, {}, {}, asked.check);
  json found = json::array();
  for (const auto& finding : all.findings) {
    if (found.size() == most_findings) break;
    if (finding.share >= least_share) found.push_back(finding_json(all, finding));
  }
  return json_text({{"begin", all.begin}, {"end", all.end}, {"findings", std::move(found)}});
}

}  // namespace gpuprof::view::questions
