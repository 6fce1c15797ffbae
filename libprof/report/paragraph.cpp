#include "libprof/report/paragraph.hpp"

#include "libprof/base/text.hpp"

namespace gpuprof::report {

std::string paragraph(const std::string& label, std::string_view text, std::size_t width) {
  const std::size_t indent = characters(label);
  std::string result = label;
  std::size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    const std::size_t length = characters(word);
    if (column > indent && column + 1 + length > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += length;
  }
  return result + '\n';
}

}  // namespace gpuprof::report
