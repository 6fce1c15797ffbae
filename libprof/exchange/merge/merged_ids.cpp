#include "libprof/exchange/merge/merged_ids.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::merging {
namespace {

// The largest that Linux gives: PID_MAX_LIMIT.
constexpr std::int64_t last_process = 4'194'304;
// Numbers of a profile's rows are below it; what describes something has far fewer rows.
constexpr std::int64_t last_number = std::int64_t{1} << 60, many_descriptions = 1 << 16;
constexpr std::string_view device_table = "CUPTI_ACTIVITY_KIND_DEVICE";

bool is_integer(const store::Statement& row, int column) {
  return row.type(column) == store::Statement::Type::integer;
}

std::string bytes_of(const store::Statement& row, int column) {
  if (row.type(column) != store::Statement::Type::blob) return {};
  const auto bytes = row.blob(column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What each row of the table says, by its number. Columns with numbers are left out.
std::map<std::int64_t, std::string> descriptions(store::Database& database,
                                                 const NumberedTable& table) {
  std::vector<std::string> says{"''"};
  for (const schema::Column& column : table.table->columns) {
    if (number_of(*table.table, column.name)) continue;
    const bool is_there = database.has_column(table.table->name, column.name);
    says.push_back(is_there ? "quote(" + store::quoted_name(column.name) + ")" : "'NULL'");
  }
  store::Statement rows = database.prepare("SELECT " + store::quoted_name(table.column) + ", " +
                                           joined(says, " || char(10) || ") + " FROM " +
                                           store::quoted_name(table.table->name) + " LIMIT " +
                                           std::to_string(many_descriptions));
  std::map<std::int64_t, std::string> found;
  while (rows.step()) {
    if (is_integer(rows, 0)) found.emplace(rows.integer(0), rows.text(1));
  }
  return found;
}

}  // namespace

void MergedStrings::add(store::Database& source) {
  of_file_.clear();
  store::Statement rows =
      source.prepare("SELECT _id_, value, demangled, short FROM StringTable WHERE _id_ <> 0");
  store::Statement insert =
      out_.prepare("INSERT INTO StringTable(value, demangled, short) VALUES(?1, ?2, ?3)");
  while (rows.step()) {
    if (rows.type(1) != store::Statement::Type::text) continue;
    const auto [place, is_new] = ids_.try_emplace(std::string(rows.text(1)), 0);
    if (is_new) {
      insert.bind_column(1, rows, 1).bind_column(2, rows, 2).bind_column(3, rows, 3).run();
      place->second = out_.integer("SELECT last_insert_rowid()").value_or(0);
    }
    of_file_.emplace(rows.integer(0), place->second);
  }
}

std::int64_t MergedStrings::of(std::int64_t id) const {
  const auto found = of_file_.find(id);
  return found == of_file_.end() ? 0 : found->second;
}

std::vector<MergedProcesses::Renumbered> MergedProcesses::add(store::Database& source) {
  of_file_.clear();
  first_number_ = next_number_;
  std::set<std::int64_t> of_this_file;
  store::Statement rows = source.prepare("SELECT processId FROM PROCESS");
  while (rows.step()) {
    if (is_integer(rows, 0)) of_this_file.insert(rows.integer(0));
  }
  std::vector<Renumbered> renumbered;
  for (const std::int64_t id : of_this_file) {
    std::int64_t now = id;
    if (taken_.contains(id)) {
      now = std::max({last_process, *taken_.rbegin(), *of_this_file.rbegin()}) + 1;
      renumbered.push_back({.before = id, .now = now});
    }
    taken_.insert(now);
    of_file_[id] = now;
  }
  return renumbered;
}

std::int64_t MergedProcesses::of(std::int64_t id) const {
  const auto found = of_file_.find(id);
  return found == of_file_.end() ? id : found->second;
}

std::int64_t MergedProcesses::number(std::int64_t number) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (number < 0) return number;
  if (number > most - first_number_) {
    throw Error("there are too many processes", "merge fewer files", ExitCode::import_failed);
  }
  next_number_ = std::max(next_number_, first_number_ + number + 1);
  return first_number_ + number;
}

std::int64_t MergedProcesses::correlation(std::int64_t id) {
  if (id <= 0) return id;
  return number(id >> 32) << 32 | (id & 0xffffffff);
}

void MergedDevices::add(store::Database& source, const std::string& machine) {
  of_file_.clear();
  ++file_;
  if (!source.has_table(device_table)) return;
  const bool has_mig = source.has_column(device_table, "migUuid");
  store::Statement rows =
      source.prepare("SELECT processId, id, uuid, " + std::string(has_mig ? "migUuid" : "NULL") +
                     " FROM " + std::string(device_table) + " ORDER BY id, processId");
  while (rows.step()) {
    if (!is_integer(rows, 0) || !is_integer(rows, 1)) continue;
    const std::string uuid = bytes_of(rows, 2);
    const std::pair key(rows.integer(0), rows.integer(1));
    // Without a UUID it is the file's device of that number.
    const std::string identity = uuid.empty()
                                     ? std::to_string(file_) + " " + std::to_string(key.second)
                                     : machine + uuid + bytes_of(rows, 3);
    of_file_[key] = number_of(identity, key.second);
  }
}

std::int64_t MergedDevices::number_of(const std::string& identity, std::int64_t wanted) {
  const auto [place, is_new] = by_identity_.try_emplace(identity, wanted);
  if (is_new) {
    if (taken_.contains(wanted)) place->second = *taken_.rbegin() + 1;
    taken_.insert(place->second);
  }
  return place->second;
}

std::optional<std::int64_t> MergedDevices::known(std::int64_t process, std::int64_t id) const {
  const auto found = of_file_.find({process, id});
  return found == of_file_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t MergedDevices::of(std::int64_t process, std::int64_t id) {
  if (const auto found = known(process, id)) return *found;
  // Samples of a whole device are of no process.
  const auto same = std::ranges::find_if(
      of_file_, [&](const auto& each) { return process == 0 && each.first.second == id; });
  if (same != of_file_.end()) return of_file_[{process, id}] = same->second;
  // All bits set: none.
  constexpr std::int64_t most = 1 << 20;
  if (id < 0 || id > most) return id;
  return of_file_[{process, id}] = number_of(std::to_string(file_) + " " + std::to_string(id), id);
}

void MergedNumbers::add(store::Database& source) {
  for (const NumberedTable& table : numbered_tables()) {
    offsets_[table.table] = source.has_table(table.table->name) ? offset_of(source, table) : 0;
  }
}

std::int64_t MergedNumbers::offset_of(store::Database& source, const NumberedTable& table) {
  const std::int64_t last = out_.integer("SELECT max(" + store::quoted_name(table.column) +
                                         ") FROM " + store::quoted_name(table.table->name))
                                .value_or(0);
  if (last <= 0 || last >= last_number) return 0;
  const std::int64_t after_all = (last + table.step - 1) / table.step * table.step;
  if (!table.describes || last > many_descriptions) return after_all;
  const auto taken = descriptions(out_, table), wanted = descriptions(source, table);
  const auto fits = [&](std::int64_t offset) {
    return std::ranges::all_of(wanted, [&](const auto& row) {
      const auto there = taken.find(row.first + offset);
      return there == taken.end() || there->second == row.second;
    });
  };
  std::int64_t offset = 0;
  while (offset < after_all && !fits(offset)) offset += table.step;
  return offset;
}

std::int64_t MergedNumbers::of(const RowNumber& column, std::int64_t number) const {
  const bool is_none = column.divisor == 1 && number == 0;
  if (is_none || number < 0 || number > last_number) return number;
  return number + offsets_.at(column.of) / column.divisor;
}

}  // namespace gpuprof::merging
