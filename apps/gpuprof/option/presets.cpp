#include "apps/gpuprof/option/presets.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/regular_file.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint = {}) {
  throw Error(what, hint, ExitCode::bad_option);
}

// Keys, strings, numbers, booleans and arrays of TOML; an array becomes a comma-separated list.
class ConfigParser {
 public:
  ConfigParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Preset> parse() {
    std::vector<Preset> presets;
    for (skip(true); !at_end(); skip(true)) {
      if (peek() == '[') wrong("sections mean nothing here");
      const std::string origin = place();
      const std::string key = taken([](char c) { return is_bare(c) || c == '_'; });
      if (key.empty()) wrong("this is not the name of an option");
      skip(false);
      if (!take('=')) wrong(key + ": there is no '='");
      skip(false);
      const std::string given = value(key);
      skip(false);
      if (!at_end() && peek() != '\n') wrong(key + ": something follows the value");
      presets.push_back({&option(key, origin), given, origin + key});
      for (std::size_t i = 0; i + 1 < presets.size(); ++i) {
        if (presets[i].option == presets.back().option) refuse(origin + key + " is there twice");
      }
    }
    return presets;
  }

 private:
  static bool is_bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }

  template <class Test>
  std::string taken(const Test& test) {
    const std::size_t from = at_;
    while (!at_end() && test(peek())) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  // Skips blanks and a comment, and line ends too if `lines`.
  void skip(bool lines) {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || (c == '\n' && lines)) {
        line_ += c == '\n';
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string place() const { return name_ + ":" + std::to_string(line_) + ": "; }
  [[noreturn]] void wrong(const std::string& what) const { refuse(place() + what); }

  const Option& option(const std::string& key, const std::string& origin) const {
    const Option* found = find_option(key);
    if (!found) {
      const std::string close = closest_option(key);
      refuse(origin + "there is no option \"" + key + "\"",
             close.empty() ? "gpuprof --help all lists them" : "did you mean \"" + close + "\"?");
    }
    if (!can_be_preset(*found)) {
      refuse(origin + key + " has no place in a configuration file",
             found->status == Status::works ? "it says what one call is to do; give it to that call"
                                            : remark(*found));
    }
    return *found;
  }

  std::string value(const std::string& key) {
    if (take('[')) return array(key);
    if (!at_end() && (peek() == '"' || peek() == '\'')) return quoted(key);
    const std::string word = taken([](char c) { return is_bare(c) || c == '.' || c == '+'; });
    const bool number = !word.empty() && word.find_first_not_of("0123456789.+-") == word.npos;
    if (!number && word != "true" && word != "false") {
      wrong(key + " takes a text in quotes, a number, true or false");
    }
    return word;
  }

  std::string array(const std::string& key) {
    std::vector<std::string> words;
    for (skip(true); !take(']'); skip(true)) {
      if (at_end()) wrong(key + ": there is no ']'");
      words.push_back(value(key));
      skip(true);
      if (!take(',') && !at_end() && peek() != ']') wrong(key + ": there is no ','");
    }
    return joined(words, ",");
  }

  // Single-quoted text is literal; double-quoted text may contain \" and \\.
  std::string quoted(const std::string& key) {
    const char quote = text_[at_++];
    std::string text;
    while (!at_end() && peek() != quote && peek() != '\n') {
      if (quote == '"' && take('\\') && (at_end() || (peek() != '"' && peek() != '\\'))) {
        wrong(key +
              ": in double quotes \\ must be followed by \\ or \"; single quotes allow everything");
      }
      text += text_[at_++];
    }
    if (!take(quote)) wrong(key + ": the quotes do not end");
    return text;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
};

// The value of a flag: set or not; nullopt if it is neither.
std::optional<bool> truth(const std::string& value) {
  constexpr std::array<std::string_view, 3> yes{"true", "on", "1"}, no{"false", "off", "0"};
  if (std::ranges::find(yes, value) != yes.end()) return true;
  if (std::ranges::find(no, value) != no.end()) return false;
  return {};
}

// Null if unset or empty.
const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

struct Content {
  std::optional<std::string> text;
  std::string why_not;  // why there is no text
  bool missing = false;
};

// Presets determine which files programs load, so only the user and root may own the file; and
// reading it must not block or exhaust memory.
std::string why_not_read(const struct stat& status) {
  constexpr off_t most = 1 << 16;
  if (S_ISDIR(status.st_mode)) return "it is a folder";
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return "it belongs to another user, with the id " + std::to_string(status.st_uid);
  }
  return status.st_size > most ? "it is larger than 64 KiB" : "";
}

Content content(const std::string& path) {
  // Not open_regular(): for what is not regular, the reason is given here.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (*file < 0) {
    return {.text = {},
            .why_not = std::strerror(errno),
            .missing = errno == ENOENT || errno == ENOTDIR};
  }
  struct stat status {};
  Content content;
  if (fstat(*file, &status) != 0) {
    content.why_not = std::strerror(errno);
  } else if (content.why_not = why_not_read(status); content.why_not.empty()) {
    auto text = read_up_to(*file, static_cast<std::size_t>(status.st_size));
    if (text) {
      content.text = *std::move(text);
    } else {
      content.why_not = std::strerror(errno);
    }
  }
  return content;
}

