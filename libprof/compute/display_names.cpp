#include "libprof/compute/display_names.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "libprof/base/text.hpp"

namespace gpuprof::compute {
namespace {

constexpr std::size_t most_names = std::size_t{1} << 16;
constexpr std::size_t most_parts = 400;         // considered per name
constexpr std::size_t most_steps = 20'000'000;  // for all names: a tenth of a second
// In characters. Printing code cuts what is longer; C names of many words are shown with the words
// in which they differ.
constexpr std::size_t room = 44;
constexpr std::string_view left_out = "…";
constexpr std::string_view anonymous = "(anonymous namespace)::";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.';
}

bool opens(char c) { return c == '<' || c == '(' || c == '{' || c == '['; }
bool closes(char c) { return c == '>' || c == ')' || c == '}' || c == ']'; }

// The position after the bracket that closes the one at `begin`.
std::size_t behind_bracket(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (opens(text[i])) ++depth;
    if (closes(text[i]) && --depth == 0) return i + 1;
  }
  return text.size();
}

std::string without_namespaces(std::string_view text) {
  std::string result;
  std::size_t word = 0;  // start of the last word of the result
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(anonymous)) {
      i += anonymous.size() - 1;
    } else if (text.substr(i).starts_with("::") && word < result.size()) {
      result.resize(word);
      ++i;
    } else {
      if (!is_word(text[i])) word = result.size() + 1;
      result += text[i];
    }
  }
  return result;
}

// A word of a function's template arguments, or of its parameters if it is not a template.
struct Part {
  enum Sort { name, type, other };  // most informative first
  std::string text;
  std::size_t begin = 0, end = 0;  // in the text
  Sort sort = name;
};

Part::Sort sort_of(std::string_view word) {
  constexpr std::array types{"float", "double", "int",      "long",   "short", "char",    "bool",
                             "void",  "signed", "unsigned", "__half", "Half",  "BFloat16"};
  if (word.front() >= '0' && word.front() <= '9') return Part::other;
  if (word == "true" || word == "false") return Part::other;
  return std::ranges::find(types, word) == types.end() ? Part::name : Part::type;
}

std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < text.size() && parts.size() < most_parts;) {
    if (text[i] == '{') {  // {lambda(float)#1}
      const std::size_t end = behind_bracket(text, i);
      parts.push_back({std::string(text.substr(i, end - i)), i, end, Part::other});
      i = end;
    } else if (is_word(text[i])) {
      std::size_t end = i;
      while (end < text.size() && is_word(text[end])) ++end;
      const std::string_view word = text.substr(i, end - i);
      if (word != "const" && word != "operator") {
        parts.push_back({std::string(word), i, end, sort_of(word)});
      }
      i = end;
    } else {
      ++i;
    }
  }
  return parts;
}

// "sm80_xmma_gemm_f32f32" -> sm80, xmma, gemm, f32f32
std::vector<Part> words_of(std::string_view text) {
  std::vector<Part> words;
  for (std::size_t i = 0; i < text.size() && words.size() < most_parts;) {
    const std::size_t end = std::min(text.find('_', i), text.size());
    if (end > i) words.push_back({std::string(text.substr(i, end - i)), i, end, Part::name});
    i = end + 1;
  }
  return words;
}

std::vector<std::string_view> arguments_of(std::string_view list) {
  std::vector<std::string_view> arguments;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (opens(list[i])) ++depth;
    if (closes(list[i])) --depth;
    if ((list[i] == ',' && depth == 1) || (closes(list[i]) && depth == 0)) {
      while (begin < i && list[begin] == ' ') ++begin;
      std::size_t end = i;
      while (end > begin && list[end - 1] == ' ') --end;
      arguments.push_back(list.substr(begin, end - begin));
      begin = i + 1;
      if (depth == 0) break;
    }
  }
  return arguments;
}

struct Name {
  const KernelName* of = nullptr;
  std::string rest;  // after the function, without namespaces; of a long C name: all of it
  std::vector<Part> parts;
  bool long_words = false;  // a long C name, whose parts are words
  std::string display;
  int level = 0;

