#include "libprof/c_api/view_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "libprof/base/pattern.hpp"
#include "libprof/c_api/view_reader.hpp"

namespace gpuprof::c_api {
namespace {

using Form = ViewColumn::Form;
using Chosen = std::optional<std::vector<std::size_t>>;  // row indices; nullopt: all

template <class Visit>
void each(std::size_t rows, const Chosen& chosen, const Visit& visit) {
  if (chosen) {
    for (const std::size_t row : *chosen) visit(row);
  } else {
    for (std::size_t row = 0; row < rows; ++row) visit(row);
  }
}

void add_value(ArrowColumn& column, const ViewValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return column.add_integer(*whole);
  if (const auto* real = std::get_if<double>(&value)) return column.add_real(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return column.add_text(*text);
  column.add_null();
}

ViewValue number_at(const Numbers& numbers, std::size_t row) {
  if (numbers.is_null(row)) return std::monostate();
  if (numbers.are_real) return numbers.reals[row];
  return numbers.integers[row];
}

// Appends rows to an Arrow column.
class Target {
 public:
  Target(std::string name, Kind kind) : column(std::move(name), kind) {}

  void add(const ViewColumn& from, std::size_t rows, const Chosen& chosen) {
    if (from.form == Form::texts) {
      each(rows, chosen, [&](std::size_t row) {
        from.texts->is_null(row) ? column.add_null() : column.add_text(from.texts->text(row));
      });
    } else if (from.form == Form::values) {
      add_values(from, rows, chosen);
    } else if (from.numbers.are_real && column.kind() == Kind::float64) {
      add_numbers(from.numbers, from.numbers.reals, chosen);
    } else if (!from.numbers.are_real && column.kind() == Kind::int64) {
      add_numbers(from.numbers, from.numbers.integers, chosen);
    } else {
      each(rows, chosen, [&](std::size_t row) { add_value(column, number_at(from.numbers, row)); });
    }
  }

  ArrowColumn column;

 private:
  template <class T>
  void add_numbers(const Numbers& numbers, const std::vector<T>& values, const Chosen& chosen) {
    std::size_t at = column.size();
    T* to = column.grow<T>(chosen ? chosen->size() : values.size());
    if (!chosen && !values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(T));
    if (chosen) {
      for (const std::size_t row : *chosen) *to++ = values[row];
    }
    if (numbers.nulls.empty()) return;
    each(values.size(), chosen, [&](std::size_t row) {
      if (numbers.is_null(row)) column.set_null(at);
      ++at;
    });
  }

  void add_values(const ViewColumn& from, std::size_t rows, const Chosen& chosen) {
    const std::vector<ViewValue>& values = *from.values;
    if (column.kind() != Kind::text) {
      each(rows, chosen, [&](std::size_t row) { add_value(column, values[(*from.which)[row]]); });
      return;
    }
    if (values_ != &values) {
      values_ = &values;
      numbers_.clear();
    }
    numbers_.resize(values.size(), not_asked);
    std::size_t at = column.size();
    auto* to = column.grow<std::int32_t>(chosen ? chosen->size() : rows);
    std::vector<std::size_t> nulls;
    each(rows, chosen, [&](std::size_t row) {
      const std::size_t value = (*from.which)[row];
      std::int32_t& number = numbers_[value];
      if (number == not_asked) number = number_of(values[value]);
      if (number < 0) nulls.push_back(at);
      *to++ = std::max(number, 0);
      ++at;
    });
    for (const std::size_t row : nulls) column.set_null(row);
  }

  static constexpr std::int32_t null = -1, not_asked = -2;

  // The dictionary index of the text that add_text() would add for the value, or null.
  std::int32_t number_of(const ViewValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      return column.dictionary().number_of(*text);
    }
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      return column.dictionary().number_of(std::to_string(*whole));
    }
    const auto* real = std::get_if<double>(&value);
    return real ? column.dictionary().number_of(text_of(*real)) : null;
  }

  const std::vector<ViewValue>* values_ = nullptr;
  std::vector<std::int32_t> numbers_;  // of values_, in the dictionary
};

// A condition on one column.
class ValueTest {
 public:
  using Accepts = std::function<bool(const ViewValue&)>;
  ValueTest(std::size_t column, Accepts accepts) : column_(column), accepts_(std::move(accepts)) {}

