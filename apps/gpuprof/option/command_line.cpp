#include "apps/gpuprof/option/command_line.hpp"

#include <algorithm>
#include <set>

#include "apps/gpuprof/option/option_table.hpp"
#include "apps/gpuprof/option/presets.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {
namespace {

// nvprof's grammar. An option's value is the next word, unless that is empty or begins with '-';
// --name=value is our extension. The first error ends parsing, after which nvprof mistakes a word
// for the application.
class Parser {
 public:
  // `defaults` are the values of options that are not among the words.
  explicit Parser(const std::vector<std::string>& words, Options defaults = {})
      : words_(words), options_(std::move(defaults)) {}

  bool given(const Option* option) const { return given_.contains(option); }

  Options parse() {
    while (at_ < words_.size() && errors_.empty() && !done_) {
      const std::string& word = words_[at_];
      if (word.empty() || word[0] != '-') break;
      ++at_;
      if (word == "--") break;
      if (word.starts_with("--")) {
        long_option(word);
      } else {
        short_options(word);
      }
    }
    if (!errors_.empty()) {
      if (missing_ && !importing()) {
        errors_.emplace_back("Error: missing command-line arguments.");
        throw NvprofError{errors_, ExitCode::missing_argument};
      }
      if (importing()) errors_.emplace_back(both);
      fail();
    }
    const report::Collected collected = report::collected_for(options_.reports);
    options_.trace.all_calls = collected.all_calls;
    options_.trace.dependencies = collected.dependencies;
    if (!importing() && collected.pc_samples) turn_pc_sampling_on(options_);
    if (!importing() && collected.pm_samples) options_.pm.on = true;
    if (!importing() && collected.sass_metrics) turn_sass_metrics_on(options_);
    if (!importing() && collected.memory) options_.trace.memory = true;
    if (!done_) {
      options_.application.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
      check();
    }
    return std::move(options_);
  }

 private:
  void long_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const Option* option = find_option(std::string_view(word).substr(2, equals - 2));
    if (!option) return invalid(word);
    if (equals != word.npos && option->argument.empty() &&
        (option->optional.empty() ||
         (!option->is_placeholder && word.substr(equals + 1) != option->optional))) {
      return invalid(word);
    }
    if (equals == word.npos) return take(*option, word);
    set(*option, word.substr(0, equals), word.substr(equals + 1));
  }

  void short_options(const std::string& word) {
    const std::string letters = word.size() > 1 ? word.substr(1) : word;
    for (const char letter : letters) {
      if (!find_option(letter)) return invalid(std::string(1, letter));
    }
    for (const char letter : letters) {
      if (errors_.empty() && !done_) take(*find_option(letter), std::string("-") + letter);
    }
  }

  void take(const Option& option, const std::string& word) {
    if (option.argument.empty()) return set(option, word, {});
    set(option, word, at_ < words_.size() && is_value(option, words_[at_]) ? words_[at_++] : "");
  }

  static bool is_value(const Option& option, const std::string& word) {
    Options scratch;
    return !word.starts_with('-') || ((option.is & minus_values) && !apply(option, word, scratch));
  }

  void set(const Option& option, const std::string& word, const std::string& value) {
    if (option.name == "help") {
      options_.action = Action::help;
      options_.topic = value;
      done_ = true;
      return;
    }
    if (!option.argument.empty() && value.empty()) {
      errors_.push_back("Error: Missing argument for option : " + word);
      missing_ = true;
      return;
    }
    const std::string input = options_.input;
    if (const auto problem = apply(option, value, options_)) {
      if (!problem->before.empty()) errors_.push_back(problem->before);
      errors_.push_back("Error: Encountered invalid option : " + value);
      // For an import, nvprof's own options have nvprof's own lines.
      const bool explained =
          (option.is & ours) || option.group == OptionGroup::filter || !importing();
      if (explained && !problem->takes.empty()) {
        errors_.push_back("--" + option.name + " takes " + problem->takes);
        if (!problem->part.empty())
          errors_.push_back('"' + problem->part + "\" is not one of these.");
      }
      return;
    }
    given_.insert(&option);
    two_inputs_ |= !input.empty() && options_.input != input;
    import_excluded_ |= (option.is & not_with_import) != 0;
    done_ = options_.action == Action::version;
  }

