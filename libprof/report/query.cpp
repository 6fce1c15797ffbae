#include "libprof/report/query.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/json_text.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/stack_lines.hpp"
#include "libprof/read/window.hpp"
#include "libprof/report/json_document.hpp"
#include "libprof/report/output.hpp"
#include "schema/database.hpp"
#include "schema/derived.hpp"

namespace gpuprof::report {
namespace {

using store::Statement;
using Type = Statement::Type;

// Rows that determine the column widths of text and Markdown. Later rows are printed as they come.
constexpr std::size_t most_rows_looked_at = 1000;
// Maximum width of a text column, in characters; CSV and JSON are not truncated.
constexpr std::size_t widest = 80;
// How much output is held back in case the file proves damaged.
constexpr std::size_t kept_back = 1 << 22;

// The integers that JSON readers represent exactly.
constexpr std::int64_t exact_in_json = std::int64_t{1} << 53;

void add_if_missing(store::Database& database, const schema::Table& table) {
  if (database.has_table(table.name)) return;
  const std::string sql = schema::create_table_sql(table);
  database.execute("CREATE TEMP" + sql.substr(sql.find(' ')));
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<unsigned>(byte) >> 4];
    text += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

// The shortest text that reads back as the same number; a whole number keeps its point.
std::string exact(double value) {
  std::array<char, 40> text{};
  std::string result(text.data(), std::to_chars(text.begin(), text.end(), value).ptr);
  if (result.find_first_not_of("-0123456789") == result.npos) result += ".0";
  return result;
}

// The value as text, without characters that control a terminal or break a line.
std::string plain(const Statement& row, int column, Type type) {
  switch (type) {
    case Type::blob: return hex(row.blob(column));
    case Type::real: return exact(row.real(column));
    default: return printable(row.text(column));
  }
}

// For people: only as many digits as given, with six 356.274 and 0.00286994. CSV and JSON have all
// digits.
std::string shortened(double value, int digits) {
  const double size = std::abs(value);
  if (!(size >= 1e-4 && size < 1e15)) return exact(value);
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.*f", std::max(0, digits - before), value);
  std::string result = text.data();
  if (result.find('.') == result.npos) return result;
  result.erase(result.find_last_not_of('0') + 1);
  if (result.back() == '.') result += '0';
  return result;
}

bool is_number(Type type) { return type == Type::integer || type == Type::real; }

void cut(std::string& text, std::size_t most) {
  if (text.size() <= most || characters(text) <= most) return;
  std::size_t bytes = 0;
  for (std::size_t count = 0; bytes < text.size(); ++bytes) {
    if (!continues_character(text[bytes]) && ++count == most) break;
  }
  text.resize(bytes);
  text += "…";
}

// Escapes Markdown's special characters with a backslash.
std::string markdown(std::string_view text) {
  constexpr std::string_view special = "\\`*_[]<>|~&";
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool in_word = text[i] == '_' && i > 0 && i + 1 < text.size() && is_word(text[i - 1]) &&
                         is_word(text[i + 1]);
    if (!in_word && special.find(text[i]) != special.npos) result += '\\';
    result += text[i];
  }
  return result;
}

// Holds back the first megabytes, so that nothing has been printed if a file proves damaged early.
class HeldBack {
 public:
  explicit HeldBack(std::ostream& out) : out_(out) {}
  void add(std::string_view text) {
    text_ += text;
    if (text_.size() >= kept_back) flush();
  }
  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    if (!text_.empty()) begun_ = true;
    text_.clear();
  }
  bool begun() const { return begun_; }

 private:
  std::ostream& out_;
  std::string text_;
  bool begun_ = false;
};

class RowLayout {
 public:
  explicit RowLayout(HeldBack& printer) : printer_(printer) {}
  virtual ~RowLayout() = default;
  virtual void begin(const Statement& row) = 0;
  virtual void row(const Statement& row) = 0;
  virtual void end() = 0;

 protected:
  HeldBack& printer_;
};

// Text and Markdown.
class Aligned final : public RowLayout {
 public:
  // `line`: the terminal's width in characters; 0: no terminal.
  Aligned(HeldBack& printer, bool markdown, std::size_t line)
      : RowLayout(printer), markdown_(markdown), line_(line), digits_(line ? 4 : 6) {}

