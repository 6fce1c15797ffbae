#include "libprof/exchange/merge/merge.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/memory/process_memory.hpp"
#include "libprof/exchange/merge/clock_line.hpp"
#include "libprof/exchange/merge/column_rule.hpp"
#include "libprof/exchange/merge/merged_ids.hpp"
#include "libprof/exchange/merge/run_facts.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/read/rescue.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/nvtx_payloads.hpp"
#include "libprof/store/nvtx_ranges.hpp"
#include "schema/database.hpp"
#include "schema/derived_on_demand.hpp"
#include "schema/enums.hpp"
#include "schema/nccl.hpp"
#include "schema/tables.hpp"

namespace gpuprof::merging {
namespace {

using store::Database;
using store::quoted_name;
using store::Statement;

// A column that both files have.
struct Cell {
  std::string source, target;  // its names; an older gpuprof may have used another
  ColumnRule rule{};
  const RowNumber* number = nullptr;  // of ColumnRule::row_number
};

class Merger {
 public:
  explicit Merger(const Job& job)
      : job_(job), out_(job.path, Database::Mode::create, {.shown_as = job.shown_as}) {}

  Merged run() {
    store::make_empty_profile(out_, false);
    if (job_.stop) out_.watch(job_.stop);
    out_.execute("PRAGMA temp_store = FILE");
    strings_.emplace(out_);
    numbers_.emplace(out_);
    for (const std::string& file : job_.files) add(file);
    job_.progress("pairing NVTX ranges");
    out_.execute("BEGIN");
    facts_.write(out_, job_.command);
    if (out_.has_table(schema::NcclOperation::table.name)) store::add_nccl_view(out_);
    store::compute_nvtx_ranges(out_);
    store::compute_nvtx_payloads(out_);
    out_.execute("COMMIT");
    compute();
    return std::move(result_);
  }

 private:
  void add(const std::string& path) {
    reading::ProfileFile file(path);
    if (file.problem()) throw Error(*file.problem());
    name_ = path;
    check(file);
    for (const std::string& note : file.notes()) result_.notes.push_back(note);
    Database& source = file.database();
    if (job_.stop) source.watch(job_.stop);
    out_.execute("BEGIN");
    add_names(source);
    for (const schema::Table* table : merged_tables()) copy(source, *table);
    say_what_is_left_out(source);
    out_.execute("COMMIT");
  }

  void check(const reading::ProfileFile& file) const {
    if (file.format() != reading::Format::gpuprof) {
      throw Error(name_ + " is a " + file.description() + ", and profiles of gpuprof are merged",
                  "gpuprof import makes one of a file of Nsight Systems or PyTorch",
                  ExitCode::import_failed);
    }
    if (file.damaged()) {
      throw Error(name_ + " is damaged", "gpuprof finish " + name_ + " -o FILE saves what is left",
                  ExitCode::import_failed);
    }
    if (file.unfinished() || file.in_use()) {
      throw Error(name_ + " is not complete",
                  "if its gpuprof is no longer at work, gpuprof finish " + name_ + " completes it",
                  ExitCode::import_failed);
    }
  }

  // What rows of this file refer to by numbers.
  void add_names(Database& source) {
    job_.progress(name_);
    const RunFacts::File about = facts_.add(source);
    strings_->add(source);
    numbers_->add(source);
    add_functions(source);
    for (const auto& [before, now] : processes_.add(source)) {
      result_.notes.push_back("process " + std::to_string(before) + " of " + name_ +
                              " has the number " + std::to_string(now) +
                              ", because another file has a process " + std::to_string(before));
    }
    const bool is_known = !about.boot_id.empty();
    const std::string machine = is_known ? about.boot_id : "file " + std::to_string(facts_.files());
    devices_.add(source, machine);
    find_clock(source, machine, about.host, is_known);
    facts_.set_zero(clock_->moved(about.zero));
  }