  std::size_t column() const { return column_; }

  bool accepts(const ViewColumn& from, std::size_t row) {
    if (from.form == Form::numbers) return accepts_(number_at(from.numbers, row));
    if (from.form == Form::texts) {
      return accepts_(from.texts->is_null(row) ? ViewValue()
                                               : ViewValue(std::string(from.texts->text(row))));
    }
    if (values_ != from.values) {
      values_ = from.values;
      accepted_.clear();
    }
    for (std::size_t i = accepted_.size(); i < values_->size(); ++i) {
      accepted_.push_back(accepts_((*values_)[i]));
    }
    return accepted_[(*from.which)[row]];
  }

 private:
  std::size_t column_;
  Accepts accepts_;
  const std::vector<ViewValue>* values_ = nullptr;
  std::vector<bool> accepted_;
};

ValueTest::Accepts in_range(const ViewRequest::Range& range) {
  return [range](const ViewValue& value) {
    // SQLite orders texts after all numbers, but a range accepts numbers only.
    if (const auto* real = std::get_if<double>(&value)) {
      return (!range.from || *real >= static_cast<double>(*range.from)) &&
             (!range.to || *real < static_cast<double>(*range.to));
    }
    const auto* whole = std::get_if<std::int64_t>(&value);
    return whole && (!range.from || *whole >= *range.from) && (!range.to || *whole < *range.to);
  };
}

ValueTest::Accepts one_of(const std::vector<Constant>& constants) {
  return [constants](const ViewValue& value) {
    return std::ranges::any_of(constants, [&](const Constant& constant) {
      const auto* whole = std::get_if<std::int64_t>(&value);
      const auto* real = std::get_if<double>(&constant);
      if (whole && real) return static_cast<double>(*whole) == *real;
      const auto* given = std::get_if<std::int64_t>(&constant);
      const auto* is = std::get_if<double>(&value);
      if (given && is) return static_cast<double>(*given) == *is;
      return value == constant;
    });
  };
}

}  // namespace

std::optional<std::vector<ArrowColumn>> read_by_columns(store::Database& database,
                                                        const ViewRequest& request,
                                                        const std::function<void()>& check) {
  std::vector<std::string> wanted;
  std::vector<Target> targets;
  for (const ViewRequest::Column& column : request.columns) {
    if (!column.kind) return std::nullopt;
    wanted.push_back(column.name);
    targets.emplace_back(column.name, *column.kind);
  }
  std::vector<ValueTest> tests;
  const auto test = [&](const std::string& column, ValueTest::Accepts accepts) {
    tests.emplace_back(wanted.size(), std::move(accepts));
    wanted.push_back(column);
  };
  for (const ViewRequest::Range& range : request.ranges) test(range.column, in_range(range));
  for (const auto& [column, values] : request.equals) test(column, one_of(values));
  for (const auto& [column, expression] : request.matches) {
    test(column, [pattern = std::make_shared<Pattern>(expression)](const ViewValue& value) {
      const auto* text = std::get_if<std::string>(&value);
      return text && pattern->found_in(*text);
    });
  }
  if (wanted.empty()) return std::nullopt;

  store::Snapshot snapshot(database);
  ViewReader reader(snapshot, request.view, wanted);
  if (!reader.can_read()) return std::nullopt;
  for (std::size_t i = request.columns.size(); i < wanted.size(); ++i) {
    if (reader.has_index(i)) return std::nullopt;
  }
  try {
    reader.read([&](const ViewRows& rows) {
      check();
      Chosen chosen;
      if (!tests.empty()) {
        chosen.emplace();
        for (std::size_t row = 0; row < rows.rows; ++row) {
          if (std::ranges::all_of(tests, [&](ValueTest& each) {
                return each.accepts(rows.columns[each.column()], row);
              })) {
            chosen->push_back(row);
          }
        }
      }
      for (std::size_t i = 0; i < targets.size(); ++i) {
        targets[i].add(rows.columns[i], rows.rows, chosen);
      }
    });
  } catch (const OnlySqlite&) {
    return std::nullopt;
  }
  std::vector<ArrowColumn> columns;
  for (Target& target : targets) columns.push_back(std::move(target.column));
  return columns;
}

}  // namespace gpuprof::c_api