  void begin(const Statement& row) override {
    for (int i = 0; i < row.column_count(); ++i) {
      heading_.push_back(cell(printable(row.column_name(i))));
      widths_.push_back(characters(heading_.back()));
      right_.push_back(true);
    }
  }

  void row(const Statement& row) override {
    std::vector<std::string> cells;
    for (int i = 0; i < row.column_count(); ++i) {
      const Type type = row.type(i);
      cells.push_back(type == Type::null   ? "-"
                      : type == Type::real ? shortened(row.real(i), digits_)
                                           : cell(plain(row, i, type)));
      if (!settled_ && type != Type::null && !is_number(type)) right_[cells.size() - 1] = false;
    }
    if (settled_) return print(cells);
    rows_.push_back(std::move(cells));
    if (rows_.size() == most_rows_looked_at) settle();
  }

  void end() override { settle(); }

 private:
  std::string cell(std::string text) const {
    cut(text, widest);
    return markdown_ ? markdown(text) : text;
  }

  void settle() {
    if (std::exchange(settled_, true)) return;
    std::vector<std::size_t> needed(widths_.size());  // without the headings
    for (const auto& cells : rows_) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        needed[i] = std::max(needed[i], characters(cells[i]));
      }
    }
    for (std::size_t i = 0; i < needed.size(); ++i) widths_[i] = std::max(widths_[i], needed[i]);
    if (line_ > 0) fit(needed);
    // "-:" is Markdown's minimum for a column.
    if (markdown_) {
      for (std::size_t& width : widths_) width = std::max<std::size_t>(width, 2);
    }
    print(heading_);
    std::vector<std::string> line;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      line.emplace_back(widths_[i], '-');
      if (markdown_ && right_[i]) line.back().back() = ':';
    }
    print(line);
    for (const auto& cells : rows_) print(cells);
    rows_.clear();
  }

  // Narrows the widest text column until all columns fit or all are narrow; then narrows headings
  // above numbers. Numbers are never truncated.
  void fit(const std::vector<std::size_t>& needed) {
    constexpr std::size_t narrowest = 8;
    std::size_t all = 2 * (widths_.size() - 1);
    for (const std::size_t width : widths_) all += width;
    for (const bool of_numbers : {false, true}) {
      while (all > line_) {
        std::size_t* most = nullptr;
        for (std::size_t i = 0; i < widths_.size(); ++i) {
          const std::size_t least = of_numbers ? std::max(narrowest, needed[i]) : narrowest;
          if (right_[i] != of_numbers || widths_[i] <= least) continue;
          if (!most || widths_[i] > *most) most = &widths_[i];
        }
        if (!most) break;
        --*most, --all;
      }
    }
    for (std::size_t i = 0; i < heading_.size(); ++i) cut(heading_[i], widths_[i]);
  }

  void print(std::vector<std::string> cells) {
    std::string line = markdown_ ? "| " : "";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (line_ > 0 && !right_[i]) cut(cells[i], widths_[i]);
      if (i > 0) line += markdown_ ? " | " : "  ";
      const std::size_t length = characters(cells[i]);
      const std::string blanks(widths_[i] > length ? widths_[i] - length : 0, ' ');
      line += right_[i] ? blanks + cells[i] : cells[i] + blanks;
    }
    if (markdown_) line += " |";
    line.erase(line.find_last_not_of(' ') + 1);
    printer_.add(line + '\n');
  }

  bool markdown_;
  std::size_t line_;
  int digits_;
  bool settled_ = false;
  std::vector<std::string> heading_;
  std::vector<std::size_t> widths_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// One line of names, then one line per row. NULL is an empty field; texts are quoted.
class Csv final : public RowLayout {
 public:
  using RowLayout::RowLayout;

  void begin(const Statement& row) override {
    for (int i = 0; i < row.column_count(); ++i) {
      line_ += (i ? "," : "") + double_quoted(printable(row.column_name(i)));
    }
    print();
  }

  void row(const Statement& row) override {
    for (int i = 0; i < row.column_count(); ++i) {
      if (i > 0) line_ += ',';
      const Type type = row.type(i);
      if (type == Type::null) continue;
      const std::string text = plain(row, i, type);
      line_ += is_number(type) ? text : double_quoted(text);
    }
    print();
  }

