#include "libprof/names/nvprof_demangle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "libprof/names/demangle.hpp"
#include "libprof/names/nvprof_mangled_words.hpp"

// A recursive descent through the grammar of the Itanium C++ ABI, section "External Names". Each
// rule returns the text of what it read. nvprof 11.8 visibly differs from the ABI:
//
// - A template parameter (T_, T0_, ...) is an index into all template arguments of the whole name
//   in the order in which they end, including inner ones: in f<A<int>, float>(T0_) it is A<int>.
// - The last name of N...E becomes a substitution if it has template arguments, even if it names
//   the function itself. All later substitutions (S8_, ...) are then off by one.
// - A qualifier is a word with a blank on both sides; only the first of several is printed.
// - An argument pack (J...E) is read but not printed.
// - Newer parts of the grammar are unknown: lambdas, decltype, D types, pack expansions, ABI tags,
//   const member functions, names with internal linkage. Such a name stays mangled.

namespace gpuprof {
namespace {

using namespace nvprof_words;

struct Unreadable {};       // nvprof leaves the name mangled
struct VendorQualifier {};  // nvprof crashes

constexpr int deepest = 256;                  // recursion; real names stay below 60
constexpr std::size_t most_text = 4u << 20u;  // characters copied for one name
constexpr std::size_t none = std::string::npos;

enum class Kind {
  name,       // accepts "::" and a further component, or template arguments
  parameter,  // T_: a further component is appended without "::"
  function,   // a bare function type; a declarator needs parentheses
  other,      // template arguments after it are not printed
};

struct Text {
  std::string left;  // everything, except for types with parentheses: the part before an added "*"
  std::string right = {};
  Kind kind = Kind::other;
  bool nested = false;      // written as N...E: a literal's value is not printed
  std::size_t last = none;  // end in `left` of the last component written as part of N...E

  [[nodiscard]] std::string all() const { return left + right; }
};

struct Name {
  Text text;
  std::size_t bare_size = none;  // without template arguments, for a name outside of N...E
  bool templated = false;        // ends with template arguments
  bool returns = true;           // not a constructor, destructor or conversion
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  explicit Parser(std::string_view input) : input_(input) {}

  std::string whole_name() {
    std::string text = encoding();
    if (!at_end()) throw Unreadable();
    return text;
  }

 private:
  // ── the input ──
  [[nodiscard]] bool at_end() const { return at_ == input_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : input_[at_]; }
  [[nodiscard]] bool sees(std::string_view text) const {
    return input_.substr(at_).starts_with(text);
  }
  bool take(std::string_view text) {
    if (!sees(text)) return false;
    at_ += text.size();
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) throw Unreadable();
  }
  std::string_view digits() {
    const std::size_t begin = at_;
    while (is_digit(peek())) ++at_;
    return input_.substr(begin, at_ - begin);
  }
  // The number of "_", "0_", "1_", ...: 0, 1, 2, ...
  std::size_t sequence_number(unsigned base) {
    std::size_t number = 0;
    for (bool first = true; !take("_"); first = false) {
      const char c = peek();
      const unsigned digit = is_digit(c) ? unsigned(c - '0') : unsigned(c - 'A') + 10;
      if (digit >= base || number > input_.size()) throw Unreadable();
      number = (first ? 0 : number - 1) * base + digit + 1;
      ++at_;
    }
    return number;
  }

  // ── what was read ──
  void pay(std::size_t characters) {
    if (characters > budget_) throw Unreadable();
    budget_ -= characters;
  }
  void record(const Text& text) {
    pay(text.left.size() + text.right.size());
    substitutions_.push_back(text);
  }
  Text looked_up(const std::vector<Text>& table, std::size_t number) {
    if (number >= table.size()) throw Unreadable();
    pay(table[number].left.size() + table[number].right.size());
    return table[number];
  }

  // ── <encoding>: a function, or a variable without parameters ──
  std::string encoding() {
    const Depth depth(*this);
    Name function = name();
    std::string text = std::move(function.text.left);
    if (at_end() || peek() == 'E') {
      if (function.bare_size != none) text.resize(function.bare_size);
      return text;
    }
    if (function.templated && function.returns) text = type().all() + " " + text;
    return text + parameters();
  }

  std::string parameters() {
    std::string text = "(";
    do {
      if (text.size() > 1) text += ", ";
      text += type().all();
    } while (!at_end() && peek() != 'E');
    pay(text.size());
    return text + ")";
  }

  // ── <name> ──
  Name name() {
    if (peek() == 'N') return nested_name();
    if (peek() == 'Z') return local_name();
    return unscoped_name();
  }

