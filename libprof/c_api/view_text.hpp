// Parses the SQL of a view in schema/views, as far as its columns can be computed without SQLite:
// which tables its rows come from and what its columns consist of. Only for our own views: SQL from
// a foreign file is never parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::c_api {

struct Token {
  enum class Kind : std::uint8_t { word, name, number, text, sign };
  Kind kind{};
  std::string text;  // names without quotes, texts with them

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

// A SELECT without GROUP BY, WHERE etc.:
//   SELECT … FROM (SELECT … FROM table UNION ALL …) AS alias
//   LEFT JOIN table AS alias ON alias.key = …
struct ViewText {
  struct Item {
    std::string name;
    Tokens expression;
  };
  struct Source {
    std::string table;
    std::vector<Item> items;   // each a column or a constant
    bool all_columns = false;  // the table itself, not a SELECT
  };
  struct Join {
    std::string table, alias, key;
    Tokens equals;
    Tokens sql;  // from LEFT on
  };

  std::vector<Token> tokens;  // the others refer to these
  std::vector<Item> columns;
  std::string alias;  // of the sources
  std::vector<Source> sources;
  std::vector<Join> joins;

  const Item* find(std::string_view column) const;  // case-insensitive; null if missing
};

// Parses a CREATE VIEW; nullopt if it has another form.
std::optional<ViewText> parse_view(std::string_view sql);

}  // namespace gpuprof::c_api