  // All machines have the time of day, and their clocks of CUPTI have their own relation to it.
  // `is_known`: the file has a boot id.
  void find_clock(Database& source, const std::string& machine, const std::string& host,
                  bool is_known) {
    const auto [place, is_new] = clocks_.try_emplace(machine);
    clock_ = &place->second;
    if (!is_new) return;
    const std::optional<ClockPair> pair = read_clocks(source);
    if (clocks_.size() == 1) {
      first_clock_ = pair;
      return;
    }
    if (!pair || !first_clock_) {
      throw Error("the times of " + name_ + " and " + job_.files.front() +
                      " cannot be compared: they are of different machines, and " +
                      (pair ? job_.files.front() : name_) + " has no times of day",
                  "", ExitCode::import_failed);
    }
    *clock_ = ClockLine(*pair, *first_clock_);
    std::string error = "their error is not known";
    if (pair->error && first_clock_->error) {
      error = "the machines say that these are at most " +
              std::to_string(*pair->error + *first_clock_->error) + " ns apart";
    }
    result_.notes.push_back(
        name_ + (is_known ? " is of another machine" : " may be of another machine") +
        (host.empty() ? "" : ", " + host) + ": its times are moved by the times of day, and " +
        error + ". gpuprof cluster aligns clocks by collectives");
  }

  // Names of the API's functions, which are the same in all recordings.
  void add_functions(Database& source) {
    if (!source.has_table("API_NAME")) return;
    Statement rows = source.prepare("SELECT domain, cbid, name FROM API_NAME");
    Statement find = out_.prepare("SELECT name FROM API_NAME WHERE domain = ?1 AND cbid = ?2");
    Statement insert = out_.prepare("INSERT INTO API_NAME(domain, cbid, name) VALUES(?1, ?2, ?3)");
    while (rows.step()) {
      find.bind_column(1, rows, 0).bind_column(2, rows, 1);
      const bool is_there = find.step();
      const bool is_same = is_there && find.text(0) == rows.text(2);
      find.reset();
      if (is_there && !is_same) {
        throw Error(name_ + " has other functions of the CUDA API than " + job_.files.front() +
                        " under the same numbers",
                    "imported files cannot be merged with recordings", ExitCode::import_failed);
      }
      if (is_there) continue;
      insert.bind_column(1, rows, 0).bind_column(2, rows, 1).bind_column(3, rows, 2).run();
    }
  }

  std::vector<Cell> cells(Database& source, const schema::Table& table) {
    std::vector<Cell> found;
    for (const Database::Column& column : source.columns(table.name)) {
      if (column.computed) continue;
      const std::string_view name = schema::current_name(table, column.name);
      bool is_known = false;
      schema::for_each_column(table, true, [&](const schema::Column& known) {
        if (!same_name(known.name, name)) return;
        is_known = true;
        const ColumnRule rule = rule_of(table, known);
        if (rule == ColumnRule::omitted) return;
        found.push_back({.source = column.name,
                         .target = std::string(known.name),
                         .rule = rule,
                         .number = number_of(table, known.name)});
      });
      if (!is_known) leave_out("the column " + column.name + " of " + std::string(table.name));
    }
    return found;
  }

  void copy(Database& source, const schema::Table& table) {
    if (table.is_view || !source.has_table(table.name)) return;
    const std::vector<Cell> row = cells(source, table);
    if (row.empty()) return;
    if (is_on_demand(table)) store::add_table(out_, table);
    std::string from, to, marks;
    for (const Cell& cell : row) {
      const std::string comma = from.empty() ? "" : ", ";
      from += comma + quoted_name(cell.source);
      to += comma + quoted_name(cell.target);
      marks += comma + "?";
    }
    const std::string name = quoted_name(table.name);
    Statement rows = source.prepare("SELECT " + from + " FROM " + name + " NOT INDEXED");
    Statement insert =
        out_.prepare("INSERT " + std::string(is_numbered(row) ? "OR IGNORE " : "") + "INTO " +
                     name + "(" + to + ") VALUES(" + marks + ")" + sum_of(table));
    const std::int64_t records = copy_rows(row, rows, insert);
    if (!reading::kind_of(table.name).empty()) result_.records += records;
  }

  // A row that describes something may be there already.
  static bool is_numbered(const std::vector<Cell>& row) {
    return std::ranges::find(row, ColumnRule::row_number, &Cell::rule) != row.end();
  }

  // gpuprof's own statistics, those of process 0, are in every file.
  static std::string sum_of(const schema::Table& table) {
    if (&table != &schema::tables::statistic) return {};
    return " ON CONFLICT(processId, kind, name) DO UPDATE SET value = value + excluded.value";
  }

  std::int64_t copy_rows(const std::vector<Cell>& row, Statement& rows, Statement& insert) {
    const auto place_of = [&](std::string_view name) {
      const auto found = std::ranges::find(row, name, &Cell::target);
      return found == row.end() ? -1 : static_cast<int>(found - row.begin());
    };
    const int process = place_of(schema::process_column), object = place_of("objectKind");
    std::int64_t count = 0;
    while (rows.step()) {
      process_ = process < 0 ? 0 : rows.integer(process);
      object_kind_ = object < 0 ? 0 : rows.integer(object);
      for (std::size_t i = 0; i < row.size(); ++i) bind(row[i], rows, insert, static_cast<int>(i));
      insert.run();
      constexpr std::int64_t often = 1 << 14;
      if (++count % often == 0) job_.progress(name_);
    }
    return count;
  }

