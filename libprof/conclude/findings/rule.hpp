// A rule of gpuprof findings: what it looks for in a profile, and what mending it can save at most.
//
// Each file in rules/ defines one `const Rule` with the file's name; the build lists them. To add a
// rule, add a file there.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "libprof/conclude/simulate/change.hpp"

namespace gpuprof::findings {

enum class Confidence : std::uint8_t { low, medium, high };
std::string_view name_of(Confidence confidence);

// A table or view that a rule reads. Without it, or without rows in it if `rows`, the rule
// abstains.
struct Need {
  std::string_view table = {};
  std::string_view otherwise = {};  // the reason to abstain, a sentence about the file
  bool rows = false;
  std::string_view where = {};  // with `rows`: an SQL condition that one of the rows fulfills
};

struct Rule {
  std::string_view id;     // the file's name
  std::string_view title;  // what is wrong, as a sentence
  // Which rule counts a part of the account that several claim: the one with the lowest number.
  int order;
  Need needs[3] = {};
  std::string_view when;  // what counts, with thresholds and their units
  double least_share;     // of the device's time; less is no finding
  // One SELECT of what mending it can save, one row for each part of the account and anything else.
  // Its columns are
  //   device, part  of the account, as statement.hpp says
  //   ns            saved at most
  //   count         occurrences
  //   first, last   when, on CUPTI's clock; may be NULL
  //   what          a text, the StringTable id of a kernel's name, or NULL
  // It may read the tables that statement.hpp describes.
  std::string_view sql;
  std::string_view bound;  // why no more can be saved
  // What mending it changes in the schedule, bits of simulate::Mend; nothing: that cannot be
  // simulated.
  std::uint32_t mends = simulate::nothing;
  Confidence confidence;    // that mending it saves much of that
  std::string_view reason;  // for that confidence
  std::string_view fix;
  std::string_view link;
  std::string_view mistaken;  // when there is nothing to mend though the rule finds something
};

// All rules, by order.
std::span<const Rule* const> rules();
const Rule* find_rule(std::string_view id);  // null: no such rule

}  // namespace gpuprof::findings