  std::string_view head() const { return of->demangled.empty() ? of->value : of->short_form; }
  // What the names to be distinguished have in common: the function, or the first two words.
  std::string_view family() const {
    return long_words && parts.size() > 1 ? std::string_view(rest).substr(0, parts[1].end) : head();
  }
  // Template arguments with their brackets, or empty.
  std::string_view template_arguments() const {
    if (!rest.starts_with('<')) return {};
    return std::string_view(rest).substr(0, behind_bracket(rest, 0));
  }
};

// Some frameworks have functions that are simply called kernel.
bool says_nothing(std::string_view head) {
  return head == "kernel" || head == "Kernel" || head == "Kernel2" || head == "device_kernel";
}

// The names of one family.
class Group {
 public:
  explicit Group(std::vector<Name*> names) : names_(std::move(names)) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      for (const Part& part : names_[i]->parts) {
        std::vector<std::size_t>& with = with_[part.text];
        if (with.empty() || with.back() != i) with.push_back(i);
      }
    }
    std::map<std::size_t, std::vector<std::string_view>> first;
    for (const Name* name : names_) {
      const auto own = arguments_of(name->template_arguments());
      const auto& others = first.try_emplace(own.size(), own).first->second;
      std::vector<bool>& differs = differing_[own.size()];
      differs.resize(own.size());
      for (std::size_t i = 0; i < own.size(); ++i) {
        differs[i] = differs[i] || own[i] != others[i];
      }
    }
  }

  bool has_one() const { return names_.size() == 1; }

  // Uses parts that no other name has all of. Nullopt: there are none, or finding them takes too
  // long.
  std::optional<std::string> by_parts(const Name& name, std::size_t& steps) const {
    std::vector<const Part*> chosen = distinguishing(name, steps);
    if (chosen.empty()) return {};
    return name.long_words ? with_words(name, chosen) : written(name, std::move(chosen));
  }

  // As many of the first words as fit.
  static std::string first_words(const Name& name) {
    std::vector<bool> shown(name.parts.size());
    std::string text = name.rest;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      shown[i] = true;
      std::string more = written_words(name, shown);
      if (i > 0 && characters(more) > room) break;
      text = std::move(more);
    }
    return text;
  }

  // The template arguments in which names with equally many differ.
  std::string by_arguments(const Name& name) const {
    const auto own = arguments_of(name.template_arguments());
    if (own.empty()) return {};
    const std::vector<bool>& differs = differing_.at(own.size());
    std::string text = std::string(name.head()) + "<";
    bool skipped = false;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (differs[i]) {
        if (i > 0 && !skipped) text += ", ";
        text += own[i];
      } else if (!skipped) {
        text += left_out;
      }
      skipped = !differs[i];
    }
    return text + ">";
  }

 private:
  // Parts that no other name has all of; empty: there are none, or finding them takes too long.
  std::vector<const Part*> distinguishing(const Name& name, std::size_t& steps) const {
    std::vector<const Part*> chosen;
    // The other names that have everything chosen so far; nullopt, i.e. all of them, before that.
    std::optional<std::vector<std::size_t>> others;
    std::size_t left = names_.size() - 1;
    for (const Part::Sort sort : {Part::name, Part::type, Part::other}) {
      while (left > 0 || (chosen.empty() && sort == Part::name)) {
        const Part* best = nullptr;
        std::size_t best_left = left + (chosen.empty() && sort == Part::name && left == 0);
        for (const Part& part : name.parts) {
          if (part.sort != sort) continue;
          const std::vector<std::size_t>& with = with_.at(part.text);
          std::size_t those = with.size() - 1;
          if (others) {
            those = 0;
            for (const std::size_t other : *others) {
              those += std::ranges::binary_search(with, other);
            }
            steps += others->size();
          }
          ++steps;
          if (those < best_left || (best && those == best_left && tells_more(part, *best))) {
            best = &part;
            best_left = those;
          }
        }
        if (steps > most_steps) return {};
        if (!best) break;
        chosen.push_back(best);
        const std::vector<std::size_t>& with = with_.at(best->text);
        std::vector<std::size_t> still;
        for (const std::size_t other : others ? *others : with) {
          if (names_[other] != &name && std::ranges::binary_search(with, other)) {
            still.push_back(other);
          }
        }
        left = still.size();
        others = std::move(still);
      }
    }
    if (left > 0) chosen.clear();
    return chosen;
  }

  // The first three words, the chosen ones, and as many of those not shared by all names as fit.
  std::string with_words(const Name& name, const std::vector<const Part*>& chosen) const {
    std::vector<bool> shown(name.parts.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(3, shown.size()); ++i) shown[i] = true;
    for (const Part* part : chosen) {
      shown[static_cast<std::size_t>(part - name.parts.data())] = true;
    }
    std::string text = written_words(name, shown);
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (shown[i] || with_.at(name.parts[i].text).size() == names_.size()) continue;
      shown[i] = true;
      std::string more = written_words(name, shown);
      shown[i] = characters(more) <= room;
      if (shown[i]) text = std::move(more);
    }
    return text;
  }

  static std::string written_words(const Name& name, const std::vector<bool>& shown) {
    std::string text;
    std::size_t end = 0;  // in the name, of what has been written
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const Part& word = name.parts[i];
      if (!shown[i]) continue;
      const bool follows = i == 0 || shown[i - 1];
      text += follows ? name.rest.substr(end, word.begin - end) : std::string(left_out);
      text += word.text;
      end = word.end;
    }
    return end < name.rest.size() ? text + std::string(left_out) : text;
  }

  static bool tells_more(const Part& part, const Part& than) {
    for (const std::string_view word : {"unctor", "kernel"}) {
      const bool has = part.text.find(word) != std::string::npos;
      const bool other_has = than.text.find(word) != std::string::npos;
      if (has != other_has) return has;
    }
    return false;  // the first one
  }

  static std::string written(const Name& name, std::vector<const Part*> chosen) {
    std::ranges::sort(chosen, {}, &Part::begin);
    const char open = name.rest.starts_with('<') ? '<' : '(';
    std::string text = std::string(name.head()) + open;
    std::string closing;  // for the open brackets
    const Part* before = nullptr;
    const auto leave_out = [&] {
      text.append(closing.rbegin(), closing.rend());
      closing.clear();
      text += left_out;
    };
    for (const Part* part : chosen) {
      const bool follows = before ? before + 1 == part : part == &name.parts.front();
      if (!follows) {
        leave_out();
      } else if (before) {
        const std::string between = name.rest.substr(before->end, part->begin - before->end);
        for (const char c : between) {
          if (opens(c)) closing += c == '<' ? '>' : c == '(' ? ')' : ']';
          if (closes(c) && !closing.empty()) closing.pop_back();
        }
        text += between;
      }
      text += part->text;
      before = part;
    }
    if (before != &name.parts.back()) {
      leave_out();
    } else {
      text.append(closing.rbegin(), closing.rend());
    }
    return text + (open == '<' ? '>' : ')');
  }

  std::vector<Name*> names_;
  std::unordered_map<std::string, std::vector<std::size_t>> with_;  // by part: names, sorted
  std::map<std::size_t, std::vector<bool>> differing_;  // argument positions, by argument count
};

