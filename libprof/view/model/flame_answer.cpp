#include "libprof/view/model/flame_answer.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/palette.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/labels.hpp"

namespace gpuprof::view {
namespace {

using compute::KernelPaths;
using compute::PathBy;
using nlohmann::json;

constexpr std::size_t longest_node = 200, most_nodes = 20'000;

constexpr std::pair<PathBy, const char*> all_ways[]{{PathBy::ranges, "ranges"},
                                                    {PathBy::stacks, "stacks"}};

// The nodes that these sums need, renumbered.
class Nodes {
 public:
  Nodes(store::Database& database, const std::vector<KernelPaths::Node>& nodes)
      : names_(database, reading::NameStyle::modern), nodes_(nodes), numbers_(nodes.size()) {
    answer.push_back({0, ""});
  }

  std::uint32_t number(std::uint32_t node) {
    std::vector<std::uint32_t> unknown;
    for (; node != 0 && numbers_[node] == 0; node = nodes_[node].parent) unknown.push_back(node);
    std::uint32_t found = node == 0 ? 0 : numbers_[node];
    for (; !unknown.empty(); unknown.pop_back()) {
      const KernelPaths::Node& its = nodes_[unknown.back()];
      const std::string words = its.words.empty() ? names_.text(its.name) : its.words;
      answer.push_back({found, shortened(words.empty() ? "<unnamed>" : words, longest_node)});
      found = numbers_[unknown.back()] = static_cast<std::uint32_t>(answer.size() - 1);
    }
    return found;
  }

  json answer = json::array();

 private:
  reading::Names names_;
  const std::vector<KernelPaths::Node>& nodes_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace

json flame_answer(store::Snapshot& snapshot, PathBy by, const Window& window, std::size_t most,
                  const std::function<void()>& check) {
  store::Database& database = snapshot.database();
  const KernelPaths paths = compute::kernel_paths(snapshot, by, window.from, window.to, check);
  json answer{{"ways", json::array()}, {"kernels", json::array()}};
  for (const auto& [way, name] : all_ways) {
    if (compute::has_paths(database, way)) answer["ways"].push_back(name);
    if (way == by) answer["by"] = name;
  }
  Nodes nodes(database, paths.nodes);
  reading::Tables tables(database);
  reading::Names names(database, reading::NameStyle::modern);
  Labels labels(tables);
  std::map<std::int64_t, std::pair<std::string, std::string>> known;  // text and color by name
  std::int64_t time = 0, launches = 0;
  for (const KernelPaths::Sum& sum : paths.sums) {
    if (answer["kernels"].size() == most || nodes.answer.size() > most_nodes) {
      time = saturating_add(time, sum.time);
      launches += sum.launches;
      continue;
    }
    const auto [place, is_new] = known.try_emplace(sum.name);
    auto& [text, color] = place->second;
    if (is_new) {
      const Labels::Label label = labels.find(sum.name);
      const std::string whole = names.kernel(sum.name);
      text = shortened(label.display.empty() ? whole : label.display, longest_node);
      color = reading::color_of_work(label.function.empty() ? whole : label.function,
                                     label.communicates);
    }
    answer["kernels"].push_back({nodes.number(sum.node), text, color, sum.time, sum.launches});
  }
  answer["rest"] = {time, launches};
  answer["nodes"] = std::move(nodes.answer);
  return answer;
}

PathBy usual_paths(store::Database& database) {
  return !compute::has_paths(database, PathBy::ranges) &&
                 compute::has_paths(database, PathBy::stacks)
             ? PathBy::stacks
             : PathBy::ranges;
}

}  // namespace gpuprof::view
