// Where the memory went, as rows: what gpuprof memory prints.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/memory/tables.hpp"
#include "libprof/memory/torch_tables.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

struct MemoryRequest {
  Request request;  // its table and what stands in front
  memory::Questions questions;
  std::optional<std::string> torch;  // a snapshot of PyTorch's: path
  memory::TorchQuestion torch_question;
};

// See gpuprof_memory() for the JSON. Throws Error that says what is wrong with it.
MemoryRequest read_memory_request(std::string_view json);

std::vector<ArrowColumn> read_memory(store::Database& database, const MemoryRequest& wanted,
                                     const std::function<void()>& check);

}  // namespace gpuprof::c_api
