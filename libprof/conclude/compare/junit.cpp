#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/printable.hpp"
#include "libprof/conclude/compare/print.hpp"
#include "libprof/conclude/compare/words.hpp"
#include "libprof/report/account.hpp"

namespace gpuprof::compare {
namespace {

// Text in an attribute. XML has no way to write control characters; printable() has none.
std::string attribute(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

struct Case {
  std::string name;
  std::string_view element;  // failure, error, skipped; empty: it passed
  std::string message;
};

Case case_of(const Comparison& sides) {
  Case result{.name = "time", .element = "", .message = headline(sides)};
  switch (sides.verdict) {
    case Verdict::slower: result.element = "failure"; break;
    case Verdict::inconclusive: result.element = "error"; break;
    case Verdict::unknown: result.element = "skipped"; break;
    case Verdict::same:
    case Verdict::faster: break;
  }
  return result;
}

Case case_of(const Check& check) {
  constexpr std::string_view elements[]{"", "failure", "skipped"};
  return {"rule: " + check.name, elements[static_cast<int>(check.outcome)], check.text};
}

Case case_of(const PartChange& part) {
  const Change& time = part.time;
  return {"part: the GPU " + report::words_of({.what = part.name.first, .cause = part.name.second}),
          "",
          std::string(verdict_name(time.verdict)) + ": " + change_text(time.difference()) +
              ", from " + time_text(time.a) + " to " + time_text(time.b)};
}

}  // namespace

void print_junit(const Comparison& sides, std::ostream& out) {
  std::vector<Case> cases{case_of(sides)};
  for (const Check& check : sides.checks) cases.push_back(case_of(check));
  for (const PartChange& part : sides.parts) cases.push_back(case_of(part));
  const auto count = [&](std::string_view element) {
    return std::to_string(std::ranges::count(cases, element, &Case::element));
  };
  out << junit_begin << " tests=\"" << cases.size() << "\" failures=\"" << count("failure")
      << "\" errors=\"" << count("error") << "\" skipped=\"" << count("skipped") << "\">\n";
  for (const Case& each : cases) {
    out << "<testcase classname=\"gpuprof\" name=\"" << attribute(each.name) << "\">";
    if (each.element.empty()) {
      out << "<system-out>" << attribute(each.message) << "</system-out>";
    } else {
      out << "<" << each.element << " message=\"" << attribute(each.message) << "\"/>";
    }
    out << "</testcase>\n";
  }
  out << "</testsuite>\n</testsuites>\n";
}

}  // namespace gpuprof::compare