// Names that are equal on one level move to the next.
enum Level { function, parts, arguments, whole_arguments, demangled, value, numbered };

std::string on_level(const Name& name, const Group& group, std::size_t& steps) {
  switch (name.level) {
    case function:
      if (name.long_words) return group.has_one() ? Group::first_words(name) : "";
      return std::string(says_nothing(name.head()) ? "" : name.head());
    case parts: return group.by_parts(name, steps).value_or("");
    case arguments: return group.by_arguments(name);
    case whole_arguments:
      return name.rest.starts_with('<')
                 ? std::string(name.head()) + std::string(name.template_arguments())
                 : "";
    case demangled: return name.of->demangled;
    case value: return name.of->value;
    default: return "#" + std::to_string(name.of->id) + " " + name.of->value;
  }
}

// A name that is too long moves to the next level; on the last one, where its number identifies it,
// it is cut.
std::string bounded(std::string text, int level) {
  if (text.size() <= most_display_bytes) return text;
  if (level != numbered) return {};
  std::size_t end = most_display_bytes - left_out.size();
  while (continues_character(text[end])) --end;
  return text.replace(end, text.npos, left_out);
}

// The text after the function's own name; nullopt: it was not found.
std::optional<std::string_view> behind_function(std::string_view text, std::string_view function) {
  if (function.empty()) return {};
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = i == 0 || text[i - 1] == ' ' || text[i - 1] == ':';
    if (depth == 0 && starts && text.substr(i).starts_with(function)) {
      const std::string_view rest = text.substr(i + function.size());
      if (rest.empty() || rest.starts_with('<') || rest.starts_with('(')) return rest;
    }
    if (opens(text[i])) ++depth;
    if (closes(text[i])) --depth;
  }
  return {};
}

}  // namespace