  void invalid(const std::string& word) {
    errors_.push_back("Error: Encountered invalid option : " + word);
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    // No suggestion for "--csv=1", since that option exists.
    if (!name.starts_with("--") || find_option(name.substr(2))) return;
    if (const std::string close = closest_option(name.substr(2)); !close.empty()) {
      errors_.push_back("Did you mean \"--" + close + "\"?");
    }
  }

  bool importing() const { return !options_.input.empty(); }

  // Rejects options that -i excludes, and reports that cannot be combined.
  void check() {
    const bool query = options_.action == Action::query;
    if (importing()) {
      options_.action = Action::import;
      if (two_inputs_) errors_.emplace_back("Error: -i takes one file, and is given two.");
      if (!options_.application.empty() || import_excluded_) errors_.emplace_back(both);
      if (!options_.output.empty()) {
        errors_.emplace_back("Error: Can't export profile while importing a profile.");
      }
    }
    if (const std::string wrong = report::wrong_combination(options_.reports); !wrong.empty()) {
      errors_.push_back("Error: " + wrong);
    }
    const bool everything = given_.contains(find_option("everything"));
    const std::string apart =
        why_not_in_one_run(options_, everything ? "--everything" : "--pm-sampling");
    if (!apart.empty()) errors_.push_back("Error: " + apart);
    const std::string control = why_not_switched(options_);
    for (const std::string& wrong : {importing() ? "" : why_not_kept(options_),
                                     why_no_triggers(options_), why_not_activated(options_)}) {
      if (!wrong.empty()) errors_.push_back("Error: " + wrong);
    }
    if (!options_.ranks.empty() && !importing()) {
      if (!control.empty()) {
        errors_.emplace_back(
            "Error: --ranks keeps roll-ups of traces, not of metrics and samples.");
      }
      if (keeps_last(options_) || options_.max_bytes > 0 || options_.view) {
        errors_.emplace_back(
            "Error: --ranks and --keep-last, --max-size, --view exclude one another.");
      }
      if (options_.output.empty()) errors_.emplace_back("Error: --ranks needs -o FILE.");
    }
    const bool switches = options_.delay || options_.duration || options_.max_bytes > 0;
    if (switches && !control.empty()) {
      errors_.push_back("Error: --delay, --duration, --max-size: " + control + ".");
    }
    const bool part = !options_.capture.what.empty();
    if (part && !control.empty()) errors_.push_back("Error: --capture-range: " + control + ".");
    if (part && (options_.delay || !options_.profile_from_start)) {
      errors_.emplace_back("Error: --capture-range excludes --delay and --profile-from-start off.");
    }
    if (options_.delay && !options_.profile_from_start) {
      errors_.emplace_back("Error: --delay and --profile-from-start off exclude one another.");
    }
    if (!errors_.empty()) fail();
    for (const Option* option : options_.without_effect) {
      if (option->status != Status::replaced || query) continue;
      errors_.push_back("Error: --" + option->name + ": " + remark(*option));
    }
    if (!errors_.empty()) throw NvprofError{errors_, ExitCode::bad_option};
    const bool plan_only = options_.metrics.plan && !options_.metrics.requests.empty();
    if (!importing() && !query && !plan_only && options_.application.empty()) {
      NvprofError error{{"Error: no application specified."}, ExitCode::no_application};
      if (words_.empty()) {
        for (const std::string_view line : usage) error.lines.emplace_back(line);
      }
      throw error;
    }
  }

  [[noreturn]] void fail() {
    errors_.emplace_back("Use \"gpuprof --help\" to get more information.");
    throw NvprofError{errors_, ExitCode::bad_option};
  }

  static constexpr std::string_view usage[] = {
      "gpuprof [options] PROGRAM [arguments]   profile a program",
      "gpuprof -i FILE [options]               print reports of a stored run",
      "gpuprof --help                          options, commands, examples",
  };
  static constexpr char both[] =
      "Error: Cannot run an application and import a profile at the same time.";

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  Options options_;
  std::set<const Option*> given_;
  std::vector<std::string> errors_;
  bool missing_ = false;          // a value
  bool done_ = false;             // help or version: the rest is irrelevant
  bool two_inputs_ = false;       // of which the last would hide the others
  bool import_excluded_ = false;  // an option was given that is not for imports
};

}  // namespace

