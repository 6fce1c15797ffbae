#include "libprof/report/directives.hpp"

#include <algorithm>
#include <tuple>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "schema/enums.hpp"

namespace gpuprof::report {
namespace {

// Subtracts each record's time from the record that directly encloses it on its thread.
void make_exclusive(std::vector<OpenaccRecord>& records) {
  const auto thread = [](const OpenaccRecord& r) { return std::tuple(r.process, r.thread); };
  // Of records that start together, the longest encloses the others.
  std::ranges::stable_sort(records, [&](const OpenaccRecord& a, const OpenaccRecord& b) {
    return std::tuple(thread(a), a.start, b.end) < std::tuple(thread(b), b.start, a.end);
  });
  std::vector<OpenaccRecord*> around;  // each lies within the one before it
  for (OpenaccRecord& record : records) {
    if (!around.empty() && thread(*around.back()) != thread(record)) around.clear();
    // Records that have ended enclose nothing more; of overlapping records only the later one can.
    while (!around.empty() && around.back()->end < record.end) around.pop_back();
    if (!around.empty()) {
      std::int64_t& time = around.back()->time;
      time = saturating_subtract(time, record.end - record.start);
    }
    around.push_back(&record);
  }
}

}  // namespace

std::uint32_t OpenaccNames::number(const store::Statement& row, int first) {
  Key key;
  for (std::int64_t& value : key) value = row.integer(first++);
  if (!session_.options().openacc_constructs) key[1] = 0;
  const auto [place, is_new] = numbers_.try_emplace(key);
  if (is_new) {
    std::string text = make(key);
    place->second = numbers_of_texts_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()))
                        .first->second;
    if (place->second == texts_.size()) texts_.push_back(std::move(text));
  }
  return place->second;
}

std::string OpenaccNames::make(const Key& key) {
  const auto [event, construct, file, line, object] = key;
  const auto known = [](std::string_view name, std::string_view otherwise) {
    return std::string(name.empty() ? otherwise : name);
  };
  std::string name = known(schema::enum_name("CUpti_OpenAccEventKind", event), "acc_invalid");
  if (session_.options().openacc_constructs) {
    name +=
        "[" + known(schema::enum_name("CUpti_OpenAccConstructKind", construct), "unknown") + "]";
  }
  if (const std::string path = session_.names().text(file); !path.empty()) {
    name += "@" + path.substr(path.rfind('/') + 1);
    if (line != 0) name += ":" + std::to_string(line);
  }
  if (const std::string text = session_.names().text(object); !text.empty()) {
    name += " (" + text + ")";
  }
  return name;
}

std::string openacc_valid(const Session& session, std::string_view kind) {
  std::string condition = valid_times(kind);
  const auto& devices = session.options().filter.devices;
  if (devices.empty()) return condition;
  return condition + " AND cuDeviceId IN (" + joined(devices, ", ") + ")";
}

std::vector<OpenaccRecord> read_openacc(Session& session, OpenaccNames& names) {
  std::vector<OpenaccRecord> records;
  for (const auto& [table, object] : openacc_kinds) {
    session.output().progress("reading " + table_name(table));
    auto rows =
        session.select(table,
                       {"start", "end", "cuProcessId", "cuThreadId", "eventKind", "parentConstruct",
                        "srcFile", "lineNo", object},
                       "WHERE " + openacc_valid(session, table) + " AND " + session.filter(table));
    while (rows.step()) {
      const std::int64_t start = rows.integer(0), end = rows.integer(1);
      records.push_back({.process = rows.integer(2),
                         .thread = rows.integer(3),
                         .start = start,
                         .end = end,
                         .time = end - start,
                         .name = names.number(rows, 4)});
    }
  }
  if (!session.options().openacc_inclusive) make_exclusive(records);
  return records;
}

std::string openmp_name(std::int64_t kind) {
  const std::string_view name = schema::enum_name("CUpti_OpenMpEventKind", kind);
  return std::string(name.empty() ? "omp_unknown" : name);
}

}  // namespace gpuprof::report
