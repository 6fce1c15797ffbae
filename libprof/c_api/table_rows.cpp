#include "libprof/c_api/table_rows.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/c_api/known.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/names.hpp"
#include "schema/database.hpp"
#include "schema/enums.hpp"

namespace gpuprof::c_api {
namespace {

using columns::Chunk;
using columns::Column;
using columns::ColumnInfo;
using columns::Type;

// The texts that a column's numbers denote: strings of StringTable or names of an enum. Asks the
// file once per number.
class Meanings {
 public:
  Meanings(store::Database& database, const ColumnInfo& column) : enum_(column.enum_name) {
    if (column.type == Type::name) {
      const bool demangled = database.has_column("StringTable", "demangled");
      if (!database.has_column("StringTable", "value")) return;
      // nvprof's files have mangled names.
      if (!demangled)
        names_ = std::make_unique<reading::Names>(database, reading::NameStyle::modern);
      text_ = database.prepare(std::string("SELECT ") +
                               (demangled ? "coalesce(demangled, value)" : "value") +
                               " FROM main.StringTable WHERE _id_ = ?1");
      return;
    }
    for (const char* name : {"enum", "value", "name"}) {
      if (!database.has_column("ENUM_NAME", name)) return;
    }
    text_ = database.prepare("SELECT name FROM main.ENUM_NAME WHERE enum = ?1 AND value = ?2");
  }

  // The dictionary index, or -1 for NULL.
  std::int32_t index_of(std::int32_t number, Dictionary& dictionary) {
    if (number >= 0 && number < most_small) {
      const auto at = static_cast<std::size_t>(number);
      if (at >= small_.size()) small_.resize(std::max(at + 1, 2 * small_.size()), not_asked);
      if (small_[at] == not_asked) small_[at] = ask(number, dictionary);
      return small_[at];
    }
    const auto found = large_.find(number);
    if (found != large_.end()) return found->second;
    return large_.emplace(number, ask(number, dictionary)).first->second;
  }

 private:
  static constexpr std::int32_t not_asked = -2;
  static constexpr std::int32_t most_small = 1 << 22;

  std::int32_t ask(std::int32_t number, Dictionary& dictionary) {
    if (!enum_.empty()) return dictionary.number_of(name_of_enum(number));
    if (number == 0 || !text_.handle()) return -1;
    text_.bind(1, std::int64_t{number});
    std::int32_t index = -1;
    if (text_.step() && !text_.is_null(0)) {
      const std::string text(text_.text(0));
      index = dictionary.number_of(names_ ? names_->readable(text) : text);
    }
    text_.reset();
    return index;
  }

  std::string name_of_enum(std::int32_t number) {
    std::string name = std::to_string(number);
    if (text_.handle()) {
      text_.bind(1, enum_).bind(2, std::int64_t{number});
      const bool there = text_.step();
      if (there) name = text_.text(0);
      text_.reset();
      if (there) return name;
    }
    for (const schema::EnumType& type : schema::enum_types) {
      if (type.name != enum_) continue;
      for (const schema::EnumValue& value : type.values) {
        if (value.value == number) return std::string(value.name);
      }
    }
    return name;
  }

  std::string_view enum_;
  store::Statement text_;  // no handle: the file lacks the table or column
  std::unique_ptr<reading::Names> names_;
  std::vector<std::int32_t> small_;
  std::unordered_map<std::int32_t, std::int32_t> large_;
};

bool has_meaning(const ColumnInfo& column) {
  return column.type == Type::name || column.type == Type::enumeration;
}

// Row conditions that columns::Filter cannot express: a column has one of some values, or an
// expression is found in its text.
class Test {
 public:
  Test(store::Database& database, const ColumnInfo& info, std::size_t place)
      : info_(info), place_(place) {
    if (has_meaning(info)) meanings_.emplace(database, info);
  }

  void equals(const std::vector<Constant>& values) { values_ = values; }
  void matches(const std::string& expression) { pattern_ = std::make_unique<Pattern>(expression); }

  bool accepts(const Chunk& chunk, std::size_t row) {
    const Column& column = chunk[place_];
    if (column.is_null(row)) return !pattern_ && has_null();
    if (!meanings_) return accepts(column, row);
    const std::int32_t number = column.int32s()[row];
    const auto [known, is_new] = accepted_.try_emplace(number, false);
    if (is_new) known->second = accepts_number(number);
    return known->second;
  }

 private:
  bool has_null() const {
    return std::ranges::any_of(values_, [](const Constant& value) { return value.index() == 0; });
  }

  bool accepts_number(std::int32_t number) {
    const std::int32_t index = meanings_->index_of(number, texts_);
    if (pattern_) return index >= 0 && pattern_->found_in(texts_.text(index));
    if (index < 0 && has_null()) return true;
    return std::ranges::any_of(values_, [&](const Constant& value) {
      if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole == number;
      const auto* text = std::get_if<std::string>(&value);
      return text && index >= 0 && *text == texts_.text(index);
    });
  }

  bool accepts(const Column& column, std::size_t row) const {
    switch (column.type()) {
      case Type::int64: return has(column.int64s()[row]);
      case Type::int32: return has(std::int64_t{column.int32s()[row]});
      case Type::boolean: return has(std::int64_t{column.booleans()[row]});
      case Type::float64:
        return std::ranges::any_of(values_, [&](const Constant& value) {
          const auto* whole = std::get_if<std::int64_t>(&value);
          const auto* real = std::get_if<double>(&value);
          const double is = column.doubles()[row];
          return (whole && static_cast<double>(*whole) == is) || (real && *real == is);
        });
      case Type::text:
        if (pattern_) return pattern_->found_in(column.text(row));
        return std::ranges::any_of(values_, [&](const Constant& value) {
          const auto* text = std::get_if<std::string>(&value);
          return text && *text == column.text(row);
        });
      default: return false;
    }
  }

