#include "libprof/c_api/view_reader.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/store/database_schema.hpp"

namespace gpuprof::c_api {

using columns::Chunk;
using columns::Column;
using columns::ColumnInfo;
using columns::find_table;
using columns::Reader;
using columns::TableInfo;
using columns::Type;

// A named namespace, because ViewReader::Source uses these types.
namespace view_parts {

using store::Database;
using store::Statement;

// Lists of values longer than this pay off only if values repeat.
constexpr std::size_t many_values = 1 << 16;

// Whether it is the table's INTEGER PRIMARY KEY, so that values are unique.
bool is_id(Database& database, const std::string& table, std::string_view column) {
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

bool is_whole(Type type) {
  return type == Type::int64 || type == Type::int32 || type == Type::boolean ||
         type == Type::name || type == Type::enumeration;
}

Numbers numbers_of(const Column& column) {
  Numbers numbers;
  switch (column.type()) {
    case Type::int64:
      numbers.integers.assign(column.int64s().begin(), column.int64s().end());
      break;
    case Type::float64:
      numbers.are_real = true;
      numbers.reals.assign(column.doubles().begin(), column.doubles().end());
      break;
    case Type::boolean:
      numbers.integers.assign(column.booleans().begin(), column.booleans().end());
      break;
    default: numbers.integers.assign(column.int32s().begin(), column.int32s().end());
  }
  if (column.nulls() > 0) {
    numbers.nulls.resize(column.size());
    for (std::size_t row = 0; row < column.size(); ++row) numbers.nulls[row] = column.is_null(row);
  }
  return numbers;
}

// Values of another table at the row ids in a column:
//   LEFT JOIN LAUNCH_RANGE AS l ON l.correlationId = k.correlationId
struct Lookup {
  std::string table, key;
  std::size_t by = 0;  // the input that holds the row id
  std::vector<std::string> columns;
  std::vector<std::int64_t> keys = {};  // ascending
  std::vector<Numbers> values = {};

  void load(store::Snapshot& snapshot) {
    std::vector<std::string> wanted{key};
    wanted.insert(wanted.end(), columns.begin(), columns.end());
    values.assign(columns.size(), {});
    Reader reader(snapshot, {.table = table, .columns = wanted});
    reader.read([&](const Chunk& chunk) {
      if (chunk.misfits() > 0 || chunk[0].nulls() > 0) throw OnlySqlite();
      const auto found = chunk[0].int64s();
      keys.insert(keys.end(), found.begin(), found.end());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const Numbers more = numbers_of(chunk[i + 1]);
        Numbers& all = values[i];
        all.are_real = more.are_real;
        all.integers.insert(all.integers.end(), more.integers.begin(), more.integers.end());
        all.reals.insert(all.reals.end(), more.reals.begin(), more.reals.end());
        all.nulls.resize(all.size());
        for (std::size_t row = 0; row < more.size(); ++row) {
          all.nulls[all.size() - more.size() + row] = more.is_null(row);
        }
      }
    });
    if (!std::ranges::is_sorted(keys)) throw OnlySqlite();
  }

  static constexpr std::size_t none = SIZE_MAX;

  // The position of each row's key. Most keys are shortly after the previous one.
  std::vector<std::size_t> find(const Numbers& wanted) const {
    std::vector<std::size_t> places(wanted.size(), none);
    std::size_t near = 0;
    for (std::size_t row = 0; row < places.size(); ++row) {
      if (wanted.is_null(row)) continue;
      const std::int64_t id = wanted.integers[row];
      for (int i = 0; i < 8 && near < keys.size() && keys[near] < id; ++i) ++near;
      if (near == keys.size() || keys[near] != id) {
        near = static_cast<std::size_t>(std::ranges::lower_bound(keys, id) - keys.begin());
      }
      if (near < keys.size() && keys[near] == id) places[row] = near;
    }
    return places;
  }
};

// What an expression refers to.
struct Input {
  enum class Kind : std::uint8_t { column, constant, lookup };
  Kind kind{};
  Reference name;
  Type type = Type::int64;  // of a column
  std::size_t place = 0;    // in the chunk; for a lookup, in its columns
  std::size_t lookup = 0;
  std::string constant = {};  // SQL
};

// Assigns the same number to rows with the same values of some inputs.
class Groups {
 public:
  explicit Groups(std::vector<std::size_t> inputs) : inputs_(std::move(inputs)) {}

