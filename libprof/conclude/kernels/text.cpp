#include <cctype>
#include <string_view>

#include "libprof/base/printable.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/kernels/print.hpp"
#include "libprof/conclude/kernels/words.hpp"
#include "libprof/report/number.hpp"
#include "libprof/report/paragraph.hpp"

namespace gpuprof::kernels {
namespace {

constexpr std::size_t line_width = 100, label_width = 11, most_of_name = 300;
constexpr char nothing[] = "No kernel was recorded there.\n";

std::string share_of(const Kernel& kernel) {
  return report::format_fixed(100 * kernel.share, 1) + "%";
}

std::string name_of(const Kernel& kernel) {
  if (kernel.display.size() <= most_of_name) return printable(kernel.display);
  return printable(without_middle(kernel.display, most_of_name / 2, most_of_name / 2, " ... "));
}

// Text in which no character means anything to Markdown, nor calls anybody.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) ||
                       std::string_view(" .,;:()=+-/%").find(c) != std::string_view::npos ||
                       static_cast<unsigned char>(c) >= 0x80;
    result += plain ? std::string(1, c) : "&#" + std::to_string(c) + ";";
  }
  return result;
}

}  // namespace

std::string kernels_text(const Kernels& kernels) {
  if (kernels.kernels.empty()) return nothing;
  std::string text = report::paragraph("", headline(kernels), line_width);
  std::size_t number = 0;
  for (const Kernel& kernel : kernels.kernels) {
    text += '\n' + report::paragraph(std::to_string(++number) + ". ",
                                     share_of(kernel) + "  " + name_of(kernel), line_width);
    for (const Fact& fact : facts_of(kernel)) {
      std::string label = "   " + fact.label;
      label.resize(3 + label_width, ' ');
      for (const std::string& line : fact.lines) {
        text += report::paragraph(label, line, line_width);
        label.assign(label.size(), ' ');
      }
    }
  }
  text += '\n';
  for (const std::string& remark : remarks(kernels)) {
    text += report::paragraph("", remark, line_width);
  }
  return text;
}

std::string kernels_markdown(const Kernels& kernels) {
  if (kernels.kernels.empty()) return nothing;
  std::string text = escaped(headline(kernels)) + "\n";
  std::size_t number = 0;
  for (const Kernel& kernel : kernels.kernels) {
    text += "\n### " + std::to_string(++number) + ". " + share_of(kernel) + ": <code>" +
            escaped(name_of(kernel)) + "</code>\n\n";
    for (const Fact& fact : facts_of(kernel)) {
      text += "- **" + fact.label + "**:";
      for (const std::string& line : fact.lines) {
        text += (fact.lines.size() > 1 ? "\n  - " : " ") + escaped(line);
      }
      text += '\n';
    }
  }
  for (const std::string& remark : remarks(kernels)) text += "\n" + escaped(remark) + "\n";
  return text;
}

}  // namespace gpuprof::kernels