  bool has(std::int64_t number) const {
    return std::ranges::any_of(values_, [&](const Constant& value) {
      const auto* whole = std::get_if<std::int64_t>(&value);
      return whole && *whole == number;
    });
  }

  ColumnInfo info_;
  std::size_t place_;  // column index in the chunk
  std::optional<Meanings> meanings_;
  Dictionary texts_;  // texts of meanings_
  std::vector<Constant> values_;
  std::unique_ptr<Pattern> pattern_;
  std::unordered_map<std::int32_t, bool> accepted_;
};

// Appends chunks of a file's column to an Arrow column.
class TableColumn {
 public:
  TableColumn(store::Database& database, const ColumnInfo& info, bool raw)
      : column(std::string(info.name), kind_of(info.type, raw)) {
    if (has_meaning(info) && !raw) meanings_.emplace(database, info);
  }

  void add(const Column& from, const ChosenRows& rows) {
    switch (from.type()) {
      case Type::int64: return add_numbers(from, from.int64s(), rows);
      case Type::float64: return add_numbers(from, from.doubles(), rows);
      case Type::boolean: return add_numbers(from, from.booleans(), rows);
      case Type::int32:
      case Type::name:
      case Type::enumeration:
        if (!meanings_) return add_numbers(from, from.int32s(), rows);
        return column.add_indices(from.size(), rows, [&](std::size_t row) {
          return from.is_null(row) ? -1
                                   : meanings_->index_of(from.int32s()[row], column.dictionary());
        });
      case Type::text:
      case Type::blob:
        for_each_row(from.size(), rows, [&](std::size_t row) {
          if (from.is_null(row)) return column.add_null();
          from.type() == Type::text ? column.add_text(from.text(row))
                                    : column.add_blob(from.text(row));
        });
    }
  }

  ArrowColumn column;

 private:
  template <class T>
  void add_numbers(const Column& from, std::span<const T> values, const ChosenRows& rows) {
    column.add_all(values, rows, from.nulls() > 0,
                   [&](std::size_t row) { return from.is_null(row); });
  }

  std::optional<Meanings> meanings_;
};

const ColumnInfo& find(const columns::TableInfo& table, std::string_view name) {
  const ColumnInfo* column = table.find(name);
  if (!column) {
    throw Error("the table " + std::string(table.name) + " has no column " + std::string(name), "",
                ExitCode::bad_option);
  }
  return *column;
}

void demand(const columns::TableInfo& table, std::span<const std::string_view> any_of,
            std::string_view what) {
  for (const std::string_view name : any_of) {
    if (table.find(name)) return;
  }
  throw Error("rows of the table " + std::string(table.name) + " have no " + std::string(what), "",
              ExitCode::bad_option);
}

columns::Filter filter_of(const columns::TableInfo& table, const Request& request) {
  static constexpr std::string_view device[]{"deviceId"}, process[]{"processId"};
  columns::Filter filter{.from = request.from, .to = request.to};
  if (request.from || request.to) demand(table, schema::begin_columns, "time");
  if (request.devices) demand(table, device, "device");
  if (request.processes) demand(table, process, "process");
  filter.devices = request.devices.value_or(filter.devices);
  filter.processes = request.processes.value_or(filter.processes);
  return filter;
}

}  // namespace

std::vector<ArrowColumn> read_table(store::Database& database, const columns::TableInfo& table,
                                    const Request& request, const std::function<void()>& check) {
  columns::Request wanted{
      .table = std::string(table.name), .columns = {}, .filter = filter_of(table, request)};
  std::vector<TableColumn> targets;
  const auto take = [&](const ColumnInfo& column) {
    wanted.columns.emplace_back(column.name);
    targets.emplace_back(database, column, request.raw);
  };
  if (request.columns) {
    for (const std::string& name : *request.columns) take(find(table, name));
  } else {
    for (const ColumnInfo& column : table.columns) take(column);
  }
  std::vector<Test> tests;
  const auto test = [&](const std::string& name) -> Test& {
    const ColumnInfo& column = find(table, name);
    wanted.columns.emplace_back(column.name);
    return tests.emplace_back(database, column, wanted.columns.size() - 1);
  };
  for (const auto& [name, values] : request.equals) test(name).equals(values);
  for (const auto& [name, expression] : request.matches) test(name).matches(expression);
  // Empty lists match no row.
  const bool none = (request.devices && request.devices->empty()) ||
                    (request.processes && request.processes->empty());

  struct Enough {};  // ends the reading
  std::size_t left = request.limit.value_or(SIZE_MAX);
  const auto visit = [&](const Chunk& chunk) {
    check();
    ChosenRows rows;
    if (!tests.empty() || left < chunk.rows()) {
      rows.emplace();
      for (std::size_t row = 0; row < chunk.rows() && rows->size() < left; ++row) {
        if (std::ranges::all_of(tests, [&](Test& each) { return each.accepts(chunk, row); })) {
          rows->push_back(row);
        }
      }
    }
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].add(chunk[i], rows);
    left -= rows ? rows->size() : chunk.rows();
    if (left == 0) throw Enough();
  };
  if (!none && left > 0) {
    store::Snapshot snapshot(database);
    columns::Reader reader(snapshot, wanted);
    try {
      reader.read(visit);
    } catch (const Enough&) {
      // The remaining rows are not needed.
    }
  }
  std::vector<ArrowColumn> columns;
  for (TableColumn& target : targets) columns.push_back(std::move(target.column));
  return columns;
}

}  // namespace gpuprof::c_api
