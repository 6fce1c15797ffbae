// The viewer's page: the files of client/, embedded by CMake.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpuprof::view {

struct Page {
  std::string_view name;  // "app.js"
  std::string_view text;
};

std::span<const Page> pages();
const Page* find_page(std::string_view name);  // null: no such page
// All modules as one, which loads faster. Of a report: without those that ask a server.
std::string one_script(bool of_report);
std::string_view type_of(std::string_view page);  // "text/javascript"

}  // namespace gpuprof::view
