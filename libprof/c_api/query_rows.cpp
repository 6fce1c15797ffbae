#include "libprof/c_api/query_rows.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/base/text.hpp"
#include "libprof/c_api/view_rows.hpp"

namespace gpuprof::c_api {
namespace {

using store::Statement;
using ValueType = Statement::Type;

std::string_view bytes_of(const Statement& row, int index) {
  const auto bytes = row.blob(index);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void add_value(ArrowColumn& column, const Statement& row, int index) {
  switch (row.type(index)) {
    case ValueType::null: return column.add_null();
    case ValueType::integer: return column.add_integer(row.integer(index));
    case ValueType::real: return column.add_real(row.real(index));
    case ValueType::text: return column.add_text(row.text(index));
    case ValueType::blob: return column.add_blob(bytes_of(row, index));
  }
}

// Values of an undeclared column; its type is the one that fits them all.
class AnyColumn {
 public:
  void add(const Statement& row, int index) {
    const ValueType type = row.type(index);
    types_.push_back(type);
    seen_ |= 1U << static_cast<unsigned>(type);
    switch (type) {
      case ValueType::null: values_.push_back(0); break;
      case ValueType::integer: values_.push_back(row.integer(index)); break;
      case ValueType::real: values_.push_back(std::bit_cast<std::int64_t>(row.real(index))); break;
      case ValueType::text: values_.push_back(texts_.number_of(row.text(index))); break;
      case ValueType::blob:
        values_.push_back(static_cast<std::int64_t>(blobs_.size()));
        blobs_.emplace_back(bytes_of(row, index));
        break;
    }
  }

  // `declared` is SQLite's declared type, used if the column has no values.
  ArrowColumn finish(std::string name, std::string_view declared) const {
    ArrowColumn column(std::move(name), kind(declared));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      switch (types_[i]) {
        case ValueType::null: column.add_null(); break;
        case ValueType::integer: column.add_integer(values_[i]); break;
        case ValueType::real: column.add_real(std::bit_cast<double>(values_[i])); break;
        case ValueType::text:
          column.add_text(texts_.text(static_cast<std::int32_t>(values_[i])));
          break;
        case ValueType::blob: column.add_blob(blobs_[static_cast<std::size_t>(values_[i])]); break;
      }
    }
    return column;
  }

 private:
  Kind kind(std::string_view declared) const {
    const auto seen = [&](ValueType type) {
      return (seen_ >> static_cast<unsigned>(type) & 1) != 0;
    };
    if (seen(ValueType::text)) return Kind::text;
    if (seen(ValueType::blob)) return Kind::binary;
    if (seen(ValueType::real)) return Kind::float64;
    if (seen(ValueType::integer)) return Kind::int64;
    const std::string type = lower(declared);
    if (type.find("int") != type.npos) return Kind::int64;
    if (type == "real") return Kind::float64;
    if (type == "text") return Kind::text;
    if (type == "blob") return Kind::binary;
    return Kind::none;
  }

  std::vector<ValueType> types_;
  std::vector<std::int64_t> values_;  // for texts and blobs, their index
  Dictionary texts_;
  std::vector<std::string> blobs_;
  unsigned seen_ = 0;
};

// A result column with or without a declared type.
class ResultColumn {
 public:
  ResultColumn(std::string name, std::optional<Kind> kind) : name_(std::move(name)) {
    if (kind) declared_.emplace(name_, *kind);
  }
  void add(const Statement& row, int index) {
    declared_ ? add_value(*declared_, row, index) : any_.add(row, index);
  }
  ArrowColumn finish(std::string_view declared_type) {
    if (declared_) return std::move(*declared_);
    return any_.finish(std::move(name_), declared_type);
  }

 private:
  std::string name_;
  std::optional<ArrowColumn> declared_;
  AnyColumn any_;
};

// Whether a regular expression is found in a text; each distinct text is searched once.
class Match {
 public:
  Match(int index, const std::string& expression)
      : index_(index), pattern_(std::make_unique<Pattern>(expression)) {}
  bool accepts(const Statement& row) {
    if (row.is_null(index_)) return false;
    const std::int32_t number = texts_.number_of(row.text(index_));
    const auto at = static_cast<std::size_t>(number);
    if (at == found_.size()) found_.push_back(pattern_->found_in(texts_.text(number)));
    return found_[at];
  }

 private:
  int index_;  // column index in the row
  std::unique_ptr<Pattern> pattern_;
  Dictionary texts_;
  std::vector<bool> found_;
};

constexpr std::size_t rows_between_checks = 4096;

std::vector<ArrowColumn> read_rows(Statement& row, std::vector<ResultColumn>& targets,
                                   std::vector<Match>& matches, std::size_t limit,
                                   const std::function<void()>& check) {
  for (std::size_t count = 0; limit > 0 && row.step(); ++count) {
    if (count % rows_between_checks == 0) check();
    if (!std::ranges::all_of(matches, [&](Match& match) { return match.accepts(row); })) continue;
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i].add(row, static_cast<int>(i));
    --limit;
  }
  std::vector<ArrowColumn> columns;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    columns.push_back(targets[i].finish(row.declared_type(static_cast<int>(i))));
  }
  return columns;
}

