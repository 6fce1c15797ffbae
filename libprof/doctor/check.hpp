// A check: one question about the system, and its answers.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/doctor/system.hpp"

namespace gpuprof::doctor {

enum class Answer { ok, cannot, unknown };

std::string_view name_of(Answer answer);

struct Finding {
  Answer answer = Answer::unknown;
  // What was found, in one line. Has text from the system as it is: make it printable.
  std::string text;
  // What to type to mend it, line by line; words from the system are quoted for a shell. Empty:
  // there is nothing to type.
  std::vector<std::string> type = {};
};

// No findings: the check does not apply here.
using Findings = std::vector<Finding>;

Findings ok(std::string text);
Findings cannot(std::string text, std::vector<std::string> type);
Findings unknown(std::string text, std::vector<std::string> type = {});

struct Check {
  std::string_view name;
  std::string_view question;
  // Runs on a thread of its own. The text of what it throws becomes the answer "unknown".
  Findings (*examine)(const System&);
  std::chrono::milliseconds more = {};  // than the limit that all have
};

// Those of the machine, and of the process and the program if the user named one; in the order in
// which they are printed.
std::vector<const Check*> checks_for(const System& system);

struct Result {
  const Check* check;
  Findings findings;
};

// All of them at the same time, each on a thread of its own. What has not answered within `limit`,
// or what it has more, is unknown, and is left to itself; the process should then end soon.
std::vector<Result> examine(const std::shared_ptr<const System>& system,
                            std::span<const Check* const> checks, std::chrono::milliseconds limit);

}  // namespace gpuprof::doctor
