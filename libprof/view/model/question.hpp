// What the page asks about a run and its file answers, on any thread: /api/NAME.
//
// Each file of questions/ defines the function of its name, which returns JSON; the build lists
// them.
#pragma once

#include <functional>
#include <map>
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
};
using Question = std::string (*)(const Asked&);

Question find_question(std::string_view name);  // null: there is none

}  // namespace gpuprof::view