  Name unscoped_name() {
    Name result;
    result.text.kind = Kind::name;
    if (peek() == 'S' && !sees("St")) {
      result.text = substitution();
    } else {
      if (take("St")) result.text.left = "std::";
      result.text.left += unqualified_name(result.returns);
      if (peek() == 'I') record(result.text);
    }
    if (peek() == 'I') {
      result.bare_size = result.text.left.size();
      add_arguments(result.text, result.text.left.size());
      result.templated = true;
    }
    return result;
  }

  Name nested_name() {
    expect("N");
    Name result;
    Text& text = result.text;
    text.kind = Kind::name;
    std::size_t end = 0;  // where the next component goes
    while (!take("E")) {
      result.templated = peek() == 'I';
      if (result.templated) {
        if (text.left.empty()) throw Unreadable();
        add_arguments(text, end);
        end = text.left.size();
        text.nested = true;
        record(text);
      } else if (text.left.empty() && take("St")) {
        text.left = "std";
        end = text.left.size();
      } else if (text.left.empty() && (peek() == 'S' || peek() == 'T')) {
        text = peek() == 'S' ? substitution() : template_parameter();
        // nvprof appends to the component that it wrote last, even if that is inside template
        // arguments.
        end = std::min(text.last, text.left.size());
        text.last = none;
      } else {
        add_component(text, end, unqualified_name(result.returns));
        if (peek() != 'E') record(text);
      }
    }
    text.nested = true;
    return result;
  }

  static void add_component(Text& text, std::size_t& end, const std::string& component) {
    const bool separate = !text.left.empty() && text.kind == Kind::name;
    const std::string added = separate ? "::" + component : component;
    text.left.insert(end, added);
    end += added.size();
    text.last = end;
  }

  // <local-name>: the function, then the entity inside it.
  Name local_name() {
    const Depth depth(*this);
    expect("Z");
    std::string text = encoding() + "::";
    expect("E");
    Name result;
    if (take("s")) {
      result.text.left = "string literal";
    } else {
      result = name();
    }
    discriminator();
    text += result.text.left;
    result.text.left = std::move(text);
    result.text.kind = Kind::name;
    result.text.nested = true;
    result.text.last = result.bare_size = none;
    return result;
  }

  void discriminator() {
    if (take("__")) {
      digits();
      expect("_");
    } else if (take("_")) {
      digits();
    }
  }

  std::string unqualified_name(bool& returns) {
    if (is_digit(peek())) return source_name();
    for (const Structor& structor : structors) {
      if (!take(structor.code)) continue;
      returns = false;
      return std::string(structor.text);
    }
    if (take("cv")) {
      type();
      returns = false;
      return "operator (cast)";
    }
    return operator_text(operator_here());
  }

  std::string source_name() {
    std::size_t size = 0;
    for (const char digit : digits()) {
      size = size * 10 + std::size_t(digit - '0');
      if (size > input_.size()) throw Unreadable();
    }
    if (size == 0 || size > input_.size() - at_) throw Unreadable();
    at_ += size;
    return std::string(input_.substr(at_ - size, size));
  }

  const Operator& operator_here() {
    for (const Operator& candidate : operators) {
      if (take(candidate.code)) return candidate;
    }
    throw Unreadable();
  }
  static std::string operator_text(const Operator& op) {
    return "__operator_" + std::string(op.sign) + "__";
  }

  // ── <substitution>, <template-param>, <template-args> ──
  Text substitution() {
    expect("S");
    for (const Standard& standard : standards) {
      if (peek() != standard.code) continue;
      ++at_;
      return {.left = std::string(standard.text), .kind = Kind::name};
    }
    return looked_up(substitutions_, sequence_number(36));
  }

  Text template_parameter() {
    expect("T");
    Text text = looked_up(arguments_, sequence_number(10));
    text.kind = Kind::parameter;
    text.last = none;
    record(text);
    return text;
  }

  void add_arguments(Text& text, std::size_t end) {
    expect("I");
    std::string list = "<";
    std::size_t last = none;
    while (!take("E")) {
      if (take("J")) {
        while (!take("E")) arguments_.push_back(template_argument());
        continue;
      }
      Text argument = template_argument();
      if (list.size() > 1) list += ", ";
      if (argument.last != none) last = list.size() + argument.last;
      list += argument.all();
      arguments_.push_back(std::move(argument));
    }
    list += ">";
    pay(list.size());
    if (text.kind != Kind::name && text.kind != Kind::parameter) return;
    text.left.insert(end, list);
    if (last != none) {
      text.last = end + last;
    } else if (text.last != none) {
      text.last = text.left.size();
    }
  }

  Text template_argument() {
    if (peek() == 'L') return literal();
    if (!take("X")) return type();
    Text text = expression();
    expect("E");
    return text;
  }

