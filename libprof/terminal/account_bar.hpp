// The time of a GPU as one bar, by what it did. What a class is, a sign says and not only a colour.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuprof::terminal {

// How a terminal is written to.
struct Style {
  std::size_t width = 80;  // characters of a line
  bool blocks = false;     // Unicode block elements, otherwise ASCII
  int colours = 0;         // 0, 16 or 256
};

// Classes of an account, work first.
enum class Doing : std::uint8_t {
  compute,
  communication,
  copy,
  set,
  launch,
  queued,
  call,
  no_call,
  short_gap,
  unknown,
  idle,  // not divided into the classes before
};

// ns by class.
class Times {
 public:
  static constexpr std::size_t kinds = static_cast<std::size_t>(Doing::idle) + 1;

  // Adds to the class of that name, as the account has it: "compute", "copy 1", "no call". The time
  // before the first work and after the last counts nowhere.
  void add(std::string_view what, std::int64_t ns);
  void add(const Times& others);
  std::int64_t operator[](Doing doing) const { return ns_[static_cast<std::size_t>(doing)]; }
  std::int64_t all() const;

 private:
  std::array<std::int64_t, kinds> ns_{};
};

// `width` characters. A class that has time has at least one, if there are enough.
std::string bar(const Times& times, std::size_t width, const Style& style);
// What the signs of the bar mean, and the shares of the time, in lines of the style's width.
std::string legend(const Times& times, const Style& style);

}  // namespace gpuprof::terminal
