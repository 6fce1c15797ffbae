// The command line: arbitrary words, one per line, and their parsing before anything is started;
// and a configuration file.
//
// Commands are parsed but not run, since they would write the files that the words name.
#include <algorithm>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/option_table.hpp"
#include "apps/gpuprof/option/presets.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/record/trace_selection.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size() && words.size() < 100;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

void subcommand(const app::Subcommand& command, const std::vector<std::string>& words) {
  // The help would be printed.
  if (std::ranges::any_of(words, [](const auto& word) { return word == "-h" || word == "--help"; }))
    return;
  app::Grammar grammar;
  const std::function<int()> run = command.declare(grammar);  // owns the declared targets
  grammar.parse(command.name, command.help, {words.begin() + 1, words.end()});
}

// The same text as a configuration file.
void config(std::string_view text) {
  try {
    app::Options options;
    for (const app::Preset& preset : app::parse_config(text, "config")) apply(preset, options);
  } catch (const Error& wrong) {
    if (wrong.exit_code() != ExitCode::bad_option) fuzz::finding(wrong.what());
  } catch (const app::NvprofError&) {
  }
}

void run(const std::vector<std::string>& words) {
  if (const app::Subcommand* command = app::find_subcommand(words[0])) {
    return subcommand(*command, words);
  }
  const app::Options options = app::parse_options(words);
  if (options.action != app::Action::run) return;
  record::select_trace(options.trace);
  record::tables_asked_for(options.trace);
  if (!options.output.empty()) expand_name(options.output, 7);
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof;
  const std::string_view text = fuzz::as_text({data, size});
  if (text.find('\0') != text.npos) return 0;  // no word can contain one
  fuzz::config(text);
  try {
    fuzz::run(fuzz::words_of(text));
  } catch (const app::NvprofError& wrong) {
    if (wrong.lines.empty()) fuzz::finding("an error without words");
  } catch (const Error& wrong) {
    if (wrong.exit_code() == ExitCode::internal) fuzz::finding(wrong.what());
  }
  return 0;
}

// Assembles words from meaningful ones.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed) {
  using namespace gpuprof;
  using namespace gpuprof::fuzz;
  static constexpr const char* values[] = {
      "",      "0",    "1",          "-1",  "on",  "off",  "1.5s", "20ms", "99999999999999999999",
      "%p",    "%q{X", "gpu",        "api", "all", "none", ".*",   "(a|",  "[0-9",
      "1:2:3", "::",   "x.sqlite",   "a",   ":",   ",,,",  "nan",  "1e99", "CUPTI_ACTIVITY_KIND_X",
      "%h%%",  "--",   "../../etc/", "é",   "-5",  "0x10", "inf"};
  Dice dice(seed);
  if (dice.one_in(4)) return LLVMFuzzerMutate(data, size, room);
  std::vector<std::string> words = words_of(as_text({data, size}));
  for (std::size_t times = 1 + dice.below(3); times > 0; --times) {
    const auto place = words.begin() + static_cast<std::ptrdiff_t>(dice.below(words.size() + 1));
    switch (dice.below(7)) {
      case 0:
        if (place != words.end()) words.erase(place);
        break;
      case 1: words.insert(place, dice.of(values)); break;
      case 2:
        if (place != words.end()) *place = dice.of(values);
        break;
      case 3: {
        const auto letters = app::option_table();
        const char letter = dice.of(letters).letter;
        words.insert(place, std::string("-") + (letter ? letter : 'o'));
        break;
      }
      case 4: {
        const auto commands = app::subcommands();
        words.insert(words.begin(), std::string(dice.of(commands)->name));
        break;
      }
      default: {
        const auto table = app::option_table();
        const app::Option& option = dice.of(table);
        std::string word = "--" + option.name;
        if (dice.one_in(2)) word += std::string("=") + dice.of(values);
        words.insert(place, word);
      }
    }
  }
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "\n") + word;
  if (text.size() > room) text.resize(room);
  std::ranges::copy(text, data);
  return text.size();
}