  const std::vector<std::size_t>& inputs() const { return inputs_; }
  const std::vector<std::uint32_t>& of_rows() const { return of_rows_; }
  std::size_t count() const { return count_; }
  // One input's value in a group.
  struct Value {
    bool null = false, real = false;
    std::int64_t bits = 0;
  };
  Value value(std::size_t group, std::size_t input) const {
    return values_[group * inputs_.size() + input];
  }

  template <class Get>
  void take(std::size_t rows, const Get& numbers_of_input) {
    of_rows_.resize(rows);
    seen_ += rows;
    if (inputs_.empty()) {
      count_ = 1;
      std::ranges::fill(of_rows_, 0);
      return;
    }
    std::vector<const Numbers*> all;
    for (const std::size_t input : inputs_) all.push_back(&numbers_of_input(input));
    if (all.size() == 1 && !all[0]->are_real) {
      take_one(*all[0]);
    } else {
      take_several(all);
    }
    if (count_ > many_values && count_ > seen_ / 4) throw OnlySqlite();
  }

 private:
  static constexpr std::uint32_t not_seen = UINT32_MAX;

  // Fast path for small non-NULL numbers, such as ids of names.
  void take_one(const Numbers& numbers) {
    for (std::size_t row = 0; row < of_rows_.size(); ++row) {
      const std::int64_t number = numbers.integers[row];
      if (numbers.is_null(row) || number < 0 || number >= std::int64_t{many_values}) {
        key_.assign({number, numbers.is_null(row)});
        of_rows_[row] = find([&] { return Value{numbers.is_null(row), false, number}; });
        continue;
      }
      const auto at = static_cast<std::size_t>(number);
      if (at >= small_.size()) small_.resize(std::max(at + 1, 2 * small_.size()), not_seen);
      if (small_[at] == not_seen) {
        small_[at] = static_cast<std::uint32_t>(count_++);
        values_.push_back({false, false, number});
      }
      of_rows_[row] = small_[at];
    }
  }

  void take_several(const std::vector<const Numbers*>& all) {
    for (std::size_t row = 0; row < of_rows_.size(); ++row) {
      key_.clear();
      std::int64_t nulls = 0;
      for (const Numbers* numbers : all) {
        key_.push_back(numbers->are_real ? std::bit_cast<std::int64_t>(numbers->reals[row])
                                         : numbers->integers[row]);
        nulls = 2 * nulls + numbers->is_null(row);
      }
      key_.push_back(nulls);
      if (row > 0 && key_ == last_) {
        of_rows_[row] = of_rows_[row - 1];
        continue;
      }
      last_ = key_;
      std::size_t input = 0;
      const auto next = [&] {
        const Numbers& numbers = *all[input];
        const Value value{numbers.is_null(row), numbers.are_real, key_[input]};
        ++input;
        return value;
      };
      of_rows_[row] = find(next);
    }
  }

  template <class Next>
  std::uint32_t find(const Next& next) {
    const auto [at, is_new] = found_.try_emplace(key_, static_cast<std::uint32_t>(count_));
    if (is_new) {
      ++count_;
      for (std::size_t i = 0; i < inputs_.size(); ++i) values_.push_back(next());
    }
    return at->second;
  }

