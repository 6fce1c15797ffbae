// The memory analysis as rows: what gpuprof memory prints.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/compute/memory/tables.hpp"
#include "libprof/compute/memory/torch_tables.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

struct MemoryRequest {
  Request request;  // only its table and `front` are used
  memory::Questions questions;
  std::optional<memory::TorchSnapshot> torch;
  memory::TorchQuestion torch_question;
};

// Parses the JSON of gpuprof_memory(). Throws Error with what is wrong with it.
MemoryRequest read_memory_request(std::string_view json);

std::vector<ArrowColumn> read_memory(store::Database& database, const MemoryRequest& wanted,
                                     const std::function<void()>& check);

}  // namespace gpuprof::c_api
