#include "libprof/view/model/kernel_pages.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "libprof/conclude/kernels/words.hpp"
#include "libprof/view/model/answers.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t longest_kernel_name = 300, longest_line = 1000;

}  // namespace

nlohmann::json kernel_pages(store::Database& database, const kernels::Wanted& wanted,
                            const reading::Filter& filter, const std::function<void()>& check) {
  std::ostringstream nowhere;  // only reports print
  const report::ReportOptions options{.filter = filter};
  report::Output output(nowhere, options);
  report::Session session(database, options, output, reading::NameStyle::modern);
  const kernels::Kernels found = kernels::read_kernels(session, wanted, check);
  nlohmann::json pages = nlohmann::json::array();
  for (const kernels::Kernel& kernel : found.kernels) {
    nlohmann::json facts = nlohmann::json::array();
    for (const kernels::Fact& fact : kernels::facts_of(kernel)) {
      nlohmann::json lines = nlohmann::json::array();
      for (const std::string& line : fact.lines) lines.push_back(shortened(line, longest_line));
      facts.push_back({fact.label, std::move(lines)});
    }
    pages.push_back({{"name", shortened(kernel.display, longest_kernel_name)},
                     {"share", kernel.share},
                     {"facts", std::move(facts)}});
  }
  nlohmann::json sentences = nlohmann::json::array();
  for (const std::string& missing : found.missing) sentences.push_back("Not known: " + missing);
  if (found.patched) sentences.push_back(kernels::patched_words);
  return {{"pages", std::move(pages)}, {"remarks", std::move(sentences)}};
}

}  // namespace gpuprof::view