  struct Hash {
    std::size_t operator()(const std::vector<std::int64_t>& key) const {
      std::uint64_t hash = 0xcbf29ce484222325;
      for (const std::int64_t part : key) {
        hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };

  std::vector<std::size_t> inputs_;
  std::vector<std::uint32_t> of_rows_;
  std::size_t count_ = 0, seen_ = 0;
  std::vector<Value> values_;
  std::vector<std::uint32_t> small_;
  std::vector<std::int64_t> key_, last_;
  std::unordered_map<std::vector<std::int64_t>, std::uint32_t, Hash> found_;
};

ViewValue value_of(const Statement& row) {
  switch (row.type(0)) {
    case Statement::Type::null: return std::monostate();
    case Statement::Type::integer: return row.integer(0);
    case Statement::Type::real: return row.real(0);
    case Statement::Type::text: return std::string(row.text(0));
    case Statement::Type::blob: break;
  }
  throw OnlySqlite();
}

// A column of one source.
struct Output {
  std::optional<Arithmetic> arithmetic;
  std::optional<std::size_t> text;  // a text column, by its index in the chunk
  // Otherwise SQLite is asked, once per group.
  std::size_t groups = 0;
  Statement question = {};
  std::vector<ViewValue> answers = {};

  void ask(const Groups& of) {
    while (answers.size() < of.count()) {
      for (std::size_t i = 0; i < of.inputs().size(); ++i) {
        const Groups::Value value = of.value(answers.size(), i);
        const int number = static_cast<int>(i) + 1;
        if (value.null) {
          question.bind_null(number);
        } else if (value.real) {
          question.bind(number, std::bit_cast<double>(value.bits));
        } else {
          question.bind(number, value.bits);
        }
      }
      answers.push_back(question.step() ? value_of(question) : std::monostate());
      question.reset();
    }
  }
};

bool is_column(Tokens expression) {
  return expression.size() == 1 &&
         (expression[0].kind == Token::Kind::name ||
          (expression[0].kind == Token::Kind::word && !expression[0].is("NULL")));
}

}  // namespace view_parts

using namespace view_parts;

// One of the tables that the view's rows come from.
class ViewReader::Source {
 public:
  // Throws OnlySqlite.
  Source(store::Snapshot& snapshot, const ViewText& view, const ViewText::Source& source,
         const std::vector<std::string>& columns)
      : snapshot_(snapshot), view_(view), source_(source) {
    request_.table = source.table;
    for (const std::string& column : columns) {
      const ViewText::Item* item = view.find(column);
      if (!item) throw OnlySqlite();
      outputs_.push_back(make_output(item->expression));
    }
    // Without a column, the number of rows would be unknown.
    if (request_.columns.empty()) throw OnlySqlite();
  }

  void read(const std::function<void(const ViewRows&)>& visit) {
    for (Lookup& lookup : lookups_) lookup.load(snapshot_);
    Reader reader(snapshot_, request_);
    reader.read([&](const Chunk& chunk) {
      if (chunk.misfits() > 0) throw OnlySqlite();
      chunk_ = &chunk;
      numbers_.clear();
      numbers_.resize(inputs_.size());
      places_.clear();
      places_.resize(lookups_.size());
      for (Groups& groups : groups_) {
        groups.take(chunk.rows(), [&](std::size_t i) -> const Numbers& { return input(i); });
      }
      ViewRows rows{.rows = chunk.rows(), .columns = {}};
      for (Output& output : outputs_) rows.columns.push_back(column_of(output));
      visit(rows);
    });
  }

  bool has_index(std::size_t output, std::string_view view_column) const {
    const ViewText::Item* item = view_.find(view_column);
    if (outputs_[output].arithmetic && item && item->expression.size() == 3) {
      const auto reference = reference_at(item->expression);
      if (const auto column = reference ? column_named(*reference) : std::nullopt) {
        const bool is_id = same_name(*column, "_id_");
        return is_id || snapshot_.database().has_index(source_.table, *column);
      }
    }
    return false;
  }

 private:
  // The table's column of this name.
  std::optional<std::string> column_named(const Reference& reference) const {
    if (reference.alias != view_.alias) return std::nullopt;
    if (source_.all_columns) return reference.column;
    for (const ViewText::Item& item : source_.items) {
      if (item.name == reference.column && is_column(item.expression)) {
        return item.expression[0].text;
      }
    }
    return std::nullopt;
  }

