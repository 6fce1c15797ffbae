#include "libprof/conclude/findings/words.hpp"

#include <algorithm>
#include <string_view>

#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/report/number.hpp"
#include "schema/enums.hpp"

namespace gpuprof::findings {

std::string time_words(std::int64_t ns) {
  return report::format_time(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)));
}

std::string percent_words(double share) { return report::format_percent(100 * share); }

std::string part_words(const std::string& part) {
  if (part == "compute") return "computing";
  if (part == "communication") return "communicating";
  if (part == "set") return "setting memory";
  if (part == "queued") return "idle time, work waiting in its stream";
  if (part == "launch") return "idle time, the host launching";
  if (part == "call") return "idle time, the host in calls of CUDA";
  if (part == "no call") return "idle time, the host in no call of CUDA";
  if (part == "short gap") return "idle time in short gaps";
  constexpr std::string_view copy = "copy ";
  if (!part.starts_with(copy)) return "idle time";
  const std::string number = part.substr(copy.size());
  const std::string_view name =
      schema::enum_name("CUpti_ActivityMemcpyKind", parse<std::int64_t>(number).value_or(0));
  return "copying " + (name.empty() ? "in direction " + number : std::string(name));
}

std::string verdict(const Device& device) {
  if (device.measured) {
    return printable(device.name) + " (" + std::to_string(device.id) + ") worked for " +
           time_words(device.time) +
           ". Its kernels were measured one at a time, which holds the program up: how long it was "
           "idle says nothing and is left out here. Record without --metrics to judge that.";
  }
  return printable(report::verdict_of({.id = device.id, .name = device.name, .rows = device.rows}));
}

std::string judged_words(const Findings& findings) {
  return count_of(findings.steps, "step") + (findings.steps == 1 ? " is" : " are") + " judged" +
         (findings.warm_up > 0 ? ", " + reading::warm_up_words(findings.warm_up) : "");
}

std::string steps_words(const Findings& findings) {
  return judged_words(findings) + "; --from 0 judges the whole run.";
}

std::string doubt_words(const std::string& doubt) {
  return "Confidence is lower than it would be otherwise. " + doubt;
}

std::string saving(const Findings& findings, const Finding& finding) {
  std::string text = "at most " + time_words(finding.at_most) + ", " +
                     percent_words(finding.share) + " of the time of " +
                     printable(findings.device(finding.device).name);
  if (findings.steps > 1) {
    text += ", " + time_words(finding.at_most / findings.steps) + " for each of " +
            count_of(findings.steps, "step");
  }
  return text;
}

std::string simulated_words(const Finding& finding) {
  return finding.simulated ? "; simulated " + time_words(*finding.simulated) : "";
}

std::string together_words(const Findings& findings, const Together& together) {
  std::string text = "All of them together: at most " + time_words(together.at_most) +
                     "; simulated " + time_words(together.simulated);
  if (together.of_them_simulated < together.findings) {
    text += " with " + std::to_string(together.of_them_simulated) + " of the " +
            count_of(together.findings, "finding");
  }
  if (findings.devices.size() > 1) {
    text += ", of " + printable(findings.device(together.device).name);
  }
  return text + ".";
}

std::string amount(const Draw& draw) {
  std::string text = time_words(draw.ns) + " of " + part_words(draw.part);
  if (draw.count > 0) text += ", " + count_of(draw.count, "time");
  return text;
}

std::string what(const Draw& draw) {
  constexpr std::size_t head = 50, tail = 20;
  const std::string text = printable(draw.what);
  return text.size() > head + tail ? without_middle(text, head, tail, "…") : text;
}

std::string where(const Draw& draw) {
  if (!draw.first || !draw.last) return {};
  return "from " + report::format_moment(*draw.first) + " to " + report::format_moment(*draw.last);
}

std::string host_words(const Findings& findings, const Finding& finding) {
  constexpr std::size_t most = 4;
  constexpr std::string_view part = "no call";
  if (std::ranges::find(finding.draws, part, &Draw::part) == finding.draws.end()) return {};
  const Device& device = findings.device(finding.device);
  const auto whole = device.parts.find(std::string(part));
  if (whole == device.parts.end() || whole->second <= 0) return {};
  std::string text;
  std::size_t shown = 0;
  for (const report::AccountRow& row : device.rows) {  // longest first
    if (row.what != part || row.cause.empty() || shown++ >= most) continue;
    const double share = static_cast<double>(row.duration) / static_cast<double>(whole->second);
    text += (text.empty() ? "" : ", ") + percent_words(share) + " " + printable(row.cause);
  }
  return text.empty() ? text : "The host in no call of CUDA: " + text + ".";
}

std::vector<Abstention> abstentions(const Findings& findings) {
  std::vector<Abstention> all;
  for (const Judgement& judgement : findings.judgements) {
    if (judgement.abstains.empty()) continue;
    const std::string reason = printable(judgement.abstains);
    const auto same = std::ranges::find(all, reason, &Abstention::reason);
    if (same == all.end()) {
      all.push_back({std::string(judgement.rule->id), reason});
    } else {
      same->rules.append(", ").append(judgement.rule->id);
    }
  }
  return all;
}

std::string rest_words(std::size_t shown, std::size_t hidden, double least_share) {
  if (shown + hidden == 0) return "No findings: no rule found much that could be saved.";
  if (hidden == 0) return {};
  return count_of(hidden, "finding") + " of less than " + percent_words(least_share) +
         (hidden == 1 ? " is" : " are") + " not shown; --min shows more.";
}

}  // namespace gpuprof::findings
