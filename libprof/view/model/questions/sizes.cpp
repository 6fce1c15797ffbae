#include <map>
#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/model/question.hpp"

namespace gpuprof::view::questions {
namespace {

constexpr std::size_t most_sizes = 200;

// "3.0.17": a record's track, row and number.
std::optional<Place> place_of(const std::string& text) {
  const std::vector<std::string> words = split(text, '.');
  if (words.size() != 3) return std::nullopt;
  const auto track = parse<std::uint32_t>(words[0]), row = parse<std::uint32_t>(words[1]),
             item = parse<std::uint32_t>(words[2]);
  if (!track || !row || !item) return std::nullopt;
  return Place{*track, *row, *item};
}

}  // namespace

// How many bytes copies and sets moved, by their `places`; null: not known. Records of a stored
// timeline belong to another thread, so theirs are not known.
std::string sizes(const Asked& asked) {
  reading::Tables tables(asked.database);
  std::map<std::uint8_t, store::Statement> statements;  // by table
  const auto bytes_of = [&](const Item& item) -> nlohmann::json {
    const std::string& table = asked.model.tables[item.table];
    if (!tables.has(table, "bytes")) return nullptr;
    auto found = statements.find(item.table);
    if (found == statements.end()) {
      const std::string sql =
          "SELECT bytes FROM main." + store::quoted_name(table) + " WHERE _id_ = ?1";
      found = statements.emplace(item.table, asked.database.prepare(sql)).first;
    }
    store::Statement& row = found->second;
    nlohmann::json bytes;
    if (row.bind(1, item.id).step() && !row.is_null(0)) bytes = row.integer(0);
    row.reset();
    return bytes;
  };
  nlohmann::json sizes = nlohmann::json::array();
  const auto places = asked.words.find("places");
  if (places != asked.words.end() && !asked.model.blocks) {
    for (const std::string& word : split(places->second, ',')) {
      if (sizes.size() == most_sizes) break;
      asked.check();
      const auto place = place_of(word);
      const auto item = place ? item_at(asked.model, *place) : std::nullopt;
      sizes.push_back(item ? bytes_of(*item) : nlohmann::json());
    }
  }
  return json_text({{"sizes", std::move(sizes)}});
}

}  // namespace gpuprof::view::questions