  const ViewText::Join* join_named(const std::string& alias) const {
    const auto found = std::ranges::find(view_.joins, alias, &ViewText::Join::alias);
    return found == view_.joins.end() ? nullptr : &*found;
  }

  // Whether it is a join on the row id held in a column of the source.
  bool is_lookup(const ViewText::Join& join) const {
    const auto by = reference_at(join.equals);
    const TableInfo* table = find_table(join.table);
    if (!by || join.equals.size() != 3 || by->alias != view_.alias || !table) return false;
    const ColumnInfo* key = table->find(join.key);
    return key && key->type == Type::int64 && is_id(snapshot_.database(), join.table, join.key);
  }

  std::optional<std::size_t> known_input(const Reference& name) const {
    const auto found = std::ranges::find(inputs_, name, &Input::name);
    if (found == inputs_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - inputs_.begin());
  }

  std::size_t add_input(Input input) {
    inputs_.push_back(std::move(input));
    return inputs_.size() - 1;
  }

  std::size_t place_of(const std::string& column) {
    const auto found = std::ranges::find(request_.columns, column);
    const auto place = static_cast<std::size_t>(found - request_.columns.begin());
    if (found == request_.columns.end()) {
      if (!snapshot_.database().has_column(source_.table, column)) throw OnlySqlite();
      request_.columns.push_back(column);
    }
    return place;
  }

  // Index of the input, or nullopt if the name belongs to neither the source nor a lookup.
  std::optional<std::size_t> input_named(const Reference& name) {
    if (const auto known = known_input(name)) return known;
    if (const auto column = column_named(name)) {
      const TableInfo* table = find_table(source_.table);
      const ColumnInfo* info = table ? table->find(*column) : nullptr;
      if (!info) throw OnlySqlite();
      return add_input({.kind = Input::Kind::column,
                        .name = name,
                        .type = info->type,
                        .place = place_of(*column)});
    }
    if (name.alias == view_.alias) {
      for (const ViewText::Item& item : source_.items) {
        if (item.name != name.column) continue;
        return add_input(
            {.kind = Input::Kind::constant, .name = name, .constant = sql_of(item.expression)});
      }
      throw OnlySqlite();
    }
    const ViewText::Join* join = join_named(name.alias);
    if (!join || !is_lookup(*join)) return std::nullopt;
    return add_input(lookup_input(*join, name));
  }

  Input lookup_input(const ViewText::Join& join, const Reference& name) {
    const ColumnInfo* info = find_table(join.table)->find(name.column);
    const auto by = input_named(*reference_at(join.equals));
    const bool plain = info && is_whole(info->type) && by && is_number(*by) &&
                       inputs_[*by].type == Type::int64 &&
                       snapshot_.database().has_column(join.table, name.column);
    if (!plain) throw OnlySqlite();
    auto lookup = std::ranges::find_if(
        lookups_, [&](const Lookup& each) { return each.table == join.table && each.by == *by; });
    if (lookup == lookups_.end()) {
      lookup =
          lookups_.insert(lookup, {.table = join.table, .key = join.key, .by = *by, .columns = {}});
    }
    lookup->columns.push_back(name.column);
    return {.kind = Input::Kind::lookup,
            .name = name,
            .place = lookup->columns.size() - 1,
            .lookup = static_cast<std::size_t>(lookup - lookups_.begin())};
  }

  bool is_number(std::size_t input) const {
    const Input& each = inputs_[input];
    return each.kind == Input::Kind::lookup ||
           (each.kind == Input::Kind::column &&
            (is_whole(each.type) || each.type == Type::float64));
  }

  // References of an expression to the view's own rows.
  std::vector<Reference> references(Tokens expression) const {
    std::vector<Reference> all;
    for (; !expression.empty(); expression = expression.subspan(1)) {
      const auto reference = reference_at(expression);
      if (!reference) continue;
      if (reference->alias != view_.alias && !join_named(reference->alias)) continue;
      if (std::ranges::find(all, *reference) == all.end()) all.push_back(*reference);
    }
    return all;
  }