// The driver assigns a GPU's counters to only one of these at a time; the second gets
// CUPTI_ERROR_HARDWARE_BUSY.
std::string why_not_in_one_run(const Options& options, std::string_view pm_sampling) {
  const bool metrics = !options.metrics.requests.empty();
  std::vector<std::string> wanted;
  if (options.pm.on) wanted.emplace_back(pm_sampling);
  if (options.pc_sampling.on) wanted.push_back(options.pc_sampling.asked_by);
  if (metrics) {
    const bool sets = std::ranges::any_of(
        options.metrics.requests, [](const auto& request) { return !request.sets.empty(); });
    wanted.emplace_back(sets ? "--metrics or --set" : "--metrics or --events");
  }
  if (wanted.size() > 1) {
    return joined(wanted, " and ") +
           " need the same counters of the GPU; ask for them in runs of their own.";
  }
  if (!options.sass.metrics.empty() && (options.pc_sampling.on || metrics)) {
    return "--source-level-analysis changes the code of kernels, which --pc-sampling, --metrics "
           "and --events would measure; ask for them in two runs.";
  }
  return {};
}

std::string why_no_triggers(const Options& options) {
  if (!options.trigger_group.empty() && !keeps_last(options)) {
    return "--trigger-group needs --keep-last, 60s say, which is what its snapshots have.";
  }
  if (options.triggers.empty()) return {};
  if (!keeps_last(options)) return "--trigger needs --keep-last, 60s say, which is what it writes.";
  for (const record::Trigger& trigger : options.triggers) {
    if (trigger.kind != record::Trigger::Kind::idle) continue;
    if (!options.capture.what.empty()) {
      return "--trigger idle excludes --capture-range: nothing is recorded outside of the part.";
    }
    if (options.keep_time && *options.keep_time <= trigger.longest) {
      return "--trigger " + trigger.text + " needs a longer --keep-last: what came before is gone.";
    }
  }
  return {};
}

std::string why_not_kept(const Options& options) {
  if (!keeps_last(options)) return {};
  if (!why_not_switched(options).empty()) {
    return "--keep-last keeps traces; metrics and samples are kept whole.";
  }
  if (options.max_bytes > 0) return "--keep-last and --max-size exclude one another.";
  return options.output.empty() ? "--keep-last needs -o FILE." : "";
}

std::string why_not_activated(const Options& options) {
  if (!options.activate_every) return {};
  if (const std::string control = why_not_switched(options); !control.empty()) {
    return "--activate: " + control + ".";
  }
  if (options.delay || !options.capture.what.empty() || !options.profile_from_start) {
    return "--activate excludes --delay, --capture-range and --profile-from-start off.";
  }
  if (options.duration && *options.duration >= *options.activate_every) {
    return "--duration has to be shorter than the time of --activate, which begins it again.";
  }
  return {};
}

std::string why_not_switched(const Options& options) {
  const bool measures = options.pm.on || options.pc_sampling.on ||
                        !options.metrics.requests.empty() || !options.sass.metrics.empty();
  return measures ? "what is measured or sampled is so from beginning to end; only tracing can be "
                    "switched"
                  : "";
}

Options parse_options(const std::vector<std::string>& words,
                      const std::function<std::vector<Preset>(const ConfigChoice&)>& presets) {
  Parser parser(words);
  Options options = parser.parse();
  const bool wanted = options.action != Action::help && options.action != Action::version;
  if (presets && wanted) {
    Options defaults;
    for (const Preset& preset : presets(options.config)) {
      if (!parser.given(preset.option)) apply(preset, defaults);
    }
    options = Parser(words, std::move(defaults)).parse();
  }
  std::vector<std::string> command{"gpuprof"};
  command.insert(command.end(), words.begin(), words.end());
  options.command_line = shell_line(command);
  return options;
}

}  // namespace gpuprof::app