  // SQLite allows any value in any column: one that is no number is copied.
  void bind(const Cell& cell, Statement& rows, Statement& insert, int column) {
    const ColumnRule rule = cell.rule;
    if (rule == ColumnRule::object && rows.type(column) == Statement::Type::blob) {
      return bind_object(rows, insert, column);
    }
    if (rule == ColumnRule::copied || rows.type(column) != Statement::Type::integer) {
      insert.bind_column(column + 1, rows, column);
      return;
    }
    insert.bind(column + 1, number(cell, rows.integer(column)));
  }

  std::int64_t number(const Cell& cell, std::int64_t value) {
    switch (cell.rule) {
      case ColumnRule::row_number: return numbers_->of(*cell.number, value);
      case ColumnRule::string: return strings_->of(value);
      case ColumnRule::time: return clock_->moved(value);
      case ColumnRule::correlation: return processes_.correlation(value);
      case ColumnRule::number: return processes_.number(value);
      case ColumnRule::process: return processes_.of(value);
      case ColumnRule::device: return devices_.of(process_, value);
      case ColumnRule::device_or_host: return devices_.known(process_, value).value_or(value);
      default: return value;
    }
  }

  // The first of three u32 is the process or the device.
  void bind_object(Statement& rows, Statement& insert, int column) {
    const auto bytes = rows.blob(column);
    std::vector<std::byte> changed(bytes.begin(), bytes.end());
    constexpr std::size_t size = 4;
    if (changed.size() >= size) {
      std::uint32_t number = 0;
      for (std::size_t i = size; i-- > 0;)
        number = number << 8 | std::to_integer<std::uint32_t>(changed[i]);
      const bool is_process = object_kind_ == schema::object_kind("process") ||
                              object_kind_ == schema::object_kind("thread");
      const std::int64_t now =
          is_process ? processes_.of(number) : devices_.known(process_, number).value_or(number);
      for (std::size_t i = 0; i < size; ++i)
        changed[i] = static_cast<std::byte>(now >> 8 * i & 0xff);
    }
    insert.bind_blob(column + 1, changed);
  }

  void say_what_is_left_out(Database& source) {
    const std::vector<const schema::Table*> merged = merged_tables();
    for (const reading::SchemaObject& object : reading::read_schema(source)) {
      if (object.type != "table") continue;
      const auto is_it = [&](const schema::Table* table) {
        return same_name(table->name, object.name);
      };
      if (std::ranges::any_of(schema::all_tables, is_it)) continue;
      if (std::ranges::any_of(merged, is_it)) continue;
      if (std::ranges::any_of(schema::tables::derived_on_demand, is_it)) continue;
      if (!source.integer("SELECT 1 FROM " + quoted_name(object.name) + " LIMIT 1")) continue;
      leave_out(object.name);
    }
  }

  void leave_out(const std::string& what) {
    result_.notes.push_back(name_ + ": " + what + " is left out");
  }

  void compute() {
    const std::string problem = compute::compute(out_, {.indexes = schema::indexes,
                                                        .stop = job_.stop,
                                                        .progress = job_.progress,
                                                        .more = memory::write_process_memory});
    if (!problem.empty()) throw Error(problem);
    out_.execute("BEGIN");
    out_.execute(
        "INSERT OR REPLACE INTO RUN VALUES('loss', (SELECT EXISTS(SELECT 1 FROM losses))), "
        "('finished', 1)");
    out_.execute("COMMIT");
    store::use_small_pages(out_);
  }

  const Job& job_;
  Database out_;
  Merged result_;
  RunFacts facts_;
  std::optional<MergedStrings> strings_;
  std::optional<MergedNumbers> numbers_;
  MergedProcesses processes_;
  MergedDevices devices_;
  std::map<std::string, ClockLine> clocks_;  // by machine
  std::optional<ClockPair> first_clock_;
  // Of the file that is being added:
  std::string name_;
  ClockLine* clock_ = nullptr;
  // Of the row that is being copied:
  std::int64_t process_ = 0, object_kind_ = 0;
};

}  // namespace

Merged merge(const Job& job) { return Merger(job).run(); }

}  // namespace gpuprof::merging