std::vector<Constant> constants(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace

void Conditions::compare(const std::string& column, const char* with, std::int64_t value) {
  all_.push_back(column + " " + with + " ?");
  values_.emplace_back(value);
}

void Conditions::one_of(const std::string& column, const std::vector<Constant>& values) {
  std::vector<std::string> any;
  std::string list;
  for (const Constant& value : values) {
    if (value.index() == 0) {
      any.push_back(column + " IS NULL");
      continue;
    }
    list += list.empty() ? "?" : ", ?";
    values_.push_back(value);
  }
  if (!list.empty()) any.push_back(column + " IN (" + list + ")");
  all_.push_back(any.empty() ? "0" : "(" + joined(any, " OR ") + ")");
}

void Conditions::bind(Statement& statement, int first) const {
  for (const Constant& value : values_) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) statement.bind(first, *whole);
    if (const auto* real = std::get_if<double>(&value)) statement.bind(first, *real);
    if (const auto* text = std::get_if<std::string>(&value)) {
      statement.bind(first, std::string_view(*text));
    }
    ++first;
  }
}

std::vector<ArrowColumn> read_by_sqlite(store::Database& database, const ViewRequest& wanted,
                                        std::size_t limit, const std::function<void()>& check) {
  std::vector<ResultColumn> targets;
  std::vector<std::string> columns;
  for (const ViewRequest::Column& column : wanted.columns) {
    columns.push_back(store::quoted_name(column.name));
    targets.emplace_back(column.name, column.kind);
  }
  std::vector<Match> matches;
  for (const auto& [column, expression] : wanted.matches) {
    columns.push_back(store::quoted_name(column));
    matches.emplace_back(static_cast<int>(columns.size()) - 1, expression);
  }
  if (columns.empty()) return {};
  Conditions conditions;
  for (const ViewRequest::Range& range : wanted.ranges) {
    const std::string column = store::quoted_name(range.column);
    if (range.from) conditions.compare(column, ">=", *range.from);
    if (range.to) conditions.compare(column, "<", *range.to);
  }
  for (const auto& [column, values] : wanted.equals) {
    conditions.one_of(store::quoted_name(column), values);
  }
  Statement row = database.prepare(
      "SELECT " + joined(columns, ", ") + " FROM main." + store::quoted_name(wanted.view) +
      (conditions.all().empty() ? "" : " WHERE " + joined(conditions.all(), " AND ")));
  conditions.bind(row);
  return read_rows(row, targets, matches, limit, check);
}

std::vector<ArrowColumn> read_view(store::Database& database, const std::string& name,
                                   const KnownTable* known, const Request& request,
                                   const std::function<void()>& check) {
  const auto there = database.columns(name);
  const auto find = [&](std::string_view column) -> std::string {
    const auto* found = find_named(there, column);
    if (!found) {
      throw Error(name + " has no column " + std::string(column), "", ExitCode::bad_option);
    }
    return found->name;
  };
  ViewRequest wanted;
  wanted.view = name;
  const auto take = [&](const std::string& column) {
    const KnownColumn* declared = known ? known->find(column) : nullptr;
    wanted.columns.push_back({column, declared ? declared->kind : std::nullopt});
  };
  if (request.columns) {
    for (const std::string& column : *request.columns) take(find(column));
  } else {
    for (const store::Database::Column& column : there) take(column.name);
  }
  if (request.from || request.to) {
    wanted.ranges.push_back({find("start"), request.from, request.to});
  }
  if (request.devices) {
    wanted.equals.emplace_back(find("device_id"), constants(*request.devices));
  }
  if (request.processes) {
    wanted.equals.emplace_back(find("process_id"), constants(*request.processes));
  }
  for (const auto& [column, values] : request.equals) {
    wanted.equals.emplace_back(find(column), values);
  }
  for (const auto& [column, expression] : request.matches) {
    wanted.matches.emplace_back(find(column), expression);
  }
  // With a limit, SQLite can stop after the first rows.
  if (!request.limit) {
    if (auto columns = read_by_columns(database, wanted, check)) return std::move(*columns);
  }
  return read_by_sqlite(database, wanted, request.limit.value_or(SIZE_MAX), check);
}

std::vector<ArrowColumn> read_answer(store::Database& database, std::string_view sql,
                                     const std::function<void()>& check) {
  Statement row = database.ask(sql, true);
  std::vector<ResultColumn> targets;
  for (int i = 0; i < row.column_count(); ++i) {
    targets.emplace_back(std::string(row.column_name(i)), std::nullopt);
  }
  std::vector<Match> none;
  return read_rows(row, targets, none, SIZE_MAX, check);
}

}  // namespace gpuprof::c_api