  std::optional<Numbers> constant(Tokens select) {
    if (!references(select).empty()) return std::nullopt;
    auto row = snapshot_.database().prepare("SELECT " + sql_of(select) + " + 0");
    if (!row.step()) return std::nullopt;
    Numbers one;
    if (row.type(0) == Statement::Type::real) {
      one.are_real = true;
      one.reals = {row.real(0)};
    } else {
      one.integers = {row.integer(0)};
      if (row.is_null(0)) one.nulls = {1};
    }
    return one;
  }

  Output make_output(Tokens expression) {
    Output output;
    const Arithmetic::Places places{
        .input = [this](const Reference& name) -> std::optional<std::size_t> {
          const auto input = input_named(name);
          return input && is_number(*input) ? input : std::nullopt;
        },
        .constant = [this](Tokens select) { return constant(select); }};
    output.arithmetic = Arithmetic::parse(expression, places);
    if (output.arithmetic) return output;
    if (const auto reference = reference_at(expression); reference && expression.size() == 3) {
      const auto input = input_named(*reference);
      if (input && inputs_[*input].kind == Input::Kind::column &&
          inputs_[*input].type == Type::text) {
        output.text = inputs_[*input].place;
        return output;
      }
    }
    make_question(expression, output);
    return output;
  }

  // Prepares a query for the expression with parameters: SELECTs of the values that it needs
  // replace the source and the lookups; other joins stay.
  void make_question(Tokens expression, Output& output) {
    std::vector<Reference> needed;
    std::vector<const ViewText::Join*> joins;
    const std::function<void(Tokens)> need = [&](Tokens part) {
      for (const Reference& name : references(part)) {
        const ViewText::Join* join = join_named(name.alias);
        if (!join || is_lookup(*join)) {
          if (std::ranges::find(needed, name) == needed.end()) needed.push_back(name);
        } else if (std::ranges::find(joins, join) == joins.end()) {
          joins.push_back(join);
          need(join->equals);
        }
      }
    };
    need(expression);
    std::vector<std::size_t> asked;
    std::map<std::string, std::string> selects;
    for (const Reference& name : needed) {
      const std::size_t input = input_named(name).value();
      std::string value = inputs_[input].constant;
      if (inputs_[input].kind != Input::Kind::constant) {
        if (!is_number(input)) throw OnlySqlite();
        asked.push_back(input);
        value = "CAST(?" + std::to_string(asked.size()) +
                (inputs_[input].type == Type::float64 ? " AS REAL)" : " AS INTEGER)");
      }
      std::string& select = selects[name.alias];
      select +=
          (select.empty() ? "SELECT " : ", ") + value + " AS " + store::quoted_name(name.column);
    }
    std::string sql = "SELECT " + sql_of(expression);
    std::string_view before = " FROM ";
    if (selects.empty() && !joins.empty()) throw OnlySqlite();
    for (const auto& [alias, select] : selects) {
      sql += before;
      sql += "(" + select + ") AS " + alias;
      before = ", ";
    }
    for (const ViewText::Join& join : view_.joins) {
      if (std::ranges::find(joins, &join) != joins.end()) sql += " " + sql_of(join.sql);
    }
    output.question = snapshot_.database().prepare(sql);
    const auto groups = std::ranges::find(groups_, asked, &Groups::inputs);
    output.groups = static_cast<std::size_t>(groups - groups_.begin());
    if (groups == groups_.end()) groups_.emplace_back(asked);
  }

  const Numbers& input(std::size_t number) {
    auto& numbers = numbers_[number];
    if (numbers) return *numbers;
    const Input& input = inputs_[number];
    if (input.kind == Input::Kind::column) {
      numbers = numbers_of((*chunk_)[input.place]);
      return *numbers;
    }
    const Lookup& lookup = lookups_[input.lookup];
    auto& places = places_[input.lookup];
    if (!places) places = lookup.find(this->input(lookup.by));
    const Numbers& from = lookup.values[input.place];
    Numbers found;
    found.integers.resize(places->size());
    for (std::size_t row = 0; row < places->size(); ++row) {
      const std::size_t place = (*places)[row];
      if (place != Lookup::none && !from.is_null(place)) {
        found.integers[row] = from.integers[place];
        continue;
      }
      found.nulls.resize(places->size());
      found.nulls[row] = 1;
    }
    numbers = std::move(found);
    return *numbers;
  }

