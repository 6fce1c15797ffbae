#include "libprof/compute/nvtx_paths.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpuprof::compute {
namespace {

// A path contains the text of its parents: without a limit, deep nesting would take quadratic
// space.
constexpr std::size_t longest = 4000;
constexpr std::string_view between = " / ";
constexpr std::string_view nameless = "<unnamed>";

class Paths {
 public:
  explicit Paths(store::Database& database)
      : text_(database.prepare("SELECT value FROM main.StringTable WHERE _id_ = ?1")),
        insert_(database.prepare("INSERT INTO main.StringTable(_id_, value) VALUES(?1, ?2)")),
        last_(database.integer("SELECT max(_id_) FROM main.StringTable").value_or(0)) {
    // Paths from an earlier computation.
    store::Statement known = database.prepare(
        "SELECT value, _id_ FROM main.StringTable WHERE instr(value, '" + std::string(between) +
        "') AND length(value) <= " + std::to_string(longest));
    while (known.step()) known_.emplace(known.text(0), known.integer(1));
  }

  // The path of a range with this name inside one with the path `around` (0: none). 0: it is too
  // long.
  std::int64_t path(std::int64_t around, bool is_inside, std::int64_t name) {
    if (is_inside && around == 0) return 0;
    if (!is_inside && name != 0) return name;
    const auto [known, is_new] = paths_.try_emplace({around, name}, 0);
    if (!is_new) return known->second;
    std::string path = is_inside ? text(around) + std::string(between) : std::string();
    path += name == 0 ? std::string(nameless) : text(name);
    if (path.size() > longest) return 0;
    if (const auto there = known_.find(path); there != known_.end()) {
      return known->second = there->second;
    }
    insert_.bind(1, ++last_).bind(2, path).run();
    return known->second = last_;
  }

 private:
  std::string text(std::int64_t id) {
    text_.reset();
    text_.bind(1, id);
    return text_.step() ? std::string(text_.text(0)) : std::string();
  }

  store::Statement text_;
  store::Statement insert_;
  std::int64_t last_;
  std::unordered_map<std::string, std::int64_t> known_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> paths_;  // by parent path and name
};

}  // namespace

void write_nvtx_paths(store::Database& database) {
  database.execute("DELETE FROM main.NVTX_PATH");
  if (!database.integer("SELECT 1 FROM main.NVTX_RANGE LIMIT 1")) return;
  Paths paths(database);
  struct PathOf {
    std::int64_t range, path;
  };
  std::vector<PathOf> path_of;  // in order of ranges
  store::Statement ranges =
      database.prepare("SELECT _id_, parent, name FROM main.NVTX_RANGE ORDER BY _id_");
  store::Statement insert = database.prepare("INSERT INTO main.NVTX_PATH VALUES(?1, ?2)");
  while (ranges.step()) {
    const std::int64_t id = ranges.integer(0);
    const std::int64_t parent = ranges.integer(1);  // NULL is 0, which no range has
    const auto around = std::ranges::lower_bound(path_of, parent, {}, &PathOf::range);
    const bool is_inside = around != path_of.end() && around->range == parent;
    const std::int64_t path =
        paths.path(is_inside ? around->path : 0, is_inside, ranges.integer(2));
    path_of.push_back({id, path});
    insert.bind(1, id).bind(2, path).run();
  }
}

}  // namespace gpuprof::compute
