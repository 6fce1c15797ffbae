#include "libprof/report/log_file.hpp"

#include <array>
#include <fstream>
#include <string_view>

#include "libprof/report/json_document.hpp"
#include "libprof/report/plain_csv.hpp"

namespace gpuprof::report {

bool is_log(const std::string& path) {
  std::array<char, 64> bytes{};
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  std::string_view text(bytes.data(), static_cast<std::size_t>(file.gcount()));
  for (const std::string_view begin : {std::string_view("======== "), std::string_view("gpuprof: "),
                                       document_begin, PlainCsv::document_begin}) {
    if (text.starts_with(begin)) return true;
  }
  // "==1234== ", with a process id.
  if (!text.starts_with("==")) return false;
  text.remove_prefix(2);
  const std::size_t digits = text.find_first_not_of("0123456789");
  return digits != text.npos && digits > 0 && text.substr(digits).starts_with("== ");
}

}  // namespace gpuprof::report
