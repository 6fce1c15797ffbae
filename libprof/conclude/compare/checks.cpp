#include "libprof/conclude/compare/checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/compare/judge.hpp"
#include "libprof/conclude/compare/small_file.hpp"
#include "libprof/conclude/compare/words.hpp"

namespace gpuprof::compare {
namespace {

constexpr std::size_t largest_file = 1 << 16;
constexpr std::size_t most_rules = 100;  // of a kind

class RulesFile {
 public:
  RulesFile(const std::string& path, Rules& rules) : path_(path), rules_(rules) {}

  void read() {
    const nlohmann::json all = parse_json(read_small_file(path_, largest_file), path_);
    if (!all.is_object()) refuse("it is not a JSON object");
    for (const auto& [key, value] : all.items()) {
      if (key == "threshold") {
        rules_.threshold = number(value, key, shares);
      } else if (key == "limits") {
        read_limits(value);
      } else if (key == "kernels") {
        rules_.kernels = thresholds(value, key);
        KernelThresholds compiled(rules_);  // refuses wrong expressions
      } else if (key == "parts") {
        rules_.classes = thresholds(value, key);
        for (const OwnThreshold& rule : rules_.classes) {
          if (std::ranges::find(classes, rule.name) == std::end(classes)) {
            refuse("parts: " + rule.name +
                   " is not one of compute, communication, copy, set, idle");
          }
        }
      } else if (key != "version" || value != 1) {
        refuse("it has " + key + ", which this gpuprof does not know");
      }
    }
  }

 private:
  struct Unit {
    std::string_view name;
    double factor;
  };
  static constexpr Unit shares[]{{"%", 0.01}};
  static constexpr Unit times[]{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  static constexpr Unit bytes[]{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"GB", 1e9}, {"MB", 1e6}};
  static constexpr std::string_view classes[]{"compute", "communication", "copy", "set", "idle"};

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(path_ + ": " + why, "docs/diff.md says what rules are", ExitCode::bad_option);
  }

  // A text such as "8 %".
  double number(const nlohmann::json& value, const std::string& where,
                std::span<const Unit> units) const {
    std::vector<std::string> names;
    for (const Unit& unit : units) names.emplace_back(unit.name);
    const std::string takes =
        where + " takes a text with a number and its unit: " + alternatives(names);
    if (!value.is_string()) refuse(takes);
    const std::string text = value.get<std::string>();
    for (const Unit& unit : units) {
      if (!text.ends_with(unit.name)) continue;
      const std::string_view digits =
          trimmed(std::string_view(text).substr(0, text.size() - unit.name.size()));
      const auto given = parse<double>(digits);
      if (!given || !std::isfinite(*given) || *given < 0) break;
      return *given * unit.factor;
    }
    refuse(takes);
  }

  void read_limits(const nlohmann::json& limits) {
    if (!limits.is_object()) refuse("limits is not a JSON object");
    for (const auto& [key, value] : limits.items()) {
      const std::string where = "limits: " + key;
      if (key == "step") {
        rules_.limits.time = number(value, where, times);
      } else if (key == "idle") {
        rules_.limits.idle = number(value, where, shares);
      } else if (key == "memory") {
        rules_.limits.memory = number(value, where, bytes);
      } else {
        refuse(where + " is not one of step, idle, memory");
      }
    }
  }

  std::vector<OwnThreshold> thresholds(const nlohmann::json& all, const std::string& where) const {
    if (!all.is_object()) refuse(where + " is not a JSON object");
    if (all.size() > most_rules) refuse(where + " has more than 100 rules");
    std::vector<OwnThreshold> rules;
    for (const auto& [name, value] : all.items()) {
      rules.push_back({name, number(value, where + ": " + name, shares)});
    }
    return rules;
  }

