// Where the time of each GPU went, in windows of time, as rows.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/read/window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

// Parses the JSON of gpuprof_accounts(). Throws Error with what is wrong with it.
std::vector<reading::Window> read_windows(std::string_view json);

// Throws Error if the windows overlap or are not in order.
std::vector<ArrowColumn> read_accounts(store::Database& database,
                                       const std::vector<reading::Window>& windows,
                                       const std::function<void()>& check);

}  // namespace gpuprof::c_api
