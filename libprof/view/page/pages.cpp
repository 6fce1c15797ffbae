#include "libprof/view/page/pages.hpp"

#include <algorithm>

#include "libprof/base/text.hpp"

namespace gpuprof::view {
namespace {

struct Module {
  std::string_view name;
  bool asks_server = false;
};

// In dependency order.
constexpr Module modules[] = {
    {"format.js"},       {"palette.js"},    {"tiles.js"},     {"share.js"},
    {"records.js"},      {"report.js"},     {"source.js"},    {"draw.js"},
    {"map.js"},          {"panel.js"},      {"account.js"},   {"compare.js"},
    {"links.js"},        {"jump.js"},       {"walk.js"},      {"state.js"},
    {"wanted.js"},       {"timeline.js"},   {"kernel.js"},    {"choose.js"},
    {"notes.js"},        {"flame.js"},      {"summary.js"},   {"statistics.js", true},
    {"memory.js", true}, {"tabs.js", true}, {"sql.js", true}, {"send.js", true},
    {"run.js"},          {"input.js"},      {"app.js"}};

}  // namespace

const Page* find_page(std::string_view name) {
  const auto all = pages();
  const auto found = std::ranges::find(all, name, &Page::name);
  return found == all.end() ? nullptr : &*found;
}

std::string one_script(bool of_report) {
  std::string script;
  for (const Module& module : modules) {
    if (of_report && module.asks_server) continue;
    for (const std::string& line : split(find_page(module.name)->text, '\n')) {
      if (line.starts_with("import ")) continue;
      constexpr std::string_view word = "export ";
      const bool exports = of_report && line.starts_with(word);
      script += exports ? line.substr(word.size()) : line;
      script += '\n';
    }
  }
  return script;
}

std::string_view type_of(std::string_view page) {
  if (page.ends_with(".js")) return "text/javascript";
  return page.ends_with(".css") ? "text/css" : "text/html";
}

}  // namespace gpuprof::view