std::vector<std::string> display_names(std::span<const KernelName> names) {
  std::vector<Name> all(names.size());
  std::map<std::string_view, std::vector<Name*>> families;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all[i].of = &names[i];
    if (const auto rest = behind_function(names[i].demangled, names[i].short_form)) {
      all[i].rest = without_namespaces(*rest);
      const std::string_view arguments = all[i].template_arguments();
      all[i].parts = parts_of(arguments.empty() ? all[i].rest : arguments);
    }
    if (names[i].demangled.empty() && characters(names[i].value) > room) {
      all[i].rest = names[i].value;
      all[i].parts = words_of(names[i].value);
      all[i].long_words = !all[i].parts.empty() && !all[i].rest.starts_with('<');
    }
    families[all[i].family()].push_back(&all[i]);
  }
  std::map<std::string_view, Group> groups;
  for (auto& [family, members] : families) groups.emplace(family, Group(members));
  std::size_t steps = 0;
  const auto find = [&](Name& name) {
    const Group& group = groups.at(name.family());
    while ((name.display = bounded(on_level(name, group, steps), name.level)).empty() &&
           name.level < numbered) {
      ++name.level;
    }
  };
  for (Name& name : all) find(name);
  for (bool changed = true; std::exchange(changed, false);) {
    std::map<std::string, std::vector<Name*>> by_display;
    for (Name& name : all) by_display[name.display].push_back(&name);
    for (auto& [display, same] : by_display) {
      if (same.size() == 1) continue;
      for (Name* name : same) {
        if (name->level == numbered) continue;
        ++name->level;
        find(*name);
        changed = true;
      }
    }
  }
  std::vector<std::string> result;
  for (Name& name : all) result.push_back(std::move(name.display));
  return result;
}

void write_display_names(store::Database& database, const std::set<std::int32_t>& kernels) {
  if (!database.has_column("StringTable", "display")) return;  // of an older gpuprof
  database.execute("UPDATE main.StringTable SET display = NULL WHERE display IS NOT NULL");
  if (kernels.size() > most_names) return;
  std::vector<KernelName> names;
  store::Statement find =
      database.prepare("SELECT value, demangled, short FROM main.StringTable WHERE _id_ = ?1");
  for (const std::int32_t id : kernels) {
    find.reset();
    find.bind(1, std::int64_t{id});
    if (id == 0 || !find.step() || find.is_null(0)) continue;
    names.push_back({.id = id,
                     .value = std::string(find.text(0)),
                     .demangled = std::string(find.text(1)),
                     .short_form = std::string(find.text(2))});
  }
  find.reset();
  const std::vector<std::string> displays = display_names(names);
  store::Statement update =
      database.prepare("UPDATE main.StringTable SET display = ?2 WHERE _id_ = ?1");
  for (std::size_t i = 0; i < names.size(); ++i) {
    update.bind(1, names[i].id).bind(2, displays[i]).run();
  }
}

}  // namespace gpuprof::compute
