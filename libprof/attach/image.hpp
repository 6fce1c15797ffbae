// A library as it is mapped in a process: its functions and variables by name, and bytes of its
// code.
//
// All of it is read from the process, which may have written anything there: sizes and numbers of
// steps are limited, and an address that comes out is of use in that process only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libprof/attach/memory_map.hpp"

namespace gpuprof::attach {

// Reads all of `to` from an address of the process; false: it has no such memory.
using ReadMemory = std::function<bool(std::uint64_t address, std::span<std::byte> to)>;

class Image {
 public:
  // `begin`: where the file's start is mapped.
  Image(ReadMemory read, std::uint64_t begin) : read_(std::move(read)), begin_(begin) {}

  // The address of a function that the library exports; nullopt: there is none, or it is no x86-64
  // library.
  std::optional<std::uint64_t> function(std::string_view name) const;
  // The same for data.
  std::optional<std::uint64_t> variable(std::string_view name) const;

 private:
  // Addresses of what the dynamic section refers to.
  struct Tables {
    std::uint64_t bias = 0, hash = 0, symbols = 0, names = 0;
  };

  template <class Value>
  bool read(std::uint64_t address, Value& value) const {
    return read_(address, std::as_writable_bytes(std::span(&value, 1)));
  }
  std::optional<Tables> tables() const;
  std::optional<std::uint64_t> symbol(std::string_view name, unsigned char type) const;
  bool is_name(std::uint64_t address, std::string_view name) const;

  ReadMemory read_;
  std::uint64_t begin_;
};

// Where these bytes are in executable memory of the library that `library` is the start of.
// nullopt: nowhere.
std::optional<std::uint64_t> find_code(const ReadMemory& read, const std::vector<Mapping>& maps,
                                       const Mapping& library, std::span<const std::byte> code);

}  // namespace gpuprof::attach
