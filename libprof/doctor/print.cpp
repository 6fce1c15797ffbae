#include "libprof/doctor/print.hpp"

#include <algorithm>
#include <iomanip>
#include <string>

#include "libprof/base/printable.hpp"

namespace gpuprof::doctor {
namespace {

constexpr int answer_width = 9;
constexpr int name_width = 16;

void print_finding(const Check& check, const Finding& finding, std::ostream& out) {
  out << std::left << std::setw(answer_width) << name_of(finding.answer) << std::setw(name_width)
      << check.name << printable(finding.text) << '\n';
  std::string_view before = "type: ";
  for (const std::string& line : finding.type) {
    out << std::string(answer_width + name_width, ' ') << before << printable(line) << '\n';
    before = "      ";
  }
}

}  // namespace

std::size_t count(std::span<const Result> results, Answer answer) {
  std::size_t sum = 0;
  for (const Result& result : results) {
    sum += static_cast<std::size_t>(std::ranges::count(result.findings, answer, &Finding::answer));
  }
  return sum;
}

void print(std::span<const Result> results, std::ostream& out) {
  for (const Result& result : results) {
    for (const Finding& finding : result.findings) print_finding(*result.check, finding, out);
  }
  out << '\n'
      << count(results, Answer::ok) << " ok, " << count(results, Answer::cannot) << " cannot, "
      << count(results, Answer::unknown) << " unknown\n";
}

nlohmann::ordered_json document(std::span<const Result> results) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  for (const Result& result : results) {
    nlohmann::ordered_json findings = nlohmann::ordered_json::array();
    for (const Finding& finding : result.findings) {
      findings.push_back(
          {{"answer", name_of(finding.answer)}, {"text", finding.text}, {"type", finding.type}});
    }
    checks.push_back({{"name", result.check->name},
                      {"question", result.check->question},
                      {"findings", findings}});
  }
  return {{"version", json_version},
          {"ok", count(results, Answer::ok)},
          {"cannot", count(results, Answer::cannot)},
          {"unknown", count(results, Answer::unknown)},
          {"checks", checks}};
}

}  // namespace gpuprof::doctor
