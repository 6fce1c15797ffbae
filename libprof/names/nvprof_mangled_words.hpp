// nvprof's words for the codes of the Itanium C++ ABI.
#pragma once

#include <array>
#include <string_view>

namespace gpuprof::nvprof_words {

struct Builtin {
  char code;
  std::string_view text;
};
inline constexpr std::array builtins{
    Builtin{'v', "void"},         Builtin{'w', "wchar_t"},        Builtin{'b', "bool"},
    Builtin{'c', "char"},         Builtin{'a', "char"},           Builtin{'h', "unsigned char"},
    Builtin{'s', "short"},        Builtin{'t', "unsigned short"}, Builtin{'i', "int"},
    Builtin{'j', "unsigned int"}, Builtin{'l', "long"},           Builtin{'m', "unsigned long"},
    Builtin{'x', "__int64"},      Builtin{'y', "__int64"},        Builtin{'n', "__int128"},
    Builtin{'o', "__int128"},     Builtin{'f', "float"},          Builtin{'d', "double"},
    Builtin{'e', "long double"},  Builtin{'g', "__float128"},     Builtin{'z', "..."},
};

struct Operator {
  std::string_view code;
  std::string_view sign;
  int operands;  // in an expression; 0 = not used there
};
inline constexpr std::array operators{
    Operator{"nw", "new", 0},      Operator{"na", "new[]", 0}, Operator{"dl", "delete", 0},
    Operator{"da", "delete[]", 0}, Operator{"ps", "+", 1},     Operator{"ng", "-", 1},
    Operator{"ad", "&", 1},        Operator{"de", "*", 1},     Operator{"co", "~", 1},
    Operator{"pl", "+", 2},        Operator{"mi", "-", 2},     Operator{"ml", "*", 2},
    Operator{"dv", "/", 2},        Operator{"rm", "%", 2},     Operator{"an", "&", 2},
    Operator{"or", "|", 2},        Operator{"eo", "^", 2},     Operator{"aS", "=", 2},
    Operator{"pL", "+=", 2},       Operator{"mI", "-=", 2},    Operator{"mL", "*=", 2},
    Operator{"dV", "/=", 2},       Operator{"rM", "%=", 2},    Operator{"aN", "&=", 2},
    Operator{"oR", "|=", 2},       Operator{"eO", "^=", 2},    Operator{"ls", "<<", 2},
    Operator{"rs", ">>", 2},       Operator{"lS", "<<=", 2},   Operator{"rS", ">>=", 2},
    Operator{"eq", "==", 2},       Operator{"ne", "!=", 2},    Operator{"lt", "<", 2},
    Operator{"gt", ">", 2},        Operator{"le", "<=", 2},    Operator{"ge", ">=", 2},
    Operator{"nt", "!", 1},        Operator{"aa", "&&", 2},    Operator{"oo", "||", 2},
    Operator{"pp", "++", 1},       Operator{"mm", "--", 1},    Operator{"cm", ",", 2},
    Operator{"pm", "->*", 2},      Operator{"pt", "->", 2},    Operator{"cl", "()", 0},
    Operator{"ix", "[]", 2},       Operator{"qu", "?", 3},
};

struct Standard {
  char code;
  std::string_view text;
};
inline constexpr std::array standards{
    Standard{'a', "std::allocator"},
    Standard{'b', "std::basic_string"},
    Standard{'s', "std::basic_string<char, std::char_traits<char>, std::allocator<char>>"},
    Standard{'i', "std::basic_istream<char, std::char_traits<char>>"},
    Standard{'o', "std::basic_ostream<char, std::char_traits<char>>"},
    Standard{'d', "std::basic_iostream<char, std::char_traits<char>>"},
};

struct Structor {
  std::string_view code;
  std::string_view text;
};
inline constexpr std::array structors{
    Structor{"C1", "__complete_object_constructor__"},
    Structor{"C2", "__base_object_constructor__"},
    Structor{"C3", "__complete_object_allocating_constructor__"},
    Structor{"D1", "__complete_object_destructor__"},
    Structor{"D2", "__base_object_destructor__"},
};

}  // namespace gpuprof::nvprof_words
