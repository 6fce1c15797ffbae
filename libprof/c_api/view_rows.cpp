#include "libprof/c_api/view_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/base/text.hpp"
#include "libprof/c_api/view_columns.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/store/database_schema.hpp"
#include "schema/view_text.hpp"

namespace gpuprof::c_api {
namespace {

using columns::Chunk;
using columns::ColumnInfo;
using columns::find_table;
using columns::Reader;
using columns::Type;
using store::Database;
using store::Statement;
using Is = ViewColumn::Is;

// Thrown if SQLite has to read the view.
struct OnlySqlite {};

// Numbers of some rows: integers, or the bits of doubles. NULLs are 0.
struct Numbers {
  bool real = false;
  std::vector<std::int64_t> values = {};
  std::vector<std::uint8_t> nulls = {};  // 1 = NULL; rows past the end are not NULL

  bool is_null(std::size_t row) const { return row < nulls.size() && nulls[row] != 0; }
  void set_null(std::size_t row) {
    nulls.resize(values.size());
    nulls[row] = 1;
    values[row] = 0;
  }
  AnyValue at(std::size_t row) const {
    if (is_null(row)) return std::monostate();
    if (real) return std::bit_cast<double>(values[row]);
    return values[row];
  }
};

// Texts are numbered.
using Texts = std::unordered_map<std::string, std::int64_t>;

Numbers numbers_of(const columns::Column& column, Texts& texts) {
  Numbers all{.real = column.type() == Type::float64};
  all.values.resize(column.size());
  switch (column.type()) {
    case Type::int64: std::ranges::copy(column.int64s(), all.values.begin()); break;
    case Type::int32:
    case Type::name:
    case Type::enumeration: std::ranges::copy(column.int32s(), all.values.begin()); break;
    case Type::boolean: std::ranges::copy(column.booleans(), all.values.begin()); break;
    case Type::float64:
      if (column.size() > 0) {
        std::memcpy(all.values.data(), column.doubles().data(), column.doubles().size_bytes());
      }
      break;
    case Type::text:
      for (std::size_t row = 0; row < column.size(); ++row) {
        const auto number = static_cast<std::int64_t>(texts.size());
        all.values[row] = texts.try_emplace(std::string(column.text(row)), number).first->second;
      }
      break;
    case Type::blob: throw OnlySqlite();
  }
  for (std::size_t row = 0; column.nulls() > 0 && row < column.size(); ++row) {
    if (column.is_null(row)) all.set_null(row);
  }
  return all;
}

// Saturating, like SQLite's CAST.
std::int64_t to_integer(double value) {
  constexpr double limit = 9223372036854775808.0;
  if (value >= limit) return std::numeric_limits<std::int64_t>::max();
  if (value < -limit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

// SQLite goes on with a real number if this overflows.
std::int64_t difference_of(std::int64_t one, std::int64_t other) {
  if (__builtin_sub_overflow(one, other, &one)) throw OnlySqlite();
  return one;
}

// The column's value where none of those that it follows from is NULL; nullopt is NULL.
template <Is is>
std::optional<std::int64_t> value_of(const std::array<std::int64_t, 3>& of,
                                     std::optional<std::int64_t> zero) {
  if (is == Is::number) return of[0];
  if (is == Is::difference) return difference_of(of[0], of[1]);
  if (is == Is::rate) {
    const std::int64_t by = difference_of(of[1], of[2]);
    if (by == 0) return std::nullopt;
    return to_integer(static_cast<double>(of[0]) * 1e9 / static_cast<double>(by));
  }
  if (!zero) return std::nullopt;
  return std::bit_cast<std::int64_t>(static_cast<double>(difference_of(of[0], *zero)) / 1e6);
}

AnyValue value_of(const Statement& row, int index) {
  switch (row.type(index)) {
    case Statement::Type::null: return std::monostate();
    case Statement::Type::integer: return row.integer(index);
    case Statement::Type::real: return row.real(index);
    case Statement::Type::text: return std::string(row.text(index));
    case Statement::Type::blob: break;
  }
  throw OnlySqlite();
}

// Rows that are alike in some inputs, and what the view says of the first row of each group.
class Groups {
 public:
  explicit Groups(std::vector<std::size_t> inputs) : inputs_(std::move(inputs)) {}

  // `sql`: an expression of the view's columns. Returns the index of its answers.
  std::size_t add(std::string sql) {
    asked_.push_back(std::move(sql));
    return asked_.size() - 1;
  }
  // The answers are 1 where `column`, quoted for SQL, has one of the constants. They are texts
  // where its type is another: SQLite may then convert either, and which depends on how it reads
  // the view.
  std::size_t add(const std::string& column, const std::vector<Constant>& one_of) {
    std::string type;
    for (const Constant& constant : one_of) {
      if (constant.index() == 0) continue;
      const std::string other = std::holds_alternative<std::string>(constant) ? "text" : "integer";
      const bool real = std::holds_alternative<double>(constant);
      if (real || (!type.empty() && type != other)) throw OnlySqlite();
      type = other;
    }
    conditions_.one_of(column, one_of);
    const std::string& condition = conditions_.all().back();
    if (type.empty()) return add(condition);
    return add("CASE WHEN typeof(" + column + ") IN ('null', '" + type + "') THEN " + condition +
               " ELSE '' END");
  }
  // `before`, `after`: SELECT … FROM the view, for the row id ?1 alone.
  void prepare(Database& database, const std::string& before, const std::string& after) {
    question_ = database.prepare(before + joined(asked_, ", ") + after);
    conditions_.bind(question_, 2);
    answers_.resize(asked_.size());
  }

  const std::vector<std::size_t>& inputs() const { return inputs_; }
  const std::vector<std::uint32_t>& of_rows() const { return of_rows_; }
  const std::vector<AnyValue>& answers(std::size_t index) const { return answers_[index]; }

  void take(const std::vector<const Numbers*>& keys, std::span<const std::int64_t> row_ids) {
    std::vector<std::uint64_t> hashes(row_ids.size());
    for (const Numbers* key : keys) {
      for (std::size_t row = 0; row < row_ids.size(); ++row) {
        const auto value =
            key->is_null(row) ? no_value : static_cast<std::uint64_t>(key->values[row]);
        hashes[row] = std::rotl((hashes[row] ^ value) * 0x9e3779b97f4a7c15, 32);
      }
    }
    of_rows_.resize(row_ids.size());
    for (std::size_t row = 0; row < row_ids.size(); ++row) {
      if (row > 0 && hashes[row] == hashes[row - 1] && is_in(of_rows_[row - 1], keys, row)) {
        of_rows_[row] = of_rows_[row - 1];
        continue;
      }
      const auto next = static_cast<std::uint32_t>(groups_.size());
      const auto [group, is_new] = groups_.try_emplace(hashes[row], next);
      if (is_new) {
        for (const Numbers* key : keys)
          key_values_.push_back({key->values[row], key->is_null(row)});
        ask(row_ids[row]);
      } else if (!is_in(group->second, keys, row)) {
        throw OnlySqlite();  // two groups with the same hash
      }
      of_rows_[row] = group->second;
    }
    // A question costs as much as SQLite needs for some rows of the view.
    rows_ += row_ids.size();
    if (groups_.size() > 1 << 16 && groups_.size() > rows_ / 16) throw OnlySqlite();
  }

 private:
  struct KeyValue {
    std::int64_t value;
    bool null;
  };

  static constexpr std::uint64_t no_value = 0x6c62272e07bb0142;  // any: hardly ever a value

  bool is_in(std::size_t group, const std::vector<const Numbers*>& keys, std::size_t row) const {
    const KeyValue* value = key_values_.data() + group * keys.size();
    return std::ranges::all_of(keys, [&](const Numbers* key) {
      const KeyValue& of_group = *value++;
      return of_group.value == key->values[row] && of_group.null == key->is_null(row);
    });
  }

  void ask(std::int64_t row_id) {
    question_.bind(1, row_id);
    if (!question_.step()) throw OnlySqlite();
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      answers_[i].push_back(value_of(question_, static_cast<int>(i)));
    }
    if (question_.step()) throw OnlySqlite();
    question_.reset();
  }

  std::vector<std::size_t> inputs_;
  std::vector<std::string> asked_;
  Conditions conditions_;
  Statement question_;
  std::vector<std::vector<AnyValue>> answers_;  // by index and group
  std::size_t rows_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> groups_;  // by hash
  std::vector<KeyValue> key_values_;                         // by group and input
  std::vector<std::uint32_t> of_rows_;                       // of the last rows
};

// Columns of another table, for the keys in a column of the view's table.
struct LookUp {
  const ViewLookUp* what;
  std::size_t by;  // the input that holds the keys
  std::vector<std::string> columns = {};
  std::vector<std::int64_t> keys = {};  // ascending
  std::vector<Numbers> values = {};     // by column

  void load(store::Snapshot& snapshot) {
    std::vector<std::string> wanted{std::string(what->key)};
    wanted.insert(wanted.end(), columns.begin(), columns.end());
    values.resize(columns.size());
    Reader reader(snapshot, {.table = std::string(what->table), .columns = wanted});
    reader.read([&](const Chunk& chunk) {
      if (chunk.misfits() > 0 || chunk[0].nulls() > 0) throw OnlySqlite();
      keys.insert(keys.end(), chunk[0].int64s().begin(), chunk[0].int64s().end());
      for (std::size_t i = 0; i < values.size(); ++i) {
        Texts no_texts;
        const Numbers more = numbers_of(chunk[i + 1], no_texts);
        for (std::size_t row = 0; row < chunk.rows(); ++row) {
          values[i].values.push_back(more.values[row]);
          if (more.is_null(row)) values[i].set_null(values[i].values.size() - 1);
        }
      }
    });
    if (std::ranges::adjacent_find(keys, std::greater_equal()) != keys.end()) throw OnlySqlite();
  }

  Numbers find(const Numbers& wanted, std::size_t column) const {
    const Numbers& from = values[column];
    Numbers found{.values = std::vector<std::int64_t>(wanted.values.size())};
    std::size_t near = 0;
    for (std::size_t row = 0; row < wanted.values.size(); ++row) {
      const std::int64_t key = wanted.values[row];
      // Most keys are shortly after the previous one.
      for (int i = 0; i < 8 && near < keys.size() && keys[near] < key; ++i) ++near;
      if (near == keys.size() || keys[near] != key) {
        near = static_cast<std::size_t>(std::ranges::lower_bound(keys, key) - keys.begin());
      }
      if (wanted.is_null(row) || near == keys.size() || keys[near] != key || from.is_null(near)) {
        found.set_null(row);
      } else {
        found.values[row] = from.values[near];
      }
    }
    return found;
  }
};

// A column of a view: numbers, or the answers about the row's group.
struct Values {
  const Numbers* numbers = nullptr;
  const Groups* groups = nullptr;
  std::size_t index = 0;  // of the answers

  const std::vector<AnyValue>& answers() const { return groups->answers(index); }
  AnyValue at(std::size_t row) const {
    return groups ? answers()[groups->of_rows()[row]] : numbers->at(row);
  }
};

// Appends rows to an Arrow column.
class Target {
 public:
  Target(std::string name, Kind kind) : column(std::move(name), kind) {}

  void add(const Values& from, std::size_t rows, const ChosenRows& chosen) {
    if (from.groups && column.kind() == Kind::text) {
      if (answers_ != &from.answers()) indices_.clear();
      answers_ = &from.answers();
      for (std::size_t i = indices_.size(); i < answers_->size(); ++i)
        indices_.push_back(not_known);
      column.add_indices(rows, chosen, [&](std::size_t row) {
        const std::uint32_t group = from.groups->of_rows()[row];
        if (indices_[group] == not_known) indices_[group] = index_of((*answers_)[group]);
        return indices_[group];
      });
    } else if (!from.groups &&
               column.kind() == (from.numbers->real ? Kind::float64 : Kind::int64)) {
      column.add_all(std::span(from.numbers->values), chosen, !from.numbers->nulls.empty(),
                     [&](std::size_t row) { return from.numbers->is_null(row); });
    } else {
      for_each_row(rows, chosen, [&](std::size_t row) { column.add(from.at(row)); });
    }
  }

  ArrowColumn column;

 private:
  static constexpr std::int32_t not_known = -2;

  std::int32_t index_of(const AnyValue& value) {
    if (value.index() == 0) return -1;
    ArrowColumn one("", Kind::text);
    one.add(value);
    return column.dictionary().number_of(one.dictionary().text(0));
  }

  const std::vector<AnyValue>* answers_ = nullptr;
  std::vector<std::int32_t> indices_;  // of the answers, in the dictionary
};

// A condition that rows have to meet: a range of numbers, or that an answer is accepted.
struct ViewTest {
  std::size_t output;
  ViewRequest::Range range = {};
  std::function<bool(const AnyValue&)> accepts = {};
  std::vector<bool> accepted = {};  // by group
};

// Whether it is the table's INTEGER PRIMARY KEY, so that values are unique.
bool is_id(Database& database, std::string_view table, std::string_view column) {
  auto columns = database.prepare("PRAGMA main.table_xinfo(" + store::quoted_name(table) + ")");
  int keys = 0;
  bool found = false;
  while (columns.step()) {
    if (columns.integer(5) == 0) continue;
    ++keys;
    found = same_name(columns.text(1), column) && same_name(columns.text(2), "INTEGER");
  }
  return found && keys == 1;
}

// The file's SQL for a table or view; empty: there is none.
std::string sql_in(Database& database, std::string_view type, std::string_view name) {
  auto row = database.prepare(
      "SELECT sql FROM main.sqlite_master WHERE type = ?1 AND name = ?2 COLLATE NOCASE");
  row.bind(1, type).bind(2, name);
  return row.step() ? std::string(row.text(0)) : std::string();
}

// This build's SELECT for a view; empty if the file has another.
std::string select_of(Database& database, std::string_view view) {
  const std::string in_file = sql_in(database, "view", view);
  for (const auto& own : {store::own_sql("view", view, true), store::own_view_with_stacks(view)}) {
    if (!own) continue;
    const std::string text = store::as_stored(*own);
    constexpr std::string_view as = " AS";
    if (in_file == text) return text.substr(text.find(as) + as.size());
  }
  return {};
}

// The rows of a view that come from one of its tables.
class ViewSource {
 public:
  // `before` and `after`: see Groups. Throws OnlySqlite.
  ViewSource(store::Snapshot& snapshot, const ViewTable& table, const ViewRequest& request,
             const std::string& before, const std::string& after)
      : snapshot_(snapshot), table_(table), request_{.table = table.name, .columns = {"_id_"}} {
    // A row id finds one row, so that the view speaks of no other.
    if (!is_id(snapshot.database(), table.name, "_id_")) throw OnlySqlite();
    for (const ViewRequest::Column& column : request.columns) {
      Output& output = add_output(column.name, false);
      if (output.groups) output.answer = groups_of(output).add(store::quoted_name(column.name));
    }
    for (const ViewRequest::Range& range : request.ranges) {
      const ViewColumn& column = add_output(range.column, false).column;
      if (outputs_.back().groups || find_column(column.of[0])->type != Type::int64) {
        throw OnlySqlite();
      }
      tests_.push_back({.output = outputs_.size() - 1, .range = range});
    }
    for (const auto& [column, values] : request.equals) {
      Output& output = add_output(column, true);
      output.answer = groups_of(output).add(store::quoted_name(column), values);
      add_test([](const AnyValue& value) {
        if (std::holds_alternative<std::string>(value)) throw OnlySqlite();
        return value == AnyValue(std::int64_t{1});
      });
    }
    for (const auto& [column, expression] : request.matches) {
      Output& output = add_output(column, true);
      output.answer = groups_of(output).add("CAST(" + store::quoted_name(column) + " AS TEXT)");
      add_test([pattern = std::make_shared<Pattern>(expression)](const AnyValue& value) {
        const auto* text = std::get_if<std::string>(&value);
        return text && pattern->found_in(*text);
      });
    }
    for (Groups& groups : groups_) groups.prepare(snapshot.database(), before, after);
  }

  void read(std::vector<Target>& targets, const std::function<void()>& check) {
    for (LookUp& look_up : look_ups_) look_up.load(snapshot_);
    Reader reader(snapshot_, request_);
    reader.read([&](const Chunk& chunk) {
      check();
      if (chunk.misfits() > 0) throw OnlySqlite();
      chunk_ = &chunk;
      for (Input& input : inputs_) input.numbers.reset();
      for (Groups& groups : groups_) {
        std::vector<const Numbers*> keys;
        for (const std::size_t index : groups.inputs()) keys.push_back(&numbers(index));
        groups.take(keys, chunk[0].int64s());
      }
      for (Output& output : outputs_) calculate(output);
      const ChosenRows chosen = choose();
      for (std::size_t i = 0; i < targets.size(); ++i) {
        targets[i].add(values(outputs_[i]), chunk.rows(), chosen);
      }
    });
  }

 private:
  struct Input {
    std::string name;
    std::size_t place;  // in the chunk, or of the look-up's columns
    std::optional<std::size_t> look_up = {};
    std::optional<Numbers> numbers = {};  // of the chunk
  };
  struct Output {
    const ViewColumn& column;
    std::vector<std::size_t> inputs = {};
    std::optional<std::size_t> groups = {};  // its values are answers
    std::size_t answer = 0;
    Numbers numbers = {};  // of the chunk
  };

  Groups& groups_of(const Output& output) { return groups_[*output.groups]; }

  // `ask`: SQLite is to say something of each value.
  Output& add_output(const std::string& name, bool ask) {
    const ViewColumn* column = find_named(table_.columns, name);
    if (!column) throw OnlySqlite();
    Database& database = snapshot_.database();
    Output output{.column = *column};
    const bool constant = column->is == Is::number && !find_column(column->of[0]);
    for (const std::string& input : column->of) {
      if (!constant) output.inputs.push_back(input_named(input));
    }
    if (column->is == Is::run_ms)
      zero_ = database.integer("SELECT " + std::string(schema::zero_sql));
    if (ask && is_as_stored(output) && database.has_index(table_.name, column->of[0])) {
      throw OnlySqlite();  // which finds the rows by the index
    }
    if (ask || constant || column->is == Is::answer) {
      const auto found = std::ranges::find(groups_, output.inputs, &Groups::inputs);
      output.groups = static_cast<std::size_t>(found - groups_.begin());
      if (found == groups_.end()) groups_.emplace_back(output.inputs);
    }
    return outputs_.emplace_back(std::move(output));
  }

  void add_test(std::function<bool(const AnyValue&)> accepts) {
    tests_.push_back({.output = outputs_.size() - 1, .accepts = std::move(accepts)});
  }

  static bool is_as_stored(const Output& output) {
    return output.column.is == Is::number && !output.column.none;
  }

  // Of "TABLE.column"; null if it is a column of the view's table.
  static const ViewLookUp* look_up_of(std::string_view input) {
    const std::string_view table = input.substr(0, input.find('.'));
    const auto found = std::ranges::find(look_ups, table, &ViewLookUp::table);
    return found == std::end(look_ups) ? nullptr : found;
  }

  // Null if the schema's table lacks the column.
  const ColumnInfo* find_column(std::string_view input) const {
    const ViewLookUp* look_up = look_up_of(input);
    const std::string_view table = look_up ? look_up->table : table_.name;
    return find_table(table)->find(input.substr(input.find('.') + 1));
  }

  std::size_t input_named(const std::string& name) {
    const auto known = std::ranges::find(inputs_, name, &Input::name);
    if (known != inputs_.end()) return static_cast<std::size_t>(known - inputs_.begin());
    const std::string column = name.substr(name.find('.') + 1);
    const ViewLookUp* what = look_up_of(name);
    if (!snapshot_.database().has_column(what ? what->table : table_.name, column)) {
      throw OnlySqlite();
    }
    Input input{.name = name, .place = request_.columns.size()};
    if (what) {
      const std::size_t by = input_named(std::string(what->by));
      auto found = std::ranges::find(look_ups_, what, &LookUp::what);
      if (found == look_ups_.end()) found = look_ups_.insert(found, {.what = what, .by = by});
      input.look_up = static_cast<std::size_t>(found - look_ups_.begin());
      input.place = found->columns.size();
      found->columns.push_back(column);
    } else {
      request_.columns.push_back(column);
    }
    inputs_.push_back(std::move(input));
    return inputs_.size() - 1;
  }

  const Numbers& numbers(std::size_t index) {
    Input& input = inputs_[index];
    if (input.numbers) return *input.numbers;
    if (input.look_up) {
      const LookUp& look_up = look_ups_[*input.look_up];
      input.numbers = look_up.find(numbers(look_up.by), input.place);
    } else {
      input.numbers = numbers_of((*chunk_)[input.place], texts_);
    }
    return *input.numbers;
  }

  void calculate(Output& output) {
    if (output.groups || is_as_stored(output)) return;
    switch (output.column.is) {
      case Is::number: return calculate<Is::number, 1>(output);
      case Is::difference: return calculate<Is::difference, 2>(output);
      case Is::rate: return calculate<Is::rate, 3>(output);
      case Is::run_ms: return calculate<Is::run_ms, 1>(output);
      case Is::answer: return;
    }
  }

  template <Is is, std::size_t count>
  void calculate(Output& output) {
    std::array<const Numbers*, count> of;
    for (std::size_t i = 0; i < count; ++i) of[i] = &numbers(output.inputs[i]);
    const auto none = output.column.none;
    Numbers& to = output.numbers;
    to = {.real = is == Is::run_ms, .values = std::vector<std::int64_t>(chunk_->rows())};
    for (std::size_t row = 0; row < chunk_->rows(); ++row) {
      std::array<std::int64_t, 3> all{};
      bool null = false;
      for (std::size_t i = 0; i < count; ++i) {
        all[i] = of[i]->values[row];
        null |= of[i]->is_null(row) || none == all[i];
      }
      const auto value = null ? std::nullopt : value_of<is>(all, zero_);
      if (value) to.values[row] = *value;
      if (!value) to.set_null(row);
    }
  }

  Values values(const Output& output) {
    if (output.groups) return {.groups = &groups_of(output), .index = output.answer};
    return {.numbers = is_as_stored(output) ? &numbers(output.inputs[0]) : &output.numbers};
  }

  ChosenRows choose() {
    if (tests_.empty()) return std::nullopt;
    ChosenRows chosen(std::in_place);
    for (std::size_t row = 0; row < chunk_->rows(); ++row) {
      if (std::ranges::all_of(tests_, [&](ViewTest& test) { return accepts(test, row); })) {
        chosen->push_back(row);
      }
    }
    return chosen;
  }

  bool accepts(ViewTest& test, std::size_t row) {
    const Values values = this->values(outputs_[test.output]);
    if (values.numbers) {
      const std::int64_t value = values.numbers->values[row];
      return !values.numbers->is_null(row) && value >= test.range.from.value_or(value) &&
             (!test.range.to || value < *test.range.to);
    }
    for (std::size_t i = test.accepted.size(); i < values.answers().size(); ++i) {
      test.accepted.push_back(test.accepts(values.answers()[i]));
    }
    return test.accepted[values.groups->of_rows()[row]];
  }

  store::Snapshot& snapshot_;
  const ViewTable& table_;
  columns::Request request_;
  std::vector<Input> inputs_;
  std::vector<LookUp> look_ups_;
  std::vector<Groups> groups_;
  std::vector<Output> outputs_;  // the request's columns, then those of tests
  std::vector<ViewTest> tests_;
  std::optional<std::int64_t> zero_;
  Texts texts_;
  const Chunk* chunk_ = nullptr;
};

// The view's SELECT, for the row ?1 of one table: that hides the tables.
std::string of_one_row(const std::vector<ViewTable>& tables, const ViewTable& one) {
  std::string sql;
  for (const ViewTable& table : tables) {
    sql += (sql.empty() ? "WITH " : ", ") + table.name + " AS (SELECT * FROM main." + table.name +
           " WHERE " + (&table == &one ? "_id_ = ?1)" : "0)");
  }
  return sql + " SELECT ";
}

// What a run has none of is an empty view in our files.
bool is_absent(Database& database, std::string_view table) {
  return sql_in(database, "table", table).empty() && !select_of(database, table).empty();
}

void read_view_rows(Database& database, const ViewRequest& request, std::vector<Target>& targets,
                    const std::function<void()>& check) {
  const std::vector<ViewTable> tables = tables_of_view(request.view);
  const std::string select = select_of(database, request.view);
  if (tables.empty() || select.empty()) throw OnlySqlite();
  for (const ViewLookUp& look_up : look_ups) {
    if (select.find(look_up.table) == select.npos || is_id(database, look_up.table, look_up.key) ||
        is_absent(database, look_up.table)) {
      continue;
    }
    throw OnlySqlite();  // a key that comes twice makes two rows of one
  }
  store::Snapshot snapshot(database);
  std::vector<std::unique_ptr<ViewSource>> sources;
  for (const ViewTable& table : tables) {
    if (is_absent(database, table.name)) continue;
    sources.push_back(std::make_unique<ViewSource>(
        snapshot, table, request, of_one_row(tables, table), " FROM (" + select + ")"));
  }
  for (const auto& source : sources) source->read(targets, check);
}

}  // namespace

std::optional<std::vector<ArrowColumn>> read_by_columns(Database& database,
                                                        const ViewRequest& request,
                                                        const std::function<void()>& check) {
  std::vector<Target> targets;
  for (const ViewRequest::Column& column : request.columns) {
    if (!column.kind) return std::nullopt;
    targets.emplace_back(column.name, *column.kind);
  }
  try {
    read_view_rows(database, request, targets, check);
  } catch (const OnlySqlite&) {
    return std::nullopt;
  } catch (const store::DatabaseError& error) {
    if (!error.of_statement()) throw;
    return std::nullopt;  // the file lacks something that the view needs, as SQLite will report
  }
  std::vector<ArrowColumn> columns;
  for (Target& target : targets) columns.push_back(std::move(target.column));
  return columns;
}

}  // namespace gpuprof::c_api