  void end() override {}

 private:
  void print() {
    printer_.add(line_ += '\n');
    line_.clear();
  }

  std::string line_;
};

// The document of reports, with one table. See docs/json.md.
class JsonLayout final : public RowLayout {
 public:
  JsonLayout(HeldBack& printer, std::string_view name, std::optional<std::int64_t> zero)
      : RowLayout(printer), name_(name), zero_(zero) {}

  void begin(const Statement& row) override {
    std::vector<std::string> names;
    for (int i = 0; i < row.column_count(); ++i) {
      const std::string name(row.column_name(i));
      std::string unique = name;
      for (int n = 2; std::ranges::find(names, unique) != names.end(); ++n) {
        unique = name + "_" + std::to_string(n);
      }
      keys_.push_back(json_string(unique) + ":");
      relative_keys_.push_back(json_string("relative_" + unique) + ":");
      names.push_back(std::move(unique));
    }
    printer_.add(std::string(document_begin) + "\n{\"table\":" + json_string(name_) +
                 ",\"rows\":[");
  }

  void row(const Statement& row) override {
    std::string line = any_ ? ",\n{" : "\n{";
    any_ = true;
    for (int i = 0; i < row.column_count(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      line += (i ? "," : "") + keys_[at];
      switch (row.type(i)) {
        case Type::null: line += "null"; break;
        case Type::integer: {
          const std::int64_t value = row.integer(i);
          line += std::to_string(value);
          if (value > exact_in_json && zero_ && value - *zero_ <= exact_in_json) {
            line += "," + relative_keys_[at] + std::to_string(value - *zero_);
          }
          break;
        }
        case Type::real:
          // JSON has no infinity.
          line += std::isfinite(row.real(i)) ? exact(row.real(i)) : "null";
          break;
        case Type::text: line += json_string(row.text(i)); break;
        case Type::blob: line += json_string(hex(row.blob(i))); break;
      }
    }
    printer_.add(line + '}');
  }

  void end() override { printer_.add("]}],\n\"warnings\":[]}\n"); }

 private:
  std::string name_;
  std::optional<std::int64_t> zero_;
  std::vector<std::string> keys_, relative_keys_;
  bool any_ = false;
};

std::unique_ptr<RowLayout> make_layout(HeldBack& printer, store::Database& database,
                                       const Query& query) {
  switch (query.layout) {
    case QueryLayout::csv: return std::make_unique<Csv>(printer);
    case QueryLayout::json: {
      reading::Tables tables(database);
      auto zero = reading::zero_of_run(tables);
      if (zero && *zero < 0) zero.reset();
      return std::make_unique<JsonLayout>(printer, query.name, zero);
    }
    case QueryLayout::markdown: return std::make_unique<Aligned>(printer, true, 0);
    case QueryLayout::text: break;
  }
  return std::make_unique<Aligned>(printer, false, query.width);
}

}  // namespace

std::string_view NamedQuery::question() const {
  std::string_view text = sql.substr(0, sql.find('\n'));
  text.remove_prefix(std::min(text.find_first_not_of("- "), text.size()));
  return text;
}

void add_computed_tables(store::Database& database) {
  for (const schema::Table* table : schema::tables::derived) add_if_missing(database, *table);
  if (database.has_table("graph_nodes")) return;
  compute::StackLines lines;
  if (database.has_table("GRAPH_NODE")) {  // the run is not over
    store::Snapshot snapshot(database);
    lines.read(snapshot, [] {});
  }
  lines.write_temporarily(database);
}

const NamedQuery* find_query(std::string_view name) {
  const auto all = named_queries();
  const auto found = std::ranges::find(all, name, &NamedQuery::name);
  return found == all.end() ? nullptr : &*found;
}

void print_query(store::Database& database, std::ostream& out, const Query& query) {
  HeldBack printer(out);
  const auto layout = make_layout(printer, database, query);
  Statement row = database.ask(query.sql, query.endless);
  try {
    layout->begin(row);
    while (row.step()) layout->row(row);
    layout->end();
    printer.flush();
  } catch (const store::DatabaseError& error) {
    if (!error.damaged() || !printer.begun()) throw;
    throw Error(error.what(), "the rows end where the damage begins", ExitCode::import_failed);
  }
}

}  // namespace gpuprof::report
