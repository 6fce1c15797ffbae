#include "libprof/view/page/advice.hpp"

#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/findings/words.hpp"
#include "libprof/view/model/answers.hpp"

namespace gpuprof::view {
namespace {

using nlohmann::json;

constexpr std::size_t most_shown = 12, longest_text = 400;

json finding_data(const findings::Findings& all, const findings::Finding& finding) {
  json draws = json::array();
  for (const findings::Draw& draw : finding.draws) {
    draws.push_back({{"amount", findings::amount(draw)},
                     {"what", shortened(findings::what(draw), longest_text)},
                     {"where", findings::where(draw)},
                     {"first", draw.first ? json(*draw.first) : json()},
                     {"last", draw.last ? json(*draw.last) : json()}});
  }
  return {{"rule", finding.rule->id},
          {"title", finding.rule->title},
          {"saving", shortened(findings::saving(all, finding), longest_text)},
          {"simulated", findings::simulated_words(finding)},
          {"confidence", findings::name_of(finding.confidence)},
          {"fix", finding.rule->fix},
          {"draws", std::move(draws)}};
}

}  // namespace

json advice_data(const RunSummary& summary) {
  const findings::Findings& all = summary.findings;
  json verdicts = json::array(), about = json::array(), found = json::array(),
       together = json::array(), abstains = json::array();
  for (const findings::Device& device : all.devices) {
    if (verdicts.size() == most_shown) break;
    verdicts.push_back(shortened(findings::verdict(device), longest_text));
  }
  if (all.of_steps) about.push_back(findings::steps_words(all));
  for (const std::string& doubt : all.doubts) {
    about.push_back(findings::doubt_words(doubt));
  }
  std::size_t hidden = 0;
  for (const findings::Finding& finding : all.findings) {
    if (finding.share < least_share || found.size() == most_shown) {
      ++hidden;
    } else {
      found.push_back(finding_data(all, finding));
    }
  }
  for (const findings::Together& each : all.together) {
    together.push_back(shortened(findings::together_words(all, each), longest_text));
  }
  for (const findings::Abstention& each : findings::abstentions(all)) {
    abstains.push_back(shortened(each.rules + ": " + each.reason, longest_text));
  }
  const std::string rest = found.empty() && hidden == 0 ? findings::rest_words(0, 0, least_share)
                           : hidden > 0                 ? count_of(hidden, "smaller finding") +
                                              (hidden == 1 ? " is" : " are") + " not shown."
                                        : "";
  return {{"verdicts", std::move(verdicts)}, {"about", std::move(about)},
          {"all", std::move(found)},         {"rest", rest},
          {"together", std::move(together)}, {"abstains", std::move(abstains)}};
}

json steps_data(const StepTimes& steps) {
  json all = json::array();
  for (const StepTimes::Step& step : steps.all) {
    all.push_back({{"name", shortened(step.name, longest_text)},
                   {"begin", step.begin},
                   {"time", step.time},
                   {"busy", step.busy}});
  }
  return {{"all", std::move(all)},
          {"count", steps.spread.count},
          {"median", steps.spread.median},
          {"longest", steps.spread.longest},
          {"longest_number", steps.spread.longest_number}};
}

}  // namespace gpuprof::view
