#include "libprof/c_api/view_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::c_api {
namespace {

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<Token> tokens_of(std::string_view sql) {
  using enum Token::Kind;
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < sql.size();) {
    const char c = sql[at];
    std::size_t end = at + 1;
    if (c == ' ' || c == '\n') {
      ++at;
      continue;
    }
    if (sql.substr(at).starts_with("--")) {
      at = std::min(sql.find('\n', at), sql.size());
      continue;
    }
    if (c == '\'' || c == '"') {
      end = std::min(sql.find(c, end), sql.size() - 1) + 1;
      tokens.push_back(c == '"' ? Token{name, std::string(sql.substr(at + 1, end - at - 2))}
                                : Token{text, std::string(sql.substr(at, end - at))});
    } else if (in_word(c)) {
      const bool digits = c >= '0' && c <= '9';
      while (end < sql.size() && (in_word(sql[end]) || (digits && sql[end] == '.'))) ++end;
      tokens.push_back({digits ? number : word, std::string(sql.substr(at, end - at))});
    } else {
      constexpr std::array<std::string_view, 4> long_signs{"||", "<>", "<=", ">="};
      const std::string_view two = sql.substr(at, 2);
      if (std::ranges::find(long_signs, two) != long_signs.end()) ++end;
      tokens.push_back({sign, std::string(sql.substr(at, end - at))});
    }
    at = end;
  }
  return tokens;
}

// Visits tokens outside of parentheses.
template <class Visit>
void at_top(Tokens tokens, const Visit& visit) {
  int depth = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].is(")")) --depth;
    if (depth == 0) visit(i);
    if (tokens[i].is("(")) ++depth;
  }
}

std::size_t find_at_top(Tokens tokens, std::string_view what) {
  std::size_t found = tokens.size();
  at_top(tokens, [&](std::size_t i) {
    if (found == tokens.size() && tokens[i].is(what)) found = i;
  });
  return found;
}

bool has_at_top(Tokens tokens, std::string_view what) {
  return find_at_top(tokens, what) < tokens.size();
}

std::vector<Tokens> split_at_top(Tokens tokens, std::string_view separator) {
  std::vector<Tokens> parts;
  std::size_t begin = 0;
  at_top(tokens, [&](std::size_t i) {
    if (!tokens[i].is(separator)) return;
    parts.push_back(tokens.subspan(begin, i - begin));
    begin = i + 1;
  });
  parts.push_back(tokens.subspan(begin));
  return parts;
}

// (SELECT x FROM (SELECT expression AS x UNION ALL SELECT … FROM NO_ROWS WHERE 0)) gives the
// expression a type, see schema/view_text.hpp; returns the expression.
Tokens without_type(Tokens tokens) {
  constexpr std::array<std::string_view, 6> begin{"(", "SELECT", "x", "FROM", "(", "SELECT"};
  constexpr std::array<std::string_view, 11> end{"AS",   "x",       "UNION", "ALL", "SELECT", "",
                                                 "FROM", "NO_ROWS", "WHERE", "0",   ")"};
  if (tokens.size() < begin.size() + end.size() + 2) return tokens;
  const auto same = [](Tokens part, auto words) {
    return std::ranges::equal(part, words, [](const Token& token, std::string_view word) {
      return word.empty() || token.is(word);
    });
  };
  if (!same(tokens.first(begin.size()), begin) || !tokens.back().is(")") ||
      !same(tokens.subspan(tokens.size() - 1 - end.size(), end.size()), end)) {
    return tokens;
  }
  return tokens.subspan(begin.size(), tokens.size() - begin.size() - end.size() - 1);
}

bool is_name(const Token& token) {
  return token.kind == Token::Kind::word || token.kind == Token::Kind::name;
}

// "a, b AS c, 0": the items of a SELECT. The last one here has no name.
std::optional<std::vector<ViewText::Item>> items_of(Tokens tokens) {
  std::vector<ViewText::Item> items;
  for (const Tokens part : split_at_top(tokens, ",")) {
    if (part.empty()) return std::nullopt;
    const bool named = part.size() > 2 && part[part.size() - 2].is("AS");
    items.push_back({.name = is_name(part.back()) ? part.back().text : "",
                     .expression = without_type(named ? part.first(part.size() - 2) : part)});
  }
  return items;
}

bool all_named(const std::vector<ViewText::Item>& items) {
  return std::ranges::none_of(items, [](const auto& item) { return item.name.empty(); });
}

// SELECT items FROM table
std::optional<ViewText::Source> source_of(Tokens tokens) {
  const std::size_t from = find_at_top(tokens, "FROM");
  if (tokens.empty() || !tokens[0].is("SELECT") || from + 2 != tokens.size()) return std::nullopt;
  auto items = items_of(tokens.subspan(1, from - 1));
  if (!items) return std::nullopt;
  for (const ViewText::Item& item : *items) {
    if (item.expression.size() != 1) return std::nullopt;
  }
  return ViewText::Source{.table = tokens[from + 1].text, .items = std::move(*items)};
}

