// The SQL of a view of schema/views, as far as its columns can be made without SQLite: which tables
// its rows are of, and what its columns are made of. Only for views of ours: what stands in a
// stranger's file is never taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::columns {

struct Token {
  enum class Kind : std::uint8_t { word, name, number, text, sign };
  Kind kind{};
  std::string text;  // of a name without, of a text with its quotes

  bool is(std::string_view what) const { return kind != Kind::text && text == what; }
};
using Tokens = std::span<const Token>;

std::string sql_of(Tokens tokens);

// alias.column, at the beginning of the tokens.
struct Reference {
  std::string alias, column;
  bool operator==(const Reference&) const = default;
};
std::optional<Reference> reference_at(Tokens tokens);

// A SELECT of the view without GROUP BY, WHERE and the like:
//   SELECT … FROM (SELECT … FROM table UNION ALL …) AS alias
//   LEFT JOIN table AS alias ON alias.key = …
struct ViewText {
  struct Item {
    std::string name;
    Tokens expression;
  };
  struct Source {
    std::string table;
    std::vector<Item> items;   // a column or a constant each
    bool all_columns = false;  // the table stands there itself
  };
  struct Join {
    std::string table, alias, key;
    Tokens equals;
    Tokens sql;  // from LEFT on
  };

  std::vector<Token> tokens;  // what the others are parts of
  std::vector<Item> columns;
  std::string alias;  // of the sources
  std::vector<Source> sources;
  std::vector<Join> joins;

  const Item* find(std::string_view column) const;  // in any case of letters; or nullptr
};

// Of a CREATE VIEW; nothing, where it is of another form.
std::optional<ViewText> parse_view(std::string_view sql);

}  // namespace gpuprof::columns
