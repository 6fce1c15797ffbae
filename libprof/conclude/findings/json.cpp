#include "libprof/base/json_text.hpp"
#include "libprof/conclude/findings/print.hpp"

namespace gpuprof::findings {
namespace {

using Json = nlohmann::ordered_json;

// Increase it when existing readers would misread the document; see docs/json.md.
constexpr int version = 1;

Json device_json(const Device& device) {
  return {{"device_id", device.id},
          {"name", device.name},
          {"relative_begin_ns", device.begin},
          {"measured", device.measured},
          {"time_ns", device.time},
          {"compute_ns", device.compute},
          {"communication_ns", device.communication},
          {"copy_ns", device.copy},
          {"set_ns", device.set},
          {"idle_ns", device.idle()}};
}

Json finding_json(const Findings& findings, const Finding& finding) {
  const Rule& rule = *finding.rule;
  Json draws = Json::array();
  for (const Draw& draw : finding.draws) {
    draws.push_back({{"part", draw.part},
                     {"duration_ns", draw.ns},
                     {"count", draw.count > 0 ? Json(draw.count) : Json()},
                     {"relative_first_ns", or_null(draw.first)},
                     {"relative_last_ns", or_null(draw.last)},
                     {"mostly", draw.what.empty() ? Json() : Json(draw.what)}});
  }
  return {
      {"rule", rule.id},
      {"title", rule.title},
      {"device_id", finding.device},
      {"at_most_ns", finding.at_most},
      {"simulated_ns", or_null(finding.simulated)},
      {"simulated_step_ns", or_null(finding.simulated_step)},
      {"share", finding.share},
      {"at_most_ns_per_step", findings.steps > 0 ? Json(finding.at_most / findings.steps) : Json()},
      {"confidence", name_of(finding.confidence)},
      {"reason", rule.reason},
      {"draws", std::move(draws)},
      {"fix", rule.fix},
      {"link", rule.link},
      {"mistaken", rule.mistaken}};
}

Json together_json(const Together& together) {
  return {{"device_id", together.device},
          {"at_most_ns", together.at_most},
          {"simulated_ns", together.simulated},
          {"findings", together.findings},
          {"simulated_findings", together.of_them_simulated}};
}

Json judgement_json(const Judgement& judgement, bool with_sql) {
  Json json{{"rule", judgement.rule->id},
            {"abstains", judgement.abstains.empty() ? Json() : Json(judgement.abstains)}};
  if (with_sql) json["sql"] = judgement.sql.empty() ? Json() : Json(judgement.sql);
  return json;
}

}  // namespace

std::string findings_json(const Findings& findings, const Shown& shown) {
  const auto is_shown = [&](const Rule* rule) {
    return shown.explained.empty() ||
           std::ranges::find(shown.explained, rule) != shown.explained.end();
  };
  Json devices = Json::array(), found = Json::array(), judged = Json::array();
  for (const Device& device : findings.devices) devices.push_back(device_json(device));
  for (const Finding& finding : findings.findings) {
    if (!is_shown(finding.rule) || finding.share < shown.least_share) continue;
    found.push_back(finding_json(findings, finding));
  }
  for (const Judgement& judgement : findings.judgements) {
    if (is_shown(judgement.rule)) {
      judged.push_back(judgement_json(judgement, !shown.explained.empty()));
    }
  }
  Json together = Json::array();
  for (const Together& each : findings.together) together.push_back(together_json(each));
  const Json document{{"version", version},
                      {"window",
                       {{"relative_begin_ns", findings.begin},
                        {"relative_end_ns", findings.end},
                        {"of_steps", findings.of_steps}}},
                      {"devices", std::move(devices)},
                      {"steps", findings.steps > 0 ? Json(findings.steps) : Json()},
                      {"median_step_ns", or_null(findings.median_step)},
                      {"doubts", findings.doubts},
                      {"findings", std::move(found)},
                      {"together", std::move(together)},
                      {"notes", findings.notes},
                      {"rules", std::move(judged)}};
  return json_text(document, 1, true) + '\n';  // all ASCII: nothing in it controls a terminal
}

}  // namespace gpuprof::findings
