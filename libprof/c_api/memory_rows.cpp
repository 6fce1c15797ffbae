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
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(row[i]);
  }
  return columns;
}

std::int64_t torch_number(const nlohmann::json& of, const char* key) {
  const auto value = of.find(key);
  if (value == of.end()) return 0;
  if (!value->is_number_integer() || *value < 0) {
    refuse_memory("torch: " + std::string(key) + " must be a whole number of 0 or more");
  }
  return value->get<std::int64_t>();
}

memory::TorchSegment read_segment(const nlohmann::json& its) {
  if (!its.is_object()) refuse_memory("torch: a segment must be an object");
  memory::TorchSegment segment{.device = torch_number(its, "device"),
                               .address = torch_number(its, "address"),
                               .bytes = torch_number(its, "bytes"),
                               .stream = torch_number(its, "stream"),
                               .blocks = torch_number(its, "blocks"),
                               .allocated = torch_number(its, "allocated"),
                               .active = torch_number(its, "active"),
                               .requested = torch_number(its, "requested"),
                               .largest_free = torch_number(its, "largest_free")};
  if (const auto type = its.find("type"); type != its.end() && type->is_string()) {
    segment.type = type->get<std::string>();
  }
  segment.expandable = its.value("expandable", nlohmann::json()) == true;
  return segment;
}

// Throws Error if the segments cannot be: the tables compute with their ends and free bytes.
memory::TorchSnapshot read_snapshot(const nlohmann::json& its) {
  const auto list = its.is_object() ? its.find("segments") : its.end();
  if (list == its.end() || !list->is_array()) refuse_memory("torch must have a list of segments");
  const auto refuse = [&](const std::string& why) {
    const auto file = its.find("file");
    throw Error(
        (file != its.end() && file->is_string() ? file->get<std::string>() : "torch") + ": " + why,
        "torch.cuda.memory._dump_snapshot() writes what can be read here", ExitCode::import_failed);
  };
  memory::TorchSnapshot snapshot;
  auto& segments = snapshot.segments;
  for (const auto& each : *list) {
    const memory::TorchSegment& segment = segments.emplace_back(read_segment(each));
    const std::string name = "segment " + std::to_string(segments.size()) + ": ";
    if (segment.address > INT64_MAX - segment.bytes) refuse(name + "it ends past all memory");
    if (segment.active > segment.bytes || segment.allocated > segment.active ||
        segment.largest_free > segment.bytes) {
      refuse(name + "more of it is in use than it has");
    }
  }
  std::ranges::sort(segments, {},
                    [](const auto& each) { return std::pair(each.device, each.address); });
  const auto overlapping = [](const auto& one, const auto& next) {
    return one.device == next.device && next.address < one.end();
  };
  if (std::ranges::adjacent_find(segments, overlapping) != segments.end()) {
    refuse("segments overlap");
  }
  if (const auto time = its.find("taken_at"); time != its.end() && !time->is_null()) {
    snapshot.taken_at = torch_number(its, "taken_at");
  }
  return snapshot;
}

}  // namespace

MemoryRequest read_memory_request(std::string_view json) {
  nlohmann::json all = nlohmann::json::parse(json, nullptr, false);
  if (!all.is_object()) refuse_memory("it is not a JSON object");
  MemoryRequest wanted;
  if (const auto by = all.find("by"); by != all.end()) {
    if (!by->is_string()) refuse_memory("by must be a string");
    wanted.questions.by = memory::parse_by(by->get<std::string>());
  }
  if (const auto points = all.find("points"); points != all.end()) {
    const bool fits = points->is_number_integer() && *points >= 0 && *points <= 100'000;
    if (!fits) refuse_memory("points are from 0 to 100000");
    wanted.questions.points = points->get<std::size_t>();
  }
  if (const auto torch = all.find("torch"); torch != all.end()) {
    wanted.torch = read_snapshot(*torch);
  }
  for (const auto& [key, to] : {std::pair("time", &wanted.torch_question.time),
                                std::pair("process", &wanted.torch_question.process)}) {
    const auto value = all.find(key);
    if (value == all.end() || value->is_null()) continue;
    if (!value->is_number_integer()) refuse_memory(std::string(key) + " must be a whole number");
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
    const auto tables = memory::torch_tables(profile, *wanted.torch, wanted.torch_question, check);
    return columns_of({&tables.segments, &tables.devices}, wanted.request.table);
  }
  const memory::Account account = memory::account(profile, wanted.questions, check);
  return columns_of(account.all(), wanted.request.table);
}

}  // namespace gpuprof::c_api