  ViewColumn column_of(Output& output) {
    using Form = ViewColumn::Form;
    if (output.arithmetic) {
      return {.form = Form::numbers,
              .numbers = output.arithmetic->evaluate(
                  chunk_->rows(), [&](std::size_t i) -> const Numbers& { return input(i); })};
    }
    if (output.text) return {.form = Form::texts, .texts = &(*chunk_)[*output.text]};
    const Groups& groups = groups_[output.groups];
    output.ask(groups);
    return {.form = Form::values, .values = &output.answers, .which = &groups.of_rows()};
  }

  store::Snapshot& snapshot_;
  const ViewText& view_;
  const ViewText::Source& source_;
  columns::Request request_;
  std::vector<Input> inputs_;
  std::vector<Lookup> lookups_;
  std::vector<Groups> groups_;
  std::vector<Output> outputs_;

  // For the current chunk.
  const Chunk* chunk_ = nullptr;
  std::vector<std::optional<Numbers>> numbers_;                  // by input
  std::vector<std::optional<std::vector<std::size_t>>> places_;  // by lookup
};

namespace {

// The file's SQL for a table or view; empty: there is none.
std::string sql_in(Database& database, std::string_view type, std::string_view name) {
  auto row = database.prepare(
      "SELECT sql FROM main.sqlite_master WHERE type = ?1 AND name = ?2 COLLATE NOCASE");
  row.bind(1, type).bind(2, name);
  return row.step() ? std::string(row.text(0)) : std::string();
}

bool is_as_ours(Database& database, std::string_view view) {
  const auto own = store::own_sql("view", view, true);
  if (!own) return false;
  // SQLite does not store what precedes CREATE, nor IF NOT EXISTS, nor the semicolon.
  const std::string made = replaced_all(*own, "VIEW IF NOT EXISTS ", "VIEW ");
  std::string_view text = made;
  text.remove_prefix(std::min(text.find("CREATE VIEW"), text.size()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ';')) text.remove_suffix(1);
  return sql_in(database, "view", view) == text;
}

}  // namespace

ViewReader::ViewReader(store::Snapshot& snapshot, std::string_view view,
                       const std::vector<std::string>& columns)
    : columns_(columns) {
  Database& database = snapshot.database();
  if (!is_as_ours(database, view)) return;
  text_ = parse_view(sql_in(database, "view", view));
  if (!text_) return;
  // If a joined table has a key twice, the view has two rows for one of its table. Even our tables
  // may have lost their primary key on their way through another program.
  for (const ViewText::Join& join : text_->joins) {
    if (is_id(database, join.table, join.key)) continue;
    if (!is_as_ours(database, join.table)) return;  // instead, our files have an empty view
  }
  try {
    for (const ViewText::Source& source : text_->sources) {
      if (!sql_in(database, "table", source.table).empty()) {
        sources_.push_back(std::make_unique<Source>(snapshot, *text_, source, columns));
      } else if (!is_as_ours(database, source.table)) {
        throw OnlySqlite();  // instead, our files have an empty view
      }
    }
  } catch (const OnlySqlite&) {
    sources_.clear();
  } catch (const store::DatabaseError& error) {
    if (!error.of_statement()) throw;
    sources_.clear();  // the file lacks something the view needs: SQLite will report it
  }
}

ViewReader::~ViewReader() = default;

bool ViewReader::has_index(std::size_t column) const {
  return std::ranges::any_of(
      sources_, [&](const auto& source) { return source->has_index(column, columns_[column]); });
}

void ViewReader::read(const std::function<void(const ViewRows&)>& visit) {
  for (const auto& source : sources_) source->read(visit);
}

}  // namespace gpuprof::c_api
