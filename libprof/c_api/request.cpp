#include "libprof/c_api/request.hpp"

#include <nlohmann/json.hpp>

#include "libprof/base/error.hpp"

namespace gpuprof::c_api {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& why) {
  throw Error("the question for rows: " + why, "gpuprof.h says what gpuprof_table() takes",
              ExitCode::bad_option);
}

std::string text(const Json& value, const std::string& where) {
  if (!value.is_string()) refuse(where + " must be a string");
  return value.get<std::string>();
}

std::int64_t whole(const Json& value, const std::string& where) {
  if (!value.is_number_integer()) refuse(where + " must have whole numbers");
  return value.get<std::int64_t>();
}

const Json& list(const Json& value, const std::string& where) {
  if (!value.is_array()) refuse(where + " must be a list");
  return value;
}

const Json& object(const Json& value, const std::string& where) {
  if (!value.is_object()) refuse(where + " must be an object");
  return value;
}

Constant constant(const Json& value, const std::string& where) {
  if (value.is_null()) return std::monostate();
  if (value.is_boolean()) return std::int64_t{value.get<bool>()};
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return text(value, where);
}

Kind kind(const std::string& name) {
  for (const Kind kind : {Kind::int64, Kind::float64, Kind::boolean, Kind::text}) {
    if (name == name_of(kind)) return kind;
  }
  refuse("front: there is no type " + name);
}

std::vector<std::int64_t> numbers(const Json& value, const std::string& where) {
  std::vector<std::int64_t> all;
  for (const Json& each : list(value, where)) all.push_back(whole(each, where));
  return all;
}

}  // namespace

Request read_request(std::string_view json) {
  const Json all = Json::parse(json, nullptr, false);
  if (!all.is_object()) refuse("it is not a JSON object");
  Request request;
  for (const auto& [key, value] : all.items()) {
    if (key == "table") {
      request.table = text(value, key);
    } else if (key == "columns") {
      request.columns.emplace();
      for (const Json& each : list(value, key)) request.columns->push_back(text(each, key));
    } else if (key == "raw") {
      if (!value.is_boolean()) refuse("raw is true or false");
      request.raw = value.get<bool>();
    } else if (key == "from") {
      request.from = whole(value, key);
    } else if (key == "to") {
      request.to = whole(value, key);
    } else if (key == "devices") {
      request.devices = numbers(value, key);
    } else if (key == "processes") {
      request.processes = numbers(value, key);
    } else if (key == "matches") {
      for (const auto& [column, pattern] : object(value, key).items()) {
        request.matches[column] = text(pattern, key);
      }
    } else if (key == "equals") {
      for (const auto& [column, values] : object(value, key).items()) {
        auto& constants = request.equals[column];
        for (const Json& each : list(values, key)) constants.push_back(constant(each, key));
      }
    } else if (key == "front") {
      for (const Json& each : list(value, key)) {
        if (list(each, key).size() != 3) refuse("front must have name, type and value");
        request.front.push_back({.name = text(each[0], key),
                                 .kind = kind(text(each[1], key)),
                                 .value = constant(each[2], key)});
      }
    } else if (key == "limit") {
      const std::int64_t rows = whole(value, key);
      if (rows < 0) refuse("limit is less than no rows");
      request.limit = static_cast<std::size_t>(rows);
    } else {
      refuse("there is no " + key);
    }
  }
  if (request.table.empty()) refuse("no table is named");
  return request;
}

}  // namespace gpuprof::c_api
