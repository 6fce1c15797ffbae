// What the page asks about a run and its file answers, on any thread: /api/NAME.
//
// Each file of questions/ defines the function of its name, which returns JSON; the build lists
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "libprof/view/model/model.hpp"

namespace gpuprof::view {

struct Asked {
  store::Database& database;
  const Model& model;
  // The request's parameters. Untrusted.
  const std::map<std::string, std::string, std::less<>>& words;
  std::function<void()> check;  // to be called from time to time; throws if nobody is waiting

  // A parameter, as a number; nullopt: it is absent, or no number.
  std::optional<std::int64_t> number(std::string_view word) const;
  // … as a time of the page, on the clock of the records.
  std::optional<std::int64_t> time(std::string_view word) const;
};
using Question = std::string (*)(const Asked&);

Question find_question(std::string_view name);  // null: there is none

}  // namespace gpuprof::view
