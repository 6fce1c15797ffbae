#include "libprof/c_api/memory_rows.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::c_api {
namespace {

[[noreturn]] void refuse_memory(const std::string& why) {
  throw Error("the question for memory: " + why, "gpuprof.h says what gpuprof_memory() takes",
              ExitCode::bad_option);
}

Kind arrow_kind(memory::Type type) {
  switch (type) {
    case memory::Type::real: return Kind::float64;
    case memory::Type::text: return Kind::text;
    case memory::Type::integer:
    case memory::Type::bytes: break;
  }
  return Kind::int64;
}

void add_memory_value(ArrowColumn& column, const memory::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    column.add_integer(*whole);
  } else if (const auto* real = std::get_if<double>(&value)) {
    column.add_real(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    column.add_text(*text);
  } else {
    column.add_null();
  }
}

std::vector<ArrowColumn> columns_of(const std::vector<const memory::Table*>& tables,
                                    const std::string& name) {
  const auto found =
      std::ranges::find_if(tables, [&](const auto* each) { return each->name == name; });
  if (found == tables.end()) {
    std::vector<std::string> names;
    for (const memory::Table* each : tables) names.push_back(each->name);
    throw Error("there is no table " + name, "there are " + joined(names, ", "),
                ExitCode::bad_option);
  }
  const memory::Table& table = **found;
  std::vector<ArrowColumn> columns;
  for (const memory::Column& column : table.columns) {
    columns.emplace_back(column.name, arrow_kind(column.type));
  }
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) add_memory_value(columns[i], row[i]);
  }
  return columns;
}

}  // namespace

MemoryRequest read_memory_request(std::string_view json) {
  nlohmann::json all = nlohmann::json::parse(json, nullptr, false);
  if (!all.is_object()) refuse_memory("it is no JSON object");
  MemoryRequest wanted;
  if (const auto by = all.find("by"); by != all.end()) {
    if (!by->is_string()) refuse_memory("by wants a text");
    wanted.questions.by = memory::parse_by(by->get<std::string>());
  }
  if (const auto points = all.find("points"); points != all.end()) {
    const bool fits = points->is_number_integer() && *points >= 0 && *points <= 100'000;
    if (!fits) refuse_memory("points are from 0 to 100000");
    wanted.questions.points = points->get<std::size_t>();
  }
  if (const auto torch = all.find("torch"); torch != all.end()) {
    if (!torch->is_string()) refuse_memory("torch wants a text");
    wanted.torch = torch->get<std::string>();
  }
  for (const auto& [key, to] : {std::pair("time", &wanted.torch_question.time),
                                std::pair("process", &wanted.torch_question.process)}) {
    const auto value = all.find(key);
    if (value == all.end() || value->is_null()) continue;
    if (!value->is_number_integer()) refuse_memory(std::string(key) + " wants a whole number");
    *to = value->get<std::int64_t>();
  }
  for (const char* key : {"by", "points", "torch", "time", "process"}) all.erase(key);
  for (const auto& [key, value] : all.items()) {
    if (key != "table" && key != "front") refuse_memory("there is no " + key);
  }
  wanted.request = read_request(all.dump());
  return wanted;
}

std::vector<ArrowColumn> read_memory(store::Database& database, const MemoryRequest& wanted,
                                     const std::function<void()>& check) {
  reading::Profile profile(database, {}, reading::NameStyle::modern, [](std::string_view) {});
  if (wanted.torch) {
    const auto tables = memory::torch_tables(
        profile, memory::read_torch_snapshot(*wanted.torch, check), wanted.torch_question, check);
    return columns_of({&tables.segments, &tables.devices}, wanted.request.table);
  }
  const memory::Account account = memory::account(profile, wanted.questions, check);
  return columns_of(account.all(), wanted.request.table);
}

}  // namespace gpuprof::c_api
