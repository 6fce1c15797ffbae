#include "libprof/view/page/pages.hpp"

#include <algorithm>

namespace gpuprof::view {

const Page* find_page(std::string_view name) {
  const auto all = pages();
  const auto found = std::ranges::find(all, name, &Page::name);
  return found == all.end() ? nullptr : &*found;
}

std::string_view type_of(std::string_view page) {
  if (page.ends_with(".js")) return "text/javascript";
  return page.ends_with(".css") ? "text/css" : "text/html";
}

}  // namespace gpuprof::view
