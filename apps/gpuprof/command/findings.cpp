// gpuprof findings: what can be mended, ranked by what it saves at most.
#include "libprof/conclude/findings/findings.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/text.hpp"
#include "libprof/conclude/findings/print.hpp"

namespace gpuprof::app {
namespace {

struct FindingsArguments {
  std::string file;
  Options window;
  std::string explained;
  double least_share = 0.01;
  bool json = false, markdown = false, packet = false;
};

std::vector<std::string> rule_names(std::string_view argument) {
  if (argument != "--explain") return {};
  std::vector<std::string> names{"all"};
  for (const findings::Rule* rule : findings::rules()) names.emplace_back(rule->id);
  return names;
}

// Empty: no rule was named.
std::vector<const findings::Rule*> explained_rules(const FindingsArguments& arguments) {
  const std::string& id = arguments.explained;
  if (id.empty()) return {};
  if (id == "all") return {findings::rules().begin(), findings::rules().end()};
  if (const findings::Rule* rule = findings::find_rule(id)) return {rule};
  const auto near = nearest(id, rule_names("--explain"));
  throw Error("there is no rule " + id,
              near.empty() ? "gpuprof findings lists the rules"
                           : "did you mean " + alternatives(near) + "?",
              ExitCode::bad_option);
}

std::vector<std::string> window_words(const reading::Filter& filter) {
  std::vector<std::string> words;
  if (filter.from.given()) words.insert(words.end(), {"--from", filter.from.text});
  if (filter.to.given()) words.insert(words.end(), {"--to", filter.to.text});
  return words;
}

// The pages of rules; with what they found, if a profile was read.
void print_pages(const std::vector<const findings::Rule*>& rules, const findings::Findings* found) {
  for (const findings::Rule* rule : rules) {
    if (rule != rules.front()) std::cout << '\n';
    std::cout << rule_text(*rule);
    if (found) std::cout << '\n' << explained_text(*found, *rule);
  }
}

int show_findings(FindingsArguments& arguments) {
  if (arguments.json + arguments.markdown + arguments.packet > 1) {
    throw Error("--json, --markdown and --packet exclude one another", "", ExitCode::bad_option);
  }
  if (arguments.packet && !arguments.explained.empty()) {
    throw Error("--packet and --explain exclude one another", "", ExitCode::bad_option);
  }
  const reading::Filter& window = arguments.window.reports.filter;
  const findings::Shown shown{.file = arguments.file,
                              .window = window_words(window),
                              .least_share = arguments.least_share,
                              .explained = explained_rules(arguments)};
  if (arguments.file.empty()) {
    if (shown.explained.empty()) std::cout << findings::rules_text();
    print_pages(shown.explained, nullptr);
    return 0;
  }
  findings::Findings found;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        found = findings::read_findings(open.database, window.from, window.to,
                                        [&] { open.show("reading calls and GPU work"); });
      },
      [&] {
        if (arguments.json) {
          std::cout << findings_json(found, shown);
        } else if (arguments.packet) {
          std::cout << findings_packet(found, shown);
        } else if (!shown.explained.empty()) {
          print_pages(shown.explained, &found);
        } else {
          std::cout << (arguments.markdown ? findings_markdown(found, shown)
                                           : findings_text(found, shown));
        }
      });
}

void declare_findings(Grammar& grammar, FindingsArguments& arguments) {
  grammar.take("file", &arguments.file,
               "A profile, also one that is being written; nothing: the rules are listed", "FILE");
  grammar.take_window(arguments.window);
  grammar.take("--min", share_to(arguments.least_share),
               "Leave out findings of less than this share of the device's time (1%)", "PERCENT");
  grammar.take("--explain", &arguments.explained,
               "Describe a rule, or 'all', with the SQL that gives its number", "RULE");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.take("--markdown", &arguments.markdown, "For a ticket");
  grammar.take("--packet", &arguments.packet,
               "At most 4 KiB of JSON for an agent or a ticket: verdict, account, three findings");
  grammar.footer(
      "\n"
      "  gpuprof findings run.sqlite\n"
      "  gpuprof findings run.sqlite --nvtx step3\n"
      "  gpuprof findings run.sqlite --explain pageable_copies\n"
      "\n"
      "Each number is what mending it saves at most: time that gpuprof account has for the GPU,\n"
      "without that before its first work and after its last. No part of it counts twice. Next\n"
      "to it is what the schedule saves when it runs again with that mended (what-if). Where\n"
      "steps are known (view steps), they are judged, without those that warm up.\n"
      "A rule without the records that it needs says so instead of guessing.");
}

}  // namespace

extern const Subcommand findings_command{
    .name = "findings",
    .usage = "FILE [--explain RULE]",
    .help = "Say what can be mended, and what that saves at most",
    .declare = command<FindingsArguments, declare_findings, show_findings>,
    .values = rule_names,
};

}  // namespace gpuprof::app
