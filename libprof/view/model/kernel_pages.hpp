// Pages of gpuprof kernels, as JSON.
#pragma once

#include <functional>

#include <nlohmann/json_fwd.hpp>

#include "libprof/conclude/kernels/kernels.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::view {

//   pages: [{name, share, facts: [[label, [text...]]...]}...], those with most time first
//   remarks: [sentence...], on all of them
nlohmann::json kernel_pages(store::Database& database, const kernels::Wanted& wanted,
                            const reading::Filter& filter, const std::function<void()>& check);

}  // namespace gpuprof::view
