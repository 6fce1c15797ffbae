// A request for rows of a table or view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"

namespace gpuprof::c_api {

using Constant = AnyValue;

struct Request {
  std::string table;
  std::optional<std::vector<std::string>> columns;  // nullopt: all
  bool raw = false;
  std::optional<std::int64_t> from, to;
  std::optional<std::vector<std::int64_t>> devices, processes;
  std::map<std::string, std::string> matches;           // regular expressions by column
  std::map<std::string, std::vector<Constant>> equals;  // by column
  struct Front {
    std::string name;
    Kind kind{};
    Constant value;
  };
  std::vector<Front> front;
  std::optional<std::size_t> limit;  // nullopt: all rows
};

// Parses the JSON of gpuprof_table(). Throws Error with what is wrong with it.
Request read_request(std::string_view json);

}  // namespace gpuprof::c_api