  // ── <expression> ──
  Text literal() {
    expect("L");
    if (take("_Z")) {
      std::string text = encoding();
      expect("E");
      return {.left = std::move(text)};
    }
    Text text = type();
    const bool negative = take("n");
    const std::string_view value = digits();
    if (value.empty()) throw Unreadable();
    expect("E");
    if (text.nested) return text;
    std::string& end = text.right.empty() ? text.left : text.right;
    end += negative ? "=-" : "=";
    end += value;
    return text;
  }

  Text expression() {
    const Depth depth(*this);
    if (peek() == 'L') return literal();
    if (peek() == 'T') {
      ++at_;
      return looked_up(arguments_, sequence_number(10));
    }
    if (take("sr")) {
      bool returns = true;
      Text scope{.left = type().all() + "::", .kind = Kind::name};
      scope.left += unqualified_name(returns);
      if (peek() == 'I') add_arguments(scope, scope.left.size());
      return scope;
    }
    if (take("st")) return {.left = "__operator_sizeof__(" + type().all() + ")"};
    const Operator& op = operator_here();
    if (op.operands == 0) throw Unreadable();
    std::string text = operator_text(op) + "(";
    for (int operand = 0; operand < op.operands; ++operand) {
      if (operand > 0) text += ", ";
      text += expression().all();
    }
    pay(text.size());
    return {.left = text + ")"};
  }

  // ── <type> ──
  Text type() {
    const Depth depth(*this);
    switch (peek()) {
      case 'r':
      case 'V':
      case 'K': return qualified_type();
      case 'P': return declared_type("*");
      case 'R':
      case 'O': return declared_type("&");
      case 'F': return recorded(function_type());
      case 'A': return recorded(array_type());
      case 'M': return recorded(member_pointer());
      case 'U': throw VendorQualifier();
      case 'T': return with_arguments(template_parameter());
      case 'N': {
        const Name name = nested_name();
        return name.templated ? name.text : recorded(name.text);
      }
      case 'Z': return recorded(local_name().text);
      case 'S':
        if (!sees("St")) return with_arguments(substitution());
        break;
      case 'u': ++at_; return recorded({.left = source_name(), .kind = Kind::name});
      default:
        for (const Builtin& builtin : builtins) {
          if (peek() != builtin.code) continue;
          ++at_;
          return {.left = std::string(builtin.text)};
        }
        if (!is_digit(peek())) throw Unreadable();
    }
    return recorded(unscoped_name().text);
  }

  Text recorded(Text text) {
    record(text);
    return text;
  }

  Text with_arguments(Text text) {
    if (peek() != 'I') {
      text.last = none;  // no part of it was written here
      return text;
    }
    text.last = none;
    add_arguments(text, text.left.size());
    return recorded(std::move(text));
  }

  Text qualified_type() {
    const char first = peek();
    while (peek() == 'r' || peek() == 'V' || peek() == 'K') ++at_;
    Text text = type();
    const std::string_view word = first == 'K'   ? " const "
                                  : first == 'V' ? " volatile "
                                                 : " restrict ";
    (text.kind == Kind::function ? text.right : text.left) += word;
    if (text.kind != Kind::function) text.kind = Kind::other;
    return recorded(std::move(text));
  }

  Text declared_type(std::string_view sign) {
    ++at_;
    return recorded(declared(type(), sign));
  }

  static Text declared(Text text, std::string_view sign) {
    if (text.kind == Kind::function) {
      text.left += "(";
      text.right = ") " + text.right;
    }
    text.left += sign;
    text.kind = Kind::other;
    text.nested = false;
    return text;
  }

  Text function_type() {
    expect("F");
    take("Y");  // extern "C"
    Text text{.left = type().all() + " ", .kind = Kind::function};
    text.right = parameters();
    expect("E");
    return text;
  }

  Text array_type() {
    expect("A");
    std::string size(digits());
    if (size.empty() && peek() != '_') size = expression().all();
    expect("_");
    Text text = type();
    text.right += "[" + size + "]";
    return {.left = text.all()};
  }

  Text member_pointer() {
    expect("M");
    const std::string sign = type().all() + "::*";
    Text member = type();
    const bool is_function = member.kind == Kind::function;
    return declared(std::move(member), is_function ? sign : " " + sign);
  }

  class Depth {
   public:
    explicit Depth(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > deepest) {
        --parser_.depth_;
        throw Unreadable();
      }
    }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  std::string_view input_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::size_t budget_ = most_text;
  std::vector<Text> substitutions_;  // S_, S0_, S1_, ...
  std::vector<Text> arguments_;      // T_, T0_, T1_, ...
};

}  // namespace

std::string nvprof_demangled(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return std::string(mangled);
  try {
    return Parser(mangled.substr(2)).whole_name();
  } catch (const Unreadable&) {
    return std::string(mangled);
  } catch (const VendorQualifier&) {
    return demangled(std::string(mangled));
  }
}

}  // namespace gpuprof
