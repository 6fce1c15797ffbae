// Where the time of each GPU went, as JSON for the viewer's page.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "libprof/report/account.hpp"

namespace gpuprof::view {

nlohmann::json account_answer(const report::TimeAccount& account);

}  // namespace gpuprof::view