// The user's configuration file. Never below the working directory: the contents of a folder must
// not change how gpuprof works.
std::string usual_config() {
  const auto absolute = [](const char* path) { return path && path[0] == '/'; };
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  if (absolute(folder)) return std::string(folder) + "/gpuprof/config.toml";
  const char* home = std::getenv("HOME");
  return absolute(home) ? std::string(home) + "/.config/gpuprof/config.toml" : "";
}

}  // namespace

bool can_be_preset(const Option& option) {
  using enum OptionGroup;
  return option.status == Status::works && !(option.is & once) && option.group != reports &&
         option.group != filter && option.group != program;
}

std::string variable_of(const Option& option) {
  std::string name = "GPUPROF_" + option.name;
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return name;
}

std::vector<Preset> parse_config(std::string_view text, const std::string& name) {
  return ConfigParser(text, name).parse();
}

std::vector<Preset> read_presets(const ConfigChoice& choice) {
  if (choice.none || (choice.file.empty() && variable("GPUPROF_NO_CONFIG"))) return {};
  std::vector<Preset> presets;
  const char* named = variable("GPUPROF_CONFIG");
  const bool required = !choice.file.empty() || named;
  const std::string path = !choice.file.empty() ? choice.file : named ? named : usual_config();
  if (!path.empty()) {
    const Content config = content(path);
    if (config.text) {
      presets = parse_config(*config.text, path);
    } else if (required) {
      refuse(path + ": " + config.why_not);
    } else if (!config.missing) {
      std::fprintf(stderr, "gpuprof: %s has no effect: %s\n", printable(path).c_str(),
                   config.why_not.c_str());
    }
  }
  for (const Option& option : option_table()) {
    if (!can_be_preset(option)) continue;
    const std::string name = variable_of(option);
    const char* value = variable(name.c_str());
    if (!value) continue;
    std::erase_if(presets, [&](const Preset& preset) { return preset.option == &option; });
    presets.push_back({&option, value, name});
  }
  return presets;
}

void tell_misspelt_variables(const Options& options) {
  if (options.quiet || options.config.none || variable("GPUPROF_NO_CONFIG")) return;
  // The last two are what gpuprof sets for its collector: gpuprof may itself be profiled.
  std::vector<std::string> known{"GPUPROF_CONFIG", "GPUPROF_NO_CONFIG", "GPUPROF_SOCKET",
                                 "GPUPROF_HIDE_COMMAND_LINE"};
  for (const Option& option : option_table()) {
    if (can_be_preset(option)) known.push_back(variable_of(option));
  }
  std::vector<std::string> wrong;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    constexpr std::string_view prefix = "GPUPROF_";
    if (!name.starts_with(prefix) || std::ranges::find(known, name) != known.end()) continue;
    // With more edits than half of a short name, it is a different name.
    std::size_t least = std::min<std::size_t>(3, (name.size() - prefix.size() + 1) / 2);
    std::string close;
    for (const std::string& each : known) {
      const std::size_t far = edit_distance(name, each);
      if (far < least) close = each;
      least = std::min(least, far);
    }
    if (!close.empty()) wrong.push_back(std::string(name) + " (" + close + "?)");
  }
  std::ranges::sort(wrong);
  if (wrong.empty()) return;
  std::fprintf(stderr, "gpuprof: %s %s no effect\n", printable(joined(wrong, ", ")).c_str(),
               wrong.size() == 1 ? "has" : "have");
}

void apply(const Preset& preset, Options& options) {
  const Option& option = *preset.option;
  const auto truth_of = truth(preset.value);
  if (option.argument.empty()) {
    const auto words = split(option.optional, '|');
    const bool is_word =
        !option.optional.empty() && std::ranges::find(words, preset.value) != words.end();
    if (!is_word && (truth_of || !option.is_placeholder)) {
      if (!truth_of) refuse(preset.origin + " takes true or false");
      if (*truth_of) apply(option, {}, options);
      return;
    }
  }
  if (preset.value.empty()) refuse(preset.origin + " takes a value");
  const auto words = choices(option);
  const bool on_off = std::ranges::find(words, "off") != words.end();
  const std::string value = on_off && truth_of ? (*truth_of ? "on" : "off") : preset.value;
  if (const auto refused = apply(option, value, options)) {
    refuse(preset.origin + ": " + preset.value + " is wrong" +
           (refused->takes.empty() ? "" : "; it takes " + refused->takes));
  }
}

}  // namespace gpuprof::app
