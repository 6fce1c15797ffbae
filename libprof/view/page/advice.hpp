// What can be mended and how long steps took, for the report's page.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "libprof/view/page/report.hpp"

namespace gpuprof::view {

// Smaller findings are only counted, as gpuprof findings does; of the device's time.
inline constexpr double least_share = 0.01;

// Sentences and places of the findings; client/summary.js shows them.
nlohmann::json advice_data(const RunSummary& summary);
nlohmann::json steps_data(const StepTimes& steps);

}  // namespace gpuprof::view
