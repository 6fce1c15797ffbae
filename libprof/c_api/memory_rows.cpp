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
  all.erase("by");
  all.erase("points");
  for (const auto& [key, value] : all.items()) {
    if (key != "table" && key != "front") refuse_memory("there is no " + key);
  }
  wanted.request = read_request(all.dump());
  return wanted;
}

std::vector<ArrowColumn> read_memory(store::Database& database, const MemoryRequest& wanted,
                                     const std::function<void()>& check) {
  reading::Profile profile(database, {}, reading::NameStyle::modern, [](std::string_view) {});
  const memory::Account account = memory::account(profile, wanted.questions, check);
  const auto tables = account.all();
  const auto found = std::ranges::find_if(
      tables, [&](const auto* each) { return each->name == wanted.request.table; });
  if (found == tables.end()) {
    std::vector<std::string> names;
    for (const memory::Table* each : tables) names.push_back(each->name);
    throw Error("there is no table " + wanted.request.table, "there are " + joined(names, ", "),
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

}  // namespace gpuprof::c_api
