// What changed between two runs, as gpuprof diff says it, and their steps.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "libprof/conclude/compare/run.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {

struct ComparedSide {
  std::string title;
  compare::Run run;
  reading::JudgedWindow period;  // what is compared
  StepTimes steps;               // all of them
};

// `part`: of the run, on its clock; otherwise its steps, or without those the run. `check` is
// called now and then and may throw. Throws Error if the side has no GPU work with times.
ComparedSide read_side(store::Database& database, const Model& model, std::string title,
                       const std::optional<Window>& part, const std::function<void()>& check);

// Times are ns, of a step if the runs have steps. `zeros`: the models' zeros, of A and B; times of
// a run count from its own.
nlohmann::json comparison_data(const ComparedSide& a, const ComparedSide& b,
                               const std::array<std::int64_t, 2>& zeros);

struct OtherRun {
  Model model;
  RunSummary drawn;    // what the timeline needs
  ComparedSide side;   // A
  ComparedSide other;  // B, the report's own run
};
// All but `other`. Throws like read_side().
OtherRun read_other(store::Database& database, Model model, std::string title,
                    std::vector<std::string> notes, const std::function<void()>& check);

}  // namespace gpuprof::view
