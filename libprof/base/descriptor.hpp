// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace gpuprof {

class Descriptor {
 public:
  // Negative: there is none.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  int operator*() const { return number_; }

 private:
  int number_;
};

}  // namespace gpuprof