// The parts between UNION ALL.
std::vector<Tokens> united(Tokens tokens) {
  std::vector<Tokens> parts = split_at_top(tokens, "UNION");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!parts[i].empty() && parts[i][0].is("ALL")) parts[i] = parts[i].subspan(1);
  }
  return parts;
}

bool has_rows(Tokens select) { return !has_at_top(select, "NO_ROWS"); }

// LEFT JOIN table AS alias ON alias.key = expression
std::optional<ViewText::Join> join_of(Tokens tokens) {
  if (tokens.size() < 11 || !tokens[1].is("JOIN") || !tokens[3].is("AS") || !tokens[5].is("ON") ||
      !tokens[9].is("=")) {
    return std::nullopt;
  }
  const auto key = reference_at(tokens.subspan(6));
  if (!key || key->alias != tokens[4].text) return std::nullopt;
  const Tokens equals = tokens.subspan(10);
  for (const std::string_view more : {"AND", "OR"}) {
    if (has_at_top(equals, more)) return std::nullopt;
  }
  return ViewText::Join{.table = tokens[2].text,
                        .alias = tokens[4].text,
                        .key = key->column,
                        .equals = equals,
                        .sql = tokens};
}

}  // namespace

std::string sql_of(Tokens tokens) {
  std::string sql;
  for (const Token& token : tokens) {
    if (!sql.empty()) sql += ' ';
    sql += token.kind == Token::Kind::name ? double_quoted(token.text) : token.text;
  }
  return sql;
}

std::optional<Reference> reference_at(Tokens tokens) {
  if (tokens.size() < 3 || !is_name(tokens[0]) || !tokens[1].is(".") || !is_name(tokens[2])) {
    return std::nullopt;
  }
  return Reference{.alias = tokens[0].text, .column = tokens[2].text};
}

const ViewText::Item* ViewText::find(std::string_view column) const {
  const auto found =
      std::ranges::find_if(columns, [&](const Item& item) { return same_name(item.name, column); });
  return found == columns.end() ? nullptr : &*found;
}

std::optional<ViewText> parse_view(std::string_view sql) {
  ViewText view;
  view.tokens = tokens_of(sql);
  Tokens all = view.tokens;
  const std::size_t begin = find_at_top(all, "AS") + 1;
  if (begin >= all.size()) return std::nullopt;
  all = all.subspan(begin);
  if (!all.empty() && all.back().is(";")) all = all.first(all.size() - 1);
  std::vector<Tokens> selects = united(all);
  std::erase_if(selects, [](Tokens select) { return !has_rows(select); });
  if (selects.size() != 1) return std::nullopt;
  all = selects[0];
  for (const std::string_view word : {"WHERE", "GROUP", "ORDER", "LIMIT", "DISTINCT", "OVER",
                                      "WITH", "count", "sum", "total", "min", "max", "avg"}) {
    if (has_at_top(all, word)) return std::nullopt;
  }

  const std::size_t from = find_at_top(all, "FROM");
  if (all.empty() || !all[0].is("SELECT") || from >= all.size()) return std::nullopt;
  auto items = items_of(all.subspan(1, from - 1));
  if (!items || !all_named(*items)) return std::nullopt;
  view.columns = std::move(*items);

  std::vector<Tokens> parts = split_at_top(all.subspan(from + 1), "LEFT");
  const Tokens source = parts[0];
  if (source.size() < 3 || !source[source.size() - 2].is("AS")) return std::nullopt;
  view.alias = source.back().text;
  const Tokens rows = source.first(source.size() - 2);
  if (rows.size() == 1) {
    view.sources.push_back({.table = rows[0].text, .items = {}, .all_columns = true});
  } else {
    if (!rows[0].is("(") || !rows.back().is(")")) return std::nullopt;
    for (const Tokens select : united(rows.subspan(1, rows.size() - 2))) {
      auto one = source_of(select);
      if (!one || (view.sources.empty() && !all_named(one->items))) return std::nullopt;
      // The names come from the first SELECT.
      if (!view.sources.empty()) {
        const auto& names = view.sources[0].items;
        if (names.size() != one->items.size()) return std::nullopt;
        for (std::size_t i = 0; i < names.size(); ++i) one->items[i].name = names[i].name;
      }
      view.sources.push_back(std::move(*one));
    }
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Tokens with_left(parts[i].data() - 1, parts[i].size() + 1);
    auto join = join_of(with_left);
    if (!join) return std::nullopt;
    view.joins.push_back(std::move(*join));
  }
  return view;
}

}  // namespace gpuprof::c_api