  const std::string& path_;
  Rules& rules_;
};

double class_time(const Run& run, const std::string& name) {
  double time = 0;
  for (const auto& [part, duration] : run.parts) {
    if (name == "idle" ? is_idle(part) : part.first == name) time += duration;
  }
  return time;
}

Check limit_check(const std::string& what, double value, double limit, const auto& text_of) {
  return {
      .name = what,
      .text = what + " is " + text_of(value) + " in B, at most " + text_of(limit) + " is allowed",
      .outcome = value > limit ? Check::Outcome::broken : Check::Outcome::kept};
}

void check_limits(const Comparison& sides, std::vector<Check>& checks) {
  const Limits& limits = sides.rules.limits;
  if (limits.time) {
    checks.push_back(limit_check("the time", sides.step.b, *limits.time, time_text));
  }
  if (limits.idle) {
    const double idle = mean(each(sides.b, [](const Run& run) {
      return run.time > 0 ? class_time(run, "idle") / run.time : 0;
    }));
    checks.push_back(limit_check("idle time", idle, *limits.idle, share_text));
  }
  if (limits.memory) {
    const std::string what = "the peak of device memory";
    double most = 0;
    for (const Run& run : sides.b) most = std::max(most, static_cast<double>(run.memory_peak));
    checks.push_back(most > 0 ? limit_check(what, most, *limits.memory, bytes_text)
                              : Check{.name = what,
                                      .text = what + " is not known: record with --track-memory",
                                      .outcome = Check::Outcome::unknown});
  }
}

// `whole`: what the threshold is a share of; `of_it` names it.
Check threshold_check(const Comparison& sides, const std::string& name, const Change& time,
                      double whole, const std::string& of_it, double threshold) {
  Check check{.name = name, .text = {}};
  if (sides.verdict == Verdict::inconclusive || time.verdict == Verdict::unknown) {
    check.outcome = Check::Outcome::unknown;
  } else if (time.verdict == Verdict::slower) {
    check.outcome = Check::Outcome::broken;
  }
  check.text =
      name +
      (whole > 0 ? " changed by " + change_share_text(time.shift / whole) + of_it : " is new") +
      ", " + share_text(threshold) + " is allowed";
  return check;
}

void check_classes(const Comparison& sides, std::vector<Check>& checks) {
  const std::vector<OwnThreshold>& rules = sides.rules.classes;
  std::vector<Change> changes;
  std::vector<Question> questions;
  changes.reserve(rules.size());
  for (const OwnThreshold& rule : rules) {
    const auto time = [name = rule.name](const Run& run) { return class_time(run, name); };
    changes.push_back(measured(sides, time));
    questions.push_back({time, &changes.back(), rule.threshold * sides.step.a, 0});
  }
  judge(sides, questions);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    checks.push_back(threshold_check(sides, rules[i].name, changes[i], sides.step.a,
                                     " of the whole time", rules[i].threshold));
  }
}

void check_kernels(const Comparison& sides, std::vector<Check>& checks) {
  const KernelThresholds thresholds(sides.rules);
  std::set<const OwnThreshold*> used;
  for (const KernelChange& kernel : sides.kernels) {
    const OwnThreshold* const rule = thresholds.of(kernel.name);
    if (!rule) continue;
    used.insert(rule);
    checks.push_back(
        threshold_check(sides, kernel.display, kernel.time, kernel.time.a, "", rule->threshold));
  }
  for (const OwnThreshold& rule : sides.rules.kernels) {
    if (used.contains(&rule)) continue;
    checks.push_back({.name = rule.name,
                      .text = "no kernel has " + rule.name + " in its name",
                      .outcome = Check::Outcome::unknown});
  }
}

}  // namespace

void read_rules(const std::string& path, Rules& rules) { RulesFile(path, rules).read(); }

KernelThresholds::KernelThresholds(const Rules& rules) {
  for (const OwnThreshold& rule : rules.kernels) {
    patterns_.emplace_back(std::make_unique<Pattern>(rule.name), &rule);
  }
}

const OwnThreshold* KernelThresholds::of(const std::string& kernel) const {
  for (const auto& [pattern, rule] : patterns_) {
    if (pattern->found_in(kernel)) return rule;
  }
  return nullptr;
}

std::vector<Check> check_rules(const Comparison& sides) {
  std::vector<Check> checks;
  check_limits(sides, checks);
  check_classes(sides, checks);
  check_kernels(sides, checks);
  return checks;
}

}  // namespace gpuprof::compare
